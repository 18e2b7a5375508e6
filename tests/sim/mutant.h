/*
 * Mutant: sotto with one thing taken away
 *
 * A check that nothing can fail proves nothing. Each mutant is the same object code under a harness that
 * withholds one part of it, and each must be caught by the invariant that was made for that part (mutant.c
 * has the table, and "sotto-sim mutants" runs it).
 */
#ifndef SOTTO_SIM_MUTANT_H
#define SOTTO_SIM_MUTANT_H

#include "govern/governor.h"
#include "invariant.h"
#include "sched/queue.h"

enum mutant {
    MUTANT_NONE,
    MUTANT_NO_INTEGRAL, /* the heat controller forgets at each tick what it had learnt */
    MUTANT_NO_SLICE,    /* steps run through */
    MUTANT_NO_REST,     /* the place is not left alone between slices */
    MUTANT_NO_SUSPEND,  /* what runs is never interrupted for a higher class */
    MUTANT_NO_AGE,      /* nobody grows older by waiting */
    MUTANT_NO_WEIGHT,   /* all accounts weigh the same */
    MUTANT_NO_LEARN,    /* the cost model stays as the warm-up left it */
    MUTANT_NO_ADMIT,    /* every deadline is promised */
    MUTANT_NO_LINE,     /* who is told to come again has no place in line */
    MUTANT_BLIND_IDLE,  /* what can't be read is taken for nothing */
    MUTANT_DEAF,        /* hints are not heard */
    MUTANT_LEAK,        /* a cancelled request's sequence stays open */
    MUTANT_LONG_SLICE,  /* slices a fifth too long */
    MUTANT_SHORT_REST,  /* pauses a fifth too short */
    MUTANT_NO_GATE,     /* the class gate is not heeded */
    MUTANT_BY_WORD,     /* work waits for the mode's word, which dwells */
    MUTANT_LATE_HINT,   /* hints are heard a tenth of a second late */
    MUTANT_NO_DUE,      /* deadlines are promised, and no order follows from them */
    MUTANT_SLOW_AGE,    /* a class grows older four times too slowly */
    MUTANT_BY_REQUEST,  /* accounts are charged for requests, not for tokens */
    MUTANT_STALE,       /* an old reading is as good as a new one */
    MUTANT_WIND_UP,     /* the heat controller's integral grows while nothing runs */
    MUTANT_LOST_SLOT,   /* a lost engine takes one of its lane's seats with it */
    MUTANT_COUNT,
};

struct mutant_row {
    const char *name;
    const char *what;
    enum family family; /* where it is looked for */
    enum invariant caught_by;
    uint64_t from; /* the first seed in which it matters; 0: any */
};

extern const struct mutant_row mutants[MUTANT_COUNT];

/* What the desk does in a mutant's place; nothing for the others. */
void mutant_blinds(enum mutant mutant, struct governor_input *input);
void mutant_forgets(enum mutant mutant, struct governor *governor);
void mutant_limits(enum mutant mutant, struct governor_limits *limits);
void mutant_charges(enum mutant mutant, struct job *job, uint64_t served);

/* All ages of @queue as if of the time that went by only one part in @slowness had; @slowness 0: none. */
void mutant_rejuvenates(struct queue *queue, uint64_t gone_us, uint64_t now_us, uint64_t slowness);

#endif
