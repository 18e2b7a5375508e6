/*
 * The constants were chosen over thousands of random plants (two nodes; resistance x 1/2 to 2; 1 to 60 s; sensors that
 * round, 0.05 to 1 s apart and up to 2 s late; other heat of 0 to 80 % of what the target allows, coming and going at
 * once): tests/sim, families heat, disturbed, hot. docs/scheduling.md has the reasons and the results.
 */
#include "govern/thermostat.h"
#include <math.h>

#define PROPORTION_REACH 25.0  /* degrees */
#define INTEGRAL_OVER    2.0   /* times the integral's pace above the aim: it falls faster than it rises */
#define FIRST_DEGREES    120.0 /* so many a full share may add at once, to an unknown chip: the first share spares it */
#define HOTTEST_WHOLE    200.0 /* of a full share: more than any chip that can be cooled */
#define FIRST_KNOWN      0.8   /* of the share that holds a known chip */
#define GROWTH_FIRST     0.1   /* a second, of an unknown chip that has not come near: in seven seconds twice as much */
#define GROWTH_MOST      0.03  /* the same once it has */
#define GROWTH_KNOWN     0.03  /* a second, of the whole range, of a known chip */
#define AIM_BELOW        0.5   /* below the target; more than half a step of usual sensors */
#define PASSED           0.3   /* above the aim: noise of a fine sensor does not count as passing */
#define PASSED_MUCH      2.0   /* degrees above the target that are tolerated */
#define APPROACH_S       12.0  /* a rise that would pass the aim within this is slowed down: six of the longest delay */
#define APPROACH_RATE    0.3   /* a second, in full when it would pass by APPROACH_FULL */
#define APPROACH_FULL    4.0   /* degrees */
#define SLOPE_OF_STEP    0.16  /* slope that one step of the sensor looks like, for each degree of it: no movement */
#define SLOPE_NOISE      0.04  /* a second: slices and rests that are sampled look like that */
#define SLOPE_KEPT_S     5.0   /* others that begin to warm the chip do so for longer than the filter's memory */
#define RUSH_S           3.0   /* a delay and a filter */
#define LEAP             0.5   /* degrees from one reading to the next, and two steps of the sensor */
#define NEAR             2.5   /* degrees below the aim */
#define NEAR_S           6.0   /* near the aim for this long means held, not passed through */
#define FILTER_FAST_S    1.0
#define FILTER_SLOW_S    2.0
#define USED_S           3.0
#define RIGHT_LEAST      0.1
#define MARGIN           0.4   /* of what the peak shows to have been right */
#define LEAST            0.005 /* percents of nothing would not grow */
#define UNSEEN           0.05  /* grows this far without being used, as a class gate may keep work away below */
#define UNPROVEN         0.05  /* first share of a chip that is hot when we begin */
#define USES             0.5   /* of the share: work that uses less says little */

/* Giving way, on a known chip that is slow enough. WAY_FAR is by how many degrees it may be above its
 * target by now. */
#define SLOW_S    4.0  /* lag: a late sensor warns in time of a chip slower than this */
#define WAY_FAR   4.0  /* twice what is tolerated: cut */
#define WAY_TIMES 2.0  /* more than needed in the end by this factor, so that it acts in time */
#define WAY_S     4.0  /* an overshoot expected by the horizon is removed within this */
#define FALL      0.09 /* a second that the share may always fall, as that goes unnoticed */
#define FALL_PART 0.7  /* for each degree a second of the slope: all of it in the time of 1.5 degrees */

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

void thermostat_init(struct thermostat *thermostat)
{
    *thermostat = (struct thermostat){ .integral = 1.0, .share = 1.0 };
}

void thermostat_keep(struct thermostat *thermostat, double whole, double lag_s)
{
    reaction_keep(&thermostat->reaction, whole, lag_s);
}

double thermostat_blind_share(const struct thermostat *thermostat)
{
    return fmax(thermostat->share, thermostat->integral) / 2.0;
}

double thermostat_share_of(const struct thermostat *thermostat, double degrees)
{
    double whole = thermostat->reaction.is_known ? thermostat->reaction.whole : HOTTEST_WHOLE;

    /* Below UNSEEN the integral can grow without work, so it comes back above this share. */
    return clamp(degrees / whole, LEAST, UNSEEN);
}

double thermostat_aim(double target, double step)
{
    double aim = target - AIM_BELOW;

    return step > 0.0 ? floor(aim / step) * step : aim;
}

/* Returns the first integral of a chip @below degrees cooler than its aim. Nothing shows how it responds before a
 * late sensor does, and by then a fast die has taken all of its rise. Kept gains may be wrong, and allow no more. */
static double first_of(const struct reaction *reaction, double below)
{
    double share = below / FIRST_DEGREES;
    double proportion = reaction_gains(&(struct reaction){ 0 }, 1.0).proportional;
    double integral = share / (1.0 + proportion * clamp(below, 0.0, PROPORTION_REACH));

    if (reaction->is_known) {
        integral = fmin(integral, FIRST_KNOWN * below / reaction->whole);
    }
    return clamp(integral, UNPROVEN, 1.0);
}

static void begin(struct thermostat *thermostat, const struct thermostat_reading *reading)
{
    if (!thermostat->is_started) {
        thermostat->integral = first_of(&thermostat->reaction, -reading->over);
        thermostat->share = thermostat->integral;
        thermostat->growth = thermostat->reaction.is_known ? GROWTH_MOST : GROWTH_FIRST;
        thermostat->lowest = reading->over;
    }
    thermostat->over = reading->over;
    thermostat->over_before = reading->over;
    for (unsigned int i = 0; i < THERMOSTAT_PAST; i++) {
        thermostat->past[i] = reading->over;
    }
    thermostat->fast = reading->over;
    thermostat->slow = reading->over;
    thermostat->steepest = 0.0;
    thermostat->near_s = 0.0;
    thermostat->wait_s = 0.0;
    thermostat->used = 0.0;
    reaction_begin(&thermostat->reaction, reading->over);
    thermostat->is_started = true;
}

/* ---- what the readings show */

static void compare(struct thermostat *thermostat, const struct thermostat_reading *reading)
{
    thermostat->past_s += reading->elapsed_s;
    if (thermostat->past_s >= 1.0) {
        thermostat->past[1] = thermostat->past[0];
        thermostat->past[0] = reading->over;
        thermostat->past_s = 0.0;
    }
    if (reading->over < thermostat->over || reading->over > thermostat->over) {
        thermostat->over_before = thermostat->over;
        thermostat->over = reading->over;
    }
}

/* Follows the reading. Returns the slope in degrees a second, less what one step of the sensor would look like. */
static double follow(struct thermostat *thermostat, const struct thermostat_reading *reading)
{
    double s = reading->elapsed_s;
    double slope;

    thermostat->used += (reading->used - thermostat->used) * s / (USED_S + s);
    thermostat->fast += (reading->over - thermostat->fast) * s / (FILTER_FAST_S + s);
    thermostat->slow += (thermostat->fast - thermostat->slow) * s / (FILTER_SLOW_S + s);
    thermostat->lowest = fmin(thermostat->lowest, reading->over);
    compare(thermostat, reading);
    if (reading->over < -NEAR) {
        thermostat->near_s = 0.0;
    } else if (reading->over <= 0.0) {
        thermostat->near_s += s;
    }
    slope = (thermostat->fast - thermostat->slow) / FILTER_SLOW_S;
    return slope > 0.0 ? fmax(0.0, slope - SLOPE_OF_STEP * reading->step) : slope;
}

/* Returns the slope without delay, of the filters or of the last seconds. One step of the sensor to and fro is no
 * slope. */
static double steep_of(const struct thermostat *thermostat, const struct thermostat_reading *reading, double slope)
{
    double seconds = THERMOSTAT_PAST - 1 + thermostat->past_s;
    double lately = (reading->over - reading->step - thermostat->past[THERMOSTAT_PAST - 1]) / seconds;

    return fmax(slope, lately);
}

/* Evaluates the first warm-up when the aim has been held for a while. The share stays as it is, whatever its parts. */
static void learn(struct thermostat *thermostat, const struct thermostat_reading *reading)
{
    struct reaction *reaction = &thermostat->reaction;
    bool was_known = reaction->is_known;
    double before;
    double after;

    reaction_watch(reaction, reading->over, reading->used, reading->elapsed_s);
    if (was_known && !reaction->is_known) {
        thermostat->integral = fmax(thermostat->integral, thermostat->used / 2.0); /* what its gains added is gone */
    }
    if ((reaction->is_known && !reaction->is_kept) || thermostat->near_s < NEAR_S) {
        return;
    }
    before = reaction_gains(reaction, thermostat->integral).proportional * -reading->over;
    reaction_settle(reaction, -thermostat->lowest, thermostat->used);
    if (reaction->is_known && !reaction->is_kept) {
        after = reaction_gains(reaction, thermostat->integral).proportional * -thermostat->slow;
        thermostat->integral = clamp(thermostat->integral + before - after, LEAST, 1.0);
    }
}

/* ---- above the aim */

/* True if the reading leapt above the target, so that the next one would be as far above. */
static bool leaps(const struct thermostat *thermostat, double over, double step)
{
    return over > fmax(AIM_BELOW, step) && thermostat->over - thermostat->over_before >= fmax(LEAP, 2.0 * step);
}

static bool passes(const struct thermostat *thermostat, const struct thermostat_reading *reading, double slope)
{
    double over = reading->over;

    if (over >= PASSED_MUCH || leaps(thermostat, over, reading->step)) {
        return true;
    }
    if (!thermostat->reaction.is_known && thermostat->near_s < NEAR_S) {
        return over > PASSED;
    }
    return over > PASSED && over + slope * RUSH_S > PASSED_MUCH;
}

/*
 * Reduces the share because others warm a known chip beyond the aim. By now the chip may be above the target by its
 * rise since the reading and by what the sensor rounds off. If that is too much, its equivalent in share is given up at
 * once, and must then show. Returns true if even that would not do.
 */
static bool gives_way(struct thermostat *thermostat, const struct reaction_gains *gains,
                      const struct thermostat_reading *reading, double steep)
{
    double over = reading->over;
    double above = over - AIM_BELOW + reading->step + steep * RUSH_S;

    if (leaps(thermostat, over, reading->step)) {
        return true;
    }
    if (over <= PASSED || above <= PASSED_MUCH) {
        return false;
    }
    if (above > WAY_FAR) {
        return true;
    }
    if (thermostat->wait_s <= 0.0) {
        double given = WAY_TIMES * (over + steep * REACTION_HORIZON_S) / gains->soon;

        thermostat->integral = fmax(LEAST, thermostat->integral - given);
        thermostat->wait_s = RUSH_S;
    }
    return false;
}

static void cut(struct thermostat *thermostat, double over)
{
    thermostat->is_cut = true;
    thermostat->is_theirs = !thermostat->reaction.is_known && thermostat->used < LEAST;
    thermostat->peak = over;
    if (!thermostat->is_theirs) {
        thermostat->growth = GROWTH_MOST;
        thermostat->integral = clamp(thermostat->used, LEAST, thermostat->integral);
    }
    reaction_end(&thermostat->reaction);
}

/* Resumes at the aim after a cut. The share before the cut was right by the ratio of the rise up to the aim to the
 * whole rise, had there been time; there was less, so a margin is left. */
static void resume(struct thermostat *thermostat, double over)
{
    double rise = thermostat->peak - thermostat->lowest;
    double right = rise > 0.0 ? clamp(-thermostat->lowest / rise, RIGHT_LEAST, 1.0) : RIGHT_LEAST;

    thermostat->is_cut = false;
    if (!thermostat->is_theirs) {
        thermostat->integral *= right * MARGIN;
    }
    thermostat->integral = fmax(LEAST, thermostat->integral);
    thermostat->fast = over;
    thermostat->slow = over;
    thermostat->near_s = 0.0;
}

/* ---- the controller */

/* Returns how fast the integral moves, a second. */
static double rate_of(struct thermostat *thermostat, const struct reaction_gains *gains,
                      const struct thermostat_reading *reading, double slope)
{
    double over = reading->over;
    bool is_known = thermostat->reaction.is_known;
    double rising = fmax(slope - SLOPE_NOISE, 0.0);
    double ahead = over + rising * (is_known ? REACTION_HORIZON_S : APPROACH_S);
    double rate = gains->integral * -over * (over > 0.0 ? INTEGRAL_OVER : 1.0);

    if (!is_known && over < 0.0 && rising > 0.0 && ahead > 0.0) {
        thermostat->growth = GROWTH_MOST;
        return -APPROACH_RATE * fmin(ahead / APPROACH_FULL, 1.0) * thermostat->integral;
    }
    if (is_known && ahead > 0.0 && thermostat->wait_s <= 0.0 && (rising > 0.0 || over > PASSED_MUCH)) {
        rate -= ahead / (gains->soon * WAY_S);
    }
    if (rate > 0.0 && reading->is_still) {
        return 0.0;
    }
    if (rate > 0.0 && thermostat->used < USES * thermostat->integral && thermostat->integral > UNSEEN) {
        return 0.0;
    }
    return fmin(rate, is_known ? GROWTH_KNOWN : thermostat->growth * thermostat->integral);
}

/* Returns the controller's share. A known chip responds softly to steps of the sensor: by the filtered reading, and
 * with a fall no steeper than the chip's. */
static double control(struct thermostat *thermostat, const struct reaction_gains *gains,
                      const struct thermostat_reading *reading, double slope)
{
    bool is_known = thermostat->reaction.is_known;
    double below = clamp(is_known ? -thermostat->slow : -reading->over, -PROPORTION_REACH, PROPORTION_REACH);
    double share = thermostat->integral + gains->proportional * below;
    double rate = rate_of(thermostat, gains, reading, slope);
    double s = reading->elapsed_s;

    /* Anti-windup: a share that can't grow does not make the integral grow. */
    if (rate < 0.0 || share < 1.0) {
        thermostat->integral = clamp(thermostat->integral + rate * s, LEAST, 1.0);
    }
    share = clamp(share, 0.0, 1.0);
    if (is_known) {
        share = fmax(share, thermostat->share - fmax(FALL, FALL_PART * thermostat->steepest) * s);
    }
    return share;
}

double thermostat_share(struct thermostat *thermostat, const struct thermostat_reading *reading)
{
    struct reaction_gains gains;
    double slope;
    double steep;
    bool is_slow;

    if (!thermostat->is_started || reading->is_fresh) {
        begin(thermostat, reading);
    }
    slope = follow(thermostat, reading);
    learn(thermostat, reading);
    gains = reaction_gains(&thermostat->reaction, thermostat->integral);
    is_slow = thermostat->reaction.is_known && gains.lag_s >= SLOW_S;
    steep = steep_of(thermostat, reading, slope);
    thermostat->steepest = fmax(steep, thermostat->steepest * (1.0 - reading->elapsed_s / SLOPE_KEPT_S));
    thermostat->wait_s = fmax(0.0, thermostat->wait_s - reading->elapsed_s);
    if (!thermostat->is_cut && (is_slow ? gives_way(thermostat, &gains, reading, steep)
                                        : passes(thermostat, reading, thermostat->reaction.is_known ? steep : slope))) {
        cut(thermostat, reading->over);
    }
    if (thermostat->is_cut) {
        thermostat->peak = fmax(thermostat->peak, reading->over);
        thermostat->share = 0.0;
        if (reading->over > 0.0) {
            return 0.0;
        }
        resume(thermostat, reading->over);
    }
    thermostat->share = control(thermostat, &gains, reading, slope);
    return thermostat->share;
}
