/*
 * The constants were chosen over thousands of plants drawn by chance (two nodes; resistance x 1/2 to 2; 1 to 60 s;
 * sensors that round up, down or to the nearest degree, 0.05 to 1 s apart and up to 2 s late; other heat 0 to 80 % of
 * what the target allows): of 3,000 the worst passed its target by 1.95 degrees, and none went on swinging. The same
 * hunt, smaller, is tests/unit/sched/test_thermostat.c; tests/sim has one of its own, with requests, slices and rests.
 */
#include "sched/thermostat.h"
#include <math.h>

/*
 * Integral, a second and degree. The gain of the loop is this times the degrees that are ours at the target, 60 at
 * most in a cabin: 0.11 /s, a third of what a delay of 2 s and a pole of 1 s bear. The simulator builds one without
 * it, which must fail.
 */
#ifndef THERMOSTAT_INTEGRAL
#define THERMOSTAT_INTEGRAL 0.0018
#endif
#define INTEGRAL_OVER    2.0  /* times that above the aim: down is faster than up */
#define GROWTH_MOST      0.03 /* a second: double in 23 s, however cold it is */
#define PROPORTIONAL     0.03 /* a degree: a reset time of 17 s */
#define PROPORTION_REACH 25.0 /* degrees */
#define AIM_BELOW        0.5  /* below the target; more than half a step of no usual sensor */
#define PASSED           0.3  /* above the aim: noise of a fine sensor is no passing */
#define PASSED_MUCH      2.0  /* whatever the slope */
#define APPROACH_S       12.0 /* what would pass the aim within so long is slowed down: six of the longest delay */
#define APPROACH_RATE    0.3  /* a second, in full when it would pass by APPROACH_FULL */
#define APPROACH_FULL    4.0  /* degrees */
#define SLOPE_OF_STEP    0.16 /* slope that one step of the sensor feigns, a degree of it: no movement */
#define SLOPE_NOISE      0.04 /* a second: slices and rests, read now and then, feign that */
#define RUSH_S           3.0  /* a delay, a filter */
#define LEAP             0.5  /* degrees from one reading to the next, and two steps of the sensor */
#define NEAR             2.5  /* degrees below the aim */
#define NEAR_S           6.0  /* so long near the aim: it is held, not passed through */
#define FILTER_FAST_S    1.0
#define FILTER_SLOW_S    2.0
#define USED_S           3.0
#define RIGHT_LEAST      0.1
#define MARGIN           0.4   /* of what the peak says was right */
#define SOFT_FIRST       0.3   /* after a cut */
#define SOFT_S           20.0  /* until all of it may be used again: ten of the longest delay */
#define LEAST            0.005 /* from nothing nothing grows by percents */
#define UNSEEN           0.05 /* grows so far without being used: a gate for classes may keep work away below */
#define UNPROVEN         0.05 /* first share of a chip that is hot when we begin */
#define UNPROVEN_NEAR    3.0  /* degrees below the aim count as that */
#define USES             0.5  /* of the share: work that uses less says little */

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

void thermostat_init(struct thermostat *thermostat)
{
    *thermostat = (struct thermostat){ .integral = 1.0, .softness = 1.0 };
}

double thermostat_blind_share(const struct thermostat *thermostat)
{
    return thermostat->integral / 2.0;
}

double thermostat_aim(double target, double step)
{
    double aim = target - AIM_BELOW;

    return step > 0.0 ? floor(aim / step) * step : aim;
}

static void begin(struct thermostat *thermostat, const struct thermostat_reading *reading)
{
    if (!thermostat->is_started) {
        thermostat->integral = reading->over > -UNPROVEN_NEAR ? UNPROVEN : 1.0;
        thermostat->lowest = reading->over;
    }
    thermostat->over = reading->over;
    thermostat->over_before = reading->over;
    thermostat->fast = reading->over;
    thermostat->slow = reading->over;
    thermostat->near_s = 0.0;
    thermostat->used = 0.0;
    thermostat->is_started = true;
}

/* Follows the reading; gives the slope in degrees a second, less what one step of the sensor would look like. */
static double follow(struct thermostat *thermostat, const struct thermostat_reading *reading)
{
    double s = reading->elapsed_s;
    double slope;

    thermostat->used += (reading->used - thermostat->used) * s / (USED_S + s);
    thermostat->fast += (reading->over - thermostat->fast) * s / (FILTER_FAST_S + s);
    thermostat->slow += (thermostat->fast - thermostat->slow) * s / (FILTER_SLOW_S + s);
    thermostat->lowest = fmin(thermostat->lowest, reading->over);
    if (reading->over < thermostat->over || reading->over > thermostat->over) {
        thermostat->over_before = thermostat->over;
        thermostat->over = reading->over;
    }
    if (reading->over < -NEAR) {
        thermostat->near_s = 0.0;
    } else if (reading->over <= 0.0) {
        thermostat->near_s += s;
    }
    slope = (thermostat->fast - thermostat->slow) / FILTER_SLOW_S;
    return slope > 0.0 ? fmax(0.0, slope - SLOPE_OF_STEP * reading->step) : slope;
}

static bool passes(const struct thermostat *thermostat, double over, double step, double slope)
{
    if (over >= PASSED_MUCH) {
        return true;
    }
    /* Above the target, by a leap: the next reading would be as far above that. */
    if (over > fmax(AIM_BELOW, step) &&
        thermostat->over - thermostat->over_before >= fmax(LEAP, 2.0 * step)) {
        return true;
    }
    return over > PASSED && (thermostat->near_s < NEAR_S || over + slope * RUSH_S > PASSED_MUCH);
}

/* It is at the aim again. Of the share that went before the cut, the part that the rise up to the aim was of the whole
 * rise would have been right, had there been time; there was less, so a margin is left. */
static void resume(struct thermostat *thermostat, double over)
{
    double rise = thermostat->peak - thermostat->lowest;
    double right = rise > 0.0 ? clamp(-thermostat->lowest / rise, RIGHT_LEAST, 1.0) : RIGHT_LEAST;

    thermostat->is_cut = false;
    thermostat->integral = fmax(LEAST, thermostat->integral * right * MARGIN);
    thermostat->softness = SOFT_FIRST;
    thermostat->fast = over;
    thermostat->slow = over;
    thermostat->near_s = 0.0;
}

/* How fast the integral moves, as a part of itself a second. */
static double rate_of(const struct thermostat *thermostat, double over, double slope)
{
    double ahead = over + (slope - SLOPE_NOISE) * APPROACH_S;
    double rate;

    if (over < 0.0 && slope > SLOPE_NOISE && ahead > 0.0) {
        return -APPROACH_RATE * fmin(ahead / APPROACH_FULL, 1.0);
    }
    rate = THERMOSTAT_INTEGRAL * -over * (over > 0.0 ? INTEGRAL_OVER : 1.0);
    if (rate > 0.0 && thermostat->used < USES * thermostat->integral * thermostat->softness &&
        thermostat->integral > UNSEEN) {
        return 0.0;
    }
    return fmin(rate, GROWTH_MOST);
}

double thermostat_share(struct thermostat *thermostat, const struct thermostat_reading *reading)
{
    double over = reading->over;
    double factor;
    double slope;
    double rate;

    if (!thermostat->is_started || reading->is_fresh) {
        begin(thermostat, reading);
    }
    slope = follow(thermostat, reading);
    if (!thermostat->is_cut && passes(thermostat, over, reading->step, slope)) {
        thermostat->is_cut = true;
        thermostat->peak = over;
        thermostat->integral = clamp(thermostat->used, LEAST, thermostat->integral);
    }
    if (thermostat->is_cut) {
        thermostat->peak = fmax(thermostat->peak, over);
        if (over > 0.0) {
            return 0.0;
        }
        resume(thermostat, over);
    }
    factor = 1.0 + PROPORTIONAL * clamp(-over, -PROPORTION_REACH, PROPORTION_REACH);
    rate = rate_of(thermostat, over, slope);
    /* Against windup: a share that can't grow does not make the integral grow. */
    if (rate < 0.0 || thermostat->integral * factor < 1.0) {
        thermostat->integral = clamp(thermostat->integral * (1.0 + rate * reading->elapsed_s), LEAST, 1.0);
    }
    thermostat->softness = fmin(1.0, thermostat->softness + reading->elapsed_s * (1.0 - SOFT_FIRST) / SOFT_S);
    return thermostat->softness * clamp(thermostat->integral * factor, 0.0, 1.0);
}
