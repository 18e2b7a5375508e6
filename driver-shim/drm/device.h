/*
 * Device: a GPU or a display that the kernel has
 *
 * Devices are found with libdrm on the machine itself (platform, PCI, USB, host1x and virtual buses), and by the same
 * files of /sys below a recorded root. Driver and version come from the node if it opens, else from sysfs; the chip
 * comes from a table.
 */
#ifndef SOTTO_DRM_DEVICE_H
#define SOTTO_DRM_DEVICE_H

#include "drm/chip.h"
#include "drm/node.h"

#define DEVICES_MAX 16u

enum device_bus {
    DEVICE_ON_PLATFORM,
    DEVICE_ON_PCI,
    DEVICE_ON_USB,
    DEVICE_ON_HOST1X,
    DEVICE_ON_VIRTUAL, /* virtual: vgem, vkms, a virtual machine's faux bus */
    DEVICE_BUS_COUNT,
};

enum device_feature {
    DEVICE_IMPORTS = 1 << 0, /* dma-buf */
    DEVICE_EXPORTS = 1 << 1,
    DEVICE_SYNCOBJ = 1 << 2,
    DEVICE_TIMELINE = 1 << 3, /* timeline sync objects */
};

struct device {
    struct node render;
    struct node card;
    enum device_bus bus;
    char bus_name[96];    /* "0000:03:00.0", "fd00000.gpu" */
    char driver[32];      /* "powervr"; empty: unknown */
    int version[3];       /* the driver's; 0.0.0: not opened */
    char compatible[192]; /* from the device tree, most specific first, separated by blanks */
    uint16_t pci_vendor;
    uint16_t pci_device;
    bool has_display; /* a screen is connected */
    bool has_connectors;
    uint32_t features; /* enum device_feature; 0 when not opened */
    bool has_core;     /* the powervr driver reported its core */
    struct pvr_core core;
    const struct chip *chip; /* NULL: in no row */
    char name[96];           /* for people: the chip's name, or what is known */
};

/*
 * Finds all devices below @root, at most DEVICES_MAX, sorted by render node. None is no fault. A device of which the
 * node can't be opened is listed, too. Faults: out of memory, or /sys/class/drm can't be read. Opens nodes briefly, so
 * it runs in the thread pool, never on the loop.
 */
int device_find_all(const struct root *root, struct device devices[DEVICES_MAX], uint32_t *ret_n);

/*
 * Returns true once the device of @fd is lost: unplugged, or given up by its driver. From then on every ioctl of such a
 * node fails with ENODEV.
 */
bool device_is_lost(int fd);

const char *device_bus_name(enum device_bus bus); /* "platform" */

#endif
