/*
 * Walks /sys/class/drm for what files contain; asks libdrm for the rest
 *
 * A device has up to two nodes with different numbers. They belong together if their links "device" agree; in a tree
 * without links, if their PCI slots or device-tree names do; else they are two devices.
 */
#include "drm/device.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "drm/pvr.h"
#include "sysfs/gpu.h"
#include "sysfs/label.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xf86drm.h>

static const char *const bus_names[] = {
    [DEVICE_ON_PLATFORM] = "platform", [DEVICE_ON_PCI] = "pci",         [DEVICE_ON_USB] = "usb",
    [DEVICE_ON_HOST1X] = "host1x",     [DEVICE_ON_VIRTUAL] = "virtual",
};

const char *device_bus_name(enum device_bus bus)
{
    assert(bus < DEVICE_BUS_COUNT);
    return bus_names[bus];
}

/* ---- facts from sysfs */

/* Finds the value of @key in the lines KEY=VALUE of @text; false: there is none. */
static bool find_value(const char *text, const char *key, char *value, size_t cap)
{
    size_t n = strlen(key);

    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, key, n) == 0 && line[n] == '=') {
            snprintf(value, cap, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
            return true;
        }
    }
    return false;
}

static void read_compatibles(struct device *device, const char *uevent)
{
    size_t at = 0;

    for (int i = 0; i < 8; i++) {
        char key[32];
        char raw[96];
        char value[96];

        snprintf(key, sizeof(key), "OF_COMPATIBLE_%d", i);
        if (!find_value(uevent, key, raw, sizeof(raw))) {
            return;
        }
        label_set(value, "%s", raw);
        if (at + strlen(value) + 2 > sizeof(device->compatible)) {
            return;
        }
        at += (size_t)snprintf(device->compatible + at, sizeof(device->compatible) - at, "%s%s", at ? " " : "", value);
    }
}

static void read_pci_id(struct device *device, const char *uevent)
{
    char id[16];
    char *end;

    if (find_value(uevent, "PCI_ID", id, sizeof(id))) {
        device->pci_vendor = (uint16_t)strtoul(id, &end, 16);
        device->pci_device = *end == ':' ? (uint16_t)strtoul(end + 1, NULL, 16) : 0;
    }
}

/* Identifies the device of the node folder @folder, so that its other node is recognised. */
static void identify(struct device *device, const struct root *root, const char *folder, const char *uevent)
{
    char path[256];
    char link[512];

    snprintf(path, sizeof(path), "%s/device", folder);
    if (root_read_link(root, path, link, sizeof(link)) == 0) {
        label_set(device->bus_name, "%s", root_base_name(link));
    } else if (!find_value(uevent, "PCI_SLOT_NAME", device->bus_name, sizeof(device->bus_name)) &&
               !find_value(uevent, "OF_FULLNAME", device->bus_name, sizeof(device->bus_name))) {
        label_set(device->bus_name, "%s", root_base_name(folder));
    }
}

static enum device_bus bus_of(const struct device *device, const char *uevent)
{
    char value[96];

    if (device->pci_vendor != 0 || find_value(uevent, "PCI_SLOT_NAME", value, sizeof(value))) {
        return DEVICE_ON_PCI;
    }
    if (find_value(uevent, "DEVTYPE", value, sizeof(value)) && strncmp(value, "usb", 3) == 0) {
        return DEVICE_ON_USB;
    }
    return device->compatible[0] ? DEVICE_ON_PLATFORM : DEVICE_ON_VIRTUAL;
}

static void read_driver(struct device *device, const struct root *root, const char *folder, const char *uevent)
{
    char path[256];
    char link[512];
    char name[64];

    snprintf(path, sizeof(path), "%s/device/driver", folder);
    if (find_value(uevent, "DRIVER", name, sizeof(name))) {
        label_set(device->driver, "%s", gpu_drm_name(name));
    } else if (root_read_link(root, path, link, sizeof(link)) == 0) {
        label_set(device->driver, "%s", gpu_drm_name(root_base_name(link)));
    } else {
        /* Without a bus driver, the parent's name is the driver's: "vgem". */
        label_set(device->driver, "%s", device->bus_name);
    }
}

static void read_device(struct device *device, const struct root *root, const char *folder)
{
    char path[256];
    char uevent[4096] = "";
    size_t n;

    snprintf(path, sizeof(path), "%s/device/uevent", folder);
    if (root_read(root, path, uevent, sizeof(uevent), &n) < 0) {
        uevent[0] = '\0';
    }
    identify(device, root, folder, uevent);
    read_compatibles(device, uevent);
    read_pci_id(device, uevent);
    read_driver(device, root, folder, uevent);
    device->bus = bus_of(device, uevent);
}

/* ---- the walk */

struct found {
    struct device *devices;
    uint32_t n;
};

static struct device *same_device(struct found *found, const struct device *device)
{
    for (uint32_t i = 0; i < found->n; i++) {
        if (strcmp(found->devices[i].bus_name, device->bus_name) == 0) {
            return &found->devices[i];
        }
    }
    return NULL;
}

static void add_node(struct found *found, const struct root *root, const char *name)
{
    struct device fresh = { 0 };
    struct device *device;
    struct node *node;
    char folder[128];
    uint32_t minor;
    bool renders;

    if (!gpu_parse_node(name, &renders, &minor)) {
        return;
    }
    snprintf(folder, sizeof(folder), "/sys/class/drm/%s", name);
    read_device(&fresh, root, folder);
    device = same_device(found, &fresh);
    if (!device) {
        if (found->n == DEVICES_MAX) {
            return;
        }
        device = &found->devices[found->n++];
        *device = fresh;
    }
    node = renders ? &device->render : &device->card;
    snprintf(node->path, sizeof(node->path), "/dev/dri/%.24s", name);
    node->minor = minor;
}

/* Adds a connector to its device: "card1-HDMI-A-1" belongs to card1. */
static void add_connector(struct found *found, const struct root *root, const char *name)
{
    char path[320];
    char status[32];
    char card[32];

    snprintf(card, sizeof(card), "%.*s", (int)num_min(strcspn(name, "-"), sizeof(card) - 1), name);
    snprintf(path, sizeof(path), "/sys/class/drm/%s/status", name);
    if (strncmp(name, "card", 4) != 0 || !strchr(name, '-') || root_read_word(root, path, status, sizeof(status)) < 0) {
        return;
    }
    for (uint32_t i = 0; i < found->n; i++) {
        struct device *device = &found->devices[i];

        if (strcmp(root_base_name(device->card.path), card) == 0) {
            device->has_connectors = true;
            device->has_display = device->has_display || strcmp(status, "connected") == 0;
        }
    }
}

/* Calls @add for each entry of /sys/class/drm. 0 or a fault; a missing folder counts as empty. */
static int walk(struct found *found, const struct root *root,
                void (*add)(struct found *found, const struct root *root, const char *name))
{
    struct dirent *entry;
    DIR *folder;
    int r = root_open_folder(root, "/sys/class/drm", &folder);

    if (r) {
        return r == -ENOENT ? 0 : err_up(r);
    }
    while ((entry = readdir(folder))) {
        add(found, root, entry->d_name);
    }
    closedir(folder);
    return 0;
}

/* ---- facts from the kernel */

static void query_bus(struct device *device, int fd)
{
    drmDevicePtr info = NULL;

    if (drmGetDevice2(fd, 0, &info) != 0) {
        return; /* sysfs had it already */
    }
    switch (info->bustype) {
    case DRM_BUS_PCI:
        device->bus = DEVICE_ON_PCI;
        device->pci_vendor = info->deviceinfo.pci->vendor_id;
        device->pci_device = info->deviceinfo.pci->device_id;
        break;
    case DRM_BUS_USB:
        device->bus = DEVICE_ON_USB;
        break;
    case DRM_BUS_HOST1X:
        device->bus = DEVICE_ON_HOST1X;
        break;
    default:
        break; /* libdrm reports virtual devices as platform devices; sysfs tells them apart */
    }
    drmFreeDevice(&info);
}

static void query_version(struct device *device, int fd)
{
    drmVersionPtr version = drmGetVersion(fd);

    if (!version) {
        return;
    }
    if (version->name && version->name_len > 0) {
        label_set(device->driver, "%s", version->name); /* libdrm terminates it with a 0 */
    }
    device->version[0] = version->version_major;
    device->version[1] = version->version_minor;
    device->version[2] = version->version_patchlevel;
    drmFreeVersion(version);
}

static void query_features(struct device *device, int fd)
{
    static const struct {
        uint64_t cap;
        uint64_t bit;
        enum device_feature feature;
    } rows[] = {
        { DRM_CAP_PRIME, DRM_PRIME_CAP_IMPORT, DEVICE_IMPORTS },
        { DRM_CAP_PRIME, DRM_PRIME_CAP_EXPORT, DEVICE_EXPORTS },
        { DRM_CAP_SYNCOBJ, 1, DEVICE_SYNCOBJ },
        { DRM_CAP_SYNCOBJ_TIMELINE, 1, DEVICE_TIMELINE },
    };

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        uint64_t value = 0;

        if (drmGetCap(fd, rows[i].cap, &value) == 0 && (value & rows[i].bit)) {
            device->features |= rows[i].feature;
        }
    }
}

static void query_node(struct device *device)
{
    const struct node *node = device->render.access == NODE_OPENS ? &device->render : &device->card;
    cleanup(fd_closep) int fd = -1;

    if (node->access != NODE_OPENS || node_open(node, &fd) < 0) {
        return;
    }
    query_version(device, fd);
    query_bus(device, fd);
    query_features(device, fd);
    device->has_core = strcmp(device->driver, "powervr") == 0 && pvr_query_core(fd, &device->core) == 0;
}

bool device_is_lost(int fd)
{
    uint64_t value;

    return drmGetCap(fd, DRM_CAP_PRIME, &value) != 0 && errno == ENODEV;
}

static void set_name(struct device *device)
{
    const struct chip_signs signs = {
        .driver = device->driver[0] ? device->driver : NULL,
        .compatible = device->compatible,
        .core = device->has_core ? &device->core : NULL,
    };

    device->chip = chip_find(&signs);
    if (device->chip && device->pci_vendor != 0) {
        snprintf(device->name, sizeof(device->name), "%s (%04x:%04x)", device->chip->name, device->pci_vendor,
                 device->pci_device);
    } else if (device->chip) {
        snprintf(device->name, sizeof(device->name), "%s", device->chip->name);
    } else {
        snprintf(device->name, sizeof(device->name), "unknown chip (%.24s %.48s)",
                 device->driver[0] ? device->driver : "no driver",
                 device->compatible[0] ? device->compatible : device->bus_name);
    }
}

/* Sorts render nodes first, by number; then cards. */
static int compare(const void *a, const void *b)
{
    const struct device *x = a;
    const struct device *y = b;

    if ((x->render.path[0] != '\0') != (y->render.path[0] != '\0')) {
        return x->render.path[0] ? -1 : 1;
    }
    return x->render.path[0] ? (x->render.minor > y->render.minor) - (x->render.minor < y->render.minor)
                             : (x->card.minor > y->card.minor) - (x->card.minor < y->card.minor);
}

int device_find_all(const struct root *root, struct device devices[DEVICES_MAX], uint32_t *ret_n)
{
    struct found found = { .devices = devices };
    int r = walk(&found, root, add_node);

    if (!r) {
        r = walk(&found, root, add_connector);
    }
    if (r) {
        return err_up(r);
    }
    for (uint32_t i = 0; i < found.n; i++) {
        node_try(&devices[i].render, root);
        node_try(&devices[i].card, root);
        query_node(&devices[i]);
        set_name(&devices[i]);
    }
    qsort(devices, found.n, sizeof(devices[0]), compare);
    *ret_n = found.n;
    return 0;
}
