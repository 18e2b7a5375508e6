/*
 * One decision at a time, each made on what the one before has changed. A running step is looked at first: must it be
 * suspended, is the step waiting behind it still right, may one wait? If none runs, the best suspended step is compared
 * with the best that could begin.
 */
#include "sched/dispatch.h"
#include "base/num.h"
#include "sched/dispatch_pick.h"
#include <assert.h>
#include <string.h>

void dispatch_init(struct dispatch *dispatch)
{
    *dispatch = (struct dispatch){ 0 };
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        dispatch->limits[i].duty_permille = 1000;
    }
}

/* ---- counters of the jobs of a step */

static void count_sent(struct dispatch_step *step)
{
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        struct plan_entry *entry = &step->plan.entries[i];

        job_send(entry->job, entry->n_rows, entry->n_tok, entry->n_drafts);
    }
}

/* ---- orders */

/* Returns the slice of a step on @processor: the processor's, and no longer than a boost may be. */
static uint32_t slice_of(const struct dispatch_view *view, enum processor processor, bool is_boost)
{
    return is_boost ? dispatch_boost_us(view, processor) : view->in->limits[processor].slice_us;
}

static void order(struct dispatch_order *ret_order, enum dispatch_what what, struct dispatch_step *step)
{
    *ret_order = (struct dispatch_order){ .what = what, .step = step };
}

static void withdraw(struct dispatch *dispatch, struct dispatch_step *step, struct dispatch_order *ret_order)
{
    dispatch_move(step, DISPATCH_WITHDRAWING);
    dispatch->n_withdraws++;
    order(ret_order, DISPATCH_WITHDRAW, step);
}

static void suspend(struct dispatch *dispatch, struct dispatch_step *step, struct dispatch_order *ret_order)
{
    dispatch_move(step, DISPATCH_SUSPENDING);
    dispatch->n_suspends++;
    order(ret_order, DISPATCH_SUSPEND, step);
}

static void go_on(const struct dispatch_view *view, struct dispatch_step *step, bool is_boost,
                  struct dispatch_order *ret_order)
{
    step->is_boost = is_boost;
    step->slice_us = slice_of(view, step->eq->processor, is_boost);
    step->from_us = view->in->now_us;
    dispatch_move(step, DISPATCH_RUNNING);
    order(ret_order, DISPATCH_CONTINUE, step);
}

/* Returns the highest class of the jobs in @plan that are still live. */
static enum priority priority_of_plan(const struct plan *plan)
{
    enum priority priority = PRIORITY_BACKGROUND;

    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const struct job *job = plan->entries[i].job;

        if (job && job->state != JOB_ENDED) {
            priority = (enum priority)num_max(priority, job->priority);
        }
    }
    return priority;
}

static void begin(struct dispatch *dispatch, const struct dispatch_view *view, struct dispatch_step *step, int wanted,
                  enum dispatch_state state, struct dispatch_order *ret_order)
{
    const struct dispatch_input *in = view->in;

    step->eq = step->plan.eq;
    step->id = ++dispatch->last_id;
    step->priority = priority_of_plan(&step->plan);
    step->is_boost = (int)step->priority < wanted;
    step->slice_us = slice_of(view, step->eq->processor, step->is_boost);
    step->sent_us = in->now_us;
    step->from_us = in->now_us;
    step->held_us = 0;
    step->suspended_at_us = 0;
    step->n_leaving = 0;
    count_sent(step);
    dispatch_move(step, state);
    order(ret_order, DISPATCH_STEP, step);
}

/* ---- a step runs */

/* Moves *wake_us forward to @at_us. */
static void wake_at(uint64_t *wake_us, uint64_t at_us)
{
    *wake_us = *wake_us ? num_min(*wake_us, at_us) : at_us;
}

/* True if a suspended step of a class above @above goes on before @step, or one of @above that ends within a part. */
static bool is_passed_by(const struct dispatch_view *view, const struct dispatch_step *step, int above)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *other = &view->dispatch->steps[i];
        int priority;

        if (other->state != DISPATCH_SUSPENDED || dispatch_is_gated(view, other)) {
            continue;
        }
        priority = dispatch_priority_of(view, other);
        if (priority > above || (priority == above && dispatch_is_pointless(other) && !dispatch_is_pointless(step))) {
            return true;
        }
    }
    return false;
}

static bool any_starves(const struct dispatch_view *view)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &view->dispatch->steps[i];

        if (step->state == DISPATCH_SUSPENDED && !dispatch_is_gated(view, step) && dispatch_is_starving(view, step)) {
            return true;
        }
    }
    return false;
}

static bool must_stop(const struct dispatch_view *view, const struct dispatch_step *step)
{
    uint32_t slice_us = view->in->limits[step->eq->processor].slice_us;
    uint64_t ran_us = view->in->now_us - num_min(view->in->now_us, step->from_us);
    int priority;

    if (dispatch_is_gated(view, step)) {
        return true;
    }
    if (slice_us > 0 && (step->slice_us == 0 || step->slice_us > ran_us + slice_us)) {
        return true;
    }
    if (step->is_boost) {
        return false;
    }
    /* With the class that it inherits, by which it went on: otherwise it would stop again after a part. */
    priority = dispatch_priority_of(view, step);
    return dispatch_highest(view, priority, dispatch_preempts, step) > priority || is_passed_by(view, step, priority);
}

/* True if a step like @step may wait, or go on waiting, behind the running one. */
static bool may_wait(const struct dispatch_view *view, const struct dispatch_step *step)
{
    return !governor_bounds_time(&view->in->limits[step->eq->processor]) && !dispatch_is_gated(view, step) &&
           !any_starves(view) &&
           dispatch_highest(view, DISPATCH_NO_PRIORITY, dispatch_displaces, step) == DISPATCH_NO_PRIORITY &&
           !is_passed_by(view, step, (int)step->priority - 1);
}

/* engine_queue::stopped tells the planner which engines may begin a step. */
static void stop_all(const struct dispatch_view *view)
{
    for (struct job *job = queue_first(view->queue); job; job = queue_next(view->queue, job)) {
        if (job->eq) {
            job->eq->stopped = true;
        }
    }
}

static void let_begin(const struct dispatch_view *view)
{
    for (struct job *job = queue_first(view->queue); job; job = queue_next(view->queue, job)) {
        if (dispatch_is_in_line(view, job)) {
            job->eq->stopped = false;
        }
    }
}

static struct plan_input plan_input_of(const struct dispatch_view *view, enum plan_kind kind)
{
    struct plan_input in = { .now_us = view->in->now_us, .boot_us = view->in->boot_us, .kind = kind };

    dispatch_effective_limits(view->dispatch, view->in->limits, in.limits);
    return in;
}

/* True if the next step, behind @runner or on its own, should bring a first token as soon as possible. Not so if a
 * job has aged: the plan gives that one a small part. */
static bool is_for_first(const struct dispatch_view *view, const struct dispatch_step *runner)
{
    return dispatch_highest(view, DISPATCH_NO_PRIORITY, dispatch_is_first, runner) > DISPATCH_NO_PRIORITY &&
           dispatch_highest(view, DISPATCH_NO_PRIORITY, dispatch_has_aged, runner) == DISPATCH_NO_PRIORITY;
}

/* Returns the lowest class that may begin a step of @eq beside its suspended ones: rows that depend on rows in those
 * can't come first. */
static int least_beside(const struct dispatch *dispatch, const struct engine_queue *eq)
{
    int least = PRIORITY_BACKGROUND;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];

        if (step->state == DISPATCH_SUSPENDED && step->eq == eq && (int)step->priority >= least) {
            least = (int)step->priority + 1;
        }
    }
    return least;
}

/* Sends the next step of the engine to wait behind @runner, if there is one and it may. */
static void pipeline(struct dispatch *dispatch, const struct dispatch_view *view, struct planner *planner,
                     struct dispatch_step *runner, struct dispatch_order *ret_order)
{
    struct dispatch_step *step = dispatch_free_step(dispatch);
    int least = least_beside(dispatch, runner->eq);
    struct plan_input in;

    if (!step || least > PRIORITY_REALTIME || runner->state != DISPATCH_RUNNING || runner->plan.alone ||
        runner->slice_us > 0 || queue_is_opening(view->queue, runner->eq) || !may_wait(view, runner)) {
        return;
    }
    in = plan_input_of(view, PLAN_BEHIND);
    in.eq = runner->eq;
    in.min_priority = (enum priority)least;
    if (is_for_first(view, runner)) {
        in.min_priority = PRIORITY_REALTIME;
    }
    runner->eq->stopped = false;
    plan_make(planner, view->queue, &in, &step->plan);
    if (step->plan.eq) {
        dispatch->n_pipelined++;
        begin(dispatch, view, step, DISPATCH_NO_PRIORITY, DISPATCH_WAITING, ret_order);
    }
}

static void attend_runner(struct dispatch *dispatch, const struct dispatch_view *view, struct planner *planner,
                          struct dispatch_step *runner, struct dispatch_order *ret_order)
{
    struct dispatch_step *waiter = dispatch_waiter(dispatch);
    bool stops = runner->state == DISPATCH_RUNNING && must_stop(view, runner);

    if (waiter && waiter->state == DISPATCH_WAITING &&
        (stops || dispatch_is_pointless(waiter) || !may_wait(view, waiter))) {
        withdraw(dispatch, waiter, ret_order);
    } else if (stops) {
        suspend(dispatch, runner, ret_order);
    } else if (!waiter) {
        pipeline(dispatch, view, planner, runner, ret_order);
    }
}

/* ---- no step runs */

/* True if @a goes on before @b. */
static bool goes_before(const struct dispatch_view *view, const struct dispatch_step *a, const struct dispatch_step *b)
{
    int priority_a = dispatch_priority_of(view, a);
    int priority_b = dispatch_priority_of(view, b);

    if (priority_a != priority_b) {
        return priority_a > priority_b;
    }
    if (dispatch_is_pointless(a) != dispatch_is_pointless(b)) {
        return dispatch_is_pointless(a); /* it ends within a part */
    }
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

/* Returns the best of the suspended steps that may go on now; with @starving, of those that starve. */
static struct dispatch_step *best_suspended(struct dispatch *dispatch, const struct dispatch_view *view, bool starving,
                                            struct dispatch_order *ret_order)
{
    struct dispatch_step *best = NULL;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        struct dispatch_step *step = &dispatch->steps[i];

        if (step->state != DISPATCH_SUSPENDED || dispatch_is_gated(view, step)) {
            continue;
        }
        if (!dispatch_is_rested(view, step->eq->processor)) {
            wake_at(&ret_order->wake_us, dispatch_rested_at_us(dispatch, step->eq->processor));
            continue;
        }
        if (starving && !dispatch_is_starving(view, step)) {
            continue;
        }
        if (!best || goes_before(view, step, best)) {
            best = step;
        }
    }
    return best;
}

/* Sets the time to look again: when a processor has rested, or a budget has room. */
static void wake_later(const struct dispatch_view *view, struct dispatch_order *ret_order)
{
    for (struct job *job = queue_first(view->queue); job; job = queue_next(view->queue, job)) {
        uint64_t wait_us;

        if (dispatch_wants(view, job)) {
            if (!dispatch_is_rested(view, job->eq->processor)) {
                wake_at(&ret_order->wake_us, dispatch_rested_at_us(view->dispatch, job->eq->processor));
            }
            continue;
        }
        wait_us = account_wait_us(job->account, job->limits.tokens_a_minute, view->in->boot_us);
        if (wait_us > 0 && (job->state == JOB_ASSIGNED || job->state == JOB_WAITING) && !job->parked) {
            wake_at(&ret_order->wake_boot_us, view->in->boot_us + wait_us);
        }
    }
}

/* Plans a step of a class above @above; @wanted is the highest class that could begin one. Without a step it sets
 * the time to look again. */
static void begin_new(struct dispatch *dispatch, const struct dispatch_view *view, struct planner *planner, int above,
                      int wanted, struct dispatch_order *ret_order)
{
    struct dispatch_step *step = dispatch_free_step(dispatch);
    bool overtakes = dispatch_highest(view, DISPATCH_NO_PRIORITY, dispatch_overtakes, NULL) > DISPATCH_NO_PRIORITY;
    struct plan_input in = plan_input_of(view, overtakes ? PLAN_OVERTAKE : PLAN_NEXT);

    /* At most one step of each class is suspended on each processor, since a new one begins only above them. */
    assert(step);
    if (overtakes || is_for_first(view, NULL)) {
        in.min_priority = (enum priority)wanted; /* rows of other jobs would make it longer */
    } else {
        in.min_priority = (enum priority)(above + 1);
    }
    stop_all(view);
    let_begin(view);
    plan_make(planner, view->queue, &in, &step->plan);
    if (step->plan.eq) {
        begin(dispatch, view, step, wanted, DISPATCH_RUNNING, ret_order);
    } else {
        wake_later(view, ret_order);
    }
}

static void attend_idle(struct dispatch *dispatch, const struct dispatch_view *view, struct planner *planner,
                        struct dispatch_order *ret_order)
{
    int opening = dispatch_highest(view, DISPATCH_NO_PRIORITY, dispatch_is_opening, NULL);
    int wanted = dispatch_highest(view, DISPATCH_NO_PRIORITY, dispatch_begins, NULL);
    struct dispatch_step *suspended = best_suspended(dispatch, view, false, ret_order);
    struct dispatch_step *starving = best_suspended(dispatch, view, true, ret_order);
    int priority = suspended ? dispatch_priority_of(view, suspended) : DISPATCH_NO_PRIORITY;
    int top = priority > wanted ? priority : wanted;

    if (starving && dispatch_priority_of(view, starving) < top) {
        go_on(view, starving, true, ret_order);
    } else if (opening > top) {
        return; /* the answer comes at once, and its job goes first */
    } else if (suspended && priority >= wanted) {
        go_on(view, suspended, false, ret_order);
    } else {
        begin_new(dispatch, view, planner, priority, wanted, ret_order);
    }
}

/* Takes the limits in force. What steps achieved beside others' work is forgotten when nothing bounds them any more. */
static void take_limits(struct dispatch *dispatch, const struct dispatch_view *view)
{
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        if (governor_bounds_time(&dispatch->limits[i]) && !governor_bounds_time(&view->in->limits[i])) {
            dispatch->paces[i] = (struct dispatch_pace){ 0 };
        }
    }
    memcpy(dispatch->limits, view->in->limits, sizeof(dispatch->limits));
}

void dispatch_next(struct dispatch *dispatch, struct queue *queue, struct planner *planner,
                   const struct dispatch_input *in, struct dispatch_order *ret_order)
{
    const struct dispatch_view view = { .dispatch = dispatch, .queue = queue, .in = in };
    struct dispatch_step *runner;

    *ret_order = (struct dispatch_order){ .what = DISPATCH_NONE };
    take_limits(dispatch, &view);
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        if (dispatch->steps[i].state == DISPATCH_ENDED) {
            dispatch_move(&dispatch->steps[i], DISPATCH_FREE);
        }
        if (dispatch->steps[i].state != DISPATCH_FREE) {
            dispatch->steps[i].priority = priority_of_plan(&dispatch->steps[i].plan);
        }
    }
    runner = dispatch_runner(dispatch);
    if (runner) {
        attend_runner(dispatch, &view, planner, runner, ret_order);
    } else if (!dispatch_waiter(dispatch)) { /* otherwise it is being withdrawn, or has begun */
        attend_idle(dispatch, &view, planner, ret_order);
    }
}
