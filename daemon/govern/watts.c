#include "govern/governor.h"
#include <math.h>

#define METER_S      0.5  /* usual averaging of a power meter */
#define FORGET_S     30.0 /* memory of the fit, and of others' usual power */
#define SPREAD_LEAST 0.01 /* variance of our share: with less, the fit means nothing */
#define HOLD_S       1.0  /* time constant of holding the ceiling: two of the meter's */
#define SHARE_LEAST  0.01

void watts_init(struct watts *watts)
{
    *watts = (struct watts){ .share = 1.0 };
}

/* Fits power over share by least squares with weights that fall with age. */
static void fit(struct watts *watts, double mw, double elapsed_s)
{
    double keep = exp(-elapsed_s / FORGET_S);
    double u = watts->used;
    double spread;
    double slope;

    watts->n = watts->n * keep + 1.0;
    watts->sum_u = watts->sum_u * keep + u;
    watts->sum_p = watts->sum_p * keep + mw;
    watts->sum_uu = watts->sum_uu * keep + u * u;
    watts->sum_up = watts->sum_up * keep + u * mw;
    spread = watts->sum_uu / watts->n - watts->sum_u / watts->n * (watts->sum_u / watts->n);
    if (spread < SPREAD_LEAST) {
        return; /* the earlier fit still holds */
    }
    slope = (watts->sum_up / watts->n - watts->sum_u / watts->n * (watts->sum_p / watts->n)) / spread;
    if (slope > 0.0) {
        watts->ours_mw = slope;
    }
}

/* Updates both powers. Others' usual power is what the same fit leaves of the same means: while our share is usual,
 * an error of the fit is in both and does not look like a rise. */
static void take_in(struct watts *watts, double mw, double elapsed_s)
{
    fit(watts, mw, elapsed_s);
    watts->others_mw = fmax(0.0, mw - watts->ours_mw * watts->used);
}

/* Moves the share by what is missing to the ceiling or above it; if our watts are known, not beyond what others
 * leave. */
static void hold(struct watts *watts, double mw, double ceiling_mw, double elapsed_s)
{
    double most = 1.0;

    watts->share *= 1.0 + (1.0 - mw / ceiling_mw) * fmin(elapsed_s, HOLD_S) / HOLD_S;
    if (watts->ours_mw > 0.0) {
        most = (ceiling_mw - watts->others_mw) / watts->ours_mw;
    }
    watts->share = fmax(SHARE_LEAST, fmin(watts->share, fmin(most, 1.0)));
}

void watts_tick(struct watts *watts, const struct governor_policy *policy, const struct governor_input *input,
                double elapsed_s, double used, struct governor_bound *ret_bound)
{
    uint64_t grace_us = policy->heat_grace_ms * UINT64_C(1000);
    double share = 1.0;

    *ret_bound = (struct governor_bound){ .cause = GOVERNOR_POWER, .duty_permille = 1000 };
    watts->used += (used - watts->used) * (1.0 - exp(-elapsed_s / METER_S));
    if (input->power.sight == GOVERNOR_SEEN && input->power.at_us > watts->at_us) {
        double since_s = watts->at_us ? (double)(input->power.at_us - watts->at_us) / 1e6 : elapsed_s;

        take_in(watts, input->power.mw, since_s);
        if (policy->power_mw > 0) {
            hold(watts, input->power.mw, policy->power_mw, since_s);
        }
        watts->at_us = input->power.at_us;
    }
    if (policy->power_mw == 0) {
        return;
    }
    share = watts->share;
    if (input->power.sight != GOVERNOR_NONE && input->now_us > watts->at_us + grace_us && !policy->trusts_blind) {
        share /= 2.0; /* no longer read: half of what held it */
    }
    ret_bound->duty_permille = (uint32_t)(1000.0 * share);
    if (input->power.sight == GOVERNOR_NONE) {
        ret_bound->duty_permille = 1000;
    }
}
