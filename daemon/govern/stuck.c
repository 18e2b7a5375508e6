#include "govern/stuck.h"
#include <math.h>

#define FAST_S      2.0   /* filters of our share: for a die that follows at once, */
#define SLOW_S      10.0  /* and for one behind a sensor's delay */
#define MOVING_S    10.0  /* the zone counts as moving, and is learnt from, this long after a change */
#define MEMORY_S    300.0 /* of the fit: some runs of work with pauses between */
#define PROOF_S     30.0  /* of that, before anything is believed */
#define PROOF_VAR   0.01  /* our share moved by at least a tenth about its mean */
#define PROOF_PART  0.5   /* of the movement was ours */
#define DUE_STEPS   5.0   /* that should have been seen */
#define DUE_DEGREES 5.0   /* and no fewer for a fine sensor */
#define DUE_SHARE   0.2   /* of all time: slow drifts of a board balance less than that */
#define HOLD_S      40.0  /* for this long: 20 of the longest delay */

void stuck_init(struct stuck *stuck)
{
    *stuck = (struct stuck){ 0 };
}

static void follow(struct stuck *stuck, double used, double elapsed_s)
{
    stuck->fast += (used - stuck->fast) * (1.0 - exp(-elapsed_s / FAST_S));
    stuck->used += (used - stuck->used) * (1.0 - exp(-elapsed_s / SLOW_S));
}

/* Returns how far our share has moved since the value last changed: the lesser of what a quick zone and a slow one
 * would show. If a quick one has settled at once, only the slow filter moves on. */
static double moved_by(const struct stuck *stuck)
{
    double fast = stuck->fast - stuck->fast_then;
    double slow = stuck->used - stuck->used_then;

    return fast * slow > 0.0 ? fmin(fabs(fast), fabs(slow)) : 0.0;
}

/* Takes one look into the means. The gain changes only with proof. */
static void learn(struct stuck *stuck, double temp, double elapsed_s)
{
    double keep = exp(-elapsed_s / MEMORY_S);
    double weight_s = stuck->weight_s * keep + elapsed_s;
    double part = elapsed_s / weight_s;
    double used_off = stuck->used - stuck->mean_used;
    double temp_off = temp - stuck->mean_temp;

    stuck->mean_used += part * used_off;
    stuck->mean_temp += part * temp_off;
    stuck->var_used = (1.0 - part) * (stuck->var_used + part * used_off * used_off);
    stuck->var_temp = (1.0 - part) * (stuck->var_temp + part * temp_off * temp_off);
    stuck->covar = (1.0 - part) * (stuck->covar + part * used_off * temp_off);
    stuck->weight_s = weight_s;
    if (weight_s >= PROOF_S && stuck->var_used >= PROOF_VAR && stuck->covar > 0.0 &&
        stuck->covar * stuck->covar >= PROOF_PART * stuck->var_used * stuck->var_temp) {
        stuck->gain = stuck->covar / stuck->var_used;
    }
}

bool stuck_look(struct stuck *stuck, int32_t temp_mc, double step, double used, double elapsed_s)
{
    double due = fmax(DUE_DEGREES, DUE_STEPS * step);
    double moved;

    follow(stuck, used, elapsed_s);
    if (!stuck->is_started || temp_mc != stuck->temp_mc) {
        stuck->is_started = true;
        stuck->is_stuck = false;
        stuck->temp_mc = temp_mc;
        stuck->quiet_s = 0.0;
        stuck->due_s = 0.0;
        stuck->fast_then = stuck->fast;
        stuck->used_then = stuck->used;
    }
    stuck->quiet_s += elapsed_s;
    if (stuck->quiet_s <= MOVING_S) {
        learn(stuck, temp_mc / 1000.0, fmin(elapsed_s, 1.0));
    }
    moved = moved_by(stuck);
    if (moved < DUE_SHARE || stuck->gain * moved < due) {
        stuck->due_s = 0.0;
    } else {
        stuck->due_s += fmin(elapsed_s, 1.0); /* after a pause of all work there is time for a reading */
    }
    stuck->is_stuck = stuck->is_stuck || stuck->due_s >= HOLD_S;
    return stuck->is_stuck;
}
