/*
 * What came of an order: how a step moves on, what it gives back, and what rest its slices cost.
 */
#include "base/num.h"
#include "sched/turn_pick.h"
#include <assert.h>

#define TO(state) (1u << (state))

/* Every legal move of a step. */
static const uint32_t moves[TURN_STATE_COUNT] = {
    [TURN_FREE] = TO(TURN_WAITING) | TO(TURN_RUNNING),
    [TURN_WAITING] = TO(TURN_WITHDRAWING) | TO(TURN_RUNNING) | TO(TURN_OVER),
    [TURN_WITHDRAWING] = TO(TURN_RUNNING) | TO(TURN_OVER),
    [TURN_RUNNING] = TO(TURN_SUSPENDING) | TO(TURN_STANDING) | TO(TURN_OVER),
    [TURN_SUSPENDING] = TO(TURN_STANDING) | TO(TURN_OVER),
    [TURN_STANDING] = TO(TURN_RUNNING) | TO(TURN_OVER),
    [TURN_OVER] = TO(TURN_FREE),
};

#undef TO

bool turn_may_move(enum turn_state from, enum turn_state to)
{
    return (moves[from] & (1u << to)) != 0;
}

void turn_move(struct turn_step *step, enum turn_state to)
{
    assert(turn_may_move(step->state, to));
    step->state = to;
}

static void settle(struct turn_step *step)
{
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        struct plan_entry *entry = &step->plan.entries[i];

        if (entry->job) {
            job_settle(entry->job, entry->n_rows, entry->n_tok);
        }
    }
}

/* ---- what came of it */

static bool is_under_way(const struct turn_step *step)
{
    return step->state != TURN_FREE && step->state != TURN_OVER;
}

struct turn_step *turn_find(struct turn *turn, const struct lane *lane, uint64_t id)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        struct turn_step *step = &turn->steps[i];

        if (is_under_way(step) && step->lane == lane && step->id == id) {
            return step;
        }
    }
    return NULL;
}

/* Some tens of slices are remembered: a second beside frames. */
#define PACE_KEEPS (31.0 / 32.0)

/* Less than this is lost to words on their way, which foretold times do not hold. */
#define PACE_FULL 0.9

static void keep_pace(struct turn_pace *pace, uint64_t held_us, uint64_t ran_us)
{
    pace->held_us = pace->held_us * PACE_KEEPS + (double)held_us;
    pace->ran_us = pace->ran_us * PACE_KEEPS + (double)num_max(held_us, ran_us);
}

void turn_real_limits(const struct turn *turn, const struct governor_limits *limits, struct governor_limits *ret_limits)
{
    for (size_t i = 0; i < GOVERNOR_PLACE_COUNT; i++) {
        const struct turn_pace *pace = &turn->paces[i];
        double share = pace->ran_us > 0.0 ? pace->held_us / pace->ran_us : 1.0;
        double duty = limits[i].duty_permille / 1000.0;

        ret_limits[i] = limits[i];
        if (share < PACE_FULL && share > 0.0 && duty > 0.0) {
            /* For a slice of 1 it runs 1 / share and rests 1 / duty - 1. None at all would stop what runs slowly. */
            double real = 1000.0 / (1.0 / share + 1.0 / duty - 1.0);

            ret_limits[i].duty_permille = (uint32_t)(real > 1.0 ? real : 1.0);
        }
    }
}

/* One slice is over: its place is owed rest for it, and the other place what both have in common. What a
 * place still rests goes on. An engine is believed no more than the clock: one gone mad could owe rest for ever. */
static void owe(struct turn *turn, struct turn_step *step, uint64_t held_us, uint64_t now_us)
{
    held_us = num_min(held_us, now_us - num_min(now_us, step->sent_us));
    keep_pace(&turn->paces[step->lane->place], held_us, now_us - num_min(now_us, step->from_us));
    step->held_us += held_us;
    turn->held_us += held_us;
    turn->place_held_us[step->lane->place] += held_us;
    for (size_t i = 0; i < GOVERNOR_PLACE_COUNT; i++) {
        struct turn_rest *rest = &turn->rests[i];

        if (turn_rested_at_us(turn, (enum governor_place)i) <= now_us) {
            *rest = (struct turn_rest){ .from_us = now_us };
        }
        if (step->lane->place == (enum governor_place)i) {
            rest->own_us += held_us;
        } else {
            rest->other_us += held_us;
        }
    }
}

/* The engine goes on with what waited behind the step that ended. */
static void advance(struct turn *turn, const struct lane *lane, uint64_t now_us)
{
    struct turn_step *step = turn_waiter(turn);

    if (step && step->state == TURN_WAITING && step->lane == lane) {
        step->from_us = now_us;
        turn_move(step, TURN_RUNNING);
    }
}

/* ---- sequences that leave with a step */

static bool has_leaving(const struct turn_step *step, uint64_t number)
{
    for (uint32_t i = 0; is_under_way(step) && i < step->n_leaving; i++) {
        if (step->leaving[i].number == number) {
            return true;
        }
    }
    return false;
}

/* True if a step before the one at @at keeps it, too: it is counted there. */
static bool is_counted(const struct turn *turn, size_t at, uint64_t number)
{
    for (size_t i = 0; i < at; i++) {
        if (has_leaving(&turn->steps[i], number)) {
            return true;
        }
    }
    return false;
}

/* Keeps lane::n_leaving and n_pages_leaving. */
static void count_leaving(const struct turn *turn, struct lane *lane)
{
    lane->n_leaving = 0;
    lane->n_pages_leaving = 0;

    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &turn->steps[i];

        for (uint32_t k = 0; step->lane == lane && is_under_way(step) && k < step->n_leaving; k++) {
            if (!is_counted(turn, i, step->leaving[k].number)) {
                lane->n_leaving++;
                lane->n_pages_leaving += step->leaving[k].n_pages;
            }
        }
    }
}

/* ---- ends */

static void end_step(struct turn *turn, struct turn_step *step)
{
    settle(step);
    turn_move(step, TURN_OVER);
    count_leaving(turn, step->lane);
}

struct turn_step *turn_on_done(struct turn *turn, const struct lane *lane, uint64_t id, uint64_t held_us,
                               uint64_t now_us)
{
    struct turn_step *step = turn_find(turn, lane, id);

    if (!step || step->state == TURN_STANDING || (step->state == TURN_WAITING)) {
        return NULL;
    }
    owe(turn, step, held_us, now_us);
    turn->ended_foretold_us += (uint64_t)(step->plan.foretold_ns / 1000.0);
    turn->ended_held_us += step->held_us;
    end_step(turn, step);
    advance(turn, lane, now_us);
    return step;
}

/* A gift that waited for a frame most of its slice: it is given again, or it would always meet the same frame. */
static bool is_gift_unused(const struct turn_step *step, uint64_t held_us)
{
    return step->is_gift && 2 * held_us < step->slice_us;
}

bool turn_on_suspended(struct turn *turn, const struct lane *lane, uint64_t id, uint64_t held_us, uint64_t now_us)
{
    struct turn_step *step = turn_find(turn, lane, id);

    if (!step || (step->state != TURN_RUNNING && step->state != TURN_SUSPENDING)) {
        return false;
    }
    owe(turn, step, held_us, now_us);
    step->from_us = now_us;
    if (!is_gift_unused(step, held_us)) {
        step->stood_at_us = turn->held_us;
    }
    turn_move(step, TURN_STANDING);
    advance(turn, lane, now_us);
    return true;
}

bool turn_on_withdrawn(struct turn *turn, const struct lane *lane, uint64_t id, bool done, uint64_t now_us)
{
    struct turn_step *step = turn_find(turn, lane, id);

    if (!step || step->state == TURN_STANDING || (!done && step->state != TURN_WITHDRAWING)) {
        return !done && id > 0 && id <= turn->last_id; /* it ended before it was asked back */
    }
    if (done) {
        end_step(turn, step);
        return true;
    }
    if (turn_runner(turn)) {
        return false; /* what waits behind a step that runs has not begun */
    }
    step->from_us = now_us;
    turn_move(step, TURN_RUNNING);
    return true;
}

/* How long @step has held its place by now; an engine that hangs is not believed to compute. */
static uint64_t held_by_now_us(const struct turn_step *step, uint64_t now_us)
{
    double foretold_us = step->plan.foretold_ns / 1000.0;
    uint64_t most_us = step->slice_us > 0 ? step->slice_us : (uint64_t)(2.0 * foretold_us);

    return num_min(now_us - num_min(now_us, step->from_us), most_us);
}

void turn_on_lost(struct turn *turn, const struct lane *lane, uint64_t now_us)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        struct turn_step *step = &turn->steps[i];

        if (step->lane != lane || !is_under_way(step)) {
            continue;
        }
        if (step->state == TURN_RUNNING || step->state == TURN_SUSPENDING) {
            owe(turn, step, held_by_now_us(step, now_us), now_us);
        }
        end_step(turn, step);
    }
}

void turn_forget(struct turn *turn, const struct job *job)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        struct turn_step *step = &turn->steps[i];

        for (uint32_t k = 0; step->state != TURN_FREE && k < step->plan.n_entries; k++) {
            struct plan_entry *entry = &step->plan.entries[k];

            if (entry->job != job) {
                continue;
            }
            if (step->state != TURN_OVER) {
                job_settle(entry->job, entry->n_rows, entry->n_tok);
            }
            entry->job = NULL;
        }
    }
}

void turn_leave(struct turn *turn, const struct job *job)
{
    turn->last_leaving++;
    for (size_t i = 0; i < TURN_STEPS; i++) {
        struct turn_step *step = &turn->steps[i];

        for (uint32_t k = 0; is_under_way(step) && k < step->plan.n_entries; k++) {
            if (step->plan.entries[k].job == job && step->n_leaving < PLAN_ENTRIES) {
                step->leaving[step->n_leaving++] =
                    (struct turn_leaver){ .number = turn->last_leaving, .n_pages = job->n_pages };
            }
        }
    }
    count_leaving(turn, job->lane);
}

/* ---- questions */

bool turn_is_busy(const struct turn *turn, const struct lane *lane)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &turn->steps[i];

        if (step->lane == lane && is_under_way(step)) {
            return true;
        }
    }
    return false;
}

bool turn_is_alone(const struct turn *turn, const struct lane *lane)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &turn->steps[i];

        if (step->lane == lane && is_under_way(step) && step->plan.alone) {
            return true;
        }
    }
    return false;
}

double turn_awaited_ns(const struct turn *turn, const struct lane *lane)
{
    double ns = -1.0;

    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &turn->steps[i];
        double left_ns = step->plan.foretold_ns - 1000.0 * (double)step->held_us;

        if (step->lane != lane || !is_under_way(step) || step->state == TURN_STANDING) {
            continue;
        }
        ns = (ns < 0.0 ? 0.0 : ns) + (left_ns > 0.0 ? left_ns : 0.0);
    }
    return ns;
}
