/*
 * Thermal: how warm the chip is
 *
 * Two nodes: the die, which follows its power at once, and what it is mounted on, which follows slowly. Power flows
 * into the die, from there to the board, and from there into the air. Beside the real temperature runs a shadow: the
 * same chip with less of our power since some moment. It shows what a better controller could have done.
 *
 * Explicit Euler steps well below the least time constant use sums and products alone, so the result is the same
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
    struct thermal_state shadow; /* with our power since the fork, but at most shadow_share of it */
    struct thermal_state alone;  /* without power of ours since the start */
    struct thermal_state full;   /* with all of our power since the start */
    uint64_t at_ns;
    double shadow_share;
    bool has_shadow;
};

void thermal_init(struct thermal *thermal, const struct scenario *scenario);

/*
 * Advances to @now_ns. In that time our work had the chip for @ours_ns (at the power of the highest clock), frames for
 * @screen_ns, and all others took @other_mw.
 */
void thermal_advance(struct thermal *thermal, uint64_t now_ns, double ours_ns, double screen_ns, double other_mw);

/* Starts the shadow from the real temperature, with all of our power. */
void thermal_fork(struct thermal *thermal);

/* From now on the shadow has at most @share of our power. */
void thermal_bound(struct thermal *thermal, double share);

/* Computes what a governor learns of this chip: the degrees of our full power in the end, and the lag of one pole that
 * rises as far within REACTION_HORIZON_S. */
void thermal_reaction(const struct scenario *scenario, double *ret_whole, double *ret_lag_s);

/* Returns the equilibrium of the die at this power. */
double thermal_rest_mc(const struct scenario_heat *family, double mw);

#endif
