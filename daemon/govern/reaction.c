#include "govern/reaction.h"
#include <math.h>

#define DEGREES_LEAST 10.0 /* a rise that means something */
#define USED_LEAST    0.3  /* work that takes less of the time is no step */
#define USUAL_WHOLE   60.0 /* degrees that are ours at the target: warm cabin, hot chip */
#define USUAL_LAG_S   14.0
#define PART_LEAST    0.01 /* of the whole rise, on the curve */
#define PART_MOST     0.98 /* complete, as far as a sensor can tell */
#define LAG_LEAST_S   2.0  /* a smaller lag is the sensor's */
#define LAG_MOST_S    150.0
#define RESET_MOST_S  (4.0 * REACTION_HORIZON_S) /* of the slowest: SIMC */

void reaction_begin(struct reaction *reaction, double over)
{
    bool is_cool = over < -DEGREES_LEAST;
    bool has_curve = reaction->is_begun && !reaction->is_watched && reaction->used >= USED_LEAST;

    if (!reaction->is_known && !has_curve) {
        *reaction = (struct reaction){ .first = over, .is_begun = is_cool, .is_watched = is_cool };
    }
}

void reaction_watch(struct reaction *reaction, double over, double used, double elapsed_s)
{
    if (!reaction->is_watched) {
        return;
    }
    reaction->used_s += used * elapsed_s;
    reaction->work_s += elapsed_s;
    if (over <= reaction->first && reaction->rise <= 0.0) {
        return;
    }
    reaction->curve_s += elapsed_s;
    if (over - reaction->first > reaction->rise) {
        reaction->rise = over - reaction->first;
        reaction->rise_s = reaction->curve_s;
        reaction->used = reaction->used_s / reaction->work_s;
    }
    if (reaction->curve_s >= REACTION_HORIZON_S) {
        reaction->is_watched = false;
    }
}

void reaction_end(struct reaction *reaction)
{
    reaction->is_watched = false;
}

void reaction_settle(struct reaction *reaction, double degrees, double share)
{
    bool is_step = reaction->is_begun && reaction->used >= USED_LEAST;

    if (is_step && !reaction->is_known && degrees > DEGREES_LEAST && share > 0.0) {
        reaction->whole = degrees / share;
        reaction->is_known = true;
        reaction->is_watched = false;
    }
}

/* Returns the lag of one pole that has risen by @part of the whole after @seconds. */
static double lag_of(double part, double seconds)
{
    double lag_s = -seconds / log(1.0 - fmax(PART_LEAST, fmin(part, PART_MOST)));

    return fmax(LAG_LEAST_S, fmin(lag_s, LAG_MOST_S));
}

struct reaction_gains reaction_gains(const struct reaction *reaction, double share)
{
    double whole = USUAL_WHOLE / share;
    double lag_s = USUAL_LAG_S;
    double proportional;

    if (reaction->is_known) {
        whole = reaction->whole;
        lag_s = lag_of(reaction->rise / reaction->used / whole, reaction->rise_s);
    }
    proportional = lag_s / (REACTION_HORIZON_S * whole);
    return (struct reaction_gains){
        .proportional = proportional,
        .integral = proportional / fmin(lag_s, RESET_MOST_S),
        .lag_s = lag_s,
        .soon = whole * (1.0 - exp(-REACTION_HORIZON_S / lag_s)),
    };
}
