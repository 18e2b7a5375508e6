/*
 * Stuck: a temperature that is read anew each second and is always the same
 *
 * A sensor may hang behind its driver and go on to answer. Standing still alone says nothing: whole degrees at a
 * steady load stand for hours. What gives it away is our own heat, which we know: a zone that has followed our
 * share of time before, and does not move by one step while that share moves by what should be five, is not read
 * any more, whatever it says.
 *
 * - How many degrees a whole share is, is learnt while the zone moves (least squares of the reading over our
 *   share, filtered, with forgetting), and known only if most of what moved it was us. A zone that never followed
 *   us is not judged: many boards have one that says the same for ever, and nobody's heat is in it.
 * - Others' heat may balance ours for a while, best of all when the thermostat holds a zone. So five times what
 *   could be seen is asked for, and for as long as fifteen of the longest delay of a sensor.
 * - Who is wrongly called stuck moves: the governor takes nearly all of our heat away, which a living sensor
 *   shows. It is believed again with its first other value.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_STUCK_H
#define SOTTO_GOVERN_STUCK_H

#include <stdbool.h>
#include <stdint.h>

struct stuck {
    int32_t temp_mc;  /* the value that stands */
    double quiet_s;   /* since it last changed */
    double due_s;     /* for so long something should have been seen */
    double fast;      /* our share of time, filtered a little */
    double used;      /* and more */
    double fast_then; /* both, when the value last changed */
    double used_then;
    double gain; /* degrees of a whole share; 0: not known */

    /* While it moves, with forgetting: time, means, and what is left of squares and of the product. */
    double weight_s;
    double mean_used;
    double mean_temp;
    double var_used;
    double var_temp;
    double covar;

    bool is_started;
    bool is_stuck;
};

/* All zero: nothing is known. */
void stuck_init(struct stuck *stuck);

/*
 * One look. @temp_mc: the latest reading, fresh; @step: the sensor's grid in degrees, 0: fine; @used: share of time
 * that our work took in the @elapsed_s since the last look. True: it is stuck.
 */
bool stuck_look(struct stuck *stuck, int32_t temp_mc, double step, double used, double elapsed_s);

#endif
