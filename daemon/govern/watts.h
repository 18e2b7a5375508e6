/*
 * Watts: what a share of our time costs, and a ceiling for the chip
 *
 * The meter shows the whole chip. The watts of a full share are fitted from how it follows our work (least squares with
 * a memory of half a minute), and the rest is that of others. So an integral controller that knows how much is ours
 * holds the ceiling that policy sets. The power of others says nothing about temperature: a version that cut the share
 * when others' power rose gave it back with the fit and cut it again, once in every period of the meter.
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
    double n, sum_u, sum_p, sum_uu, sum_up; /* sums of the fit, with forgetting */
    double ours_mw;                         /* of a full share; 0: not known yet */
    double others_mw;                       /* now */
    double share;                           /* allowed by the ceiling */
    uint64_t at_us;                         /* last reading that was taken in */
};

void watts_init(struct watts *watts);

/* Fills in the bound that the ceiling sets. @used is the share of time that our work took since the last tick. */
void watts_tick(struct watts *watts, const struct governor_policy *policy, const struct governor_input *input,
                double elapsed_s, double used, struct governor_bound *ret_bound);

#endif
