/*
 * Job: one request as the scheduler sees it
 *
 * Its counters mirror the sequence in the engine. n_known tokens are known (prompt, then what was sampled) and
 * n_done rows are computed. What is under way runs ahead of both: n_sent rows stand in steps that have not ended,
 * and those steps will sample n_due tokens. So the next step can be planned before the last has ended: its row
 * takes the token that the engine samples first. It lives inside the stream that it belongs to.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_SCHED_JOB_H
#define SOTTO_SCHED_JOB_H

#include "base/list.h"
#include "sched/account.h"

enum job_state {
    JOB_HELD,     /* nothing to do for it yet: its words or its model are not there */
    JOB_WAITING,  /* wants a sequence */
    JOB_OPENING,  /* asked the engine for one */
    JOB_ASSIGNED, /* has one: may stand in steps */
    JOB_ENDED,
    JOB_STATE_COUNT,
};

/* Steps under way that may name one job: the one that runs, and the one behind it. */
#define JOB_STEPS_MAX 2u

/* n_left of who has not said it. */
#define JOB_NO_END UINT32_MAX

struct engine_queue;

struct job {
    struct list link;        /* queue::jobs */
    struct account *account; /* pays; outlives it */
    struct engine_queue *eq; /* of the engine that serves it; may change while JOB_HELD */
    struct account_limits limits;
    enum priority priority;
    enum job_state state;
    uint64_t order;       /* of arrival */
    uint64_t since_us;    /* waiting or unserved since */
    uint64_t assigned_us; /* when it got its present seat */

    /* Boot clock; 0: none. The stream sets them before queue_add(). */
    uint64_t first_by_us;  /* its first token is there */
    uint64_t finish_by_us; /* its last token is there */

    uint32_t n_prompt;
    uint32_t n_known;
    uint32_t n_done;   /* of who owns a seat and has not taken it: so many are foretold to be */
    uint32_t n_sent;   /* rows in steps under way; 0: in none */
    uint32_t n_due;    /* tokens that those steps will sample */
    uint32_t n_steps;  /* steps under way that name it, 0 to JOB_STEPS_MAX */
    uint32_t n_left;   /* tokens that may still be sampled (credit, max_tokens; an embedding: 1); kept by the stream */
    uint32_t n_beyond; /* behind those, by slides, when the context is full; kept by the stream */
    uint32_t n_most;   /* tokens that it may come to: prompt, and the longest answer; 0: not known */
    uint32_t n_paid;   /* tokens that the account was charged for: a rebuild is not its fault */
    uint32_t n_pages;  /* that its sequence needs, as the engine said last (Opened, Refused); 0: not known */
    uint32_t n_pages_asked; /* while JOB_OPENING: counted in its lane's */

    /* An earlier turn of its session. When the steps that name that one have ended it may go on with the sequence, and
     * is JOB_HELD until then. */
    const struct job *behind;

    uint32_t n_planned;      /* rows in the plan that is being made; means nothing between plans */
    uint32_t n_preempted;    /* times that its seat was taken with what it had computed */
    uint32_t n_paid_at_slot; /* n_paid when it was seated */
    bool parked;             /* no credit, or its reader stalls: in no step, and its seat may be taken */
    bool yields;             /* the daemon's own work: behind all others, and its seat is theirs */
    bool alone;              /* a suspect: shares no step */
    bool has_first;          /* its first token was sampled */
    bool has_run;            /* a step has named it since it has its seat */
    bool assigned_by_age;    /* keeps its seat until it has got further */
    bool late;               /* a deadline passed unmet; set by queue_next_expired() */
    bool owns_slot;          /* its session keeps a sequence open for it: no room must be found */
    bool retained;           /* no request: stands for a session's open sequence (queue_retain()) */
    bool passed_over;        /* by whoever hands out seats, for now; means nothing in between */
    bool urgent;             /* would miss its deadline in its fair turn; set by admit_mark_urgent() */
    uint64_t due_boot_us;    /* the deadline that makes it so */
};

bool job_may_move(const struct job *job, enum job_state to);

/* Asserts that the move is legal. Keeps the account's count of waiting requests, and what the lane has
 * given away: seats by class, and while JOB_ASSIGNED n_pages (to be set before that move). */
void job_move(struct job *job, enum job_state to, uint64_t now_us);

/* Its sequence is gone, with all that was computed and all that is under way; what is known stays known.
 * Whoever keeps the steps takes it out of them: no job_settle() for those. */
void job_forget(struct job *job);

/* One more step is under way with @n_rows rows and, at their end, @n_tok tokens of @job. */
void job_send(struct job *job, uint32_t n_rows, uint32_t n_tok);

/* That step has ended or was withdrawn. What it brought is counted apart: n_done, n_known, queue_charge(). */
void job_settle(struct job *job, uint32_t n_rows, uint32_t n_tok);

/* Rows that can be planned now: 1 in the middle of an answer, more in a prompt, 0: all is under way or
 * done. */
uint32_t job_rows_left(const struct job *job);

/* True if the next row's token is to be sampled: all else is computed or under way, and the prompt is
 * through. */
bool job_decodes(const struct job *job);

/* True if one more step may name it. */
bool job_may_step(const struct job *job);

/* Pages that it needs: as the engine said, or as many as it may come to. */
uint32_t job_pages(const struct job *job);

/* Virtual time of its account: where its next row starts. */
uint64_t job_start(const struct job *job);

/* Tokens that it may yet sample, with those behind slides: what is left of its longest answer, or of its credit,
 * whichever is less. While JOB_HELD no n_left means that none was said yet. */
uint32_t job_tokens_left(const struct job *job);

#endif
