/*
 * Reaction: how a chip responds to our work, from its first warm-up
 *
 * The reaction curve of Ziegler and Nichols (1942): work begins on a cool chip, and the sensor's readings are the
 * chip's response. Two points are enough: how far it rose soon after it began to move, and which share holds it at the
 * aim in the end. They give the degrees of a full share, and a lag.
 *
 * The gains follow Skogestad's rules for a loop with a sensor that is seconds late (SIMC, J. Process Control 13, 2003):
 * a slow chip gets a strong proportional part, a fast one next to none, only an integral. Until the curve is known, the
 * gains are those of a middling chip that the present share holds at the target: relative ones.
 *
 * It is learnt once. Later, others warm and cool the chip, and a sensor can't tell their degrees from ours: a fit in
 * the closed loop would take the controller's own response for the chip's.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_REACTION_H
#define SOTTO_GOVERN_REACTION_H

#include <stdbool.h>

/* Horizon of the loop: the longest delay and period of a sensor, 3 s, a filter, and as much again to be robust
 * (SIMC: twice the dead time). */
#define REACTION_HORIZON_S 8.0

/* A smaller lag is the sensor's; a larger one a board's, which is always in time. */
#define REACTION_LAG_LEAST_S 2.0
#define REACTION_LAG_MOST_S  150.0

struct reaction {
    double first;   /* reading when work began */
    double work_s;  /* since then */
    double used_s;  /* of it with work of ours */
    double curve_s; /* since the reading moved: a sensor's delay is no lag */
    double rise;    /* highest rise of the curve within the horizon */
    double rise_s;  /* when that was */
    double used;    /* share of the time with work until then */
    double whole;   /* degrees of a full share in the end */
    double lag_s;
    bool is_begun;
    bool is_watched;
    bool is_known;
    bool is_kept; /* from an earlier run */
};

struct reaction_gains {
    double proportional; /* share per degree */
    double integral;     /* share per degree and second */
    double lag_s;
    double soon; /* degrees of a full share within the horizon */
};

/* Starts a curve at @over degrees above the aim, if that is far enough below it. A complete curve is kept: after a
 * pause the chip is warm, and the share no step. */
void reaction_begin(struct reaction *reaction, double over);

/* Takes gains from an earlier run, with a margin. They hold until this run has learnt its own, and are forgotten if its
 * curve shows another chip. @whole is in degrees of a full share. */
void reaction_keep(struct reaction *reaction, double whole, double lag_s);

/* Takes in a reading, and the share that was used for @elapsed_s up to it. */
void reaction_watch(struct reaction *reaction, double over, double used, double elapsed_s);

/* Ends the curve: our work is no longer a step. Gains that it has not confirmed are forgotten. */
void reaction_end(struct reaction *reaction);

/* Learns that @share holds the chip @degrees above its value before our work began, and ends the learning if there
 * was a curve. */
void reaction_settle(struct reaction *reaction, double degrees, double share);

/* Returns the gains where @share holds the temperature, as far as known. */
struct reaction_gains reaction_gains(const struct reaction *reaction, double share);

#endif
