/*
 * Share: buffers of a device as dma-bufs, exported and imported
 *
 * The kernel does not count references to a handle: importing a buffer that came from the same file returns its
 * existing handle, and closing it once closes it for every user. So the handles of one open file are counted here, and
 * only here are they closed.
 *
 * One thread at a time per struct share. The Vulkan backend will use it; until then only tests and the vm probe do.
 */
#ifndef SOTTO_DRM_SHARE_H
#define SOTTO_DRM_SHARE_H

#include "base/map.h"
#include <stdbool.h>
#include <stdint.h>

struct share {
    int fd;          /* the node; the caller's */
    struct map uses; /* number of references by handle */
};

void share_init(struct share *share, int fd);

/* Closes all handles that are still held. */
void share_finish(struct share *share);

/* Counts @handle, newly returned by a driver's ioctl. 0 or -ENOMEM: then the handle was closed. */
int share_own(struct share *share, uint32_t handle);

/*
 * Exports a counted handle as a dma-buf: *ret_fd is the caller's, close-on-exec, readable and writable. 0 or a fault
 * (-ENODEV: the device is lost; -ENOSYS, -EOPNOTSUPP: the driver does not export).
 */
int share_export(struct share *share, uint32_t handle, int *ret_fd);

/* Imports the dma-buf @dmabuf_fd, which stays the caller's. The handle is counted; release it with share_drop(). */
int share_import(struct share *share, int dmabuf_fd, uint32_t *ret_handle);

/* Drops one reference; the last one closes the handle. */
void share_drop(struct share *share, uint32_t handle);

/* Brackets reads (and writes, if @writes) of a mapped dma-buf by the CPU: keeps caches coherent. 0 or a fault. */
int share_cpu_begin(int dmabuf_fd, bool writes);
int share_cpu_end(int dmabuf_fd, bool wrote);

/*
 * Returns in *ret_fd a sync file that signals when all writes to the dma-buf have ended and, if @writes, all reads,
 * too. -ENOTTY: the kernel is older than 6.0.
 */
int share_fence(int dmabuf_fd, bool writes, int *ret_fd);

#endif
