/*
 * Suspend time: how long the machine was suspended, from two clocks
 *
 * The boot clock continues while the machine is suspended, the monotonic clock does not: their difference grows by the
 * time suspended. Pure.
 */
#ifndef SOTTO_SENSOR_SUSPEND_TIME_H
#define SOTTO_SENSOR_SUSPEND_TIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Two clocks are not read at one instant; the thread may even be preempted in between. Shorter times than this are
 * added up, not lost.
 */
#define SUSPEND_TIME_LEAST_US 100000u

struct suspend_time {
    uint64_t apart_us; /* boot minus monotonic, the smallest since the last reported suspension */
    uint64_t total_us; /* total since the start */
    bool has_apart;
};

/* Returns the time suspended since the last call; 0: none. Read the monotonic clock first. */
uint64_t suspend_time_check(struct suspend_time *suspend, uint64_t mono_us, uint64_t boot_us);

#endif
