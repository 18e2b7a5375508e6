#include "govern/stuck.h"
#include <math.h>

#define WORKS         0.05 /* share of ours that should show */
#define USED_S        3.0
#define FOLLOWS_STEPS 3.0 /* of the sensor, within minutes of work: a thermometer of this chip */
#define FOLLOWS       3.0 /* and degrees, for a fine one */
#define LOW_S         120.0
#define STILL_S       10.0 /* until the share may not grow any more */
#define QUIET_S       20.0 /* until the first probe: ten of the longest delay */
#define QUIET_MOST_S  60.0 /* each one that is answered doubles this, up to here */
#define PART_S        40.0 /* of a probe, in which all of our share would go, */
#define PART_LEAST    0.25 /* if a part of it did not stay */

void stuck_init(struct stuck *stuck)
{
    *stuck = (struct stuck){ .quiet_most_s = QUIET_S };
}

/* A zone that moves by some degrees within minutes of our work is a thermometer of what we warm. */
static void learn(struct stuck *stuck, double temp, double step, double elapsed_s)
{
    if (!stuck->is_started) {
        stuck->low = temp;
    }
    stuck->low = fmin(temp, stuck->low + (temp - stuck->low) * elapsed_s / LOW_S);
    if (stuck->used >= WORKS && temp - stuck->low >= fmax(FOLLOWS, FOLLOWS_STEPS * step)) {
        stuck->follows = true;
    }
}

/* Takes in a value that differs from the one before. */
static void move(struct stuck *stuck, int32_t temp_mc)
{
    if (stuck->is_stuck) {
        stuck->follows = false; /* not the answer to our heat: it has to show again that it follows */
        stuck->low = temp_mc / 1000.0;
    } else if (stuck->probe_s > 0.0) {
        stuck->quiet_most_s = fmin(2.0 * stuck->quiet_most_s, QUIET_MOST_S);
    } else if (stuck->quiet_s < STILL_S) {
        stuck->quiet_most_s = QUIET_S;
    }
    stuck->is_started = true;
    stuck->is_stuck = false;
    stuck->temp_mc = temp_mc;
    stuck->quiet_s = 0.0;
    stuck->probe_s = 0.0;
}

void stuck_look(struct stuck *stuck, int32_t temp_mc, double step, double used, double elapsed_s)
{
    double s = fmin(elapsed_s, 1.0); /* after a pause of all work there is time for a reading */

    stuck->used += (used - stuck->used) * s / (USED_S + s);
    learn(stuck, temp_mc / 1000.0, step, s);
    if (!stuck->is_started || temp_mc != stuck->temp_mc) {
        move(stuck, temp_mc);
    } else if (stuck->probe_s > 0.0) {
        stuck->probe_s += s;
    } else if (stuck->used >= WORKS && stuck->follows) {
        stuck->quiet_s += s;
        stuck->probe_s = stuck->quiet_s >= stuck->quiet_most_s ? s : 0.0;
    }
    stuck->is_stuck = stuck->is_stuck || stuck->probe_s >= STUCK_PROBE_S;
}

bool stuck_is_still(const struct stuck *stuck)
{
    return stuck->follows && stuck->quiet_s >= STILL_S;
}

double stuck_part(const struct stuck *stuck)
{
    return stuck->is_stuck ? 1.0 : fmax(PART_LEAST, 1.0 - stuck->probe_s / PART_S);
}
