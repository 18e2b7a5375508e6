/*
 * Runtime PM: the time that the device had power since the last reading
 *
 * An upper bound of its load, our own work included: a device is suspended some time after its last job (powervr: 50
 * ms). Where it is never suspended (it drives a display, or was told to stay on), the reading says so and has no value.
 */
#ifndef SOTTO_LOAD_RUNTIME_PM_H
#define SOTTO_LOAD_RUNTIME_PM_H

#include "load/load_source.h"

struct runtime_pm {
    uint64_t active_ms;
    uint64_t suspended_ms;
    bool can_sleep; /* false: told to stay on, so its time under power means nothing */
};

/* Reads both counters of @device. -ENODATA: the kernel counts nothing for it; else the fault of reading. */
int runtime_pm_read(const struct root *root, const struct gpu *device, struct runtime_pm *ret_times);

/* Computes the share of time under power between two readings. False: no time passed, or counters ran back. */
bool runtime_pm_share(const struct runtime_pm *before, const struct runtime_pm *after, uint32_t *ret_permille);

int runtime_pm_open(struct source **ret_source, const struct root *root, const struct gpu *device);

#endif
