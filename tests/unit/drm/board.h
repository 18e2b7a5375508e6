/*
 * Board: fake devices in a tree, as libdrm and sysfs see them
 */
#ifndef SOTTO_TESTS_DRM_BOARD_H
#define SOTTO_TESTS_DRM_BOARD_H

#include "drm/device.h"
#include "fakedrm.h"
#include "sysfs/tree.h"

/* Makes an empty machine that libdrm sees, too. */
static inline struct root *board_make(void)
{
    tree_make();
    tree_write("/dev/dri/.keep", "");
    tree_write("/sys/class/drm/version", "drm 1.1.0 20060810\n");
    tree_root.is_machine = true;
    fakedrm_use(tree_path);
    return &tree_root;
}

/*
 * Adds a node @name of the platform device @device with @driver: its files in sysfs and in /dev. @compatible may be
 * NULL.
 */
static inline void board_platform(const char *name, unsigned minor, const char *device, const char *driver,
                                  const char *compatible)
{
    char path[256];
    char text[512];
    int n;

    snprintf(path, sizeof(path), "/dev/dri/%s", name);
    snprintf(text, sizeof(text), "driver=%s\nminor=%u\n", driver, minor);
    tree_write(path, text);
    n = snprintf(text, sizeof(text), "DRIVER=%s\nOF_FULLNAME=/bus/%s\n", driver, device);
    if (compatible) {
        snprintf(text + n, sizeof(text) - (size_t)n, "OF_COMPATIBLE_0=%s\nOF_COMPATIBLE_N=1\n", compatible);
    }
    snprintf(path, sizeof(path), "/sys/devices/platform/%s/uevent", device);
    tree_write(path, text);
    snprintf(path, sizeof(path), "/sys/devices/platform/%s/subsystem", device);
    tree_link(path, "../../../bus/platform");
    snprintf(path, sizeof(path), "/sys/devices/platform/%s/drm/%s/dev", device, name);
    snprintf(text, sizeof(text), "226:%u\n", minor);
    tree_write(path, text);
    snprintf(path, sizeof(path), "/sys/devices/platform/%s/drm/%s/device", device, name);
    tree_link(path, "../..");
    /* The class and the device numbers link to the same folder. */
    snprintf(path, sizeof(path), "/sys/class/drm/%s/device", name);
    snprintf(text, sizeof(text), "../../../devices/platform/%s", device);
    tree_link(path, text);
    snprintf(path, sizeof(path), "/sys/dev/char/226:%u/device", minor);
    snprintf(text, sizeof(text), "../../../devices/platform/%s", device);
    tree_link(path, text);
}

#endif
