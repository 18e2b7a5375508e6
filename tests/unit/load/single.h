/*
 * Single: a device and the one source that a test opens
 */
#ifndef SOTTO_LOAD_SINGLE_H
#define SOTTO_LOAD_SINGLE_H

#include "load/gpu.h"

#define MS 1000ull

static const struct gpu *device;
static struct source *source;
static struct reading reading;

static inline void make(void)
{
    device = gpu_make("panthor");
}

static inline void end(void)
{
    source_destroy(source);
    tree_remove();
}

static inline void look(uint64_t now_us)
{
    source_read(source, now_us, &reading);
}

#endif
