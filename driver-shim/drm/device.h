/*
 * Device: a GPU or a display that the kernel knows, and its name
 *
 * Found with libdrm on the machine itself (platform, PCI, USB, host1x and virtual buses), and by the same files of
 * /sys below a recorded root. Driver and version come from the node where it opens, else from sysfs; the chip from
 * a table.
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
    DEVICE_ON_VIRTUAL, /* made of nothing: vgem, vkms, a virtual machine's faux bus */
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
    int version[3];       /* of the driver; 0.0.0: not opened */
    char compatible[192]; /* of the device tree, most telling first, blanks between */
    uint16_t pci_vendor;
    uint16_t pci_device;
    bool has_display; /* a connector with something plugged in */
    bool has_connectors;
    uint32_t features; /* enum device_feature; 0 when not opened */
    bool has_core;     /* the powervr driver told its core */
    struct pvr_core core;
    const struct chip *chip; /* NULL: in no row */
    char name[96];           /* for people: of the chip, or what is known */
};

/*
 * Finds all devices below @root, in the order of their render nodes, at most DEVICES_MAX. 0 devices is no fault. A
 * node that can't be opened leaves its device in the list. Faults: of memory or of reading /sys/class/drm
 * otherwise. Opens nodes for a moment: in the pool, never on the loop.
 */
int device_find_all(const struct root *root, struct device devices[DEVICES_MAX], uint32_t *ret_n);

/*
 * True once the device behind @fd is lost: unplugged, or given up by its driver. Each ioctl of such a node fails
 * with ENODEV for good.
 */
bool device_is_lost(int fd);

const char *device_bus_name(enum device_bus bus); /* "platform" */

#endif
