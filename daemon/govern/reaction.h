/*
 * Reaction: how a chip answers our work, as its first warm-up shows it
 *
 * The reaction curve of Ziegler and Nichols (1942): work begins on a chip that is cool, and what the sensor then
 * says is the chip's answer. Two points of it are enough: how far it rose soon after it began to move, and which
 * share holds it at the aim in the end. They give the degrees that a full share makes, and a lag.
 *
 * Gains follow by Skogestad's rules for a loop that must bear a sensor seconds late (SIMC, J. Process Control 13,
 * 2003): a chip that is slow gets a strong proportional part, one that is fast next to none, and an integral alone.
 * Until its curve is known, gains are those of a middling chip that the present share holds at the target: relative
 * ones.
 *
 * Learnt once. Later, others warm and cool the chip, and a sensor can't tell their degrees from ours: a fit in the
 * closed loop would take the controller's own answer for the chip's.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_REACTION_H
#define SOTTO_GOVERN_REACTION_H

#include <stdbool.h>

/* Of the loop: the longest delay and period of a sensor, 3 s, a filter, and as much again to be robust (SIMC: twice the
 * dead time). */
#define REACTION_HORIZON_S 8.0

struct reaction {
    double first;   /* reading at the beginning */
    double work_s;  /* since then */
    double used_s;  /* of it that we worked */
    double curve_s; /* since the reading moved: what it is late is no lag */
    double rise;    /* highest of the curve, within a horizon */
    double rise_s;  /* when it was there */
    double used;    /* share of the time that we had worked until then */
    double whole;   /* degrees of a full share in the end */
    bool is_begun;
    bool is_watched;
    bool is_known;
};

struct reaction_gains {
    double proportional; /* share for a degree */
    double integral;     /* share for a degree and second */
    double lag_s;
    double soon; /* degrees that a full share makes within the horizon */
};

/* Work begins, at @over degrees above the aim: a curve, if that is far enough below. One that was seen to its end is
 * kept: behind a pause the chip is warm, and the share no step. */
void reaction_begin(struct reaction *reaction, double over);

/* A reading, and the share that was used for @elapsed_s up to it. */
void reaction_watch(struct reaction *reaction, double over, double used, double elapsed_s);

/* Our work is no step any more. */
void reaction_end(struct reaction *reaction);

/* @share holds the chip @degrees above what it was before our work began. Ends the learning, if there was a curve. */
void reaction_settle(struct reaction *reaction, double degrees, double share);

/* Gains where @share holds the temperature, as far as known. */
struct reaction_gains reaction_gains(const struct reaction *reaction, double share);

#endif
