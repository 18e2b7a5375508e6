#include "sysfs/gpu.h"
#include "base/clean.h"
#include "sysfs/label.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRM "/sys/class/drm"

/* Kernel drivers with another name than their DRM driver. */
static const struct {
    const char *kernel;
    const char *drm;
} renamed[] = {
    { "pvrsrvkm", "pvr" },        { "adreno", "msm" },        { "msm-mdss", "msm" },
    { "msm_dpu", "msm" },         { "msm_mdp", "msm" },       { "vc4-drm", "vc4" },
    { "etnaviv-gpu", "etnaviv" }, { "nvidia", "nvidia-drm" }, { "rockchip-drm", "rockchip" },
};

bool gpu_set_path(struct gpu *gpu, const char *path)
{
    if (strlen(path) >= sizeof(gpu->path)) {
        return false;
    }
    snprintf(gpu->path, sizeof(gpu->path), "%.159s", path);
    snprintf(gpu->name, sizeof(gpu->name), "%.47s", root_base_name(path));
    return true;
}

/* Puts the last part of the path that the link @name in @folder points to into @word; "" if there is none. */
static void read_link_name(const struct root *root, const char *folder, const char *name, char *word, size_t cap)
{
    char path[256];
    char target[512];

    word[0] = '\0';
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (root_read_link(root, path, target, sizeof(target)) == 0) {
        label_format(word, cap, "%s", root_base_name(target));
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
    /* Virtual devices have no driver: the device's own name stands for it. */
    snprintf(device->driver, sizeof(device->driver), "%.23s", word[0] ? gpu_drm_name(word) : device->name);
}

bool gpu_parse_node(const char *name, bool *ret_is_render, uint32_t *ret_minor)
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

/* Returns the device at @path in the list, added if it is new; NULL: the list is full. */
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
    gpu_set_path(device, path);
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

/* Connectors are listed next to their card: "card0-HDMI-A-1". */
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

/* Appends the Adreno GPU of the vendor's own driver, which has no DRM node. */
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
    devices[n] = (struct gpu){ .minor = GPU_NO_MINOR, .card = GPU_NO_MINOR, .node = "kgsl-3d0", .driver = "kgsl" };
    if (root_real_path(root, GPU_KGSL "/device", path, sizeof(path)) != 0 || !gpu_set_path(&devices[n], path)) {
        gpu_set_path(&devices[n], GPU_KGSL);
    }
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

            if (!gpu_parse_node(entry->d_name, &is_render, &minor)) {
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
