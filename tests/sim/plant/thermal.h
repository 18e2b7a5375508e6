/*
 * Warmth: how warm the chip is
 *
 * Two nodes: the die, which follows its power at once, and what it sits on, which follows slowly. Power flows
 * into the die, from there to the board, from there into the air. Beside the real temperature runs a shadow:
 * the same chip, but with no power of ours from the moment when it was forked. That is what no controller can
 * do better than.
 *
 * Explicit Euler steps well below the least time constant; sums and products alone, so it is the same
 * everywhere.
 */
#ifndef SOTTO_SIM_THERMAL_H
#define SOTTO_SIM_THERMAL_H

#include "scenario.h"

struct thermal_state {
    double die_mc;
    double case_mc;
};

struct thermal {
    struct scenario_heat family;
    struct thermal_state now;
    struct thermal_state shadow; /* our power has been 0 since the fork */
    struct thermal_state alone;  /* our power has been 0 since the beginning */
    struct thermal_state full;   /* and all that it can be, since then */
    uint64_t at_ns;
    bool has_shadow;
};

void thermal_init(struct thermal *thermal, const struct scenario *scenario);

/*
 * Goes on to @now_ns. In that time our work had the chip for @ours_ns (at the highest clock's power), frames
 * for @screen_ns, and everybody else took @other_mw.
 */
void thermal_advance(struct thermal *thermal, uint64_t now_ns, double ours_ns, double screen_ns, double other_mw);

/* The shadow starts from the real temperature. */
void thermal_fork(struct thermal *thermal);
void thermal_join(struct thermal *thermal);

/* Where the die would rest with so much power. */
double thermal_rest_mc(const struct scenario_heat *family, double mw);

#endif
