/*
 * Traits: what worlds of all families have besides, by the seed
 *
 * They come from a stream of their own, so the rest of a seed's world is the same with and without them.
 */
#ifndef SOTTO_SIM_TRAITS_H
#define SOTTO_SIM_TRAITS_H

#include "scenario.h"

/* Gives the scenario of @seed, which is otherwise complete, its traits. */
void traits_make(struct scenario *scenario, uint64_t seed);

#endif
