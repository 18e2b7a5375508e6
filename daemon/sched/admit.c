/*
 * The estimate (estimate.c) plus a margin, against the deadlines. It is made for the request itself, and for each
 * earlier promise with the request beside it.
 */
#include "sched/admit.h"
#include "base/num.h"
#include "sched/estimate.h"
#include <math.h>

/* An estimate may be wrong by a quarter (cost.h), and a promise must hold. */
#define ADMIT_MARGIN 1.25

/* Before the cost of an engine is learnt, only the warm-up's figures are known. */
#define ADMIT_MARGIN_YOUNG 2.0

/* While the gate or a pause keeps the class out nothing can be estimated. The client is asked to come again when
 * that may have changed. */
#define ADMIT_GATED_US 5000000u

/* An estimate further ahead is worth little, because requests come and go until then. The client asks again after
 * this. */
#define ADMIT_RETRY_MOST_US 60000000u

/* Returns the tokens that other requests of the account may spend of its budget before @job. */
static uint64_t siblings_tok(const struct estimate_view *view, const struct job *job)
{
    uint64_t n = 0;

    for (const struct job *other = queue_first(view->queue); other; other = queue_next(view->queue, other)) {
        if (other != job && other->account == job->account && estimate_counts(other)) {
            uint32_t n_tok = job_tokens_left(other);

            n += job_rows_left(other) + (n_tok == JOB_NO_END ? QUEUE_SLOT_TOK : n_tok);
        }
    }
    return n;
}

/* Returns how long a compositor will go on drawing, as it announced. */
static double busy_us(const struct estimate_view *view, const struct job *job)
{
    uint64_t until_us = view->limits[job->eq->processor].busy_until_us;

    return (double)(until_us - num_min(until_us, view->boot_us));
}

/* Estimates with the margin, and with the budget of the account. */
static void estimate_safely(const struct estimate_view *view, const struct job *job, struct estimate *ret_estimate)
{
    bool young = job->eq->cost.n_learnt < COST_YOUNG;
    double margin = young ? ADMIT_MARGIN_YOUNG : ADMIT_MARGIN;
    uint32_t rate = job->limits.tokens_a_minute;
    uint64_t n_rows = job_rows_left(job) + (rate > 0 ? siblings_tok(view, job) : 0);
    double first_us = (double)account_until_us(job->account, rate, n_rows, view->boot_us);
    double finish_us = (double)account_until_us(job->account, rate, n_rows + job_tokens_left(job), view->boot_us);

    estimate_job(view, job, ret_estimate);
    ret_estimate->first_us = ret_estimate->first_us * margin + ret_estimate->step_us;
    ret_estimate->finish_us = ret_estimate->finish_us * margin + ret_estimate->step_us;
    ret_estimate->first_us += busy_us(view, job);
    ret_estimate->finish_us += busy_us(view, job);
    /* A job that waits for its budget has one step to go after that. */
    first_us += first_us > 0.0 ? ret_estimate->step_us : 0.0;
    finish_us += finish_us > 0.0 ? ret_estimate->step_us : 0.0;
    ret_estimate->first_us = first_us > ret_estimate->first_us ? first_us : ret_estimate->first_us;
    ret_estimate->finish_us = finish_us > ret_estimate->finish_us ? finish_us : ret_estimate->finish_us;
}

void admit_limits(const struct governor_limits *limits, uint64_t now_us, uint64_t boot_us,
                  struct governor_limits *ret_limits)
{
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        uint64_t busy_us = limits[i].busy_until_us - num_min(limits[i].busy_until_us, now_us);
        bool is_hinted = busy_us > 0 && limits[i].cause == GOVERNOR_HINT && limits[i].usual_permille > 0;

        ret_limits[i] = limits[i];
        ret_limits[i].busy_until_us = is_hinted ? boot_us + busy_us : 0;
        if (is_hinted) {
            ret_limits[i].duty_permille = limits[i].usual_permille;
            ret_limits[i].class_gate = PRIORITY_BACKGROUND;
        } else if (limits[i].usual_permille > 0) {
            ret_limits[i].duty_permille = (uint32_t)num_min(limits[i].duty_permille, limits[i].usual_permille);
        }
    }
}

static bool is_kept_out(const struct job *job, const struct governor_limits *limits)
{
    return !governor_lets_run(&limits[job->eq->processor], job->priority);
}

/* Returns by how much @estimate misses the deadlines of @job; 0 or below: it misses none. */
static double late_us(const struct job *job, const struct estimate *estimate, uint64_t boot_us)
{
    double first_us = estimate->first_us - ((double)job->first_by_us - (double)boot_us);
    double finish_us = estimate->finish_us - ((double)job->finish_by_us - (double)boot_us);

    if (job->first_by_us == 0 || job->has_first) {
        return job->finish_by_us ? finish_us : 0.0;
    }
    return job->finish_by_us && finish_us > first_us ? finish_us : first_us;
}

void admit_mark_urgent(struct queue *queue, const struct governor_limits *limits, uint64_t boot_us)
{
    const struct estimate_view view = { .queue = queue, .limits = limits, .boot_us = boot_us, .order = ORDER_FAIR };

    for (struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        struct estimate estimate;

        job->urgent = false;
        job->due_boot_us = queue_deadline_us(job);
        if (job->due_boot_us > 0 && estimate_counts(job)) {
            estimate_safely(&view, job, &estimate);
            job->urgent = late_us(job, &estimate, boot_us) > 0.0;
        }
    }
}

/* Returns by how much @job would delay the worst of the promises that hold without it. */
static double breaks_us(const struct estimate_view *view, const struct job *job)
{
    const struct queue *queue = view->queue;
    struct estimate_view with_job = *view;
    double worst_us = 0.0;

    with_job.extra = job;
    for (const struct job *other = queue_first(queue); other; other = queue_next(queue, other)) {
        struct estimate with;
        struct estimate without;
        double late;

        if (other == job || !estimate_counts(other) || queue_deadline_us(other) == 0) {
            continue;
        }
        estimate_safely(&with_job, other, &with);
        late = late_us(other, &with, view->boot_us);
        if (late <= worst_us) {
            continue;
        }
        estimate_safely(view, other, &without);
        worst_us = late_us(other, &without, view->boot_us) <= 0.0 ? late : worst_us;
    }
    return worst_us;
}

/* Counts twice what the other promises of the account of @job add to its time: half of the time that promises take is
 * left to other accounts. */
static void leave_half(const struct estimate_view *view, const struct job *job, struct estimate *estimate)
{
    struct estimate_view view_without = *view;
    struct estimate without;

    view_without.without = job->account;
    estimate_safely(&view_without, job, &without);
    estimate->first_us += fmax(0.0, estimate->first_us - without.first_us);
    estimate->finish_us += fmax(0.0, estimate->finish_us - without.finish_us);
}

static int never(const struct job *job, struct admit_verdict *ret_verdict)
{
    const struct engine_queue *eq = job->eq;
    uint64_t n_most = job->n_most ? job->n_most : job->n_prompt;
    uint64_t n_pages;

    if (eq->n_context > 0 && job->n_prompt >= eq->n_context) {
        ret_verdict->bound = ADMIT_CONTEXT;
        ret_verdict->n_needs = job->n_prompt + 1;
        ret_verdict->n_has = eq->n_context;
        return ADMIT_NEVER;
    }
    n_most = eq->n_context ? num_min(n_most, eq->n_context) : n_most;
    n_pages = num_div_up(n_most, eq->page_tokens);
    if (eq->n_pages > 0 && n_pages > eq->n_pages) {
        ret_verdict->bound = ADMIT_PAGES;
        ret_verdict->n_needs = (uint32_t)n_pages;
        ret_verdict->n_has = eq->n_pages;
        return ADMIT_NEVER;
    }
    return ADMIT_OK;
}

/* Returns @us as a whole number that fits. */
static uint64_t whole_us(double us)
{
    return us < (double)(UINT64_MAX / 2) ? (uint64_t)(us > 0.0 ? us : 0.0) : ADMIT_NO_TIME;
}

/* Fills in the refusal: the deadline that is missed, and when it could be met. */
static int refuse(const struct job *job, const struct governor_limits *limits, double late, uint64_t boot_us,
                  struct admit_verdict *ret_verdict)
{
    struct queue empty = { 0 };
    const struct estimate_view view = { .queue = &empty, .limits = limits, .boot_us = boot_us, .order = ORDER_URGENT };
    uint64_t first_by_us = job->first_by_us > boot_us ? job->first_by_us - boot_us : 0;
    uint64_t finish_by_us = job->finish_by_us > boot_us ? job->finish_by_us - boot_us : 0;
    struct estimate alone;

    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        list_init(&empty.jobs[i]);
    }
    list_init(&empty.retained);
    ret_verdict->is_first = job->first_by_us > 0 && ret_verdict->first_us > first_by_us;
    ret_verdict->deadline_us = ret_verdict->is_first || job->finish_by_us == 0 ? first_by_us : finish_by_us;
    if (is_kept_out(job, limits)) {
        ret_verdict->retry_us = ADMIT_GATED_US;
        return ADMIT_LATE;
    }
    estimate_safely(&view, job, &alone);
    /* Meanwhile the work ahead of it is done, at the speed of the clock. */
    ret_verdict->retry_us = late_us(job, &alone, boot_us) > 0.0 ? 0 : num_min(whole_us(late) + 1, ADMIT_RETRY_MOST_US);
    return ADMIT_LATE;
}

int admit_check(const struct queue *queue, const struct job *job, const struct governor_limits *limits,
                uint64_t boot_us, struct admit_verdict *ret_verdict)
{
    const struct estimate_view view = { .queue = queue, .limits = limits, .boot_us = boot_us, .order = ORDER_URGENT };
    struct estimate estimate;
    double late = 0.0;

    *ret_verdict = (struct admit_verdict){ 0 };
    if (!job->eq || job->eq->page_tokens == 0) {
        return ADMIT_OK; /* its engine is not ready: nothing is known */
    }
    if (never(job, ret_verdict)) {
        return ADMIT_NEVER;
    }
    if (is_kept_out(job, limits)) {
        ret_verdict->first_us = ADMIT_NO_TIME;
        ret_verdict->finish_us = ADMIT_NO_TIME;
        return queue_deadline_us(job) ? refuse(job, limits, 0.0, boot_us, ret_verdict) : ADMIT_OK;
    }
    estimate_safely(&view, job, &estimate);
    if (queue_deadline_us(job) > 0) {
        double broken = breaks_us(&view, job);

        leave_half(&view, job, &estimate);
        /* The promises of others would be broken, so it would have to come after them. */
        estimate.first_us += broken;
        estimate.finish_us += broken;
        late = late_us(job, &estimate, boot_us);
        late = late > broken ? late : broken;
    }
    ret_verdict->first_us = whole_us(estimate.first_us);
    ret_verdict->finish_us = whole_us(estimate.finish_us);
    return late > 0.0 ? refuse(job, limits, late, boot_us, ret_verdict) : ADMIT_OK;
}
