/*
 * Job: one request as the scheduler sees it
 *
 * Its counters mirror the sequence in the engine: n_known tokens are known (the prompt, then what was sampled) and
 * n_done rows are computed. Steps in progress run ahead of both: n_sent rows are in steps that have not ended, and
 * those steps will sample n_due tokens. So the next step can be planned before the last one has ended; its row takes
 * the token that the engine samples first. A job lives inside its stream.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_SCHED_JOB_H
#define SOTTO_SCHED_JOB_H

#include "base/list.h"
#include "sched/account.h"

enum job_state {
    JOB_HELD,     /* nothing to do yet: its text is not tokenized or its model not loaded */
    JOB_WAITING,  /* wants a slot */
    JOB_OPENING,  /* the engine was asked to open its sequence */
    JOB_ASSIGNED, /* has a slot: may be in steps */
    JOB_ENDED,
    JOB_STATE_COUNT,
};

/* Steps in progress that may hold one job: the one that runs, and the one waiting behind it. */
#define JOB_STEPS_MAX 2u

/* Value of n_left while it is unknown. */
#define JOB_NO_END UINT32_MAX

struct engine_queue;

struct job {
    struct list link;        /* queue::jobs */
    struct account *account; /* is charged; outlives the job */
    struct engine_queue *eq; /* the engine that serves it; may change while JOB_HELD */
    struct account_limits limits;
    enum priority priority;
    enum job_state state;
    uint64_t order;       /* of arrival */
    uint64_t since_us;    /* waiting or unserved since */
    uint64_t assigned_us; /* when it got its slot */
    uint64_t went_on_us;  /* when it first had a new token with that; 0: not yet */

    /* In the boot clock; 0: none. The stream sets them before queue_add(). */
    uint64_t first_by_us;  /* deadline of its first token */
    uint64_t finish_by_us; /* deadline of its last token */

    uint32_t n_prompt;
    uint32_t n_known;
    uint32_t n_done;   /* rows computed; with @owns_slot, as estimated for its session's sequence */
    uint32_t n_sent;   /* rows in steps in progress; 0: in none */
    uint32_t n_due;    /* tokens that those steps will sample */
    uint32_t n_drafts; /* tokens that they may sample beyond those */
    uint32_t n_steps;  /* steps in progress that hold it, 0 to JOB_STEPS_MAX */
    uint32_t n_left;   /* tokens that may still be sampled (credit, max_tokens; an embedding: 1); set by the stream */
    uint32_t n_beyond; /* tokens beyond those by sliding a full context; set by the stream */
    uint32_t n_most;   /* tokens of its prompt and longest answer; 0: not known */
    uint32_t n_paid;   /* tokens that the account was charged for; a rebuild is not charged again */
    uint32_t n_pages;  /* needed by its sequence, as the engine reported last (Opened, Refused); 0: not known */
    uint32_t n_pages_asked; /* while JOB_OPENING: counted in the engine's */

    /* An earlier turn of its session. The job is JOB_HELD until the steps that hold that turn have ended, and may
     * then go on with the sequence. */
    const struct job *behind;

    double hits; /* share of its drafts that are right, if all before them are; 0: it has drafted none yet */

    uint32_t n_planned;      /* rows in the plan that is being made; scratch */
    uint32_t n_preempted;    /* times that its slot was taken with what it had computed */
    uint32_t n_paid_at_slot; /* n_paid when it got its slot */
    bool parked;             /* no credit, or its reader stalls: in no step, and its slot may be taken */
    bool yields;             /* the daemon's own work: behind all other jobs, which may take its slot */
    bool alone;              /* a suspect: shares no step */
    bool has_first;          /* its first token was sampled */
    bool has_run;            /* a step has held it since it got its slot */
    bool assigned_by_age;    /* got its slot by age: keeps it until it has got further */
    bool late;               /* missed a deadline; set by queue_next_expired() */
    bool owns_slot;          /* its session keeps a sequence open for it, so it needs no free slot */
    bool retained;           /* not a request: stands for the open sequence of an idle session (queue_retain()) */
    bool passed_over;        /* left out of one round of handing out slots; scratch */
    bool urgent;             /* would miss its deadline in the fair order; set by admit_mark_urgent() */
    uint64_t due_boot_us;    /* the deadline in question */
};

bool job_may_move(const struct job *job, enum job_state to);

/* Moves @job to @to; asserts that the move is legal. Updates the account's count of waiting requests and the
 * engine's slots by class, and counts n_pages while JOB_ASSIGNED (set them before that move). */
void job_move(struct job *job, enum job_state to, uint64_t now_us);

/* Resets the counters of @job after its sequence is gone, with all that was computed or is in progress. What is
 * known stays known. The caller removes it from its steps: job_settle() must not follow for those. */
void job_forget(struct job *job);

/* Counts one more step in progress with @n_rows rows and, at their end, @n_tok tokens of @job, and @n_drafts more if
 * all of its drafts are accepted. */
void job_send(struct job *job, uint32_t n_rows, uint32_t n_tok, uint32_t n_drafts);

/* Counts that step as ended or withdrawn. Its results are counted separately: n_done, n_known, queue_charge(). */
void job_settle(struct job *job, uint32_t n_rows, uint32_t n_tok, uint32_t n_drafts);

/* Records that @n_accepted drafts of @job were sampled in a step, and that @n_wrong were computed in vain. */
void job_drafted(struct job *job, uint32_t n_accepted, uint32_t n_wrong);

/* Returns the drafts that pay in the next step of @job: a row of a draft takes @row_ns, and a token that it saves
 * takes @token_ns otherwise. At most @n_most, and no more than the job may still sample. */
uint32_t job_drafts(const struct job *job, double row_ns, double token_ns, uint32_t n_most);

/* Returns the rows that can be planned now: 1 in the middle of an answer, more in a prompt, 0 if all are computed or
 * in progress. */
uint32_t job_rows_left(const struct job *job);

/* True if the next row's token is to be sampled: everything before it is computed or in progress, with all of the
 * prompt. */
bool job_decodes(const struct job *job);

/* True if one more step may hold it. */
bool job_may_step(const struct job *job);

/* Returns the pages that it needs: as the engine reported, or as many as it may come to. */
uint32_t job_pages(const struct job *job);

/* Returns the virtual time of its account, at which its next row starts. */
uint64_t job_start(const struct job *job);

/* Returns the tokens that it may still sample, including those gained by slides: the rest of its longest answer or
 * of its credit, whichever is less. While JOB_HELD an n_left of 0 means that it is not set yet. */
uint32_t job_tokens_left(const struct job *job);

#endif
