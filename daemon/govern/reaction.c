#include "govern/reaction.h"
#include <math.h>

#define DEGREES_LEAST 10.0 /* a rise that means something */
#define USED_LEAST    0.1  /* work that takes less of the time is no step */
#define USUAL_WHOLE   60.0 /* degrees that are ours at the target: warm cabin, hot chip */
#define USUAL_LAG_S   14.0
#define PART_LEAST    0.01 /* of the whole rise, on the curve */
#define PART_MOST     0.98 /* complete, as far as a sensor can tell */
#define HOTTER        1.5  /* a chip that rises so many times as far is another one, or its fan has failed */
#define KEPT_MARGIN   1.4  /* kept gains are taken for a chip so much hotter: the air may be still, the fan dusty */
#define RESET_MOST_S  (4.0 * REACTION_HORIZON_S) /* of the slowest: SIMC */

void reaction_begin(struct reaction *reaction, double over)
{
    bool is_cool = over < -DEGREES_LEAST;
    bool has_curve = reaction->is_begun && !reaction->is_watched && reaction->used >= USED_LEAST;

    if ((!reaction->is_known || reaction->is_kept) && !has_curve) {
        *reaction = (struct reaction){
            .first = over,
            .whole = reaction->whole,
            .lag_s = reaction->lag_s,
            .is_begun = is_cool,
            .is_watched = is_cool,
            .is_known = reaction->is_known,
            .is_kept = reaction->is_kept,
        };
    }
}

void reaction_keep(struct reaction *reaction, double whole, double lag_s)
{
    reaction->whole = whole * KEPT_MARGIN;
    reaction->lag_s = lag_s;
    reaction->is_known = true;
    reaction->is_kept = true;
}

static double soon_of(double whole, double lag_s)
{
    return whole * (1.0 - exp(-REACTION_HORIZON_S / lag_s));
}

/* Compares the whole curve with kept gains, and forgets them if this chip grows hotter. */
static void compare(struct reaction *reaction)
{
    double soon = reaction->used > 0.0 ? reaction->rise / reaction->used : 0.0;
    double expected = soon_of(reaction->whole / KEPT_MARGIN, reaction->lag_s);

    if (reaction->is_kept && reaction->rise >= DEGREES_LEAST && soon > expected * HOTTER) {
        reaction->is_known = false;
        reaction->is_kept = false;
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
        compare(reaction);
    }
}

void reaction_end(struct reaction *reaction)
{
    if (reaction->is_watched && reaction->is_kept) {
        reaction->is_known = false;
        reaction->is_kept = false;
    }
    reaction->is_watched = false;
}

/* Returns the lag of one pole that has risen by @part of the whole after @seconds. */
static double lag_of(double part, double seconds)
{
    double lag_s = -seconds / log(1.0 - fmax(PART_LEAST, fmin(part, PART_MOST)));

    return fmax(REACTION_LAG_LEAST_S, fmin(lag_s, REACTION_LAG_MOST_S));
}

void reaction_settle(struct reaction *reaction, double degrees, double share)
{
    bool is_step = reaction->is_begun && reaction->used >= USED_LEAST;

    if (is_step && (!reaction->is_known || reaction->is_kept) && degrees > DEGREES_LEAST && share > 0.0) {
        reaction->whole = degrees / share;
        reaction->lag_s = lag_of(reaction->rise / reaction->used / reaction->whole, reaction->rise_s);
        reaction->is_known = true;
        reaction->is_kept = false;
        reaction->is_watched = false;
    }
}

struct reaction_gains reaction_gains(const struct reaction *reaction, double share)
{
    double whole = USUAL_WHOLE / share;
    double lag_s = USUAL_LAG_S;
    double proportional;

    if (reaction->is_known) {
        whole = reaction->whole;
        lag_s = reaction->lag_s;
    }
    proportional = lag_s / (REACTION_HORIZON_S * whole);
    return (struct reaction_gains){
        .proportional = proportional,
        .integral = proportional / fmin(lag_s, RESET_MOST_S),
        .lag_s = lag_s,
        .soon = soon_of(whole, lag_s),
    };
}
