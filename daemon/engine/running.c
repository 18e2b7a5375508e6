/*
 * Running: a step from its first part to its answer, and the orders obeyed between the parts
 *
 * After each part the engine peeks at every order that has arrived. Stop, Suspend, Withdraw and Limits act at once.
 * Stop also keeps its place in the queue, since the Open of its sequence may still wait in front of it; the other three
 * are removed. Then the slice is checked: a step is suspended before it has run longer than its slice, so parts are cut
 * to a quarter of the slice, and the last ones to what is left of it. A step that is told to run runs at least one
 * part.
 */
#include "engine/engine.h"

#include "base/clean.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include <assert.h>
#include <stdlib.h>

/* The estimated time of a part is at most this fraction of a slice. */
#define PARTS_OF_A_SLICE 4

#define PART_LEAST_US 50 /* shorter parts mostly wake workers and poll the socket */

/* Without a slice: a Stop must be seen within 20 ms even where the processor is shared. */
#define PART_US 5000

#define SLOW_LEAST_US 500 /* shorter estimates are too coarse to judge by */

/* ---- steps that are begun ---- */

struct begun *engine_find_begun(struct engine *engine, uint64_t id)
{
    for (uint32_t i = 0; i < STEP_MAX; i++) {
        if (engine->begun[i].is_there && engine->begun[i].id == id) {
            return &engine->begun[i];
        }
    }
    return NULL;
}

void engine_send_withdrawn(struct engine *engine, uint64_t step, bool done)
{
    Sotto__Engine__Withdrawn withdrawn = SOTTO__ENGINE__WITHDRAWN__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;

    withdrawn.step = step;
    withdrawn.done = done;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN;
    message.withdrawn = &withdrawn;
    engine_send(engine, &message);
}

void engine_withdraw(struct engine *engine, uint64_t step)
{
    struct begun *begun = engine_find_begun(engine, step);
    bool done = begun && begun->is_fresh && step_withdraw(engine->model, step);

    if (done) {
        begun->is_there = false;
    }
    engine_send_withdrawn(engine, step, done);
}

void engine_limit(struct engine *engine, uint32_t slice_us, uint64_t kv_bytes)
{
    engine->limit_slice_us = slice_us;
    model_limit_kv(engine->model, kv_bytes == 0 ? UINT64_MAX : kv_bytes);
}

/* ---- between two parts ---- */

/* Acts on a peeked order. Returns true if the order is done with. */
typedef bool (*urgent_fn)(struct engine *engine, const struct peeked_order *peeked);

static bool peek_step(struct engine *engine, const struct peeked_order *peeked)
{
    if (engine->waiting.n == 0) {
        engine->waiting = *peeked;
    }
    return false;
}

static bool peek_stop(struct engine *engine, const struct peeked_order *peeked)
{
    seq_stop(engine->model, (uint32_t)peeked->field[1]);
    return false;
}

static bool peek_suspend(struct engine *engine, const struct peeked_order *peeked)
{
    if (peeked->field[1] != engine->running->id) {
        return false; /* perhaps of the waiting step: it is obeyed later */
    }
    engine->must_suspend = true;
    return true;
}

static bool peek_limits(struct engine *engine, const struct peeked_order *peeked)
{
    engine_limit(engine, (uint32_t)peeked->field[1], peeked->field[3]);
    return true;
}

static bool peek_withdraw(struct engine *engine, const struct peeked_order *peeked)
{
    if (engine->waiting.n > 0 && engine->waiting.field[1] == peeked->field[1]) {
        link_drop(&engine->link, peeked);
        link_drop(&engine->link, &engine->waiting);
        engine->waiting.n = 0;
        engine_send_withdrawn(engine, peeked->field[1], true);
        return false;
    }
    engine_withdraw(engine, peeked->field[1]);
    return true;
}

static const struct urgent {
    Sotto__Engine__ToEngine__BodyCase kind;
    urgent_fn peek_all;
} urgents[] = {
    { SOTTO__ENGINE__TO_ENGINE__BODY_STEP, peek_step },     { SOTTO__ENGINE__TO_ENGINE__BODY_SUSPEND, peek_suspend },
    { SOTTO__ENGINE__TO_ENGINE__BODY_LIMITS, peek_limits }, { SOTTO__ENGINE__TO_ENGINE__BODY_WITHDRAW, peek_withdraw },
    { SOTTO__ENGINE__TO_ENGINE__BODY_STOP, peek_stop },
};

static void obey_urgent(struct engine *engine, const struct peeked_order *peeked)
{
    for (size_t i = 0; i < COUNTOF(urgents); i++) {
        if (urgents[i].kind == peeked->kind && urgents[i].peek_all(engine, peeked)) {
            link_drop(&engine->link, peeked);
            return;
        }
    }
}

/* Peeks at all orders that have arrived. */
static void peek_all(struct engine *engine)
{
    struct peeked_order peeked;
    struct diag diag = DIAG_INIT;
    int r;

    while (engine->end == ENGINE_GOES_ON) {
        r = link_peek(&engine->link, &peeked, &diag);
        switch (r) {
        case LINK_OK:
            obey_urgent(engine, &peeked);
            break;
        case LINK_NONE:
            return;
        case LINK_END:
            engine->end = ENGINE_QUIT;
            return;
        default:
            engine_fault(engine, false, diag.text);
            return;
        }
    }
}

/* Returns the bound on this run of the step in microseconds; 0: none. */
static uint64_t slice_of(const struct engine *engine, const struct begun *begun)
{
    uint64_t own = begun->slice_us ? begun->slice_us : UINT64_MAX;
    uint64_t limit = engine->limit_slice_us ? engine->limit_slice_us : UINT64_MAX;

    return num_min(own, limit) == UINT64_MAX ? 0 : num_min(own, limit);
}

/* Bounds the next part. Returns false if what is left of the slice is too short for one. */
static bool bound_part(struct engine *engine, uint64_t ran_us)
{
    uint64_t slice_us = slice_of(engine, engine->running);
    uint64_t part_us = num_max(slice_us / PARTS_OF_A_SLICE, PART_LEAST_US) >> engine->n_halvings;
    uint64_t left_us = slice_us - num_min(ran_us, slice_us);

    if (slice_us == 0) {
        step_bound(engine->model, (uint32_t)(PART_US >> engine->n_halvings));
        return true;
    }
    if (ran_us > 0 && left_us < part_us / 2) {
        return false;
    }
    part_us = ran_us > 0 ? num_min(part_us, left_us) : part_us;
    step_bound(engine->model, (uint32_t)num_max(part_us, 1));
    return true;
}

static void send_slow(struct engine *engine, uint64_t took_us, uint64_t estimated_us)
{
    Sotto__Engine__Slow slow = SOTTO__ENGINE__SLOW__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;

    engine->running->is_slow = true;
    slow.step = engine->running->id;
    slow.took_us = took_us;
    slow.estimated_us = estimated_us;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_SLOW;
    message.slow = &slow;
    engine_send(engine, &message);
}

/* Reacts to a part that took more than twice its estimate: halves the next part at once, and reports it once a step.
 * Waiting for others is not slowness. */
static void watch_pace(struct engine *engine, uint64_t ran_us)
{
    const struct begun *begun = engine->running;
    struct step_pace pace;
    uint64_t held_us;

    step_pace(engine->model, &pace);
    held_us = begun->held_us + ran_us - num_min(pace.waited_us, ran_us);
    if (pace.estimated_us >= SLOW_LEAST_US && pace.device_us > 2 * pace.estimated_us) {
        engine->n_halvings = 1;
        if (!begun->is_slow) {
            send_slow(engine, pace.device_us, pace.estimated_us);
        }
        return;
    }
    engine->n_halvings = 0;
    if (!begun->is_slow && begun->estimated_us > 0 &&
        held_us > 2 * (uint64_t)num_max(begun->estimated_us, SLOW_LEAST_US)) {
        send_slow(engine, held_us, begun->estimated_us);
    }
}

/* Decides between parts whether the step goes on. */
static bool goes_on(void *owner)
{
    struct engine *engine = owner;
    uint64_t ran_us = clock_mono_us() - engine->running->began_us;

    peek_all(engine);
    watch_pace(engine, ran_us);
    if (!bound_part(engine, num_max(ran_us, 1))) {
        engine->must_suspend = true;
    }
    return engine->end == ENGINE_GOES_ON && !engine->must_suspend;
}

/* Ends the run of @begun. Returns how long it held the processor: all the time that it did not wait for others. */
static uint64_t end_run(struct begun *begun)
{
    uint64_t ran_us = clock_mono_us() - begun->began_us;
    uint64_t held_us = ran_us - num_min(begun->waited_us, ran_us);

    begun->held_us += held_us;
    return held_us;
}

static void send_suspended(struct engine *engine, struct begun *begun)
{
    Sotto__Engine__Suspended suspended = SOTTO__ENGINE__SUSPENDED__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;

    suspended.step = begun->id;
    suspended.held_us = end_run(begun);
    suspended.waited_us = begun->waited_us;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED;
    message.suspended = &suspended;
    engine_send(engine, &message);
}

static void send_done(struct engine *engine, struct begun *begun, const struct step_report *report)
{
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    struct model_figures figures;

    if (engine->guards && report->n_allocs > 0) {
        log_error("engine", "a step allocated %u times", (unsigned)report->n_allocs);
        abort();
    }
    model_figures(engine->model, &figures);
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE;
    message.step_done = step_reply_fill(&engine->step_reply, begun->id, report, &engine->seq_table, &figures);
    message.step_done->held_us = end_run(begun);
    message.step_done->waited_us = begun->waited_us;
    begun->is_there = false;
    engine_send(engine, &message);
}

/* Returns true if an order that has already arrived keeps @begun from running. */
static bool is_prevented(struct engine *engine, struct begun *begun)
{
    link_rewind(&engine->link);
    peek_all(engine);
    if (engine->end == ENGINE_GOES_ON && begun->is_there && engine->must_suspend) {
        send_suspended(engine, begun);
    }
    return engine->end != ENGINE_GOES_ON || !begun->is_there || engine->must_suspend;
}

void engine_run_step(struct engine *engine, struct begun *begun, uint64_t from_us)
{
    struct step_report report;
    struct step_pace pace;
    int r;

    assert(begun->is_there && !engine->running);
    engine->running = begun;
    engine->must_suspend = false;
    engine->waiting.n = 0;
    begun->began_us = from_us;
    begun->waited_us = 0;
    if (is_prevented(engine, begun)) {
        engine->running = NULL;
        return;
    }

    begun->is_fresh = false;
    engine->n_halvings = 0;
    bound_part(engine, 0);
    r = step_run(engine->model, begun->id, goes_on, engine, &report);
    engine->running = NULL;
    if (engine->end != ENGINE_GOES_ON) {
        return;
    }
    step_pace(engine->model, &pace);
    begun->waited_us = pace.waited_us;
    if (r == STEP_SUSPENDED) {
        send_suspended(engine, begun);
    } else if (r == STEP_DONE) {
        send_done(engine, begun, &report);
    } else {
        engine_fault_of(engine, "a step failed", r);
    }
}
