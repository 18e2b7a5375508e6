/*
 * Job: one request as the scheduler sees it
 *
 * Its counters mirror the sequence in the engine: n_known tokens are known (prompt, then what was sampled), n_done
 * rows are computed, n_sent rows stand in a step that is under way. It lives inside the stream that it belongs to.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_SCHED_JOB_H
#define SOTTO_SCHED_JOB_H

#include "base/list.h"
#include "sched/account.h"

enum job_state {
    JOB_HELD,    /* nothing to do for it yet: its words or its model are not there */
    JOB_WAITING, /* wants a sequence */
    JOB_OPENING, /* asked the engine for one */
    JOB_SEATED,  /* has one: may stand in steps */
    JOB_ENDED,
    JOB_STATE_COUNT,
};

struct lane;

struct job {
    struct list link;        /* sched::jobs */
    struct account *account; /* pays; outlives it */
    struct lane *lane;       /* of the engine that serves it; may change while JOB_HELD */
    struct account_limits limits;
    enum sched_class class;
    enum job_state state;
    uint64_t order;    /* of arrival */
    uint64_t since_us; /* waiting or unserved since */

    uint32_t n_prompt;
    uint32_t n_known;
    uint32_t n_done;
    uint32_t n_sent; /* 0: in no step */
    uint32_t n_paid; /* tokens that the account was charged for: a rebuild is not its fault */

    bool parked; /* no credit, or its reader stalls: in no step, and its seat may be taken */
    bool alone;  /* a suspect: shares no step */
};

bool job_may_move(const struct job *job, enum job_state to);

/* Asserts that the move is legal. Keeps the account's count of waiting requests. */
void job_move(struct job *job, enum job_state to, uint64_t now_us);

/* Its sequence is gone, with all that was computed; what is known stays known. */
void job_forget(struct job *job);

/* True if the next row's token is to be sampled: all else is computed. */
bool job_decodes(const struct job *job);

#endif
