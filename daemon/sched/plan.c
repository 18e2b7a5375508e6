#include "sched/plan.h"
#include "base/num.h"
#include "sched/admit.h"
#include "sched/fill.h"
#include <assert.h>

/* Those who could run, in their order. */
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
    if (a->account != b->account && fill_start(a) != fill_start(b)) {
        return fill_start(a) < fill_start(b);
    }
    return job_decodes(a) != job_decodes(b) ? job_decodes(a) : a->order < b->order;
}

/* Puts @job in its place; a line that is full loses its last. */
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

/* True if this plan looks at everybody: then it says who is left waiting. */
static bool is_whole(const struct plan_input *in)
{
    bool everywhere = in->kind == PLAN_BEHIND || (in->kind == PLAN_NEXT && !in->eq);

    return everywhere && in->min_priority == PRIORITY_BACKGROUND;
}

/* Wants service, and nothing but the order keeps it from it. */
static bool is_ready(const struct job *job, const struct plan_input *in)
{
    if ((job->state != JOB_ASSIGNED && job->state != JOB_WAITING && job->state != JOB_OPENING) || job->parked ||
        !job->eq->open || job->priority < in->min_priority) {
        return false;
    }
    return governor_lets_run(&in->limits[job->eq->processor], job->priority);
}

/* May stand in this step, or could if its lane had opened it: it has its place in the line all the same. */
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
 * Lines up who may run: suspects in @ret_alone, the rest in @ret_rest. Who is out of budget wakes the plan later.
 */
static void gather(const struct queue *queue, const struct plan_input *in, struct line *ret_alone,
                   struct line *ret_rest, uint64_t *ret_wake_us)
{
    uint64_t due_us = queue_next_deadline_us(queue);
    struct list *link;

    ret_alone->n = 0;
    ret_rest->n = 0;
    *ret_wake_us = due_us ? num_max(due_us, in->boot_us + 1) : 0;
    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
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
}

/* The greatest start of those of @priority in @plan. */
static uint64_t latest_start(const struct plan *plan, enum priority priority)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const struct job *job = plan->entries[i].job;

        most = job->priority == priority && !job->yields ? num_max(most, job_start(job)) : most;
    }
    return most;
}

/* Who could do with more than @plan gives is left waiting. If nobody is, all begin anew together. */
static void leave_out(struct queue *queue, const struct plan *plan, const struct plan_input *in)
{
    struct list *link;

    queue->dispatch++;
    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        bool anybody = false;

        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            bool wants = job->state != JOB_ASSIGNED || (job_may_step(job) && job->n_planned < job_rows_left(job));

            if (wants && !job->yields && is_ready(job, in) &&
                account_wait_us(job->account, job->limits.tokens_a_minute, in->boot_us) == 0) {
                queue_leave_out(queue, job);
                anybody = true;
            }
        }
        if (!anybody) {
            queue->virtual_time[i] = num_max(queue->virtual_time[i], latest_start(plan, (enum priority)i));
        }
    }
}

/* Whose lane has the turn: the first in line, or who ties with it and whose lane waited longer. */
static struct engine_queue *dispatch_of(const struct line *line, uint64_t now_us)
{
    struct job *best = line->jobs[0];

    for (uint32_t i = 1; i < line->n && queue_ties(line->jobs[i], best, now_us); i++) {
        if (line->jobs[i]->eq->dispatch < best->eq->dispatch) {
            best = line->jobs[i];
        }
    }
    return best->eq;
}

/* Whether a suspect has the step: in turns with the rest, but not before a higher class. */
static bool is_suspects_turn(const struct planner *planner, const struct line *alone, const struct line *rest,
                             uint64_t now_us)
{
    if (alone->n == 0 || rest->n == 0) {
        return alone->n > 0;
    }
    return !planner->last_alone && queue_rank(alone->jobs[0], now_us) >= queue_rank(rest->jobs[0], now_us);
}

/* A step of a suspect is under way. */
static bool is_suspect_under_way(const struct queue *queue)
{
    struct list *link;

    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            const struct job *job = container_of(link, struct job, link);

            if (job->alone && job->n_steps > 0) {
                return true;
            }
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
    eq = dispatch_of(line, in->now_us);
    if (queue_is_opening(queue, eq) ||
        (in->kind == PLAN_BEHIND && (ret_plan->alone || eq != in->eq || is_suspect_under_way(queue)))) {
        ret_plan->alone = false;
        return;
    }
    ret_plan->eq = eq;
    fill_step(ret_plan, line->jobs, line->n, in);
    planner->last_alone = ret_plan->alone;
    eq->dispatch = ++planner->n_turns;
    if (is_whole(in)) {
        leave_out(queue, ret_plan, in);
    }
    assert(ret_plan->n_entries > 0);
}
