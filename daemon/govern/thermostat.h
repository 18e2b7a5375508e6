/*
 * Thermostat: holds a temperature with the share of time that our work takes
 *
 * A proportional-integral controller. Its gains are those that the chip's own first warm-up asks for (reaction.h),
 * and until that is known, relative ones: a share that moves by percents a second and degree. At the target, share
 * times thermal resistance is always the same number of degrees (target less what it would be without us), so the
 * gain of the loop does not depend on the resistance, on our watts or on the number of cores. What is left to be
 * robust against is time: one pole or two between 1 and 60 s, and up to 2 s before a reading tells of it.
 *
 * What is added to the textbook's controller (Astrom & Hagglund, Advanced PID Control, chapters 3 and 9; two slopes and
 * the care with the integral as in the kernel's power_allocator, Documentation/driver-api/thermal):
 * - The sensor's own grid. The aim is one value that the sensor can say, at least half a degree below the target: a
 *   controller that aims between two of them hunts for ever.
 * - The approach. What rises so fast that it would pass the aim soon is slowed down before.
 * - Giving way. When others warm a chip that is known, the share falls by what the reading, its slope and the chip's
 *   gain say, and no faster than that slope asks for: a curve.
 * - The cut. A reading that leaps over the aim ends our work at once; the integral is set to the part of itself that
 *   the peak says was right, less a margin; then work comes back slowly.
 * - No growth unseen: the integral does not grow while the share is not used. It would say nothing then.
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
    double integral; /* the share that holds the temperature, as far as known */
    double softness; /* of the share that may be used after a cut; rises to 1 */
    double used;     /* share that our work took, filtered */
    double share;    /* as last said */

    double over;                  /* reading */
    double over_before;           /* the one before, that was another */
    double past[THERMOSTAT_PAST]; /* readings at the last whole seconds, the youngest first */
    double past_s;                /* since the youngest */
    double fast;                  /* reading, filtered */
    double slow;                  /* and once more: their difference is the slope */
    double steepest;              /* slope of late */
    double lowest;                /* least reading: what it is like without us, as far as known */
    double peak;                  /* highest reading of this cut */
    double near_s;                /* since when the reading is about the aim */
    double wait_s;                /* what was given way must show first */
    bool is_started;
    bool is_cut;
};

struct thermostat_reading {
    double elapsed_s; /* since the last one, 1 at most */
    double over;      /* degrees above the aim; may be an old one again */
    double step;      /* the sensor's grid; 0: fine */
    double used;      /* share of time that our work took since the last reading */
    bool is_fresh;    /* another sensor, or a gap: what was filtered begins anew */
};

/* What to hold for the sake of @target with a sensor of that @step: the highest value of its grid that is half a degree
 * below. */
double thermostat_aim(double target, double step);

void thermostat_init(struct thermostat *thermostat);

/* The share of time that our work may take from now on, 0 to 1. */
double thermostat_share(struct thermostat *thermostat, const struct thermostat_reading *reading);

/* What a sensor that is not seen any more leaves: half of the share that held the temperature. */
double thermostat_blind_share(const struct thermostat *thermostat);

#endif
