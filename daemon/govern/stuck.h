/*
 * Stuck: a temperature that is read each second and never changes
 *
 * A sensor may hang behind its driver and still answer. A constant value alone means nothing: whole degrees at a steady
 * load stay the same for hours. Our own heat, which we know, gives it away: a zone that followed our share of time
 * before, and does not move by one step while that share moves by what should be five, is not measured any more.
 *
 * - The degrees of a full share are learnt while the zone moves (least squares of the reading over our share, filtered,
 *   with forgetting). They count as known only if most of the movement was ours. A zone that never followed us is not
 *   judged: many boards have one that always says the same.
 * - The heat of others may balance ours for a while, best of all when the thermostat holds a zone. So five times what
 *   could be seen is required, for as long as fifteen of the longest delay of a sensor.
 * - A zone that is wrongly called stuck moves soon: the governor takes nearly all of our heat away, which a working
 *   sensor shows. It is believed again with its first different value.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_STUCK_H
#define SOTTO_GOVERN_STUCK_H

#include <stdbool.h>
#include <stdint.h>

struct stuck {
    int32_t temp_mc;  /* the constant value */
    double quiet_s;   /* since it last changed */
    double due_s;     /* for how long a change should have been seen */
    double fast;      /* our share of time, filtered a little */
    double used;      /* filtered more */
    double fast_then; /* both, when the value last changed */
    double used_then;
    double gain; /* degrees of a full share; 0: not known */

    /* While the value moves, with forgetting: time, means, and the sums of squares and products about them. */
    double weight_s;
    double mean_used;
    double mean_temp;
    double var_used;
    double var_temp;
    double covar;

    bool is_started;
    bool is_stuck;
};

/* Starts without knowledge: all fields are 0. */
void stuck_init(struct stuck *stuck);

/*
 * Takes one look and returns true if the zone is stuck. @temp_mc is the latest reading and fresh, @step the sensor's
 * grid in degrees (0: fine), and @used the share that our work took of the @elapsed_s since the last look.
 */
bool stuck_look(struct stuck *stuck, int32_t temp_mc, double step, double used, double elapsed_s);

#endif
