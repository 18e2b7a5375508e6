/*
 * Sleep: how long the machine slept, from two clocks
 *
 * The boot clock runs on while the machine sleeps, the monotonic one stands still: what lies between them grows by
 * the time slept. Pure.
 */
#ifndef SOTTO_SENSOR_SUSPEND_H
#define SOTTO_SENSOR_SUSPEND_H

#include <stdbool.h>
#include <stdint.h>

/* Two clocks are never read in one instant; a thread may even wait between the two. Shorter sleeps than this don't
 * count, and are not lost: they add up. */
#define SUSPEND_LEAST_US 100000u

struct suspend {
    uint64_t apart_us; /* boot less monotonic, the least seen since the last sleep that was told */
    uint64_t total_us; /* slept since the start */
    bool has_apart;
};

/* Time slept since the last call; 0: none. Read the monotonic clock first. */
uint64_t suspend_check(struct suspend *suspend, uint64_t mono_us, uint64_t boot_us);

#endif
