/*
 * Mutant: sotto with one mechanism removed or damaged
 *
 * A check that nothing can fail proves nothing. Each mutant is the same object code under a harness that withholds one
 * part of it, and each must be caught by the invariant that was made for that part. mutant.c has the table with a
 * description of each; "sotto-sim mutants" runs it.
 */
#ifndef SOTTO_SIM_MUTANT_H
#define SOTTO_SIM_MUTANT_H

#include "govern/governor.h"
#include "invariant.h"
#include "sched/queue.h"

enum mutant {
    MUTANT_NONE,
    MUTANT_NO_INTEGRAL,
    MUTANT_NO_SLICE,
    MUTANT_NO_REST,
    MUTANT_NO_SUSPEND,
    MUTANT_NO_AGE,
    MUTANT_NO_WEIGHT,
    MUTANT_NO_LEARN,
    MUTANT_NO_ADMIT,
    MUTANT_LATE_RETRY,
    MUTANT_BLIND_IDLE,
    MUTANT_DEAF,
    MUTANT_LEAK,
    MUTANT_LONG_SLICE,
    MUTANT_SHORT_REST,
    MUTANT_NO_GATE,
    MUTANT_BY_MODE,
    MUTANT_LATE_HINT,
    MUTANT_NO_DUE,
    MUTANT_SLOW_AGE,
    MUTANT_BY_REQUEST,
    MUTANT_STALE,
    MUTANT_WIND_UP,
    MUTANT_EARLY_RETRY,
    MUTANT_LOST_SLOT,
    MUTANT_WALL,
    MUTANT_NUMB,
    MUTANT_NO_HEADROOM,
    MUTANT_REFUSE_ALL,
    MUTANT_HALF_LEFT,
    MUTANT_HALF_USED,
    MUTANT_LONG_HINT,
    MUTANT_NO_REFUND,
    MUTANT_NO_TENURE,
    MUTANT_LONG_ESTIMATE,
    MUTANT_HALF_BUDGET,
    MUTANT_NO_QUANTUM,
    MUTANT_NO_STUCK,
    MUTANT_NO_TRIP,
    MUTANT_LONG_TRIP,
    MUTANT_NO_VOICE,
    MUTANT_COUNT,
};

struct mutant_row {
    const char *name;
    const char *what;
    enum family family; /* in which it is caught */
    enum invariant caught_by;
    uint64_t from; /* first seed in which it matters; 0: any */
};

extern const struct mutant_row mutants[MUTANT_COUNT];

/* Effects of mutants in the server; they do nothing for other mutants. */
void mutant_blinds(enum mutant mutant, const struct governor *governor, struct governor_input *input);
void mutant_forgets(enum mutant mutant, struct governor *governor);
void mutant_limits(enum mutant mutant, struct governor_limits *limits);

/* Returns the time that a run is charged for, which held the device after it had waited for it. */
uint64_t mutant_holds(enum mutant mutant, uint64_t held_us, uint64_t waited_us);

/* Returns the wait that the governor is told of. */
uint64_t mutant_feels(enum mutant mutant, uint64_t waited_us);
uint64_t mutant_tells(enum mutant mutant, uint64_t retry_us);
/* Returns what becomes of the verdict on a deadline: an admit_outcome. */
int mutant_admits(enum mutant mutant, const struct job *job, int verdict);
void mutant_charges(enum mutant mutant, struct job *job, uint64_t served);

/* Takes back a refund: @before is what the account of @job was charged for rows in progress before it. */
void mutant_refunds(enum mutant mutant, struct job *job, uint64_t before);

/* Ends the tenure of all slots. */
void mutant_evicts(enum mutant mutant, struct queue *queue);

/* Returns the factor by which the costs of an engine are wrong when a deadline is asked for. */
double mutant_misjudges(enum mutant mutant);

/* Lets no quantum end. */
void mutant_prolongs(enum mutant mutant, struct queue *queue, uint64_t now_us);

/* Makes all ages of @queue grow slower: by one part in @slowness of the time that went by; @slowness 0: not at all. */
void mutant_rejuvenates(struct queue *queue, uint64_t gone_us, uint64_t now_us, uint64_t slowness);

#endif
