/*
 * Thermostat: holds a temperature by the share of time that our work takes
 *
 * A proportional-integral controller. Its gains are those that the chip's own first warm-up asks for (reaction.h).
 * Until that is known they are relative: the share moves by percents a second and degree. At the target, the share
 * times the thermal resistance is always the same number of degrees (the target less the temperature without us), so
 * the gain of the loop does not depend on the resistance, on our watts or on the number of cores. What it must be
 * robust against is time: one or two poles between 1 and 60 s, and up to 2 s before a reading shows a change.
 *
 * Additions to the textbook controller (Astrom & Hagglund, Advanced PID Control, chapters 3 and 9; the two slopes and
 * the care with the integral are those of the kernel's power_allocator, Documentation/driver-api/thermal):
 *
 * - The sensor's grid. The aim is one value that the sensor can report, at least half a degree below the target. A
 *   controller that aims between two values hunts for ever.
 * - The approach. A rise so fast that it would soon pass the aim is slowed down before.
 * - Giving way. When others warm a known chip, the share falls by what the reading, its slope and the chip's gain say,
 *   and no faster than that slope asks for: a curve, not a step.
 * - The cut. A reading that leaps over the aim ends our work at once. The integral is set to the part of itself that
 *   the peak shows to have been right, less a margin, and work comes back slowly.
 * - No growth unseen. The integral does not grow while the share is not used, as it would mean nothing.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_THERMOSTAT_H
#define SOTTO_GOVERN_THERMOSTAT_H

#include "govern/reaction.h"
#include <stdbool.h>
#include <stdint.h>

#define THERMOSTAT_PAST 2u /* whole seconds */

/* Degrees Celsius above the aim, seconds, and shares of time from 0 to 1. */
struct thermostat {
    struct reaction reaction;
    double integral; /* share that holds the temperature, as far as known */
    double growth;   /* of the share, at most, a second, while the chip is unknown */
    double used;     /* share that our work took, filtered */
    double share;    /* last result */

    double over;                  /* last reading */
    double over_before;           /* last reading that differed from it */
    double past[THERMOSTAT_PAST]; /* readings at the last whole seconds, the latest first */
    double past_s;                /* time since the latest of them */
    double fast;                  /* reading, filtered */
    double slow;                  /* filtered twice: the difference is the slope */
    double steepest;              /* steepest slope recently */
    double lowest;                /* lowest reading: the temperature without us, as far as known */
    double peak;                  /* highest reading of this cut */
    double near_s;                /* for how long the reading has been near the aim */
    double wait_s;                /* until what was given way must show */
    bool is_started;
    bool is_cut;
    bool is_theirs; /* what led to this cut: nothing of ours ran, so it shows nothing of our share */
};

struct thermostat_reading {
    double elapsed_s; /* since the last call, 1 at most */
    double over;      /* degrees above the aim; may repeat an old reading */
    double step;      /* the sensor's grid; 0: fine */
    double used;      /* share of time that our work took since the last reading */
    bool is_still;    /* it should have changed by now: the share may not grow */
    bool is_fresh;    /* another sensor, or a gap: the filters start afresh */
};

/* Returns what to hold for @target with a sensor of grid @step: its highest value that is half a degree below. */
double thermostat_aim(double target, double step);

void thermostat_init(struct thermostat *thermostat);

/* Takes gains from an earlier run, before the first reading: see reaction_keep(). */
void thermostat_keep(struct thermostat *thermostat, double whole, double lag_s);

/* Returns the share of time that our work may take from now on, 0 to 1. */
double thermostat_share(struct thermostat *thermostat, const struct thermostat_reading *reading);

/* Returns the share that is left when the sensor is lost: half of the last one, or of that which holds the temperature
 * as far as known, if that is more. */
double thermostat_blind_share(const struct thermostat *thermostat);

/* Returns the share that warms the chip by @degrees in the end, as far as is known: 0.005 to 0.05. An unknown chip
 * counts as one that grows very hot. */
double thermostat_share_of(const struct thermostat *thermostat, double degrees);

#endif
