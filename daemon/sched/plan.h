/*
 * Plan: the next step, out of all jobs that could run
 *
 * Continuous batching: a step takes every answer that can go on and fits, then fills up with pieces of prompts. The
 * cost model says how large these may be for the step to take as long as it should. One plan covers all models: the
 * engine of the first job in the order gets the step. A suspect has a step of its own, alternating with the others.
 *
 * Pure: the world goes in, a plan comes out; it asks nothing and never sleeps.
 */
#ifndef SOTTO_SCHED_PLAN_H
#define SOTTO_SCHED_PLAN_H

#include "sched/queue.h"

#define PLAN_ENTRIES 256u

/* A longer step would keep a request waiting that arrives during it; shorter ones read the weights too often for too
 * few rows. If reading the weights alone takes half of this, a step is twice that reading. */
#define PLAN_STEP_US 50000u

/* The smallest piece of a prompt: below it, reading the weights costs more than the rows. It is reserved in each
 * step that a prompt waits for, so prompts move on however many answers run. */
#define PLAN_PIECE_ROWS 16u

enum plan_kind {
    PLAN_NEXT,     /* no step is in progress, or all are suspended: the first job in the order decides */
    PLAN_BEHIND,   /* a step of @eq runs: the next one there; none if another engine or a suspect comes next */
    PLAN_OVERTAKE, /* runs before the steps in progress: only jobs that are in none, and no suspect */
};

struct plan_input {
    uint64_t now_us;  /* monotonic: for ageing */
    uint64_t boot_us; /* boot clock: budgets and deadlines */
    struct governor_limits limits[PROCESSOR_COUNT];
    enum plan_kind kind;
    const struct engine_queue *eq; /* PLAN_BEHIND: see there; otherwise the only engine that is considered, or NULL */
    enum priority min_priority;    /* lower classes are left out, whatever their age */
};

struct plan_entry {
    struct job *job;
    uint32_t n_prefill; /* rows of known tokens; 0: one token more */
    uint32_t n_rows;    /* n_prefill, or the answer's one row: for job_send() */
    uint32_t n_tok;     /* tokens that will be sampled after them */
    uint32_t n_drafts;  /* tokens of the answer that may be drafted and sampled beyond that */
    uint32_t row_pages; /* that the row of such a token attends to */
};

struct plan {
    struct engine_queue *eq; /* NULL: nothing to run */
    struct plan_entry entries[PLAN_ENTRIES];
    uint32_t n_entries;
    uint32_t n_rows;
    struct cost_load load;
    double estimated_ns;
    uint64_t wake_us; /* boot clock: plan again then, even if nothing happened (a budget, a deadline); 0: no need */
    bool alone;       /* the step of a suspect */
};

struct planner {
    uint64_t n_rounds;
    bool last_alone; /* the last step was a suspect's */
};

/*
 * Plans the next step, or none (ret_plan->eq is NULL). There is none also while the engine that comes next opens a
 * sequence (JOB_OPENING): that takes microseconds, and a step of another engine in its place would be a permanent gain
 * of that one. Jobs may be in one step already (n_steps); the plan is then for the step after it. Nothing is counted as
 * sent: the caller that sends the plan calls job_send() for each entry. A plan that is made and not sent has used a
 * round, which does little harm.
 */
void plan_make(struct planner *planner, struct queue *queue, const struct plan_input *in, struct plan *ret_plan);

/* Returns how long a step of @eq should take on the chip at most, in ns: PLAN_STEP_US of the clock as the duty gives
 * them; while others use the processor, one slice if a step fits into one; and never less than two readings of the
 * weights. */
double plan_target_ns(const struct engine_queue *eq, const struct governor_limits *limits);

/* Returns the pages of earlier positions that the next @n_rows rows of @job attend to, summed over the rows. */
uint32_t plan_pages(const struct job *job, uint32_t n_rows, uint32_t page_tokens);

#endif
