/*
 * The results of orders: how a step moves on, what it gives back, and how much rest its slices cost.
 */
#include "base/num.h"
#include "sched/dispatch_pick.h"
#include <assert.h>

#define TO(state) (1u << (state))

/* The legal moves of a step. */
static const uint32_t moves[DISPATCH_STATE_COUNT] = {
    [DISPATCH_FREE] = TO(DISPATCH_WAITING) | TO(DISPATCH_RUNNING),
    [DISPATCH_WAITING] = TO(DISPATCH_WITHDRAWING) | TO(DISPATCH_RUNNING) | TO(DISPATCH_ENDED),
    [DISPATCH_WITHDRAWING] = TO(DISPATCH_RUNNING) | TO(DISPATCH_ENDED),
    [DISPATCH_RUNNING] = TO(DISPATCH_SUSPENDING) | TO(DISPATCH_SUSPENDED) | TO(DISPATCH_ENDED),
    [DISPATCH_SUSPENDING] = TO(DISPATCH_SUSPENDED) | TO(DISPATCH_ENDED),
    [DISPATCH_SUSPENDED] = TO(DISPATCH_RUNNING) | TO(DISPATCH_ENDED),
    [DISPATCH_ENDED] = TO(DISPATCH_FREE),
};

#undef TO

bool dispatch_may_move(enum dispatch_state from, enum dispatch_state to)
{
    return (moves[from] & (1u << to)) != 0;
}

void dispatch_move(struct dispatch_step *step, enum dispatch_state to)
{
    assert(dispatch_may_move(step->state, to));
    step->state = to;
}

static void settle(struct dispatch_step *step)
{
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        struct plan_entry *entry = &step->plan.entries[i];

        if (entry->job) {
            job_settle(entry->job, entry->n_rows, entry->n_tok, entry->n_drafts);
        }
    }
}

/* ---- steps in progress */

static bool is_in_progress(const struct dispatch_step *step)
{
    return step->state != DISPATCH_FREE && step->state != DISPATCH_ENDED;
}

struct dispatch_step *dispatch_find(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        struct dispatch_step *step = &dispatch->steps[i];

        if (is_in_progress(step) && step->eq == eq && step->id == id) {
            return step;
        }
    }
    return NULL;
}

/* Some tens of slices are remembered: about a second beside frames. */
#define PACE_KEEPS (31.0 / 32.0)

/* Down to this share the loss is that of messages on their way, which estimates do not include. */
#define PACE_FULL 0.9

static void keep_pace(struct dispatch_pace *pace, uint64_t held_us, uint64_t ran_us)
{
    pace->held_us = pace->held_us * PACE_KEEPS + (double)held_us;
    pace->ran_us = pace->ran_us * PACE_KEEPS + (double)num_max(held_us, ran_us);
}

void dispatch_effective_limits(const struct dispatch *dispatch, const struct governor_limits *limits,
                               struct governor_limits *ret_limits)
{
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        const struct dispatch_pace *pace = &dispatch->paces[i];
        double share = pace->ran_us > 0.0 ? pace->held_us / pace->ran_us : 1.0;
        double duty = limits[i].duty_permille / 1000.0;

        ret_limits[i] = limits[i];
        if (share < PACE_FULL && share > 0.0 && duty > 0.0) {
            /* For a slice of 1 it runs for 1 / share and rests for 1 / duty - 1. A duty of 0 would stop a slow step
             * for good. */
            double real = 1000.0 / (1.0 / share + 1.0 / duty - 1.0);

            ret_limits[i].duty_permille = (uint32_t)(real > 1.0 ? real : 1.0);
        }
    }
}

/* Charges a finished slice: its processor owes rest for it, and the other one the part that both have in common.
 * Rest still owed goes on. An engine's figure is limited by the clock, or a faulty one could cause rest without end. */
static void owe(struct dispatch *dispatch, struct dispatch_step *step, uint64_t held_us, uint64_t now_us)
{
    held_us = num_min(held_us, now_us - num_min(now_us, step->sent_us));
    keep_pace(&dispatch->paces[step->eq->processor], held_us, now_us - num_min(now_us, step->from_us));
    step->held_us += held_us;
    dispatch->held_us += held_us;
    dispatch->processor_held_us[step->eq->processor] += held_us;
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        struct dispatch_rest *rest = &dispatch->rests[i];

        if (dispatch_rested_at_us(dispatch, (enum processor)i) <= now_us) {
            *rest = (struct dispatch_rest){ .from_us = now_us };
        }
        if (step->eq->processor == (enum processor)i) {
            rest->own_us += held_us;
        } else {
            rest->other_us += held_us;
        }
    }
}

/* The engine goes on with the step that waited behind the one that ended. */
static void advance(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t now_us)
{
    struct dispatch_step *step = dispatch_waiter(dispatch);

    if (step && step->state == DISPATCH_WAITING && step->eq == eq) {
        step->from_us = now_us;
        dispatch_move(step, DISPATCH_RUNNING);
    }
}

/* ---- sequences that leave with a step */

static bool has_leaving(const struct dispatch_step *step, uint64_t number)
{
    for (uint32_t i = 0; is_in_progress(step) && i < step->n_leaving; i++) {
        if (step->leaving[i].number == number) {
            return true;
        }
    }
    return false;
}

/* True if a step before index @at holds the sequence too, and it is counted there. */
static bool is_counted(const struct dispatch *dispatch, size_t at, uint64_t number)
{
    for (size_t i = 0; i < at; i++) {
        if (has_leaving(&dispatch->steps[i], number)) {
            return true;
        }
    }
    return false;
}

/* Updates engine_queue::n_leaving and n_pages_leaving. */
static void count_leaving(const struct dispatch *dispatch, struct engine_queue *eq)
{
    eq->n_leaving = 0;
    eq->n_pages_leaving = 0;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];

        for (uint32_t k = 0; step->eq == eq && is_in_progress(step) && k < step->n_leaving; k++) {
            if (!is_counted(dispatch, i, step->leaving[k].number)) {
                eq->n_leaving++;
                eq->n_pages_leaving += step->leaving[k].n_pages;
            }
        }
    }
}

/* ---- ends */

static void end_step(struct dispatch *dispatch, struct dispatch_step *step)
{
    settle(step);
    dispatch_move(step, DISPATCH_ENDED);
    count_leaving(dispatch, step->eq);
}

struct dispatch_step *dispatch_on_done(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id,
                                       uint64_t held_us, uint64_t now_us)
{
    struct dispatch_step *step = dispatch_find(dispatch, eq, id);

    if (!step || step->state == DISPATCH_SUSPENDED || (step->state == DISPATCH_WAITING)) {
        return NULL;
    }
    owe(dispatch, step, held_us, now_us);
    dispatch->ended_estimated_us += (uint64_t)(step->plan.estimated_ns / 1000.0);
    dispatch->ended_held_us += step->held_us;
    end_step(dispatch, step);
    advance(dispatch, eq, now_us);
    return step;
}

/* True if a boosted step spent most of its slice waiting for a frame. It is boosted again, or it would always meet
 * the same frame. */
static bool is_boost_unused(const struct dispatch_step *step, uint64_t held_us)
{
    return step->is_boost && 2 * held_us < step->slice_us;
}

bool dispatch_on_suspended(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id, uint64_t held_us,
                           uint64_t now_us)
{
    struct dispatch_step *step = dispatch_find(dispatch, eq, id);

    if (!step || (step->state != DISPATCH_RUNNING && step->state != DISPATCH_SUSPENDING)) {
        return false;
    }
    owe(dispatch, step, held_us, now_us);
    step->from_us = now_us;
    if (!is_boost_unused(step, held_us)) {
        step->suspended_at_us = dispatch->held_us;
    }
    dispatch_move(step, DISPATCH_SUSPENDED);
    advance(dispatch, eq, now_us);
    return true;
}

bool dispatch_on_withdrawn(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t id, bool done,
                           uint64_t now_us)
{
    struct dispatch_step *step = dispatch_find(dispatch, eq, id);

    if (!step || step->state == DISPATCH_SUSPENDED || (!done && step->state != DISPATCH_WITHDRAWING)) {
        return !done && id > 0 && id <= dispatch->last_id; /* it had ended before the order arrived */
    }
    if (done) {
        end_step(dispatch, step);
        return true;
    }
    if (dispatch_runner(dispatch)) {
        return false; /* a step that waits behind a running one has not begun */
    }
    step->from_us = now_us;
    dispatch_move(step, DISPATCH_RUNNING);
    return true;
}

/* Returns how long @step has held its processor by now. An engine that hangs is not taken to compute for longer than
 * twice what it was allowed: a slice ends with the part that it is in. */
static uint64_t held_by_now_us(const struct dispatch_step *step, uint64_t now_us)
{
    double estimated_us = step->plan.estimated_ns / 1000.0;
    uint64_t most_us = step->slice_us > 0 ? UINT64_C(2) * step->slice_us : (uint64_t)(2.0 * estimated_us);

    return num_min(now_us - num_min(now_us, step->from_us), most_us);
}

void dispatch_on_lost(struct dispatch *dispatch, const struct engine_queue *eq, uint64_t now_us)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        struct dispatch_step *step = &dispatch->steps[i];

        if (step->eq != eq || !is_in_progress(step)) {
            continue;
        }
        if (step->state == DISPATCH_RUNNING || step->state == DISPATCH_SUSPENDING) {
            owe(dispatch, step, held_by_now_us(step, now_us), now_us);
        }
        end_step(dispatch, step);
    }
    dispatch->paces[eq->processor] = (struct dispatch_pace){ 0 }; /* that of another engine may differ */
}

void dispatch_forget(struct dispatch *dispatch, const struct job *job)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        struct dispatch_step *step = &dispatch->steps[i];

        for (uint32_t k = 0; step->state != DISPATCH_FREE && k < step->plan.n_entries; k++) {
            struct plan_entry *entry = &step->plan.entries[k];

            if (entry->job != job) {
                continue;
            }
            if (step->state != DISPATCH_ENDED) {
                job_settle(entry->job, entry->n_rows, entry->n_tok, entry->n_drafts);
            }
            entry->job = NULL;
        }
    }
}

void dispatch_leave(struct dispatch *dispatch, const struct job *job)
{
    dispatch->last_leaving++;
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        struct dispatch_step *step = &dispatch->steps[i];

        for (uint32_t k = 0; is_in_progress(step) && k < step->plan.n_entries; k++) {
            if (step->plan.entries[k].job == job && step->n_leaving < PLAN_ENTRIES) {
                step->leaving[step->n_leaving++] =
                    (struct dispatch_leaver){ .number = dispatch->last_leaving, .n_pages = job->n_pages };
            }
        }
    }
    count_leaving(dispatch, job->eq);
}

/* ---- questions */

static bool is_any_in_progress(const struct dispatch *dispatch, const struct engine_queue *eq, bool alone)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];

        if (step->eq == eq && is_in_progress(step) && (step->plan.alone || !alone)) {
            return true;
        }
    }
    return false;
}

bool dispatch_is_busy(const struct dispatch *dispatch, const struct engine_queue *eq)
{
    return is_any_in_progress(dispatch, eq, false);
}

bool dispatch_is_alone(const struct dispatch *dispatch, const struct engine_queue *eq)
{
    return is_any_in_progress(dispatch, eq, true);
}

double dispatch_awaited_ns(const struct dispatch *dispatch, const struct engine_queue *eq)
{
    double ns = -1.0;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];
        double left_ns = step->plan.estimated_ns - 1000.0 * (double)step->held_us;

        if (step->eq != eq || !is_in_progress(step) || step->state == DISPATCH_SUSPENDED) {
            continue;
        }
        ns = (ns < 0.0 ? 0.0 : ns) + (left_ns > 0.0 ? left_ns : 0.0);
    }
    return ns;
}
