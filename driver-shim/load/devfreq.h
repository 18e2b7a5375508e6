/*
 * Devfreq: the clock of a device (/sys/class/devfreq), and what it lets us guess of its load
 */
#ifndef SOTTO_LOAD_DEVFREQ_H
#define SOTTO_LOAD_DEVFREQ_H

#include "load/load.h"

/* Folder of @device's clock ("/sys/class/devfreq/fb000000.gpu") in @path. False: there is none. */
bool devfreq_find(const struct root *root, const struct gpu *device, char *path, size_t cap);

/* Highest clock of @device, or 0. */
uint64_t devfreq_highest_hz(const struct root *root, const struct gpu *device);

/* Each of the openers makes a source, or gives -ENOENT where there is no such file, or -ENOMEM. */

/* READING_CLOCK in kHz; source::most is the highest. i915's and xe's own files serve where there is no devfreq. */
int devfreq_clock_open(struct source **ret_source, const struct root *root, const struct gpu *device);

/* Vendor kernels' file `load` ("37@800000000Hz"): percent busy at that clock. Pure; false: not in this form. */
bool devfreq_load_parse(const char *text, uint32_t *ret_permille, uint64_t *ret_hz);
int devfreq_load_open(struct source **ret_source, const struct root *root, const struct gpu *device);

/* `trans_stat`: time spent at each clock. */
#define DEVFREQ_STATES_MAX 32u

struct devfreq_times {
    uint32_t n;
    uint64_t hz[DEVFREQ_STATES_MAX];
    uint64_t ms[DEVFREQ_STATES_MAX];
};

/* Pure; false: no table in it. */
bool devfreq_times_parse(struct devfreq_times *ret_times, const char *bytes, size_t n);

/*
 * Mean clock between two tables, permille of the highest: under a governor that follows the load (simple_ondemand),
 * the load is at most about that. False: no time passed, or the tables don't fit each other.
 */
bool devfreq_times_mean(const struct devfreq_times *before, const struct devfreq_times *after, uint32_t *ret_permille);

/* The guess; ABSENT under a governor that doesn't follow the load. */
int devfreq_guess_open(struct source **ret_source, const struct root *root, const struct gpu *device);

#endif
