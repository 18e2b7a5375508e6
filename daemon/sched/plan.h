/*
 * Plan: the next step, out of all that could run
 *
 * Continuous batching: a step takes every answer that can go on and fits, then fills up with pieces of prompts whose
 * size is what the cost model says fits into the time that a step should take. One plan over all models: the lane
 * of whoever comes first has the turn. A suspect has a step of its own, in turns with the others.
 *
 * Pure: the world in, a plan out; asks nothing, sleeps never.
 */
#ifndef SOTTO_SCHED_PLAN_H
#define SOTTO_SCHED_PLAN_H

#include "sched/governor.h"
#include "sched/queue.h"

#define PLAN_ENTRIES 256u

/* A step longer than this would keep somebody who comes now waiting; shorter ones read the weights too often for
 * too few rows. Where reading the weights alone takes half of it, a step is twice that reading. */
#define PLAN_STEP_US 50000u

/* The least piece of a prompt: below, reading the weights costs more than the rows. It is kept free in each step
 * that a prompt waits for, so that prompts move however many answers run. */
#define PLAN_PIECE_ROWS 16u

struct plan_input {
    uint64_t now_us;  /* monotonic: ages */
    uint64_t boot_us; /* boot clock: budgets */
    struct governor_limits limits;
};

struct plan_entry {
    struct job *job;
    uint32_t n_prefill; /* rows of what is known; 0: one token more */
};

struct plan {
    struct lane *lane; /* NULL: stay idle */
    struct plan_entry entries[PLAN_ENTRIES];
    uint32_t n_entries;
    uint32_t n_rows;
    struct cost_load load;
    double foretold_ns;
    uint64_t wake_us; /* boot clock: ask again then, though nothing happened; 0: no need */
    bool alone;       /* a suspect's step */
};

struct planner {
    uint64_t n_turns;
    bool last_alone; /* whose turn it is between suspects and the rest */
};

/* Nobody of @queue may stand in a step already (n_sent 0): the device has one turn. */
void plan_make(struct planner *planner, const struct queue *queue, const struct plan_input *in,
               struct plan *ret_plan);

/* Pages of earlier positions that @n_rows more rows of @job look at, added up over the rows. */
uint32_t plan_pages(const struct job *job, uint32_t n_rows, uint32_t page_tokens);

#endif
