/*
 * Invariant: what must hold in every scenario
 *
 * Each has a name, a bound, and how many of its cases may miss the bound: none, or so many of a million, counted over
 * all runs of a sweep. A run only counts. Verdicts are given over sums, so "at the 99.9th percentile" is taken over all
 * requests.
 */
#ifndef SOTTO_SIM_INVARIANT_H
#define SOTTO_SIM_INVARIANT_H

#include "scenario.h"

enum invariant {
    INVARIANT_SLICE,    /* no unbroken time on the processor above its bound and one part */
    INVARIANT_REST,     /* after it, the processor rests as the duty says */
    INVARIANT_GATE,     /* nothing runs behind a gate */
    INVARIANT_FRAMES,   /* frames missed because of us, in steady load */
    INVARIANT_STEP,     /* the same after graphics grew, unannounced */
    INVARIANT_HINT,     /* and announced */
    INVARIANT_UNTOLD,   /* in steady load that no driver reports */
    INVARIANT_HEAT,     /* no warmer than a chip that we leave alone */
    INVARIANT_CYCLE,    /* settled temperature does not swing */
    INVARIANT_HOT,      /* a hot start falls no slower than without us */
    INVARIANT_TRIP,     /* nothing runs at a passive trip point */
    INVARIANT_VOICE,    /* realtime has its share below it, however warm the chip is */
    INVARIANT_COOLED,   /* all work when the chip has cooled */
    INVARIANT_USE,      /* the heat budget is used, when settled */
    INVARIANT_WARM,     /* and mostly in any ten seconds with work */
    INVARIANT_CURVE,    /* while others warm the chip, duty falls as a curve */
    INVARIANT_FLAP,     /* the mode does not flap */
    INVARIANT_BLIND,    /* blind: nothing runs as if all were well */
    INVARIANT_FIRST,    /* realtime first token: one slice and its own work */
    INVARIANT_GAP,      /* a realtime answer moves on with each step */
    INVARIANT_DEADLINE, /* admitted deadlines are met */
    INVARIANT_REFUSED,  /* and few are refused that could be met */
    INVARIANT_FAIR,     /* shares by weight over any ten seconds */
    INVARIANT_LEAD,     /* no account gets ahead for good where slots are few */
    INVARIANT_BUDGET,   /* the tokens of a minute are not passed, and all are given */
    INVARIANT_PROGRESS, /* background moves in any five seconds */
    INVARIANT_LEFT,     /* the duty is what the screen leaves */
    INVARIANT_STREAM,   /* each request advances, however many others there are */
    INVARIANT_BUSY,     /* the processor is not idle while a job could run */
    INVARIANT_USED,     /* nor beyond slices and pauses */
    INVARIANT_FILL,     /* each step holds all answers in progress */
    INVARIANT_TOKENS,   /* as many as without a scheduler */
    INVARIANT_COST,     /* estimated and real times agree */
    INVARIANT_CLOCK,    /* also ten steps after a change of clock */
    INVARIANT_ROOM,     /* an account without promises is given one for what its share does */
    INVARIANT_QUEUE,    /* is bounded */
    INVARIANT_TOLD,     /* the time told to a refused request is about what draining takes */
    INVARIANT_ESTIMATE, /* estimates of first tokens */
    INVARIANT_ONCE,     /* each request ends once */
    INVARIANT_LEAK,     /* nothing is left at the end */
    INVARIANT_CONTRACT, /* engines are asked only for what they can do */
    INVARIANT_COUNT,
};

struct invariant_row {
    const char *name;
    const char *bound;     /* description for the table */
    const char *unit;      /* of the worst value */
    uint32_t may_miss_ppm; /* cases of a million that may exceed the bound */
    bool worst_is_least;   /* the worst value is the smallest */
};

extern const struct invariant_row invariants[INVARIANT_COUNT];

/* What one run, or many, counted of one invariant. */
struct tally {
    uint64_t n;     /* cases */
    uint64_t n_bad; /* beyond the bound */
    double worst;
    double worst_s; /* when, in the run; if any case is bad, the first bad one */
    uint64_t seed;  /* seed of that run */
};

struct tallies {
    struct tally of[INVARIANT_COUNT];
};

/* Counts a case with @value; @bad says whether it exceeds its bound. */
void tally_add(struct tallies *tallies, enum invariant which, double value, bool bad, double at_s);

/* Adds the counts of the run of @seed to the sums. */
void tally_merge(struct tallies *sums, const struct tallies *run, uint64_t seed);

/* True if too many cases exceed the bound. */
bool tally_fails(const struct tally *tally, enum invariant which);

/* Returns the first invariant that fails, or INVARIANT_COUNT. */
enum invariant tallies_first_failure(const struct tallies *tallies);

#endif
