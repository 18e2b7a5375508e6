#include "dispatch/governor_loop.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/trace.h"
#include "dispatch/governor_report.h"
#include <string.h>

#define IDLE_RATE_MS 1000u /* of readings while there is no work: Status stays young */

/* The wait for the first readings after waking; then what is not read is blind, and policy says what that means. */
#define WAKE_US 2000000u

/* Ticks go on for so long after the last work. The effect on the chip is seen up to three seconds late, and after a
 * short burst that is the only sight of it there is. Status does not show a void hint, either: what a compositor took
 * comes back over two seconds, and a freer mode dwells for half a second. */
#define CALM_US 3000000u

/* The shortest time between two ticks, however often readings come. */
#define TICK_LEAST_US 10000u

/* The period of ticks without readings. Readings come each GOVERNOR_LOOP_TICK_MS and tick themselves. A timer of the
 * same period would ring just before each of them, and each would be acted upon a period late. */
#define ALONE_MS (GOVERNOR_LOOP_TICK_MS + TICK_LEAST_US / 1000)

/* ---- what the governor is told */

uint64_t governor_loop_held_us(const struct governor_loop *loop, enum processor processor, uint64_t now_us)
{
    const struct dispatch *dispatch = &loop->streams->dispatch;
    uint64_t held_us = loop->held_us[processor];

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];

        if ((step->state == DISPATCH_RUNNING || step->state == DISPATCH_SUSPENDING) &&
            step->eq->processor == processor && now_us > step->from_us) {
            held_us += now_us - step->from_us;
        }
    }
    return held_us;
}

static void fill_held(struct governor_loop *loop, struct governor_input *input)
{
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        uint64_t held_us = governor_loop_held_us(loop, (enum processor)i, input->now_us);

        /* A slice may end shorter than it looked while it ran: the excess that was reported is subtracted. */
        input->held_us[i] = held_us > loop->reported_us[i] ? held_us - loop->reported_us[i] : 0;
        loop->reported_us[i] = num_max(held_us, loop->reported_us[i]);
    }
}

static void fill_hint(struct governor_loop *loop, struct governor_input *input)
{
    compositors_fill(&loop->compositors, input->now_us, input);
    input->hint.n_missed = loop->n_missed;
    loop->n_missed = 0;
}

/* Makes readings from before a sleep blind: they tell nothing of now. Returns true if new ones are still awaited. */
static bool distrust_old(uint64_t awake_us, struct governor_input *input)
{
    bool waits = false;

    if (input->graphics.sight != GOVERNOR_NONE && input->graphics.sight != GOVERNOR_UNTOLD &&
        input->graphics.at_us < awake_us) {
        input->graphics.sight = GOVERNOR_BLIND;
        waits = true;
    }
    for (uint32_t i = 0; i < input->n_zones; i++) {
        if (input->zones[i].sight != GOVERNOR_NONE && input->zones[i].at_us < awake_us) {
            input->zones[i].sight = GOVERNOR_BLIND;
            waits = true;
        }
    }
    if (input->power.sight != GOVERNOR_NONE && input->power.at_us < awake_us) {
        input->power.sight = GOVERNOR_BLIND;
    }
    return waits;
}

static void fill(struct governor_loop *loop, struct governor_input *input)
{
    *input = (struct governor_input){ .now_us = clock_mono_us() };
    machine_watch_fill(loop->watch, input->now_us, input);
    fill_held(loop, input);
    fill_hint(loop, input);
    if (loop->awake_us > 0 && (!distrust_old(loop->awake_us, input) || input->now_us - loop->awake_us >= WAKE_US)) {
        loop->awake_us = 0;
        loop->is_asleep = false;
    }
    input->is_asleep = loop->is_asleep;
}

/* ---- ticks */

static bool differs(const struct governor_limits *a, const struct governor_limits *b)
{
    return a->mode != b->mode || a->slice_us != b->slice_us || a->duty_permille != b->duty_permille ||
           a->n_rows != b->n_rows || a->class_gate != b->class_gate || a->kv_permille != b->kv_permille;
}

static void tick(struct governor_loop *loop)
{
    struct governor *governor = &loop->governor;
    struct governor_limits was[PROCESSOR_COUNT];
    struct governor_input input;

    memcpy(was, governor->limits, sizeof(was));
    fill(loop, &input);
    loop->ticked_us = input.now_us;
    loop->events->counts[COUNT_TICKS]++;
    if (governor_tick(governor, &input)) {
        governor_report_modes(governor, was, loop->events);
    }
    if (governor->limits[PROCESSOR_CPU].kv_permille != loop->streams->registry->kv_permille) {
        registry_limit_pages(loop->streams->registry, governor->limits[PROCESSOR_CPU].kv_permille);
    }
    for (uint32_t i = 0; i < PROCESSOR_COUNT; i++) {
        const struct governor_limits *now = &governor->limits[i];

        if (differs(&was[i], now)) {
            trace_add(TRACE_LIMITS, i * 10000 + now->duty_permille, now->slice_us);
            events_poke(loop->events);
        }
    }
    governor_report_streams(governor, loop->streams, input.now_us);
}

static void on_timer(uv_timer_t *timer)
{
    tick(timer->data);
    governor_loop_run(timer->data); /* nothing else looks while there is no work */
}

static bool wants_to_move(const struct stream *stream)
{
    switch (stream->state) {
    case STREAM_TOKENIZING: /* its deadline will be promised by the limits of then */
    case STREAM_WAITING:
    case STREAM_RUNNING:
        return true;
    case STREAM_PARKED:
    case STREAM_ENDING:
    case STREAM_ENDED:
    case STREAM_STATE_COUNT:
        break;
    }
    return false;
}

static bool has_work(const struct governor_loop *loop)
{
    struct list *link;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        enum dispatch_state state = loop->streams->dispatch.steps[i].state;

        if (state != DISPATCH_FREE && state != DISPATCH_ENDED) {
            return true;
        }
    }
    list_for_each (link, &loop->streams->all) {
        if (wants_to_move(container_of(link, struct stream, link))) {
            return true;
        }
    }
    return false;
}

static bool is_hinted(const struct governor_loop *loop, uint64_t now_us)
{
    struct governor_input input = { .now_us = now_us };

    compositors_fill(&loop->compositors, now_us, &input);
    return input.hint.at_us > 0 &&
           (now_us - input.hint.at_us < COMPOSITOR_FRAME_US || input.hint.busy_until_us > now_us);
}

/* Returns whether ticks are needed. Memory that was taken from engines is given back in steps, which ticks count. */
static bool is_wanted(const struct governor_loop *loop)
{
    return has_work(loop) || loop->awake_us > 0 || loop->streams->registry->kv_permille < 1000 ||
           is_hinted(loop, clock_mono_us());
}

static void begin(struct governor_loop *loop)
{
    loop->ticks = true;
    loop->calm_us = 0;
    machine_watch_rate(loop->watch, GOVERNOR_LOOP_TICK_MS);
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        loop->reported_us[i] = loop->held_us[i];
    }
    uv_timer_start(&loop->timer, on_timer, ALONE_MS, ALONE_MS);
    tick(loop);
}

static void end(struct governor_loop *loop)
{
    loop->ticks = false;
    machine_watch_rate(loop->watch, IDLE_RATE_MS);
    uv_timer_stop(&loop->timer);
}

/* Returns whether the ticks behind the last work have gone on for long enough. */
static bool is_calm(struct governor_loop *loop)
{
    uint64_t now_us = clock_mono_us();

    if (loop->calm_us == 0) {
        loop->calm_us = now_us;
    }
    return now_us - loop->calm_us >= CALM_US;
}

void governor_loop_run(struct governor_loop *loop)
{
    bool wanted = is_wanted(loop) && !loop->events->is_closing;

    if (wanted && !loop->ticks) {
        begin(loop);
    } else if (wanted) {
        loop->calm_us = 0;
    } else if (loop->ticks && (loop->events->is_closing || is_calm(loop))) {
        end(loop);
    }
}

void governor_loop_on_sample(struct governor_loop *loop, bool early)
{
    uint64_t now_us = clock_mono_us();
    uint64_t held_us = 0;

    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        held_us += governor_loop_held_us(loop, (enum processor)i, now_us);
    }
    metering_read(&loop->metering, loop->watch, now_us, held_us);
    if (!loop->ticks && !early) {
        return;
    }
    /* A reading is acted upon when it comes, not up to a period later. */
    if (now_us - loop->ticked_us >= TICK_LEAST_US) {
        tick(loop);
    }
    if (loop->ticks) {
        uv_timer_again(&loop->timer);
        governor_loop_run(loop); /* readings that come as often as the timer keep it from firing */
    } else if (loop->streams->registry->kv_permille < 1000) {
        events_poke(loop->events);
    }
}

/* ---- life */

void governor_loop_init(struct governor_loop *loop, struct streams *streams, const struct governor_policy *policy,
                        const struct energy_stated *stated)
{
    *loop = (struct governor_loop){ .streams = streams, .events = streams->events };
    list_init(&loop->compositors);
    metering_init(&loop->metering, stated);
    governor_init(&loop->governor, policy);
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        loop->governor.since_us[i] = clock_mono_us(); /* nothing was bounded before, either */
    }
}

void governor_loop_start(struct governor_loop *loop)
{
    uv_timer_init(loop->events->loop, &loop->timer);
    loop->timer.data = loop;
}

void governor_loop_configure(struct governor_loop *loop, const struct governor_policy *policy,
                             const struct energy_stated *stated)
{
    governor_configure(&loop->governor, policy);
    energy_configure(&loop->metering.energy, stated);
}

void governor_loop_close(struct governor_loop *loop, uv_close_cb closed, void *data)
{
    loop->timer.data = data;
    uv_close((uv_handle_t *)&loop->timer, closed);
}

/* ---- from the dispatcher */

void governor_loop_slice_ended(struct governor_loop *loop, const struct dispatch_step *step, uint64_t held_us,
                               uint64_t waited_us, bool done)
{
    loop->held_us[step->eq->processor] += held_us;
    trace_add(TRACE_SLICE, step->eq->processor, held_us);
    loop->n_slices[step->eq->processor]++;
    if (step->eq->processor == PROCESSOR_GPU) {
        uint64_t now_us = clock_mono_us();

        /* These are an engine's figures, so the clock bounds them. */
        held_us = num_min(held_us, now_us - step->sent_us);
        governor_on_slice(&loop->governor, now_us, held_us, num_min(waited_us, now_us - step->sent_us));
    }
    if (done) {
        metering_charge(&loop->metering, step);
    }
}

/* ---- from outside */

void governor_loop_hint(struct governor_loop *loop, struct compositor *compositor, const Sotto__V1__GraphicsHint *hint)
{
    loop->events->counts[COUNT_HINTS]++;
    if (compositor->at_us == 0) {
        list_append(&loop->compositors, &compositor->link);
    }
    compositor_take(compositor, hint, clock_mono_us());
    loop->n_missed = (uint32_t)num_saturate(loop->n_missed, hint->missed_frames, UINT16_MAX);
    if (loop->ticks) {
        tick(loop); /* a frame is at stake: it ticks now, not up to a period later */
    }
    events_poke(loop->events);
}

void governor_loop_hint_ends(struct governor_loop *loop, struct compositor *compositor)
{
    if (compositor->at_us > 0) {
        list_remove(&compositor->link);
        compositor->at_us = 0;
        events_poke(loop->events);
    }
}

void governor_loop_sleep(struct governor_loop *loop)
{
    loop->is_asleep = true;
    loop->awake_us = 0;
    tick(loop);
    events_poke(loop->events);
}

void governor_loop_wake(struct governor_loop *loop)
{
    if (!loop->is_asleep) {
        return;
    }
    loop->awake_us = clock_mono_us();
    governor_awake(&loop->governor);
    tick(loop);
    events_poke(loop->events);
}
