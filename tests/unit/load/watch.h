/*
 * Watch: a device's fdinfo sources over the tree of a test, and processes that hold it
 */
#ifndef SOTTO_LOAD_WATCH_H
#define SOTTO_LOAD_WATCH_H

#include "load/fdinfo.h"
#include "load/gpu.h"

#define MS   1000ull
#define NODE "/dev/dri/renderD128"

static const struct gpu *device;
static struct source *graphics;
static struct source *compute;
static struct reading reading;

static inline void make_driver(const char *driver)
{
    device = gpu_make(driver);
    ck_assert_int_eq(fdinfo_open(&graphics, &compute, &tree_root, device), 0);
}

static inline void make(void)
{
    make_driver("v3d");
}

static inline void end(void)
{
    source_destroy(graphics);
    source_destroy(compute);
    tree_remove();
}

static inline void look(uint64_t now_us)
{
    source_read(graphics, now_us, &reading);
}

/* Adds a process with one descriptor, of a client that was busy for @ns. */
static inline void hold(uint32_t pid, uint32_t fd, const char *node, uint64_t id, uint64_t ns)
{
    gpu_process(pid, "app\n");
    gpu_open(pid, fd, node);
    gpu_render(pid, fd, id, ns);
}

#endif
