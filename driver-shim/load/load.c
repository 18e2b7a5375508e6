/* Table of the ways in which a device may report its load. */
#include "load/load.h"
#include "base/clean.h"
#include "base/err.h"
#include "load/busy_percent.h"
#include "load/devfreq.h"
#include "load/drm_sched.h"
#include "load/fdinfo.h"
#include "load/pvr_status.h"
#include "load/runtime_pm.h"
#include "sysfs/label.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Drivers that report no times in fdinfo, up to Linux 7.2. */
static const char *const silent[] = { "powervr", "lima", "nouveau", "etnaviv", "virtio_gpu",
                                      "vgem",    "vkms", "nova",    "tyr",     "vc4" };

/* Drivers that have reported times in fdinfo since before Linux 6.1: their jobs need no tracing. */
static const char *const timed[] = { "msm", "amdgpu", "i915", "xe" };

static bool is_among(const char *const *drivers, size_t n, const char *driver)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(drivers[i], driver) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_silent(const char *driver)
{
    return is_among(silent, COUNTOF(silent), driver);
}

/*
 * Returns the device to which clock, power and heat belong. Where a DRM node belongs to the display's device (msm), the
 * GPU is a device of its own, to which its devfreq links.
 */
static struct gpu gpu_of(const struct root *root, const struct gpu *device)
{
    struct gpu gpu = *device;
    char folder[160];
    char link[180];
    char path[512];

    if (device->is_pci || !devfreq_find(root, device, folder, sizeof(folder))) {
        return gpu;
    }
    snprintf(link, sizeof(link), "%s/device", folder);
    if (root_real_path(root, link, path, sizeof(path)) == 0 && strcmp(path, device->path) != 0 &&
        gpu_set_path(&gpu, path)) {
        gpu.has_display = false;
    }
    return gpu;
}

typedef int (*pair_open_fn)(struct source **ret_graphics, struct source **ret_compute, const struct root *root,
                            const struct gpu *device);
typedef int (*open_fn)(struct source **ret_source, const struct root *root, const struct gpu *device);

static int add_pair(struct list *sources, pair_open_fn open, const struct root *root, const struct gpu *device)
{
    struct source *graphics;
    struct source *compute;
    int r = open(&graphics, &compute, root, device);

    if (r) {
        return err_up(r);
    }
    list_append(sources, &graphics->link);
    list_append(sources, &compute->link);
    return 0;
}

static int add(struct list *sources, open_fn open, const struct root *root, const struct gpu *device)
{
    struct source *source;
    int r = open(&source, root, device);

    if (r == -ENOENT) {
        return 0;
    }
    if (r) {
        return err_up(r);
    }
    list_append(sources, &source->link);
    return 0;
}

/* Adds sources in the order of their ranks. */
static int add_all(struct list *sources, const struct root *root, const struct gpu *device, const struct gpu *gpu)
{
    static const open_fn singles[] = { busy_percent_open, devfreq_load_open, runtime_pm_open, devfreq_guess_open,
                                       devfreq_clock_open };
    const bool is_vendor = strcmp(device->driver, "pvr") == 0;
    const bool has_node = device->minor != GPU_NO_MINOR;
    int r = 0;

    if (is_vendor) {
        r = add_pair(sources, pvr_status_open, root, device);
    }
    if (!r && has_node && !is_silent(device->driver)) {
        r = add_pair(sources, fdinfo_open, root, device);
    }
    /* The PowerVR vendor's driver has a scheduler of its own. */
    if (!r && has_node && !is_vendor && !is_among(timed, COUNTOF(timed), device->driver)) {
        r = add_pair(sources, drm_sched_open, root, device);
    }
    for (size_t i = 0; i < COUNTOF(singles) && !r; i++) {
        r = add(sources, singles[i], root, gpu);
    }
    return r;
}

int load_find(struct list *sources, const struct root *root, const struct gpu *device)
{
    const struct gpu gpu = gpu_of(root, device);
    struct list found = LIST_INIT(found);
    struct list *link;
    int r = add_all(&found, root, device, &gpu);

    while ((link = list_first(&found))) {
        list_remove(link);
        if (r) {
            source_destroy(container_of(link, struct source, link));
        } else {
            struct source *source = container_of(link, struct source, link);

            snprintf(source->device, sizeof(source->device), "%s", device->path);
            list_append(sources, link);
        }
    }
    return r ? err_up(r) : 0;
}

bool load_refresh(const struct list *sources, const struct gpu *device)
{
    const struct list *link;
    bool is_known = false;

    list_for_each (link, sources) {
        struct source *source = container_of(link, struct source, link);
        char id[sizeof(source->id)];

        label_set(id, "%s %s", reading_quantity_name(source->quantity), device->path);
        if (source->quantity > READING_COMPUTE_LOAD || strcmp(source->id, id) != 0) {
            continue;
        }
        is_known = true;
        if (strcmp(source->table->kind, FDINFO_KIND) == 0) {
            fdinfo_walk_soon(source);
        }
    }
    return is_known;
}

const char *load_note(const struct gpu *device)
{
    if (strcmp(device->driver, "powervr") == 0) {
        return "the open powervr driver reports no load: besides trace events and its time under power, there is only "
               "the "
               "delay of our own submissions";
    }
    if (is_silent(device->driver)) {
        return "this driver reports no load of clients: there is only the delay of our own submissions";
    }
    return NULL;
}
