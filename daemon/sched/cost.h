/*
 * Cost: how long a step will take
 *
 * Linear in what a step holds: a fixed part (the weights are read once), each prompt row, each answer row, and each
 * page of earlier positions that attention goes through. The engine measures first values while it warms up; every
 * finished step corrects them. The plan asks it how many prompt rows fit, admission what can be promised, the watchdog
 * when to worry.
 *
 * What is learnt moves in two ways. All parts have a speed in common, which follows the chip's clock within a few
 * steps; their proportions are a matter of the model and the engine, and are learnt slowly.
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

/* Steps that are looked back at to tell a change of speed from a step that was interrupted: more than half
 * of them must agree. */
#define COST_RECENT 7u

/* From so many steps on it is learnt rather than measured by a warm-up; before, it may be far off. */
#define COST_YOUNG 24u

struct cost {
    double ns[COST_PART_COUNT]; /* of one of each, now: speed, scale and share multiplied */

    double scale[COST_PART_COUNT];                  /* first values: the unit in which each part is learnt */
    double share[COST_PART_COUNT];                  /* of scale; 1 at first */
    double doubt[COST_PART_COUNT][COST_PART_COUNT]; /* covariance of the shares, in units of a step's noise */
    double speed;                                   /* in common; 2: everything takes twice as long */
    double recent[COST_RECENT];                     /* measured over foretold, since speed last changed */
    uint32_t n_recent;
    uint32_t n_learnt; /* steps, up to COST_YOUNG */
};

/* What a step holds, counted in parts; [COST_FIXED] is 1. */
struct cost_load {
    uint32_t n[COST_PART_COUNT];
};

/* @first_ns of the engine; a 0 there was not measured, and is guessed. */
void cost_init(struct cost *cost, const uint64_t first_ns[COST_PART_COUNT]);

/* Foretold time in nanoseconds; above 0 for any load that holds something. */
double cost_of(const struct cost *cost, const struct cost_load *load);

/* A whole step with @load took @took_ns of the chip: not what it stood still between slices, and not a
 * step that was cut (fewer rows than planned). 0 teaches nothing. */
void cost_learn(struct cost *cost, const struct cost_load *load, uint64_t took_ns);

#endif
