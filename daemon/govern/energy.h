/*
 * Energy: what our work takes, and who of its requests is charged with how much
 *
 * Measured: a meter counts the joules of the whole chip, the screen and all others included. While we do nothing it
 * shows what goes on without us; what it shows above that while we hold the chip is ours. That difference over the
 * time held are our watts, a step is charged with its time at those watts, and what the charges miss of the meter is
 * added to the next ones, so that in the long run the sum is what the meter said (what the very first step took is
 * charged to the next). It is wrong by what others change between a pause of ours and the work after it.
 *
 * Estimated: without a meter, but with the board's watts in the configuration (at full work, and idle), the time
 * held at their difference. Marked as such wherever it is told.
 *
 * Else unknown, which is not 0.
 *
 * Inside a step the requests share by their part of its work in the cost model's terms: rows of prompts, rows of
 * answers and pages looked at; the fixed part, reading the weights, is divided by those parts, too.
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

/* What the configuration states of the board. */
struct energy_stated {
    uint32_t active_mw; /* at full work of ours; 0: not stated */
    uint32_t idle_mw;
};

struct energy {
    struct energy_stated stated;
    uint64_t read_us; /* of the last reading of the meter; 0: none */
    uint64_t read_uj;
    uint64_t held_us;   /* of our work, at that reading; all of it */
    double charged_uj;  /* since that reading */
    double without_us;  /* watts while we did nothing; microjoules a microsecond */
    double with_us;     /* ours, above that, of the time held */
    double owed_uj;     /* measured, not yet charged; may be below 0 */
    bool knows_without; /* the two have been measured */
    bool knows_with;
};

void energy_init(struct energy *energy, const struct energy_stated *stated);

/* Another statement holds from now on. */
void energy_configure(struct energy *energy, const struct energy_stated *stated);

/* A reading of the meter: @uj since some beginning. @held_us: what our work has held the chip for, ever. */
void energy_read(struct energy *energy, uint64_t at_us, uint64_t uj, uint64_t held_us);

/* The meter is gone. */
void energy_lose_meter(struct energy *energy);

/* A step (or slice) of ours that held the chip for @held_us has ended: its microjoules, and how they are known. */
uint64_t energy_charge(struct energy *energy, uint64_t held_us, enum energy_source *ret_source);

/* Divides @uj by @parts (none below 0) so that the sum is @uj. All parts 0: evenly. */
void energy_divide(uint64_t uj, const double *parts, size_t n, uint64_t *ret_uj);

/* Of a sum of two amounts: the less certain of them. What is unknown is not in the sum, and takes nothing from it. */
enum energy_source energy_sum_source(enum energy_source a, enum energy_source b);

#endif
