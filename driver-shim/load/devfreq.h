/*
 * Devfreq: the clock of a device (/sys/class/devfreq), and the load that it suggests
 *
 * Each of the openers makes a source, or returns -ENOENT where there is no such file, or -ENOMEM. The parsers are pure.
 */
#ifndef SOTTO_LOAD_DEVFREQ_H
#define SOTTO_LOAD_DEVFREQ_H

#include "load/load_source.h"

/* Puts the folder of @device's clock ("/sys/class/devfreq/fb000000.gpu") into @path. False: there is none. */
bool devfreq_find(const struct root *root, const struct gpu *device, char *path, size_t cap);

/* Returns the highest clock of @device, or 0. */
uint64_t devfreq_highest_hz(const struct root *root, const struct gpu *device);

/*
 * Opens a source of READING_CLOCK in kHz; source::most is the maximum. Where there is no devfreq, i915's and xe's own
 * files serve.
 */
int devfreq_clock_open(struct source **ret_source, const struct root *root, const struct gpu *device);

/* Parses vendor kernels' file `load` ("37@800000000Hz"): percent busy at that clock. False: malformed. */
bool devfreq_load_parse(const char *text, uint32_t *ret_permille, uint64_t *ret_hz);
int devfreq_load_open(struct source **ret_source, const struct root *root, const struct gpu *device);

/* The file `trans_stat`: time spent at each clock. */
#define DEVFREQ_STATES_MAX 32u

struct devfreq_times {
    uint32_t n;
    uint64_t hz[DEVFREQ_STATES_MAX];
    uint64_t ms[DEVFREQ_STATES_MAX];
};

/* Parses `trans_stat`. False: there is no table in it. */
bool devfreq_times_parse(struct devfreq_times *ret_times, const char *bytes, size_t n);

/*
 * Returns the mean clock between two tables, in permille of the highest: under a governor that follows the load
 * (simple_ondemand), an upper bound of the load. False: no time passed, or the tables don't match.
 */
bool devfreq_times_mean(const struct devfreq_times *before, const struct devfreq_times *after, uint32_t *ret_permille);

/* Opens a source of that bound; it reads ABSENT under a governor that doesn't follow the load. */
int devfreq_guess_open(struct source **ret_source, const struct root *root, const struct gpu *device);

#endif
