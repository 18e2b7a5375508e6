/*
 * Plan: the next step, out of all that could run
 *
 * Continuous batching: a step takes every answer that can go on and fits, then fills up with pieces of prompts
 * whose size is what the cost model says fits into the time that a step should take. One plan over all models: the
 * lane of whoever comes first has the turn. A suspect has a step of its own, in turns with the others.
 *
 * Pure: the world in, a plan out; asks nothing, sleeps never.
 */
#ifndef SOTTO_SCHED_PLAN_H
#define SOTTO_SCHED_PLAN_H

#include "govern/governor.h"
#include "sched/queue.h"

#define PLAN_ENTRIES 256u

/* A step longer than this would keep somebody who comes now waiting; shorter ones read the weights too
 * often for too few rows. Where reading the weights alone takes half of it, a step is twice that reading. */
#define PLAN_STEP_US 50000u

/* The least piece of a prompt: below, reading the weights costs more than the rows. It is kept free in
 * each step that a prompt waits for, so that prompts move however many answers run. */
#define PLAN_PIECE_ROWS 16u

enum plan_kind {
    PLAN_NEXT,     /* nothing is under way, or it stands still: whoever's turn it is */
    PLAN_BEHIND,   /* a step of @eq runs: the one that follows it there; none if another lane or a suspect is next */
    PLAN_OVERTAKE, /* runs before steps that are under way: only jobs that stand in none, and no suspect */
};

struct plan_input {
    uint64_t now_us;  /* monotonic: ages */
    uint64_t boot_us; /* boot clock: budgets and deadlines */
    struct governor_limits limits[PROCESSOR_COUNT];
    enum plan_kind kind;
    const struct engine_queue *eq; /* PLAN_BEHIND: see there. Else NULL, or the only lane that is asked about */
    enum priority min_priority;    /* lower classes, without ageing, are left out */
};

struct plan_entry {
    struct job *job;
    uint32_t n_prefill; /* rows of what is known; 0: one token more */
    uint32_t n_rows;    /* n_prefill, or the answer's one: for job_send() */
    uint32_t n_tok;     /* that will be sampled behind them */
};

struct plan {
    struct engine_queue *eq; /* NULL: stay idle */
    struct plan_entry entries[PLAN_ENTRIES];
    uint32_t n_entries;
    uint32_t n_rows;
    struct cost_load load;
    double estimated_ns;
    uint64_t wake_us; /* boot clock: ask again then, though nothing happened (a budget, a deadline); 0: no need */
    bool alone;       /* a suspect's step */
};

struct planner {
    uint64_t n_turns;
    bool last_alone; /* whose turn it is between suspects and the rest */
};

/*
 * The next step, or none (lane NULL). None also while the lane whose turn it is opens a sequence (JOB_OPENING):
 * that takes microseconds, and a step of another lane in its place would be that lane's gain for good. Jobs may
 * stand in one step already (n_steps): then theirs is the one that comes after it. Nothing is counted as sent:
 * whoever sends the plan calls job_send() for each entry. A plan that is made and not sent has taken a turn, which
 * is small harm.
 */
void plan_make(struct planner *planner, struct queue *queue, const struct plan_input *in, struct plan *ret_plan);

/* The longest that a step of @eq should take on the chip, in ns: PLAN_STEP_US of the clock on the wall, as the duty
 * has it; while others use the place, one slice where a slice can hold a step; and never less than two readings of
 * the weights. */
double plan_target_ns(const struct engine_queue *eq, const struct governor_limits *limits);

/* Pages of earlier positions that the next @n_rows rows of @job look at, added up over the rows. */
uint32_t plan_pages(const struct job *job, uint32_t n_rows, uint32_t page_tokens);

#endif
