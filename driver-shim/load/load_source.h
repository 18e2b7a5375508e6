/*
 * Load source: the rank and the fields that all sources of load share
 */
#ifndef SOTTO_LOAD_LOAD_SOURCE_H
#define SOTTO_LOAD_LOAD_SOURCE_H

#include "sense/source.h"
#include "sysfs/gpu.h"

enum load_rank {
    LOAD_RANK_VENDOR = 10,  /* pvr/status: 3D and compute apart, all clients of all guests */
    LOAD_RANK_FDINFO = 20,  /* every client by itself */
    LOAD_RANK_SCHED = 30,   /* jobs by trace events: queued in firmware counts as running */
    LOAD_RANK_BUSY = 40,    /* one percentage, measured by the device; includes our own load */
    LOAD_RANK_DEVFREQ = 45, /* one percentage, measured by the clock's governor; includes our own load */
    LOAD_RANK_POWER = 60,   /* time under power: an upper bound that includes our own load */
    LOAD_RANK_CLOCK = 70,   /* time at each clock: a hint that includes our own load */
};

/* Makes a source as source_create() does, and describes it. */
struct source *load_source_create(size_t bytes, const struct source_table *table, enum reading_quantity quantity,
                                  uint32_t rank, const struct root *root, const struct gpu *device);

/* Fills in rank, period and id of an initialised source. */
void load_describe(struct source *source, uint32_t rank, const struct gpu *device);

#endif
