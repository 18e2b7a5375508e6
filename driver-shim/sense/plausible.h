/*
 * Plausible: whether a value may be believed
 *
 * Sensors return -650788984 now and then, or 85 degrees once among 45s, and some kernels give whole degrees where
 * thousandths are meant. A value outside the range is never believed. A value that jumps is set aside until the next
 * one agrees with it. Temperatures that look like whole degrees are neither believed nor guessed at: a multiplier in
 * the policy is the cure. Around freezing, where 45 may well be 45 thousandths, they are believed next to a believed
 * value.
 *
 * Pure: no clock, no file.
 */
#ifndef SOTTO_SENSE_PLAUSIBLE_H
#define SOTTO_SENSE_PLAUSIBLE_H

#include "sense/reading.h"
#include <stdbool.h>

struct plausible {
    int64_t low; /* the range, inclusive */
    int64_t high;
    int64_t jump;          /* a larger step needs a second value that agrees; 0: any step is fine */
    int32_t scale;         /* permille; multiplies what is read */
    bool suspects_degrees; /* reject values that look like whole degrees */
    bool has_last;
    bool has_aside;
    int64_t aside;       /* the value that jumped */
    struct reading last; /* the last good value */
};

/* Chips do step by 15 degrees when a load begins; the second such value is believed. */
#define PLAUSIBLE_JUMP_MC 15000

void plausible_init_temperature(struct plausible *plausible, int64_t low_mc, int64_t high_mc, int32_t scale);

/* Sets the range to two kilowatts, either way: a battery that is charged reads below 0. */
void plausible_init_power(struct plausible *plausible);

/*
 * Sets *ret_reading from an attempt that returned @fault. 0: @value was read at @at_us and is OK, or IMPLAUSIBLE with
 * the last good value. After any other fault, a value that was set aside is forgotten.
 */
void plausible_give(struct plausible *plausible, int fault, int64_t value, uint64_t at_us, struct reading *ret_reading);

#endif
