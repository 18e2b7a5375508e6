/*
 * Running: a step from its first part to its answer, and what is obeyed between the parts
 *
 * After each part the engine glances at every order that has come. Stop, Suspend, Withdraw and Limits act at once.
 * Stop keeps its place in the queue as well, since the Open that it is for may still wait in front of it; the other
 * three are taken out. Then the slice is looked at. A step makes progress by at least one part each time that it is
 * told to go on.
 */
#include "engine/engine.h"

#include "base/clean.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include <assert.h>
#include <stdlib.h>

/* Each is told of an order by its numbers, and says whether the order is done with. */
typedef bool (*urgent_fn)(struct engine *engine, const struct link_glance *glance);

static bool look_at_step(struct engine *engine, const struct link_glance *glance)
{
    if (engine->waiting.n == 0) {
        engine->waiting = *glance;
    }
    return false;
}

static bool look_at_stop(struct engine *engine, const struct link_glance *glance)
{
    seq_stop(engine->model, (uint32_t)glance->field[1]);
    return false;
}

static bool look_at_suspend(struct engine *engine, const struct link_glance *glance)
{
    if (glance->field[1] != engine->step_id) {
        return false; /* of the step that waits, perhaps: its turn will come */
    }
    engine->must_suspend = true;
    return true;
}

static bool look_at_limits(struct engine *engine, const struct link_glance *glance)
{
    engine_limit(engine, (uint32_t)glance->field[1], glance->field[3]);
    return true;
}

static bool look_at_withdraw(struct engine *engine, const struct link_glance *glance)
{
    if (engine->waiting.n > 0 && engine->waiting.field[1] == glance->field[1]) {
        link_drop(&engine->link, glance);
        link_drop(&engine->link, &engine->waiting);
        engine->waiting.n = 0;
        engine_say_withdrawn(engine, glance->field[1], true);
        return false;
    }
    engine_withdraw(engine, glance->field[1]);
    return true;
}

static const struct urgent {
    Sotto__Engine__ToEngine__BodyCase kind;
    urgent_fn look;
} urgents[] = {
    { SOTTO__ENGINE__TO_ENGINE__BODY_STEP, look_at_step },
    { SOTTO__ENGINE__TO_ENGINE__BODY_SUSPEND, look_at_suspend },
    { SOTTO__ENGINE__TO_ENGINE__BODY_LIMITS, look_at_limits },
    { SOTTO__ENGINE__TO_ENGINE__BODY_WITHDRAW, look_at_withdraw },
    { SOTTO__ENGINE__TO_ENGINE__BODY_STOP, look_at_stop },
};

static void obey_urgent(struct engine *engine, const struct link_glance *glance)
{
    for (size_t i = 0; i < COUNTOF(urgents); i++) {
        if (urgents[i].kind == glance->kind && urgents[i].look(engine, glance)) {
            link_drop(&engine->link, glance);
            return;
        }
    }
}

/* Glances at all that has come. */
static void look(struct engine *engine)
{
    struct link_glance glance;
    struct diag diag = DIAG_INIT;
    int r;

    while (engine->end == ENGINE_GOES_ON) {
        r = link_look(&engine->link, &glance, &diag);
        switch (r) {
        case LINK_OK:
            obey_urgent(engine, &glance);
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

static bool must_leave(const struct engine *engine)
{
    return engine->end != ENGINE_GOES_ON || engine->must_suspend;
}

static bool slice_is_over(const struct engine *engine, uint64_t now_us)
{
    uint64_t ran_us = now_us - engine->began_us;

    return (engine->slice_us > 0 && ran_us >= engine->slice_us) ||
           (engine->limit_slice_us > 0 && ran_us >= engine->limit_slice_us);
}

/* Between parts: may the step go on? */
static bool goes_on(void *owner)
{
    struct engine *engine = owner;
    uint64_t now_us = clock_mono_us();

    look(engine);
    if (slice_is_over(engine, now_us)) {
        engine->must_suspend = true;
    }
    return !must_leave(engine);
}

static void say_suspended(struct engine *engine)
{
    Sotto__Engine__Suspended suspended = SOTTO__ENGINE__SUSPENDED__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;

    suspended.step = engine->step_id;
    suspended.held_us = engine->is_fresh ? 0 : clock_mono_us() - engine->began_us;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED;
    message.suspended = &suspended;
    engine->step = ENGINE_STEP_SUSPENDED;
    engine_say(engine, &message);
}

static void say_done(struct engine *engine, const struct step_report *report)
{
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    struct model_figures figures;

    if (engine->guards && report->n_allocs > 0) {
        log_error("engine", "a step allocated %u times", (unsigned)report->n_allocs);
        abort();
    }
    model_figures(engine->model, &figures);
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE;
    message.step_done = answer_fill(&engine->answer, engine->step_id, report, &engine->roll, &figures);
    message.step_done->held_us = clock_mono_us() - engine->began_us;
    engine->step = ENGINE_STEP_NONE;
    engine_say(engine, &message);
}

void engine_run_step(struct engine *engine)
{
    struct step_report report;
    int r;

    assert(engine->step != ENGINE_STEP_NONE);
    engine->step = ENGINE_STEP_RUNNING;
    engine->must_suspend = false;
    engine->waiting.n = 0;
    link_rewind(&engine->link);
    look(engine);
    if (engine->end != ENGINE_GOES_ON || engine->step == ENGINE_STEP_NONE) {
        return;
    }
    if (engine->must_suspend) {
        say_suspended(engine);
        return;
    }

    engine->is_fresh = false;
    engine->began_us = clock_mono_us();
    r = step_run(engine->model, goes_on, engine, &report);
    if (engine->end != ENGINE_GOES_ON) {
        return;
    }
    if (r == STEP_SUSPENDED) {
        say_suspended(engine);
    } else if (r == STEP_DONE) {
        say_done(engine, &report);
    } else {
        engine_fault_of(engine, "a step failed", r);
    }
}
