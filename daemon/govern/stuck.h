/*
 * Stuck: a temperature that is read each second and never changes
 *
 * A sensor may hang behind its driver and still answer. A constant value alone means nothing: whole degrees at a steady
 * load stay the same for hours. So it is asked: after some time without a change we take away our heat, more and
 * more of it, until a working sensor shows it. One that does not counts as stuck.
 *
 * - Only a zone that has followed our work before is asked: one that rose by some degrees within minutes of it. Many
 *   boards have a zone that always says the same.
 * - Asking costs time, so each answer doubles the time until the next question, up to a bound; a value that moves by
 *   itself begins afresh.
 * - While the value stands still, the share may not grow: a rise that nothing shows must not be followed by more.
 * - A stuck zone is believed again with its first different value, and then has to show again that it follows.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_STUCK_H
#define SOTTO_GOVERN_STUCK_H

#include <stdbool.h>
#include <stdint.h>

/* How long a zone may take to answer: by then a quarter of our share is left, and the slowest chip (60 s) has lost a
 * degree of the 10 that we warm it by. */
#define STUCK_PROBE_S 40.0

struct stuck {
    int32_t temp_mc;     /* the constant value */
    double quiet_s;      /* of our work, since it last changed */
    double quiet_most_s; /* until it is asked */
    double probe_s;      /* since it was asked; 0: it is not */
    double used;         /* our share, filtered */
    double low;          /* lowest value lately, in degrees */
    bool follows;        /* it has shown our work */
    bool is_started;
    bool is_stuck;
};

void stuck_init(struct stuck *stuck);

/*
 * Takes one look. @temp_mc is the latest reading and fresh, @step the sensor's grid in degrees (0: fine), and @used the
 * share that our work took of the @elapsed_s since the last look. Sets is_stuck.
 */
void stuck_look(struct stuck *stuck, int32_t temp_mc, double step, double used, double elapsed_s);

/* True while the value stands still for so long that the share should not grow. */
bool stuck_is_still(const struct stuck *stuck);

/* Returns the part of our share that is left while the zone is asked: less and less, so that a fast chip falls no
 * further than it must. 1: it is not asked. */
double stuck_part(const struct stuck *stuck);

#endif
