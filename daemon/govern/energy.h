/*
 * Energy: what our work takes, and how requests are charged with it
 *
 * - Measured: a meter counts the joules of the whole chip, including the screen and all others. While we do nothing it
 *   shows the power without us; what it shows above that while we hold the chip is ours. That difference over the time
 *   held is our power, and a step is charged with its time at this power. What the charges miss of the meter is added
 *   to later ones, so in the long run their sum is what the meter said (the very first step is charged to the next).
 *   The error is what others change between a pause of ours and the work after it.
 * - Estimated: without a meter, but with the board's watts in the configuration (at full work, and idle), it is the
 *   time held at their difference. It is marked as an estimate wherever it is reported.
 * - Otherwise unknown, which is not 0.
 *
 * Within a step the requests share by their part of its work in the cost model's terms: prompt rows, answer rows and
 * pages attended to. The fixed part, reading the weights, is divided in the same ratio.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_ENERGY_H
#define SOTTO_GOVERN_ENERGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From the least certain to the best. */
enum energy_source {
    ENERGY_UNKNOWN,
    ENERGY_ESTIMATED,
    ENERGY_MEASURED,
    ENERGY_SOURCE_COUNT,
};

/* The power of the board, as the configuration states it. */
struct energy_stated {
    uint32_t active_mw; /* at full work of ours; 0: not stated */
    uint32_t idle_mw;
};

struct energy {
    struct energy_stated stated;
    uint64_t read_us; /* last reading of the meter; 0: none */
    uint64_t read_uj;
    uint64_t held_us;   /* by our work, in total at that reading */
    double charged_uj;  /* since that reading */
    double without_us;  /* power while we did nothing; microjoules a microsecond */
    double with_us;     /* our power above that, of the time held */
    double owed_uj;     /* measured but not charged yet; may be below 0 */
    bool knows_without; /* whether the two have been measured */
    bool knows_with;
};

void energy_init(struct energy *energy, const struct energy_stated *stated);

/* Replaces the statement from now on. */
void energy_configure(struct energy *energy, const struct energy_stated *stated);

/* Takes in a reading of the meter: @uj since some start. @held_us is the total time that our work has held the chip. */
void energy_read(struct energy *energy, uint64_t at_us, uint64_t uj, uint64_t held_us);

/* Forgets the meter, which can't be read any more. */
void energy_lose_meter(struct energy *energy);

/* Returns the microjoules of a step (or slice) of ours that held the chip for @held_us and has ended, and how they
 * are known. */
uint64_t energy_charge(struct energy *energy, uint64_t held_us, enum energy_source *ret_source);

/* Divides @uj in the ratio of @parts (none below 0) so that the sum is @uj. If all parts are 0 it divides evenly. */
void energy_divide(uint64_t uj, const double *parts, size_t n, uint64_t *ret_uj);

/* Returns the source of a sum of two amounts, which is the less certain one. An unknown amount is not in the sum,
 * and does not count. */
enum energy_source energy_sum_source(enum energy_source a, enum energy_source b);

#endif
