/*
 * Admit: can this request be in time?
 *
 * A deadline is a promise, so it is given early or refused early. The time until a first token and until the last
 * one is foretold from the cost model, the limits in force (duty, gate) and all work that comes before: the higher
 * classes' and earlier deadlines of the same class in full, and of the other accounts of its class as much as their
 * weights give them while this one is served. So a deadline is met out of the account's own share or not at all.
 * Work that was promised before is counted as reserved: an admission never breaks an earlier one.
 *
 * Requests without a deadline are never late; only what can never fit is refused.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_ADMIT_H
#define SOTTO_SCHED_ADMIT_H

#include "sched/queue.h"

enum admit_outcome {
    ADMIT_OK,
    ADMIT_LATE,  /* a deadline can't be met beside what was promised to others */
    ADMIT_NEVER, /* it can't ever run: more tokens than the context, more pages than there are */
};

enum admit_bound {
    ADMIT_CONTEXT, /* tokens of a sequence */
    ADMIT_PAGES,
};

/* Times from now on, in us; ADMIT_NO_TIME: never, as limits are now (gate, pause). */
#define ADMIT_NO_TIME UINT64_MAX

struct admit_verdict {
    uint64_t first_us;      /* foretold until the first token */
    uint64_t finish_us;     /* until the last token of the longest answer */
    uint64_t deadline_us;   /* ADMIT_LATE: the one that would be missed, from now on */
    bool is_first;          /* ADMIT_LATE: it is that of the first token */
    uint64_t retry_us;      /* ADMIT_LATE: asked again then it may be in time; 0: not even alone on this machine */
    enum admit_bound bound; /* ADMIT_NEVER: which, what it needs, and what there is */
    uint32_t n_needs;
    uint32_t n_has;
};

/*
 * The limits that are reckoned with, of both places: the usual duty where that of the moment is higher, for a load
 * is read by the frame; and while a compositor has said that it draws until then, the usual duty from then on
 * (busy_until_us is in the boot clock behind this).
 */
void admit_limits(const struct governor_limits *limits, uint64_t now_us, uint64_t boot_us,
                  struct governor_limits *ret_limits);

/*
 * May @job come in? It is filled in as for queue_add() and not in @queue (or is JOB_HELD there, its words having
 * just come: it is not counted against itself). @limits of both places. Fills @ret_verdict always.
 */
int admit_check(const struct queue *queue, const struct job *job, const struct governor_limits *limits,
                uint64_t boot_us, struct admit_verdict *ret_verdict);

/*
 * Reads all deadlines anew: job::urgent of those that would be missed in the fair order. plan_make() does it; who
 * asks the queue for its order apart from that calls it before.
 */
void admit_mark_urgent(struct queue *queue, const struct governor_limits *limits, uint64_t boot_us);

#endif
