/*
 * One decision at a time, so that each is made on what the one before has changed. What runs is looked at first:
 * must it stand still, is what waits behind it still right, may something wait behind it? If nothing runs, the best
 * of what stands still is held against the best of what could begin.
 */
#include "sched/turn.h"
#include "base/num.h"
#include "sched/turn_pick.h"
#include <assert.h>
#include <string.h>

void turn_init(struct turn *turn)
{
    *turn = (struct turn){ 0 };
    for (size_t i = 0; i < GOVERNOR_PLACE_COUNT; i++) {
        turn->limits[i].duty_permille = 1000;
    }
}

/* ---- what the jobs of a step count */

static void lend(struct turn_step *step)
{
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        struct plan_entry *entry = &step->plan.entries[i];

        job_send(entry->job, entry->n_rows, entry->n_tok);
    }
}

/* ---- orders */

/* The slice that a step of @place is told: the place's, and no longer than a gift may be. */
static uint32_t slice_of(const struct turn_view *view, enum governor_place place, bool is_gift)
{
    return is_gift ? turn_patience_us(view, place) : view->in->limits[place].slice_us;
}

static void order(struct turn_order *ret_order, enum turn_what what, struct turn_step *step)
{
    *ret_order = (struct turn_order){ .what = what, .step = step };
}

static void withdraw(struct turn *turn, struct turn_step *step, struct turn_order *ret_order)
{
    turn_move(step, TURN_WITHDRAWING);
    turn->n_withdraws++;
    order(ret_order, TURN_WITHDRAW, step);
}

static void suspend(struct turn *turn, struct turn_step *step, struct turn_order *ret_order)
{
    turn_move(step, TURN_SUSPENDING);
    turn->n_suspends++;
    order(ret_order, TURN_SUSPEND, step);
}

static void go_on(const struct turn_view *view, struct turn_step *step, bool is_gift, struct turn_order *ret_order)
{
    step->is_gift = is_gift;
    step->slice_us = slice_of(view, step->lane->place, is_gift);
    step->from_us = view->in->now_us;
    step->awaited_us = 0;
    turn_move(step, TURN_RUNNING);
    order(ret_order, TURN_CONTINUE, step);
}

/* The highest class of those in @plan that still want its result. */
static enum sched_class class_of_plan(const struct plan *plan)
{
    enum sched_class class = SCHED_BACKGROUND;

    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const struct job *job = plan->entries[i].job;

        if (job && job->state != JOB_ENDED) {
            class = (enum sched_class)num_max(class, job->class);
        }
    }
    return class;
}

static void begin(struct turn *turn, const struct turn_view *view, struct turn_step *step, int wanted,
                  enum turn_state state, struct turn_order *ret_order)
{
    const struct turn_input *in = view->in;

    step->lane = step->plan.lane;
    step->id = ++turn->last_id;
    step->class = class_of_plan(&step->plan);
    step->is_gift = (int)step->class < wanted;
    step->slice_us = slice_of(view, step->lane->place, step->is_gift);
    step->sent_us = in->now_us;
    step->from_us = in->now_us;
    step->awaited_us = 0;
    step->held_us = 0;
    step->stood_at_us = 0;
    step->n_leaving = 0;
    lend(step);
    turn_move(step, state);
    order(ret_order, TURN_STEP, step);
}

/* ---- something runs */

/* Brings *wake_us forward to @at_us. */
static void wake_at(uint64_t *wake_us, uint64_t at_us)
{
    *wake_us = *wake_us ? num_min(*wake_us, at_us) : at_us;
}

/* A step that stands still and would be told to go on before any of the class of @step. */
static bool is_passed_by(const struct turn_view *view, const struct turn_step *step, bool or_equal)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *other = &view->turn->steps[i];

        if (other->state != TURN_STANDING || turn_is_gated(view, other)) {
            continue;
        }
        if (turn_class_of(view, other) >= (int)step->class + !or_equal) {
            return true;
        }
    }
    return false;
}

static bool somebody_starves(const struct turn_view *view)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &view->turn->steps[i];

        if (step->state == TURN_STANDING && !turn_is_gated(view, step) && turn_is_starving(view, step)) {
            return true;
        }
    }
    return false;
}

/*
 * Somebody of a higher class waits for @step's end. True if that takes too long: more than patience is left of it,
 * or it was waited for that long. Else the turn looks again then.
 */
static bool is_waited_for_too_long(const struct turn_view *view, struct turn_step *step, struct turn_order *ret_order)
{
    uint64_t now_us = view->in->now_us;
    uint64_t patience_us = turn_patience_us(view, step->lane->place);
    uint64_t ran_us = now_us - num_min(now_us, step->from_us);
    bool ends_anyhow = step->slice_us > 0 && step->slice_us <= ran_us + patience_us;

    if (ends_anyhow) {
        return false;
    }
    step->awaited_us = step->awaited_us > 0 ? step->awaited_us : now_us;
    if (turn_left_us(step, now_us) > (int64_t)patience_us || now_us >= step->awaited_us + patience_us) {
        return true;
    }
    wake_at(&ret_order->wake_us, step->awaited_us + patience_us);
    return false;
}

static bool must_stand(const struct turn_view *view, struct turn_step *step, struct turn_order *ret_order)
{
    uint32_t slice_us = view->in->limits[step->lane->place].slice_us;
    uint64_t ran_us = view->in->now_us - num_min(view->in->now_us, step->from_us);

    if (turn_is_gated(view, step)) {
        return true;
    }
    if (slice_us > 0 && (step->slice_us == 0 || step->slice_us > ran_us + slice_us)) {
        return true;
    }
    if (step->is_gift) {
        return false;
    }
    if (turn_highest(view, step->class, turn_preempts, step) > (int)step->class || is_passed_by(view, step, false)) {
        return is_waited_for_too_long(view, step, ret_order);
    }
    step->awaited_us = 0;
    return false;
}

/* May a step like @step wait, or go on waiting, behind the one that runs? */
static bool may_wait(const struct turn_view *view, const struct turn_step *step)
{
    return turn_is_free(view, step->lane->place) && !turn_is_gated(view, step) && !somebody_starves(view) &&
           turn_highest(view, TURN_NOBODY, turn_displaces, step) == TURN_NOBODY && !is_passed_by(view, step, true);
}

/* Whether a lane has something to begin is told to the planner by lane::stopped. */
static void stop_all(const struct turn_view *view)
{
    struct list *link;

    for (size_t class = 0; class < SCHED_CLASS_COUNT; class ++) {
        list_for_each (link, &view->queue->jobs[class]) {
            struct job *job = container_of(link, struct job, link);

            if (job->lane) {
                job->lane->stopped = true;
            }
        }
    }
}

static void let_begin(const struct turn_view *view)
{
    struct list *link;

    for (size_t class = 0; class < SCHED_CLASS_COUNT; class ++) {
        list_for_each (link, &view->queue->jobs[class]) {
            struct job *job = container_of(link, struct job, link);

            if (turn_is_in_line(view, job)) {
                job->lane->stopped = false;
            }
        }
    }
}

static struct plan_input plan_input_of(const struct turn_view *view, enum plan_kind kind)
{
    struct plan_input in = { .now_us = view->in->now_us, .boot_us = view->in->boot_us, .kind = kind };

    turn_real_limits(view->turn, view->in->limits, in.limits);
    return in;
}

/* The next step, behind @runner or on its own, is to bring somebody's first token as soon as can be. Who has aged is in
 * it all the same: the plan gives those a small part. */
static bool is_for_first(const struct turn_view *view, const struct turn_step *runner)
{
    return turn_highest(view, TURN_NOBODY, turn_is_first, runner) > TURN_NOBODY &&
           turn_highest(view, TURN_NOBODY, turn_has_aged, runner) == TURN_NOBODY;
}

/* The lowest class of which a step of @lane may begin beside what stands still there: rows that follow rows in it can't
 * come first. */
static int least_beside(const struct turn *turn, const struct lane *lane)
{
    int least = SCHED_BACKGROUND;

    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &turn->steps[i];

        if (step->state == TURN_STANDING && step->lane == lane && (int)step->class >= least) {
            least = (int)step->class + 1;
        }
    }
    return least;
}

/* Lets the lane's next step wait behind @runner, if there is one and it may. */
static void pipeline(struct turn *turn, const struct turn_view *view, struct planner *planner, struct turn_step *runner,
                     struct turn_order *ret_order)
{
    struct turn_step *step = turn_slot(turn);
    int least = least_beside(turn, runner->lane);
    struct plan_input in;

    if (!step || least > SCHED_REALTIME || runner->state != TURN_RUNNING || runner->plan.alone ||
        runner->slice_us > 0 || queue_is_opening(view->queue, runner->lane) || !may_wait(view, runner)) {
        return;
    }
    in = plan_input_of(view, PLAN_BEHIND);
    in.lane = runner->lane;
    in.class_least = (enum sched_class)least;
    if (is_for_first(view, runner)) {
        in.class_least = SCHED_REALTIME;
    }
    runner->lane->stopped = false;
    plan_make(planner, view->queue, &in, &step->plan);
    if (step->plan.lane) {
        turn->n_pipelined++;
        begin(turn, view, step, TURN_NOBODY, TURN_WAITING, ret_order);
    }
}

static void attend_runner(struct turn *turn, const struct turn_view *view, struct planner *planner,
                          struct turn_step *runner, struct turn_order *ret_order)
{
    struct turn_step *waiter = turn_waiter(turn);
    bool stands = runner->state == TURN_RUNNING && must_stand(view, runner, ret_order);

    if (waiter && waiter->state == TURN_WAITING && (stands || turn_is_pointless(waiter) || !may_wait(view, waiter))) {
        withdraw(turn, waiter, ret_order);
    } else if (stands) {
        suspend(turn, runner, ret_order);
    } else if (!waiter) {
        pipeline(turn, view, planner, runner, ret_order);
    }
}

/* ---- nothing runs */

/* True if @a is to go on before @b. */
static bool goes_before(const struct turn_view *view, const struct turn_step *a, const struct turn_step *b)
{
    int class_a = turn_class_of(view, a);
    int class_b = turn_class_of(view, b);

    if (class_a != class_b) {
        return class_a > class_b;
    }
    if (turn_is_pointless(a) != turn_is_pointless(b)) {
        return turn_is_pointless(a); /* it ends with a part */
    }
    return a->class != b->class ? a->class > b->class : a->id < b->id;
}

/* The best of those that stand still and may go on now; with @starving: of those that starve. */
static struct turn_step *best_standing(struct turn *turn, const struct turn_view *view, bool starving,
                                       struct turn_order *ret_order)
{
    struct turn_step *best = NULL;

    for (size_t i = 0; i < TURN_STEPS; i++) {
        struct turn_step *step = &turn->steps[i];

        if (step->state != TURN_STANDING || turn_is_gated(view, step)) {
            continue;
        }
        if (!turn_is_rested(view, step->lane->place)) {
            wake_at(&ret_order->wake_us, turn_rested_at_us(turn, step->lane->place));
            continue;
        }
        if (starving && !turn_is_starving(view, step)) {
            continue;
        }
        if (!best || goes_before(view, step, best)) {
            best = step;
        }
    }
    return best;
}

/* Somebody would begin, were its place rested, or its account's minute over. */
static void wake_later(const struct turn_view *view, struct turn_order *ret_order)
{
    struct list *link;

    for (size_t class = 0; class < SCHED_CLASS_COUNT; class ++) {
        list_for_each (link, &view->queue->jobs[class]) {
            struct job *job = container_of(link, struct job, link);
            uint64_t wait_us;

            if (turn_wants(view, job)) {
                if (!turn_is_rested(view, job->lane->place)) {
                    wake_at(&ret_order->wake_us, turn_rested_at_us(view->turn, job->lane->place));
                }
                continue;
            }
            wait_us = account_wait_us(job->account, job->limits.tokens_a_minute, view->in->boot_us);
            if (wait_us > 0 && (job->state == JOB_SEATED || job->state == JOB_WAITING) && !job->parked) {
                wake_at(&ret_order->wake_boot_us, view->in->boot_us + wait_us);
            }
        }
    }
}

/* Plans what could begin above class @above, @wanted being the highest class of that. Nothing: tells when to ask
 * again. */
static void begin_new(struct turn *turn, const struct turn_view *view, struct planner *planner, int above, int wanted,
                      struct turn_order *ret_order)
{
    struct turn_step *step = turn_slot(turn);
    bool overtakes = turn_highest(view, TURN_NOBODY, turn_overtakes, NULL) > TURN_NOBODY;
    struct plan_input in = plan_input_of(view, overtakes ? PLAN_OVERTAKE : PLAN_NEXT);

    /* At each place one step of each class stands still at most, since a new one begins above them only. */
    assert(step);
    if (overtakes || is_for_first(view, NULL)) {
        in.class_least = (enum sched_class)wanted; /* rows of others beside it would keep it waiting */
    } else {
        in.class_least = (enum sched_class)(above + 1);
    }
    stop_all(view);
    let_begin(view);
    plan_make(planner, view->queue, &in, &step->plan);
    if (step->plan.lane) {
        begin(turn, view, step, wanted, TURN_RUNNING, ret_order);
    } else {
        wake_later(view, ret_order);
    }
}

static void attend_nobody(struct turn *turn, const struct turn_view *view, struct planner *planner,
                          struct turn_order *ret_order)
{
    int opening = turn_highest(view, TURN_NOBODY, turn_is_opening, NULL);
    int wanted = turn_highest(view, TURN_NOBODY, turn_begins, NULL);
    struct turn_step *standing = best_standing(turn, view, false, ret_order);
    struct turn_step *starving = best_standing(turn, view, true, ret_order);
    int class = standing ? turn_class_of(view, standing) : TURN_NOBODY;
    int top = class > wanted ? class : wanted;

    if (starving && turn_class_of(view, starving) < top) {
        go_on(view, starving, true, ret_order);
    } else if (opening > top) {
        return; /* its answer comes at once, and it goes first */
    } else if (standing && class >= wanted) {
        go_on(view, standing, false, ret_order);
    } else {
        begin_new(turn, view, planner, class, wanted, ret_order);
    }
}

void turn_next(struct turn *turn, struct queue *queue, struct planner *planner, const struct turn_input *in,
               struct turn_order *ret_order)
{
    const struct turn_view view = { .turn = turn, .queue = queue, .in = in };
    struct turn_step *runner;

    *ret_order = (struct turn_order){ .what = TURN_NONE };
    memcpy(turn->limits, in->limits, sizeof(turn->limits));
    for (size_t i = 0; i < TURN_STEPS; i++) {
        if (turn->steps[i].state == TURN_OVER) {
            turn_move(&turn->steps[i], TURN_FREE);
        }
        if (turn->steps[i].state != TURN_FREE) {
            turn->steps[i].class = class_of_plan(&turn->steps[i].plan);
        }
    }
    runner = turn_runner(turn);
    if (runner) {
        attend_runner(turn, &view, planner, runner, ret_order);
    } else if (!turn_waiter(turn)) { /* else it is being withdrawn, or has begun */
        attend_nobody(turn, &view, planner, ret_order);
    }
}
