/*
 * Estimate: how long until a request's first and last token
 *
 * It follows from the cost model, the limits in force and all other work, treated as a fluid. It has no margin;
 * admission adds that (admit.c). It is made once for each request with a deadline, and again for each live one with
 * every plan.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_ESTIMATE_H
#define SOTTO_SCHED_ESTIMATE_H

#include "sched/queue.h"

/* Whether another job comes first is decided by the fair order, or by near deadlines. */
enum estimate_order {
    ORDER_FAIR,
    ORDER_URGENT,
};

/* The state that an estimate depends on. */
struct estimate_view {
    const struct queue *queue;
    const struct governor_limits *limits; /* of all processors */
    uint64_t boot_us;
    const struct job *extra;       /* one more job that is not in the queue, or NULL */
    const struct account *without; /* its promises are left out; NULL: those of no account */
    enum estimate_order order;
};

struct estimate {
    double first_us;
    double finish_us;
    double step_us; /* longest step that may be in progress */
};

/* True if @job is live and not parked, so its work counts. */
bool estimate_counts(const struct job *job);

/* Estimates the times of @job. Walks all jobs and uses account::sum_ns as scratch. */
void estimate_job(const struct estimate_view *view, const struct job *job, struct estimate *ret_estimate);

#endif
