/*
 * Cost: how long a step will take
 *
 * Linear in what a step holds: a fixed part (the weights are read once), each prompt row, each answer row, and each
 * page of earlier positions that attention goes through. The engine measures first values while it warms up; every
 * finished step corrects them. The plan asks it how many prompt rows fit, the watchdog when to worry.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_COST_H
#define SOTTO_SCHED_COST_H

#include <stddef.h>
#include <stdint.h>

enum cost_part {
    COST_FIXED,
    COST_PREFILL_ROW,
    COST_DECODE_ROW,
    COST_ATTEND_PAGE,
    COST_PART_COUNT,
};

struct cost {
    double ns[COST_PART_COUNT];    /* of one of each */
    double scale[COST_PART_COUNT]; /* first values: how far each part may be trusted to move */
};

/* What a step holds, counted in parts; [COST_FIXED] is 1. */
struct cost_load {
    uint32_t n[COST_PART_COUNT];
};

/* @first_ns of the engine; a 0 there becomes 1 ns, since a part can't be free. */
void cost_init(struct cost *cost, const uint64_t first_ns[COST_PART_COUNT]);

/* Foretold time in nanoseconds. */
double cost_of(const struct cost *cost, const struct cost_load *load);

/* A step with @load took @took_ns. */
void cost_learn(struct cost *cost, const struct cost_load *load, uint64_t took_ns);

#endif
