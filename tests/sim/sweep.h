/*
 * Sweep: the commands of sotto-sim
 *
 * Each returns the program's exit code: 0 if all invariants hold, 1 if one does not, 2 if it could not be done.
 */
#ifndef SOTTO_SIM_SWEEP_H
#define SOTTO_SIM_SWEEP_H

#include "world.h"

struct sweep_options {
    uint64_t from; /* first seed, or the only one */
    uint64_t count;
    enum family family; /* FAMILY_COUNT: the seed chooses */
    enum mutant mutant;
    const char *svg;
    const char *out;
    const char *file;
    bool json;
    bool trace;
    bool quiet;
    bool has_seed;
};

int sweep_run(const struct sweep_options *options);
int sweep_replay(const struct sweep_options *options);
int sweep_many(const struct sweep_options *options);
int sweep_shrink(const struct sweep_options *options);
int sweep_mutants(const struct sweep_options *options);

#endif
