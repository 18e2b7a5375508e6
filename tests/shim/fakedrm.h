/*
 * FakeDrm: DRM devices made of files, below libdrm
 *
 * Stands between a program (with libdrm) and the C library: paths below /dev/dri and /sys are redirected into a
 * tree, and the tree's nodes answer ioctls as their driver would. Linked into a test, or preloaded (FAKEDRM names the
 * tree then).
 *
 * A node is a file DIR/dev/dri/NAME with lines KEY=VALUE, read at every call, so that a test can change the device
 * under a running program:
 *   driver=powervr|v3d|vgem   the driver to imitate
 *   minor=128
 *   open=EACCES               the next opens fail with it
 *   lost=1                    each ioctl fails with ENODEV, as after drm_dev_unplug()
 */
#ifndef SOTTO_TESTS_FAKEDRM_H
#define SOTTO_TESTS_FAKEDRM_H

/* Sets the folder of the tree; NULL: all paths lead to the machine again. */
void fakedrm_use(const char *tree);

/* Returns the number of buffer handles that are open in all nodes. */
unsigned fakedrm_n_handles(void);

/* Makes a buffer of one page on the fake node @fd, as a driver's own ioctl would; returns its handle. */
unsigned fakedrm_make_buffer(int fd);

#endif
