/*
 * Foretell: how long until a request's first and last token
 *
 * As the cost model, the limits in force and all other work have it, in the manner of a fluid. No margin: that is
 * admission's (admit.c). It is asked once for each request with a deadline, and for each such that is live once a
 * plan.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_ESTIMATE_H
#define SOTTO_SCHED_ESTIMATE_H

#include "sched/queue.h"

/* Whether a sibling or a stranger is before it: in the fair order, or as one whose deadline is near. */
enum order {
    ORDER_FAIR,
    ORDER_URGENT,
};

/* What is asked about. */
struct view {
    const struct queue *queue;
    const struct governor_limits *limits; /* of both places */
    uint64_t boot_us;
    const struct job *extra; /* one more job that is not in the queue, or NULL */
    enum order order;
};

struct estimate {
    double first_us;
    double finish_us;
    double step_us; /* how long one step may take that is under way */
};

/* Live, and not parked: it has work that counts. */
bool estimate_counts(const struct job *job);

/* Walks all jobs; writes sums into their accounts that mean nothing afterwards. */
void estimate_job(const struct view *view, const struct job *job, struct estimate *ret_estimate);

#endif
