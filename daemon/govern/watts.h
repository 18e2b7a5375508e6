/*
 * Watts: what a share of time of ours costs, and a ceiling for the chip
 *
 * The meter shows the whole chip. From how it follows our work the watts of a full share are fitted (least
 * squares that forget over half a minute), and the rest is others'. So the ceiling that policy sets is held
 * by an integral controller that knows how much of it is ours. What others take says nothing of temperature:
 * a share that was cut for a rise of others' watts came back with the fit, and went again, once in every
 * period of the meter.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_WATTS_H
#define SOTTO_GOVERN_WATTS_H

#include <stdbool.h>
#include <stdint.h>

struct governor_bound;
struct governor_input;
struct governor_policy;

struct watts {
    double used;                            /* our share, filtered as meters filter */
    double n, sum_u, sum_p, sum_uu, sum_up; /* of the fit; they forget */
    double ours_mw;                         /* of a full share; 0: not known yet */
    double others_mw;                       /* now */
    double share;                           /* that the ceiling allows */
    uint64_t at_us;                         /* of the last reading taken in */
};

void watts_init(struct watts *watts);

/* What the ceiling leaves us. @used: share of time that our work took since the last tick. */
void watts_tick(struct watts *watts, const struct governor_policy *policy, const struct governor_input *input,
                double elapsed_s, double used, struct governor_bound *ret_bound);

#endif
