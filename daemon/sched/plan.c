#include "sched/plan.h"
#include "base/num.h"
#include "sched/admit.h"
#include "sched/fill.h"
#include <assert.h>

/* The jobs that could run, in their order. */
struct line {
    struct job *jobs[PLAN_ENTRIES];
    uint32_t n;
};

/* True if @a comes before @b in the line. */
static bool goes_first(const struct job *a, const struct job *b, uint64_t now_us)
{
    if (!fill_is_share(a, b, now_us)) {
        return queue_before(a, b, now_us);
    }
    if (a->account == b->account && job_decodes(a) != job_decodes(b)) {
        return job_decodes(a);
    }
    if (a->account != b->account && job_start(a) != job_start(b)) {
        return job_start(a) < job_start(b);
    }
    return job_decodes(a) != job_decodes(b) ? job_decodes(a) : a->order < b->order;
}

/* Inserts @job at its position. A full line loses its last job. */
static void line_up(struct line *line, struct job *job, uint64_t now_us)
{
    uint32_t at = line->n;

    if (line->n == PLAN_ENTRIES) {
        if (!goes_first(job, line->jobs[line->n - 1], now_us)) {
            return;
        }
        at = line->n - 1;
    } else {
        line->n++;
    }
    while (at > 0 && goes_first(job, line->jobs[at - 1], now_us)) {
        line->jobs[at] = line->jobs[at - 1];
        at--;
    }
    line->jobs[at] = job;
}

/* True if the plan considers all jobs, and so decides which accounts are left waiting. */
static bool is_whole(const struct plan_input *in)
{
    bool everywhere = in->kind == PLAN_BEHIND || (in->kind == PLAN_NEXT && !in->eq);

    return everywhere && in->min_priority == PRIORITY_BACKGROUND;
}

/* True if @job wants service and only the order keeps it from it. */
static bool is_ready(const struct job *job, const struct plan_input *in)
{
    if ((job->state != JOB_ASSIGNED && job->state != JOB_WAITING && job->state != JOB_OPENING) || job->parked ||
        !job->eq->open || job->priority < in->min_priority) {
        return false;
    }
    return governor_lets_run(&in->limits[job->eq->processor], job->priority);
}

/* True if @job may be in this step, or could if its engine had opened it: it has its position in the line in both
 * cases. */
static bool may_run(const struct job *job, const struct plan_input *in)
{
    bool here = !in->eq || in->eq == job->eq || in->kind == PLAN_BEHIND;

    return (job->state == JOB_OPENING || (job->state == JOB_ASSIGNED && job_may_step(job))) && !job->eq->stopped &&
           here && (in->kind != PLAN_OVERTAKE || (job->n_steps == 0 && !job->alone));
}

static void wake_by(uint64_t *wake_us, uint64_t at_us)
{
    *wake_us = *wake_us ? num_min(*wake_us, at_us) : at_us;
}

/*
 * Lines up the jobs that may run: suspects in @ret_alone, others in @ret_rest. A job without budget lets the plan wake
 * up later.
 */
static void gather(const struct queue *queue, const struct plan_input *in, struct line *ret_alone,
                   struct line *ret_rest, uint64_t *ret_wake_us)
{
    uint64_t due_us = queue_next_deadline_us(queue);

    ret_alone->n = 0;
    ret_rest->n = 0;
    *ret_wake_us = due_us ? num_max(due_us, in->boot_us + 1) : 0;
    for (struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        uint64_t wait_us;

        job->n_planned = 0;
        if (!is_ready(job, in)) {
            continue;
        }
        wait_us = account_wait_us(job->account, job->limits.tokens_a_minute, in->boot_us);
        if (wait_us > 0) {
            wake_by(ret_wake_us, in->boot_us + wait_us);
        } else if (may_run(job, in)) {
            line_up(job->alone ? ret_alone : ret_rest, job, in->now_us);
        }
    }
}

/* Returns the greatest start of the jobs of @priority in @plan. */
static uint64_t latest_start(const struct plan *plan, enum priority priority)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const struct job *job = plan->entries[i].job;

        most = job->priority == priority && !job->yields ? num_max(most, job_start(job)) : most;
    }
    return most;
}

/* Marks the accounts that could use more than @plan gives them as left waiting. If there are none, all of the class
 * start equal. */
static void leave_out(struct queue *queue, const struct plan *plan, const struct plan_input *in)
{
    struct list *link;

    queue->round++;
    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        bool any = false;

        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            bool wants = job->state != JOB_ASSIGNED || (job_may_step(job) && job->n_planned < job_rows_left(job));

            if (wants && !job->yields && is_ready(job, in) &&
                account_wait_us(job->account, job->limits.tokens_a_minute, in->boot_us) == 0) {
                queue_leave_out(queue, job);
                any = true;
            }
        }
        if (!any) {
            queue->virtual_time[i] = num_max(queue->virtual_time[i], latest_start(plan, (enum priority)i));
        }
    }
}

/* Returns the engine of the first job in the line, or of one that ties with it if its engine has waited longer. */
static struct engine_queue *next_engine(const struct line *line, uint64_t now_us)
{
    struct job *best = line->jobs[0];

    for (uint32_t i = 1; i < line->n && queue_ties(line->jobs[i], best, now_us); i++) {
        if (line->jobs[i]->eq->round < best->eq->round) {
            best = line->jobs[i];
        }
    }
    return best->eq;
}

/* True if a suspect gets the step: it alternates with the rest, but does not go before a higher class. */
static bool is_suspects_turn(const struct planner *planner, const struct line *alone, const struct line *rest,
                             uint64_t now_us)
{
    if (alone->n == 0 || rest->n == 0) {
        return alone->n > 0;
    }
    return !planner->last_alone && queue_rank(alone->jobs[0], now_us) >= queue_rank(rest->jobs[0], now_us);
}

/* True if a step of a suspect is in progress. */
static bool is_suspect_under_way(const struct queue *queue)
{
    for (const struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        if (job->alone && job->n_steps > 0) {
            return true;
        }
    }
    return false;
}

static void plan_nothing(struct plan *ret_plan)
{
    ret_plan->eq = NULL;
    ret_plan->n_entries = 0;
    ret_plan->n_rows = 0;
    ret_plan->load = (struct cost_load){ .n = { [COST_FIXED] = 1 } };
    ret_plan->estimated_ns = 0.0;
    ret_plan->alone = false;
}

void plan_make(struct planner *planner, struct queue *queue, const struct plan_input *in, struct plan *ret_plan)
{
    struct line alone;
    struct line rest;
    struct line *line;
    struct engine_queue *eq;

    plan_nothing(ret_plan);
    admit_mark_urgent(queue, in->limits, in->boot_us);
    if (is_whole(in)) {
        queue_lift(queue);
    }
    gather(queue, in, &alone, &rest, &ret_plan->wake_us);
    if (alone.n + rest.n == 0) {
        return;
    }
    ret_plan->alone = is_suspects_turn(planner, &alone, &rest, in->now_us);
    line = ret_plan->alone ? &alone : &rest;
    if (ret_plan->alone) {
        line->n = 1;
    }
    eq = next_engine(line, in->now_us);
    if (queue_is_opening(queue, eq) ||
        (in->kind == PLAN_BEHIND && (ret_plan->alone || eq != in->eq || is_suspect_under_way(queue)))) {
        ret_plan->alone = false;
        return;
    }
    ret_plan->eq = eq;
    fill_step(ret_plan, line->jobs, line->n, in);
    planner->last_alone = ret_plan->alone;
    eq->round = ++planner->n_rounds;
    if (is_whole(in)) {
        leave_out(queue, ret_plan, in);
    }
    assert(ret_plan->n_entries > 0);
}
