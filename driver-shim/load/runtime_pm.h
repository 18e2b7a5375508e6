/*
 * Runtime PM: how long the device had power since the last reading
 *
 * An upper bound of its load, our own work in it: a device goes to sleep some time after its last job (powervr: 50
 * ms). Says so where it can't sleep (a display hangs on it, or it was told to stay on): then it says nothing.
 */
#ifndef SOTTO_LOAD_RUNTIME_PM_H
#define SOTTO_LOAD_RUNTIME_PM_H

#include "load/load.h"

struct runtime_pm {
    uint64_t active_ms;
    uint64_t suspended_ms;
    bool can_sleep; /* false: it was told to stay on, so its time under power says nothing */
};

/* Both counters of @device. Faults are those of reading; -ENODATA: the kernel counts nothing for it. */
int runtime_pm_read(const struct root *root, const struct gpu *device, struct runtime_pm *ret_times);

/* Share of time under power between two readings. False: no time passed, or counters ran back. */
bool runtime_pm_share(const struct runtime_pm *before, const struct runtime_pm *after, uint32_t *ret_permille);

int runtime_pm_open(struct source **ret_source, const struct root *root, const struct gpu *device);

#endif
