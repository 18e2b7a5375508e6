/*
 * Limits: what the governor allows, and what the scheduler plans with
 *
 * The governor writes them for each processor, and the scheduler reads them; neither needs to know more of the other.
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
    GOVERNOR_FULL,   /* the place is ours alone */
    GOVERNOR_SHARED, /* somebody draws: short slices, pauses between them */
    GOVERNOR_THIN,   /* next to nothing is left: the highest class only, or what min_share leaves */
    GOVERNOR_CPU,    /* the device is full of graphics: new streams compute on the cores */
    GOVERNOR_PAUSED, /* nothing runs */
    GOVERNOR_MODE_COUNT,
};

/* Why the limits are what they are: the tightest bound. */
enum governor_cause {
    GOVERNOR_FREE, /* nothing bounds */
    GOVERNOR_GRAPHICS,
    GOVERNOR_HINT, /* a compositor's word */
    GOVERNOR_HEAT, /* the controller holds the target */
    GOVERNOR_TRIP, /* a trip point of the kernel's is near or passed */
    GOVERNOR_POWER,
    GOVERNOR_PRESSURE,
    GOVERNOR_SLEEP,
    GOVERNOR_BLIND_GRAPHICS, /* a load that should be seen is not: taken for busy */
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
    uint32_t slice_us;        /* longest unbroken time on the place; 0: no bound */
    uint32_t duty_permille;   /* share of time that the place may be ours: after t idle for t (1000 / duty - 1) */
    uint32_t n_rows;          /* of a step at most; 0: what the engine takes */
    enum priority class_gate; /* lower classes wait */
    uint32_t kv_permille;     /* of its ceiling that an engine's pages may use */
    uint64_t busy_until_us;   /* a compositor draws hard until then, and says so; 0: none does */
    uint32_t usual_permille;  /* the duty of the last second or so, as a mean, but for such times */
};

/* True if @priority may run under @limits. A mode says this in a word, but a freer word has to dwell: work does not wait
 * for it. */
static inline bool governor_lets_run(const struct governor_limits *limits, enum priority priority)
{
    return limits->duty_permille > 0 && priority >= limits->class_gate;
}

#endif
