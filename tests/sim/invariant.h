/*
 * Invariant: what must hold in every scenario
 *
 * Each is a name, the bound that it is judged by, and how many of its cases may miss it: none, or so many of
 * a million, counted over all runs of a sweep. A run only counts; verdicts are given over sums, so that "at
 * the 99.9th percentile" is taken over all requests there were.
 */
#ifndef SOTTO_SIM_INVARIANT_H
#define SOTTO_SIM_INVARIANT_H

#include "scenario.h"

enum invariant {
    INVARIANT_SLICE,    /* no unbroken time on the place above its bound and one part */
    INVARIANT_REST,     /* after it, the place is left alone as the duty says */
    INVARIANT_GATE,     /* nothing runs where nothing may */
    INVARIANT_FRAMES,   /* frames missed because of us, in steady load */
    INVARIANT_STEP,     /* the same after graphics grew, untold */
    INVARIANT_HINT,     /* and told */
    INVARIANT_HEAT,     /* warmer than a chip that we leave alone */
    INVARIANT_CYCLE,    /* temperature swings, settled */
    INVARIANT_HOT,      /* a hot start falls no slower than without us */
    INVARIANT_USE,      /* the budget of heat is used, settled */
    INVARIANT_CURVE,    /* while others warm the chip duty falls as a curve */
    INVARIANT_FLAP,     /* the mode does not change to and fro */
    INVARIANT_BLIND,    /* blind: nothing runs as if all were well */
    INVARIANT_FIRST,    /* realtime first token: one slice and its own work */
    INVARIANT_DEADLINE, /* admitted ones are met */
    INVARIANT_FAIR,     /* shares by weight over any ten seconds */
    INVARIANT_LEAD,     /* nobody gets ahead for good where seats are few */
    INVARIANT_PROGRESS, /* background moves in any five */
    INVARIANT_BUSY,     /* the place is not idle while somebody could run */
    INVARIANT_TOKENS,   /* as many as without a scheduler */
    INVARIANT_COST,     /* foretold and real times agree */
    INVARIANT_CLOCK,    /* also ten steps after the clock has changed */
    INVARIANT_QUEUE,    /* bounded */
    INVARIANT_BACK,     /* who comes back when told finds a place */
    INVARIANT_ONCE,     /* each request ends once */
    INVARIANT_LEAK,     /* at the end nothing is left */
    INVARIANT_CONTRACT, /* engines are asked only for what they can do */
    INVARIANT_COUNT,
};

struct invariant_row {
    const char *name;
    const char *bound;     /* in words, for the table */
    const char *unit;      /* of the worst value */
    uint32_t may_miss_ppm; /* cases of a million that may be beyond the bound */
    bool worst_is_least;   /* the worst value is the smallest */
};

extern const struct invariant_row invariants[INVARIANT_COUNT];

/* What one run, or many, saw of one. */
struct tally {
    uint64_t n;     /* cases */
    uint64_t n_bad; /* beyond the bound */
    double worst;
    double worst_s; /* when, in the run; of the first bad one where there is one */
    uint64_t seed;  /* of the run that it stems from */
};

struct tallies {
    struct tally of[INVARIANT_COUNT];
};

/* One more case with @value; @bad: it is beyond its bound. */
void tally_add(struct tallies *tallies, enum invariant which, double value, bool bad, double at_s);

/* Adds what the run of @seed saw to the sums. */
void tally_merge(struct tallies *sums, const struct tallies *run, uint64_t seed);

/* Too many cases are beyond the bound. */
bool tally_fails(const struct tally *tally, enum invariant which);

/* The first that fails, or INVARIANT_COUNT. */
enum invariant tallies_first_failure(const struct tallies *tallies);

#endif
