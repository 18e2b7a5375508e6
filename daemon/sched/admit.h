/*
 * Admit: can this request meet its deadline?
 *
 * A deadline is a promise, so it is given or refused when the request arrives. The times until the first and the last
 * token are estimated from the cost model, the limits in force (duty, gate) and all work that comes first:
 *
 * - all work of higher classes, and work of the same class with earlier deadlines;
 * - of the other accounts of its class, as much as their weights give them while this request is served.
 *
 * So a deadline is met out of the account's own share or not at all. Work promised before counts as reserved: an
 * admission never breaks an earlier one. Requests without a deadline are never late; of these only what can never fit
 * is refused.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_ADMIT_H
#define SOTTO_SCHED_ADMIT_H

#include "sched/queue.h"

enum admit_outcome {
    ADMIT_OK,
    ADMIT_LATE,  /* a deadline can't be met beside what was promised to others */
    ADMIT_NEVER, /* it can never run: more tokens than the context, or more pages than there are */
};

enum admit_bound {
    ADMIT_CONTEXT, /* tokens of a sequence */
    ADMIT_PAGES,
};

/* Times are in us from now on. ADMIT_NO_TIME means never under the present limits (gate, pause). */
#define ADMIT_NO_TIME UINT64_MAX

struct admit_verdict {
    uint64_t first_us;    /* estimate until the first token */
    uint64_t finish_us;   /* estimate until the last token of the longest answer */
    uint64_t deadline_us; /* ADMIT_LATE: the deadline that would be missed, from now on */
    bool is_first;        /* ADMIT_LATE: it is the deadline of the first token */
    /* ADMIT_LATE: a request sent again then may be in time; 0: it can't be met even on an idle machine */
    uint64_t retry_us;
    enum admit_bound bound; /* ADMIT_NEVER: the bound, what the request needs, and what there is */
    uint32_t n_needs;
    uint32_t n_has;
};

/*
 * Fills in the limits of all processors that admission calculates with. The usual duty replaces a higher one of the
 * moment, because the load is read by the frame. While a compositor has announced that it draws, the usual duty holds
 * from the announced end on (busy_until_us is in the boot clock afterwards).
 */
void admit_limits(const struct governor_limits *limits, uint64_t now_us, uint64_t boot_us,
                  struct governor_limits *ret_limits);

/*
 * Says whether @job may come in: an admit_outcome. @job is filled in as for queue_add() and not in @queue, or is
 * JOB_HELD there because its text has just been tokenized; then it is not counted against itself. @limits are those of
 * all processors. Always fills @ret_verdict.
 */
int admit_check(const struct queue *queue, const struct job *job, const struct governor_limits *limits,
                uint64_t boot_us, struct admit_verdict *ret_verdict);

/*
 * Evaluates all deadlines again and sets job::urgent for those that would be missed in the fair order. plan_make()
 * calls it; other callers of the queue's order call it first.
 */
void admit_mark_urgent(struct queue *queue, const struct governor_limits *limits, uint64_t boot_us);

#endif
