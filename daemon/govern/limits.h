/*
 * Limits: what the governor allows and the scheduler plans with
 *
 * The governor sets them for each processor, and the scheduler reads them. Neither needs to know more of the other.
 */
#ifndef SOTTO_GOVERN_LIMITS_H
#define SOTTO_GOVERN_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* The priority classes of requests, the lowest first. */
enum priority {
    PRIORITY_BACKGROUND,
    PRIORITY_INTERACTIVE,
    PRIORITY_REALTIME,
    PRIORITY_COUNT,
};

enum governor_mode {
    GOVERNOR_FULL,   /* no other user of the processor */
    GOVERNOR_SHARED, /* others draw: short slices, pauses between them */
    GOVERNOR_THIN,   /* next to nothing is left, or a little to realtime only */
    GOVERNOR_CPU,    /* graphics fill the GPU: new streams compute on the cores */
    GOVERNOR_PAUSED, /* nothing runs */
    GOVERNOR_MODE_COUNT,
};

/* Why the limits are as they are: the tightest bound. */
enum governor_cause {
    GOVERNOR_FREE, /* there is no bound */
    GOVERNOR_GRAPHICS,
    GOVERNOR_CONTENTION, /* our own work waits for others, and no driver reports their load */
    GOVERNOR_HINT,       /* a compositor reported it */
    GOVERNOR_HEAT,       /* the controller holds the target */
    GOVERNOR_TRIP,       /* a trip point of the kernel is near or passed */
    GOVERNOR_POWER,
    GOVERNOR_PRESSURE,
    GOVERNOR_SLEEP,
    GOVERNOR_BLIND_GRAPHICS, /* a load that should be seen is not: taken for full */
    GOVERNOR_BLIND_HEAT,     /* a temperature that should be seen is not: taken for hot */
    GOVERNOR_CAUSE_COUNT,
};

enum processor {
    PROCESSOR_GPU,
    PROCESSOR_CPU,
    PROCESSOR_COUNT,
};

struct governor_limits {
    enum governor_mode mode;
    enum governor_cause cause;
    uint32_t slice_us;        /* longest unbroken time on the processor; 0: no bound */
    uint32_t duty_permille;   /* share of time that is ours: after t a rest of t (1000 / duty - 1) */
    uint32_t n_rows;          /* of a step at most; 0: as many as the engine takes */
    enum priority class_gate; /* lower classes wait */
    uint32_t kv_permille;     /* part of its page pool that an engine may use */
    uint64_t busy_until_us;   /* a compositor announced that it draws hard until then; 0: none did */
    uint32_t usual_permille;  /* mean duty of the last second or so, without such times */
};

/* True if @priority may run under @limits. The mode says the same, but a freer mode is reached only after a dwell,
 * and work does not wait for that. */
static inline bool governor_lets_run(const struct governor_limits *limits, enum priority priority)
{
    return limits->duty_permille > 0 && priority >= limits->class_gate;
}

/* True if @limits bound the time on the processor: by slices, a duty, or both. */
static inline bool governor_bounds_time(const struct governor_limits *limits)
{
    return limits->slice_us > 0 || limits->duty_permille < 1000;
}

#endif
