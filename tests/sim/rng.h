/*
 * Rng: numbers that follow from a seed, the same on every machine
 *
 * Whole-number arithmetic, and floating point only where it is exact or a plain product: no function of libm,
 * whose last bits differ from libc to libc. Streams of one seed do not touch each other, so that the screen
 * draws the same frames whether we run beside it or not.
 */
#ifndef SOTTO_SIM_RNG_H
#define SOTTO_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

enum rng_stream {
    RNG_SCENARIO,
    RNG_FAMILY,
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

/* @low to @high, both included; @low if there is nothing between. */
int64_t rng_between(struct rng *rng, int64_t low, int64_t high);

/* The same, each doubling as likely as the next; both above 0. */
int64_t rng_spread(struct rng *rng, int64_t low, int64_t high);

bool rng_chance(struct rng *rng, uint32_t permille);

/* 0 up to, not including, 1. */
double rng_unit(struct rng *rng);

/* A wait of @mean on average, without memory (Poisson arrivals). */
uint64_t rng_wait(struct rng *rng, uint64_t mean);

#endif
