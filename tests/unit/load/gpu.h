/*
 * Gpu: a device with a render node, and processes that have it open, in the tree of a test
 *
 * gpu_make() makes the device as sysfs shows it; gpu_hold() gives a process a descriptor of a node with a fdinfo text.
 * Process 1, which every machine has, comes with the device.
 */
#ifndef SOTTO_LOAD_GPU_H
#define SOTTO_LOAD_GPU_H

#include "load/load.h"
#include "sysfs/tree.h"
#include <inttypes.h>
#include <stdarg.h>

#define GPU_PATH "/sys/devices/platform/fd00000.gpu"

/* The lines that the kernel puts before the driver's. */
#define GPU_HEAD "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t603\n"

static inline void gpu_process(uint32_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/comm", pid);
    tree_write(path, name);
    snprintf(path, sizeof(path), "/proc/%u/fd", pid);
    tree_folder(path);
    /* Standard input, which is not a device. */
    snprintf(path, sizeof(path), "/proc/%u/fd/0", pid);
    tree_link(path, "/dev/null");
}

static inline void gpu_node(const char *name, const char *device)
{
    char path[96];
    char target[160];

    snprintf(path, sizeof(path), "/sys/class/drm/%s", name);
    tree_folder(path);
    snprintf(path, sizeof(path), "/sys/class/drm/%s/device", name);
    snprintf(target, sizeof(target), "../../..%s", device + strlen("/sys"));
    tree_link(path, target);
}

static inline void gpu_driver(const char *device, const char *driver, const char *subsystem)
{
    char path[160];
    char target[96];

    tree_folder(device);
    snprintf(path, sizeof(path), "%s/driver", device);
    snprintf(target, sizeof(target), "../../../bus/%s/drivers/%s", subsystem, driver);
    tree_link(path, target);
    snprintf(path, sizeof(path), "%s/subsystem", device);
    snprintf(target, sizeof(target), "../../../bus/%s", subsystem);
    tree_link(path, target);
}

/* Makes a platform device with renderD128 and card0. */
static inline const struct gpu *gpu_make(const char *driver)
{
    static struct gpu device;

    tree_make();
    gpu_driver(GPU_PATH, driver, "platform");
    gpu_node("renderD128", GPU_PATH);
    gpu_node("card0", GPU_PATH);
    gpu_process(1, "init\n");
    ck_assert_uint_eq(gpu_list(&tree_root, &device, 1), 1);
    return &device;
}

/* Changes the fdinfo text of an existing descriptor. */
static inline void gpu_say(uint32_t pid, uint32_t fd, const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline void gpu_say(uint32_t pid, uint32_t fd, const char *format, ...)
{
    static char text[8192];
    char path[64];
    va_list args;
    int n = snprintf(text, sizeof(text), GPU_HEAD);

    va_start(args, format);
    vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
    va_end(args);
    snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", pid, fd);
    tree_write(path, text);
}

static inline void gpu_open(uint32_t pid, uint32_t fd, const char *node)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, fd);
    tree_link(path, node);
}

/* Sets the fdinfo text: client @id was busy for @ns on engine "render". */
static inline void gpu_render(uint32_t pid, uint32_t fd, uint64_t id, uint64_t ns)
{
    gpu_say(pid, fd, "drm-driver:\tv3d\ndrm-client-id:\t%" PRIu64 "\ndrm-engine-render:\t%" PRIu64 " ns\n", id, ns);
}

#endif
