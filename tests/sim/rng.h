/*
 * Rng: random numbers that follow from a seed, the same on every machine
 *
 * Integer arithmetic, and floating point only where it is exact or a plain product: no function of libm, as their last
 * bits differ from libc to libc. Streams of one seed are independent, so the screen draws the same frames whether we
 * run beside it or not.
 */
#ifndef SOTTO_SIM_RNG_H
#define SOTTO_SIM_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rng_stream {
    RNG_SCENARIO,
    RNG_TRAITS,
    RNG_SCREEN,
    RNG_CHIP,
    RNG_CLIENTS,
    RNG_SENSORS,
    RNG_STREAM_COUNT,
};

struct rng {
    uint64_t state[4];
};

void rng_init(struct rng *rng, uint64_t seed, enum rng_stream stream);

uint64_t rng_next(struct rng *rng);

/* Returns @low to @high, both included; @low if there is nothing between. */
int64_t rng_between(struct rng *rng, int64_t low, int64_t high);

/* Like rng_between(), but each doubling is equally likely; both must be above 0. */
int64_t rng_spread(struct rng *rng, int64_t low, int64_t high);

bool rng_chance(struct rng *rng, uint32_t permille);

/* Returns 0 up to, but not including, 1. */
double rng_unit(struct rng *rng);

/* Returns a wait of @mean on average, without memory (Poisson arrivals). */
uint64_t rng_wait(struct rng *rng, uint64_t mean);

/* Returns one of @n values, each as likely. */
int64_t rng_one_of(struct rng *rng, const int64_t *values, size_t n);

#endif
