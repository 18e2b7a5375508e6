/*
 * The list of devices by /sys/class/drm, and the table of what each could be asked.
 */
#include "load/load.h"
#include "base/clean.h"
#include "base/err.h"
#include "load/busy_percent.h"
#include "load/devfreq.h"
#include "load/drm_sched.h"
#include "load/fdinfo.h"
#include "load/pvr_status.h"
#include "load/runtime_pm.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRM "/sys/class/drm"

/* As often as the governor asks while there is work. */
#define LOAD_PERIOD_MS 50u

/* Kernel drivers whose DRM driver goes by another name. */
static const struct {
    const char *kernel;
    const char *drm;
} renamed[] = {
    { "pvrsrvkm", "pvr" },        { "adreno", "msm" },        { "msm-mdss", "msm" },
    { "msm_dpu", "msm" },         { "msm_mdp", "msm" },       { "vc4-drm", "vc4" },
    { "etnaviv-gpu", "etnaviv" }, { "nvidia", "nvidia-drm" }, { "rockchip-drm", "rockchip" },
};

/* Drivers that put no times into fdinfo, up to Linux 7.2. */
static const char *const silent[] = { "powervr", "lima", "nouveau", "etnaviv", "virtio_gpu",
                                      "vgem",    "vkms", "nova",    "tyr",     "vc4" };

/* Drivers that have put times into fdinfo since before Linux 6.1: nobody needs to trace their jobs. */
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

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Where the link @name in @folder points, its last part; "" if it is not there. */
static void read_link_name(const struct root *root, const char *folder, const char *name, char *word, size_t cap)
{
    char path[256];
    char target[512];

    word[0] = '\0';
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (root_read_link(root, path, target, sizeof(target)) == 0) {
        label_format(word, cap, "%s", base_name(target));
    }
}

const char *gpu_drm_name(const char *kernel)
{
    for (size_t i = 0; i < COUNTOF(renamed); i++) {
        if (strcmp(kernel, renamed[i].kernel) == 0) {
            return renamed[i].drm;
        }
    }
    return kernel;
}

static void name_driver(const struct root *root, struct gpu *device)
{
    char word[64];

    read_link_name(root, device->path, "driver", word, sizeof(word));
    /* Virtual devices have no driver of their own: they are called as it is. */
    snprintf(device->driver, sizeof(device->driver), "%.23s", word[0] ? gpu_drm_name(word) : device->name);
}

/* "renderD128" or "card0", and nothing else. */
static bool parse_node(const char *name, bool *ret_is_render, uint32_t *ret_minor)
{
    const bool is_render = strncmp(name, "renderD", 7) == 0;
    const char *number = name + (is_render ? 7 : 4);
    char *end;

    if ((!is_render && strncmp(name, "card", 4) != 0) || *number < '0' || *number > '9') {
        return false;
    }
    *ret_minor = (uint32_t)strtoul(number, &end, 10);
    *ret_is_render = is_render;
    return *end == '\0';
}

/* The device at @path in the list, made if it is new; NULL: the list is full. */
static struct gpu *device_at(const struct root *root, struct gpu *devices, uint32_t cap, uint32_t *n, const char *path)
{
    struct gpu *device;
    char word[32];

    for (uint32_t i = 0; i < *n; i++) {
        if (strcmp(devices[i].path, path) == 0) {
            return &devices[i];
        }
    }
    if (*n == cap || strlen(path) >= sizeof(device->path)) {
        return NULL;
    }
    device = &devices[(*n)++];
    *device = (struct gpu){ .minor = GPU_NO_MINOR, .card = GPU_NO_MINOR };
    snprintf(device->path, sizeof(device->path), "%s", path);
    snprintf(device->name, sizeof(device->name), "%.47s", base_name(path));
    read_link_name(root, path, "subsystem", word, sizeof(word));
    device->is_pci = strcmp(word, "pci") == 0;
    name_driver(root, device);
    return device;
}

static void put_node(struct gpu *device, const char *name, bool is_render, uint32_t minor)
{
    const bool has_render = device->minor != device->card;

    if (!is_render) {
        device->card = minor;
    }
    if (is_render || !has_render) {
        device->minor = minor;
        snprintf(device->node, sizeof(device->node), "%.15s", name);
    }
}

/* Connectors stand beside their card: "card0-HDMI-A-1". */
static void find_displays(const struct root *root, struct gpu *devices, uint32_t n)
{
    const struct dirent *entry;
    DIR *dir;

    if (root_open_folder(root, DRM, &dir) != 0) {
        return;
    }
    while ((entry = readdir(dir))) {
        char path[sizeof(DRM) + 300];
        char status[32];
        unsigned card;
        bool is_lit;
        char dash;

        if (sscanf(entry->d_name, "card%u%c", &card, &dash) != 2 || dash != '-') {
            continue;
        }
        snprintf(path, sizeof(path), DRM "/%s/status", entry->d_name);
        is_lit = root_read_word(root, path, status, sizeof(status)) == 0 && strcmp(status, "connected") == 0;
        for (uint32_t i = 0; i < n; i++) {
            devices[i].has_display |= devices[i].card == card;
            devices[i].is_lit |= devices[i].card == card && is_lit;
        }
    }
    closedir(dir);
}

static int compare_minors(const void *a, const void *b)
{
    const struct gpu *x = a;
    const struct gpu *y = b;

    return (x->minor > y->minor) - (x->minor < y->minor);
}

/* Adreno under its vendor's own driver has no DRM node. */
static uint32_t add_kgsl(const struct root *root, struct gpu *devices, uint32_t n, uint32_t cap)
{
    char path[512];

    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(devices[i].driver, "msm") == 0) {
            return n;
        }
    }
    if (n == cap || !root_has(root, GPU_KGSL)) {
        return n;
    }
    if (root_real_path(root, GPU_KGSL "/device", path, sizeof(path)) != 0 || strlen(path) >= sizeof(devices[n].path)) {
        snprintf(path, sizeof(path), GPU_KGSL);
    }
    devices[n] = (struct gpu){ .minor = GPU_NO_MINOR, .card = GPU_NO_MINOR, .node = "kgsl-3d0", .driver = "kgsl" };
    snprintf(devices[n].path, sizeof(devices[n].path), "%.159s", path);
    snprintf(devices[n].name, sizeof(devices[n].name), "%.47s", base_name(path));
    return n + 1;
}

uint32_t gpu_list(const struct root *root, struct gpu *devices, uint32_t cap)
{
    const struct dirent *entry;
    uint32_t n = 0;
    DIR *dir;

    if (root_open_folder(root, DRM, &dir) == 0) {
        while ((entry = readdir(dir))) {
            struct gpu *device;
            char link[sizeof(DRM) + 300];
            char path[512];
            bool is_render;
            uint32_t minor;

            if (!parse_node(entry->d_name, &is_render, &minor)) {
                continue;
            }
            snprintf(link, sizeof(link), DRM "/%s/device", entry->d_name);
            if (root_real_path(root, link, path, sizeof(path)) != 0) {
                continue;
            }
            device = device_at(root, devices, cap, &n, path);
            if (device) {
                put_node(device, entry->d_name, is_render, minor);
            }
        }
        closedir(dir);
    }
    find_displays(root, devices, n);
    qsort(devices, n, sizeof(*devices), compare_minors);
    return add_kgsl(root, devices, n, cap);
}

void load_source_init(struct source *source, const struct source_table *table, enum reading_quantity quantity,
                      uint32_t rank, const struct gpu *device)
{
    source_init(source, table, quantity);
    load_describe(source, rank, device);
}

void load_describe(struct source *source, uint32_t rank, const struct gpu *device)
{
    source->rank = rank;
    source->slow_ms = LOAD_PERIOD_MS;
    label_format(source->id, sizeof(source->id), "%s %s", reading_quantity_name(source->quantity), device->path);
}

/*
 * The device that clock, power and heat are those of: where a DRM node hangs on the display's device (msm), the GPU
 * has a device of its own, which its clock names.
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
        strlen(path) < sizeof(gpu.path)) {
        snprintf(gpu.path, sizeof(gpu.path), "%.159s", path);
        snprintf(gpu.name, sizeof(gpu.name), "%.47s", base_name(path));
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

/* In the order of their ranks. */
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
    /* The vendor's driver of PowerVR has a scheduler of its own. */
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

        label_format(id, sizeof(id), "%s %s", reading_quantity_name(source->quantity), device->path);
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
        return "the open powervr driver tells no load: beside trace events and its time under power, what is "
               "left is "
               "the delay of our own submissions";
    }
    if (is_silent(device->driver)) {
        return "this driver tells no load by clients: what is left is the delay of our own submissions";
    }
    return NULL;
}
