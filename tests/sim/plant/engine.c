#include "plant/engine.h"
#include "base/clean.h"
#include "base/num.h"
#include "plant/dram.h"
#include <stdio.h>

/* ---- messages */

void engine_send(struct engine *engine, const struct engine_message *order)
{
    if (!engine->is_alive) {
        mem_free(order->work);
        return;
    }
    engine_mail_post(&engine->orders, order);
}

static void answer(struct engine *engine, const struct engine_message *message)
{
    engine_mail_post(&engine->answers, message);
}

static void on_answer_due(void *owner)
{
    struct engine *engine = owner;
    struct engine_message *message = engine_mail_collect(&engine->answers);

    engine->on_answer(engine->owner, engine, message);
    engine_mail_free(message);
}

static void breach(struct engine *engine, const char *what)
{
    engine->n_breaches++;
    fprintf(stderr, "BREACH %s at %.3f\n", what, (double)engine->timeline->now_ns / 1e6);
    engine->breach = what;
}

/* ---- sequences */

static struct engine_sequence *sequence_of(struct engine *engine, uint32_t number)
{
    for (uint32_t i = 0; i < ENGINE_SEQUENCES; i++) {
        if (engine->sequences[i].number == number && !engine->sequences[i].is_closed) {
            return &engine->sequences[i];
        }
    }
    return NULL;
}

static void open_sequence(struct engine *engine, const struct engine_message *order)
{
    struct engine_sequence *sequence = sequence_of(engine, 0);
    uint32_t n_pages = (uint32_t)num_div_up((uint64_t)order->n_known + order->n_reserve, ENGINE_PAGE_TOKENS);
    struct engine_message reply = { .what = ENGINE_OPENED, .sequence = order->sequence };

    if (!sequence || engine->n_open >= (uint32_t)engine->family->slots + ENGINE_QUEUE_SPARE) {
        breach(engine, "a sequence too many was opened");
        reply.what = ENGINE_REFUSED;
    } else if (n_pages > engine->n_pages_free) {
        reply.what = ENGINE_REFUSED;
        engine->refused[engine->n_refused++ % ENGINE_REFUSALS] = order->sequence;
    } else {
        engine->n_pages_free -= n_pages;
        engine->n_open++;
        reply.n_cached = (uint32_t)num_min(order->n_cached, order->n_known - 1);
        *sequence = (struct engine_sequence){
            .number = order->sequence,
            .n_known = order->n_known,
            .n_done = reply.n_cached,
            .n_pages = n_pages,
        };
    }
    answer(engine, &reply);
}

/* True if a step, begun or not, names it. */
static bool stands(const struct engine *engine, uint32_t number)
{
    for (uint32_t i = 0; i < ENGINE_STEPS; i++) {
        const struct engine_work *work = engine->steps[i].work;

        for (uint32_t k = 0; work && k < work->n_entries; k++) {
            if (work->entries[k].sequence == number) {
                return true;
            }
        }
    }
    return false;
}

/* Frees closed sequences that no step names any more. */
static void release(struct engine *engine)
{
    for (uint32_t i = 0; i < ENGINE_SEQUENCES; i++) {
        struct engine_sequence *sequence = &engine->sequences[i];

        if (sequence->is_closed && !stands(engine, sequence->number)) {
            engine->n_pages_free += sequence->n_pages;
            engine->n_open--;
            *sequence = (struct engine_sequence){ 0 };
        }
    }
}

/* True if a Close crossed the refusal of its Open, which is no error. */
static bool was_refused(const struct engine *engine, uint32_t number)
{
    for (uint32_t i = 0; i < ENGINE_REFUSALS; i++) {
        if (engine->refused[i] == number) {
            return true;
        }
    }
    return false;
}

static void close_sequence(struct engine *engine, uint32_t number)
{
    struct engine_sequence *sequence = sequence_of(engine, number);

    if (!sequence) {
        if (!was_refused(engine, number)) {
            breach(engine, "a sequence was closed that is not open");
        }
        return;
    }
    sequence->is_closed = true;
    release(engine);
}

/* ---- running */

/* True if all its sequences are closed, so its results are of no use. */
static bool is_pointless(struct engine *engine, const struct engine_step *step)
{
    for (uint32_t i = 0; i < step->work->n_entries; i++) {
        if (sequence_of(engine, step->work->entries[i].sequence)) {
            return false;
        }
    }
    return true;
}

/* Returns how fast work is done now: the clock, and what others leave of the memory for the weights. */
static double rate_of(const struct engine *engine, const struct engine_step *step)
{
    uint64_t now_ns = engine->timeline->now_ns;
    double whole = engine_true_ns(engine->family, &step->work->load);
    double fixed = (double)engine->family->fixed_us * 1000.0;
    double stretched = whole + fixed * (dram_stretch(engine->scenario, now_ns) - 1.0);

    return (double)gpu_clock_permille(engine->scenario, now_ns) / 1000.0 * whole / stretched;
}

static bool on_cores(const struct engine *engine)
{
    return engine->scenario->chip.cores != 0;
}

/* The device is ours. Runs until the slice is used up or the step has ended, whichever is first, in whole parts, and
 * at least for one. A slice counts from when it was submitted, so one that waited for a frame does not hold up the
 * next one as well. */
static void on_granted(void *owner)
{
    struct engine *engine = owner;
    struct engine_step *step = engine->running;
    double left_ns;
    double run_ns;

    engine->submit_ns = rng_unit(&engine->rng_submit) * (double)engine->scenario->chip.submit_us * 1000.0;
    engine->run_rate = rate_of(engine, step);
    engine->part_ns = (double)engine->scenario->chip.part_us * 1000.0 / engine->run_rate;
    if (is_pointless(engine, step)) {
        step->left_ns =
            step->left_ns < engine->part_ns * engine->run_rate ? step->left_ns : engine->part_ns * engine->run_rate;
    }
    left_ns = step->left_ns / engine->run_rate;
    run_ns = left_ns;
    if (step->slice_us > 0) {
        double waited_ns = (double)(engine->timeline->now_ns - engine->asked_ns);
        double n_parts = ((double)step->slice_us * 1000.0 - waited_ns - engine->submit_ns) / engine->part_ns;
        double whole = n_parts > 1.0 ? (double)(uint64_t)n_parts : 1.0;

        run_ns = (whole < n_parts ? whole + 1.0 : whole) * engine->part_ns;
        run_ns = run_ns < left_ns ? run_ns : left_ns;
    }
    if (engine->is_told_to_stop) {
        run_ns = run_ns < engine->part_ns ? run_ns : engine->part_ns;
    }
    engine->waited_ns += engine->timeline->now_ns - engine->waits_ns;
    engine->run_from_ns = engine->timeline->now_ns;
    engine->run_to_ns = engine->run_from_ns + (uint64_t)(engine->submit_ns + run_ns) + 1;
    timeline_enter(engine->timeline, &engine->run_end, engine->run_to_ns);
    if (on_cores(engine)) {
        gpu_burden(engine->gpu, true);
    }
}

static void run(struct engine *engine, struct engine_step *step)
{
    if (engine->running) {
        breach(engine, "a step was told to run while another does");
        return;
    }
    engine->running = step;
    engine->is_told_to_stop = false;
    engine->asked_ns = engine->timeline->now_ns;
    engine->waits_ns = engine->asked_ns;
    engine->waited_ns = 0;
    engine->worked_ns = 0;
    step->begun = true;
    if (engine->is_stalled) {
        return;
    }
    if (on_cores(engine)) {
        on_granted(engine);
    } else {
        gpu_ask(engine->gpu, &engine->user);
    }
}

static void let_go(struct engine *engine)
{
    if (on_cores(engine)) {
        gpu_burden(engine->gpu, false);
    } else {
        gpu_leave(engine->gpu, &engine->user);
    }
}

/* Counts the time that the present run had the device, which ends now. */
static void account_run(struct engine *engine)
{
    uint64_t now_ns = engine->timeline->now_ns;
    uint64_t held_ns = now_ns - engine->run_from_ns;

    if ((double)held_ns > engine->submit_ns) {
        engine->running->left_ns -= ((double)held_ns - engine->submit_ns) * engine->run_rate;
    }
    engine->worked_ns += held_ns;
    engine->held_ns += (double)held_ns;
    engine->on_run(engine->owner, engine, engine->run_from_ns, now_ns, engine->submit_ns + engine->part_ns);
}

/* Computes each entry: the rows that it was asked for, and a token if the last of them is the last known one. */
static void compute(struct engine *engine, struct engine_work *work)
{
    for (uint32_t i = 0; i < work->n_entries; i++) {
        struct engine_entry *entry = &work->entries[i];
        struct engine_sequence *sequence = sequence_of(engine, entry->sequence);
        uint32_t n = entry->n_prefill ? entry->n_prefill : 1;

        if (!sequence) {
            continue; /* closed meanwhile */
        }
        if (sequence->n_done + n > sequence->n_known ||
            (entry->n_prefill == 0 && sequence->n_done + 1 != sequence->n_known)) {
            breach(engine, "rows were asked for that are not known");
            continue;
        }
        sequence->n_done += n;
        entry->n_rows = n;
        if (sequence->n_done == sequence->n_known) {
            sequence->n_known++;
            entry->n_tok = 1;
        }
    }
}

bool engine_is_pointless(struct engine *engine)
{
    return engine->running && is_pointless(engine, engine->running);
}

static void on_run_end(void *owner)
{
    struct engine *engine = owner;
    struct engine_step *step = engine->running;
    struct engine_message reply = { .id = step->work->id };
    struct engine_step *next = NULL;

    account_run(engine);
    reply.held_us = engine->worked_ns / TIMELINE_US;
    reply.waited_us = engine->waited_ns / TIMELINE_US;
    engine->running = NULL;
    if (step->left_ns < 1.0 * engine->run_rate + 1.0 || is_pointless(engine, step)) {
        compute(engine, step->work);
        reply.what = ENGINE_DONE;
        reply.work = steal(&step->work);
        release(engine);
        for (uint32_t i = 0; i < ENGINE_STEPS; i++) {
            if (engine->steps[i].work && !engine->steps[i].begun) {
                next = &engine->steps[i];
            }
        }
    } else {
        reply.what = ENGINE_SUSPENDED;
    }
    answer(engine, &reply);
    let_go(engine);
    if (next) {
        run(engine, next);
    }
}

/* ---- orders */

static struct engine_step *step_of(struct engine *engine, uint64_t id)
{
    for (uint32_t i = 0; i < ENGINE_STEPS; i++) {
        if (engine->steps[i].work && engine->steps[i].work->id == id) {
            return &engine->steps[i];
        }
    }
    return NULL;
}

static uint64_t sent_ns(const struct engine *engine, const struct engine_message *order)
{
    return order->at_ns - engine->orders.latency_ns;
}

/* Returns the factor by which a step takes longer than others like it. */
static double noise_of(struct engine *engine)
{
    const struct scenario_chip *chip = &engine->scenario->chip;
    double noise = 1.0 + (double)chip->noise_permille / 1000.0 * (2.0 * rng_unit(&engine->rng) - 1.0);

    if (chip->slow_permille > 0 && rng_chance(&engine->rng_submit, (uint32_t)chip->slow_permille)) {
        noise *= 1.0 + rng_unit(&engine->rng_submit);
    }
    return noise;
}

static void take_step(struct engine *engine, struct engine_message *order)
{
    struct engine_step *free_step = NULL;
    uint32_t n_begun = 0;

    for (uint32_t i = 0; i < ENGINE_STEPS; i++) {
        if (!engine->steps[i].work) {
            free_step = &engine->steps[i];
        } else if (engine->steps[i].begun) {
            n_begun++;
        } else {
            breach(engine, "two steps wait behind one another");
        }
    }
    if (!free_step || (n_begun >= ENGINE_BEGUN && !engine->running)) {
        breach(engine, "a third step was begun");
        return;
    }
    *free_step = (struct engine_step){
        .work = steal(&order->work),
        .slice_us = order->slice_us,
        .ordered_ns = sent_ns(engine, order),
    };
    free_step->left_ns = engine_true_ns(engine->family, &free_step->work->load) * noise_of(engine);
    if (!engine->running) {
        run(engine, free_step);
    }
}

/* Ends the present run with the part that it is in. */
static void cut_run(struct engine *engine)
{
    double gone_ns = (double)(engine->timeline->now_ns - engine->run_from_ns) - engine->submit_ns;
    double n_parts = gone_ns > 0.0 ? (double)((uint64_t)(gone_ns / engine->part_ns) + 1) : 1.0;
    uint64_t end_ns = engine->run_from_ns + (uint64_t)(engine->submit_ns + n_parts * engine->part_ns);

    if (end_ns < engine->run_to_ns) {
        engine->run_to_ns = end_ns;
        timeline_enter(engine->timeline, &engine->run_end, end_ns);
    }
}

/* Suspends the running step at the end of its part. */
static void suspend(struct engine *engine, uint64_t id)
{
    if (!engine->running || engine->running->work->id != id) {
        return; /* the answer is on its way */
    }
    engine->is_told_to_stop = true;
    if (!timeline_has(&engine->run_end)) {
        /* It waits for the device and has done nothing since. */
        struct engine_message reply = {
            .what = ENGINE_SUSPENDED,
            .id = id,
            .held_us = engine->worked_ns / TIMELINE_US,
            .waited_us = (engine->waited_ns + engine->timeline->now_ns - engine->waits_ns) / TIMELINE_US,
        };

        if (!engine->is_stalled) {
            engine->running = NULL;
            gpu_leave(engine->gpu, &engine->user);
            answer(engine, &reply);
        }
        return;
    }
    cut_run(engine);
}

static void withdraw(struct engine *engine, uint64_t id)
{
    struct engine_message reply = { .what = ENGINE_WITHDRAWN, .id = id };
    struct engine_step *step = step_of(engine, id);

    if (step && !step->begun) {
        reply.done = true;
        mem_free(step->work);
        step->work = NULL;
        release(engine);
    }
    answer(engine, &reply);
}

static void go_on(struct engine *engine, const struct engine_message *order)
{
    struct engine_step *step = step_of(engine, order->id);

    if (!step || !step->begun) {
        breach(engine, "a step was told to go on that does not stand");
        return;
    }
    step->slice_us = order->slice_us;
    step->ordered_ns = sent_ns(engine, order);
    run(engine, step);
}

static void on_order_due(void *owner)
{
    struct engine *engine = owner;
    struct engine_message *order = engine_mail_collect(&engine->orders);

    switch (order->what) {
    case ENGINE_OPEN:
        open_sequence(engine, order);
        break;
    case ENGINE_CLOSE:
        close_sequence(engine, order->sequence);
        if (timeline_has(&engine->run_end) && is_pointless(engine, engine->running)) {
            cut_run(engine);
        }
        break;
    case ENGINE_STEP:
        take_step(engine, order);
        break;
    case ENGINE_CONTINUE:
        go_on(engine, order);
        break;
    case ENGINE_SUSPEND:
        suspend(engine, order->id);
        break;
    case ENGINE_WITHDRAW:
        withdraw(engine, order->id);
        break;
    case ENGINE_OPENED:
    case ENGINE_REFUSED:
    case ENGINE_DONE:
    case ENGINE_SUSPENDED:
    case ENGINE_WITHDRAWN:
        breach(engine, "an answer came as an order");
        break;
    }
    engine_mail_free(order);
}

/* ---- life */

void engine_init(struct engine *engine, struct timeline *timeline, const struct scenario *scenario, struct gpu *gpu,
                 uint32_t number)
{
    uint64_t latency_ns = (uint64_t)scenario->chip.latency_us * TIMELINE_US;

    *engine = (struct engine){
        .timeline = timeline,
        .scenario = scenario,
        .family = &scenario->engines[number],
        .gpu = gpu,
        .number = number,
    };
    rng_init(&engine->rng, (uint64_t)scenario->run.seed * SCENARIO_ROWS_MAX + number, RNG_CHIP);
    rng_init(&engine->rng_submit, (uint64_t)scenario->run.seed * SCENARIO_ROWS_MAX + number, RNG_TRAITS);
    engine_mail_init(&engine->orders, timeline, latency_ns, on_order_due, engine);
    engine_mail_init(&engine->answers, timeline, latency_ns, on_answer_due, engine);
    timeline_event_init(&engine->run_end, on_run_end, engine);
    engine->user = (struct gpu_user){ .granted = on_granted, .owner = engine };
    engine_restart(engine);
}

void engine_restart(struct engine *engine)
{
    engine->is_alive = true;
    engine->n_open = 0;
    engine->n_pages_free = (uint32_t)engine->family->pages;
    for (uint32_t i = 0; i < ENGINE_SEQUENCES; i++) {
        engine->sequences[i] = (struct engine_sequence){ 0 };
    }
}

void engine_die(struct engine *engine)
{
    if (engine->running) {
        if (timeline_has(&engine->run_end)) {
            timeline_cancel(engine->timeline, &engine->run_end);
            account_run(engine);
        }
        engine->running = NULL;
        let_go(engine);
    }
    for (uint32_t i = 0; i < ENGINE_STEPS; i++) {
        mem_free(engine->steps[i].work);
        engine->steps[i].work = NULL;
    }
    engine_mail_discard(&engine->orders);
    engine_mail_discard(&engine->answers);
    engine->is_alive = false;
    engine->is_stalled = false;
}

void engine_stall(struct engine *engine, bool is_stalled)
{
    struct engine_step *step = engine->running;

    if (!engine->is_alive || engine->is_stalled == is_stalled) {
        return;
    }
    engine->is_stalled = is_stalled;
    if (!step) {
        return;
    }
    if (is_stalled) {
        if (timeline_has(&engine->run_end)) {
            timeline_cancel(engine->timeline, &engine->run_end);
            account_run(engine);
        }
        let_go(engine);
        return;
    }
    engine->waits_ns = engine->timeline->now_ns;
    if (on_cores(engine)) {
        on_granted(engine);
    } else {
        gpu_ask(engine->gpu, &engine->user);
    }
}

void engine_finish(struct engine *engine)
{
    engine_die(engine);
}

double engine_held_ns(const struct engine *engine)
{
    bool runs = engine->running && timeline_has(&engine->run_end);

    return engine->held_ns + (runs ? (double)(engine->timeline->now_ns - engine->run_from_ns) : 0.0);
}
