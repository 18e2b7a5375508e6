/*
 * Cost: how long a step will take
 *
 * The estimate is linear in what a step holds: a fixed part (the weights are read once), each prompt row, each answer
 * row, and each page of earlier positions that attention reads. The engine measures first values while it warms up, and
 * every finished step corrects them. The plan asks how many prompt rows fit, admission what can be promised, and the
 * watchdog when to worry.
 *
 * Two things are learnt. All parts share a speed, which follows the chip's clock within a few steps. Their proportions
 * depend on the model and the engine, and are learnt slowly.
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

/* Steps that are compared to tell a change of speed from a step that was interrupted: more than half must agree. */
#define COST_RECENT 7u

/* After this many steps the cost counts as learnt; before, the warm-up's values may be far off. */
#define COST_YOUNG 24u

struct cost {
    double ns[COST_PART_COUNT]; /* of one unit of each part now: speed, scale and share multiplied */

    double scale[COST_PART_COUNT];                  /* first values: the unit in which each part is learnt */
    double share[COST_PART_COUNT];                  /* of scale; 1 at first */
    double doubt[COST_PART_COUNT][COST_PART_COUNT]; /* covariance of the shares, in units of a step's noise */
    double speed;                                   /* common to all parts; 2: everything takes twice as long */
    double recent[COST_RECENT];                     /* measured over estimated, since speed last changed */
    uint32_t n_recent;
    uint32_t n_learnt; /* steps, up to COST_YOUNG */
};

/* The content of a step, counted in parts; [COST_FIXED] is 1. */
struct cost_load {
    uint32_t n[COST_PART_COUNT];
};

/* @first_ns come from the engine; a 0 there was not measured, and is guessed. */
void cost_init(struct cost *cost, const uint64_t first_ns[COST_PART_COUNT]);

/* Returns the estimated time in nanoseconds; above 0 for any load that holds something. */
double cost_of(const struct cost *cost, const struct cost_load *load);

/* Learns from a whole step with @load that took @took_ns of the chip. Time between slices does not count, and a step
 * that was cut (fewer rows than planned) must not be passed. 0 teaches nothing. */
void cost_learn(struct cost *cost, const struct cost_load *load, uint64_t took_ns);

#endif
