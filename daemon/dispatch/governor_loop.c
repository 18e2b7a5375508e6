#include "dispatch/governor_loop.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/trace.h"
#include "registry/models.h"
#include "stream/stream.h"
#include <string.h>

#define IDLE_RATE_MS 1000u /* of readings while nothing is to do: what is told of the machine stays young */

/* After waking the first readings are waited for this long; then what is not read is blind, and policy says what
 * that means. */
#define WAKE_US 2000000u

/* Ticks go on for so long after the last work. What it did to the chip is seen up to three seconds late, and after a
 * short burst that is the only sight of it there is. Status does not tell of a hint that is void, either: what a
 * compositor told of comes back over two seconds, and a freer mode dwells for half a one. */
#define CALM_US 3000000u

/* Ticks are no closer than this, however often readings come. */
#define TICK_LEAST_US 10000u

/* ---- what the governor is told */

uint64_t governor_loop_held_us(const struct hub *hub, enum processor place, uint64_t now_us)
{
    const struct dispatch *dispatch = &hub->dispatcher.dispatch;
    uint64_t held_us = hub->governor_loop.held_us[place];

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];

        if ((step->state == DISPATCH_RUNNING || step->state == DISPATCH_SUSPENDING) && step->eq->processor == place &&
            now_us > step->from_us) {
            held_us += now_us - step->from_us;
        }
    }
    return held_us;
}

static void fill_held(struct hub *hub, struct governor_input *input)
{
    struct governor_loop *governor_loop = &hub->governor_loop;

    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        uint64_t held_us = governor_loop_held_us(hub, (enum processor)i, input->now_us);

        /* A slice may end shorter than it looked while it ran: what was told too much is kept back. */
        input->held_us[i] = held_us > governor_loop->told_us[i] ? held_us - governor_loop->told_us[i] : 0;
        governor_loop->told_us[i] = num_max(held_us, governor_loop->told_us[i]);
    }
    if (governor_loop->estimated_ns > 0.0) {
        input->delay_permille =
            (uint32_t)num_min((uint64_t)(1000.0 * governor_loop->took_ns / governor_loop->estimated_ns), 1000000);
    }
    governor_loop->took_ns = 0.0;
    governor_loop->estimated_ns = 0.0;
}

static void fill_hint(struct governor_loop *governor_loop, struct governor_input *input)
{
    compositors_fill(&governor_loop->compositors, input->now_us, input);
    input->hint.n_missed = governor_loop->n_missed;
    governor_loop->n_missed = 0;
}

/* What was read before a sleep says nothing of now. True: something is still waited for. */
static bool distrust_old(uint64_t awake_us, struct governor_input *input)
{
    bool waits = false;

    if (input->graphics.sight != GOVERNOR_NONE && input->graphics.at_us < awake_us) {
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

static void fill(struct hub *hub, struct governor_input *input)
{
    struct governor_loop *governor_loop = &hub->governor_loop;

    *input = (struct governor_input){ .now_us = clock_mono_us() };
    machine_watch_fill(hub->watch, input->now_us, input);
    fill_held(hub, input);
    fill_hint(governor_loop, input);
    if (governor_loop->awake_us > 0 &&
        (!distrust_old(governor_loop->awake_us, input) || input->now_us - governor_loop->awake_us >= WAKE_US)) {
        governor_loop->awake_us = 0;
        governor_loop->is_asleep = false;
    }
    input->is_asleep = governor_loop->is_asleep;
}

/* ---- ticks */

static bool differs(const struct governor_limits *a, const struct governor_limits *b)
{
    return a->mode != b->mode || a->slice_us != b->slice_us || a->duty_permille != b->duty_permille ||
           a->n_rows != b->n_rows || a->class_gate != b->class_gate || a->kv_permille != b->kv_permille;
}

static void tick(struct hub *hub)
{
    struct governor_loop *governor_loop = &hub->governor_loop;
    struct governor *governor = &hub->governor;
    struct governor_limits was[PROCESSOR_COUNT];
    struct governor_input input;

    memcpy(was, governor->limits, sizeof(was));
    fill(hub, &input);
    governor_loop->ticked_us = input.now_us;
    hub->counts[HUB_TICKS]++;
    if (governor_tick(governor, &input)) {
        governor_report_mode(hub, was);
    }
    if (governor->limits[PROCESSOR_CPU].kv_permille != governor_loop->kv_permille) {
        governor_loop->kv_permille = governor->limits[PROCESSOR_CPU].kv_permille;
        governor_loop_tell_pages(hub);
    }
    for (uint32_t i = 0; i < PROCESSOR_COUNT; i++) {
        const struct governor_limits *now = &governor->limits[i];

        if (differs(&was[i], now)) {
            trace_add(TRACE_LIMITS, i * 10000 + now->duty_permille, now->slice_us);
            hub_poke(hub);
        }
    }
    governor_report_streams(hub, input.now_us);
}

static void on_timer(uv_timer_t *timer)
{
    tick(timer->data);
    governor_loop_run(timer->data); /* nobody else looks while nothing is to do */
}

static bool wants_to_move(const struct stream *stream)
{
    switch (stream->state) {
    case STREAM_WAITING:
    case STREAM_RUNNING:
        return true;
    case STREAM_TOKENIZING:
    case STREAM_PARKED:
    case STREAM_ENDING:
    case STREAM_ENDED:
    case STREAM_STATE_COUNT:
        break;
    }
    return false;
}

static bool has_work(const struct hub *hub)
{
    struct list *link;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        enum dispatch_state state = hub->dispatcher.dispatch.steps[i].state;

        if (state != DISPATCH_FREE && state != DISPATCH_ENDED) {
            return true;
        }
    }
    list_for_each (link, &hub->streams) {
        if (wants_to_move(container_of(link, struct stream, link))) {
            return true;
        }
    }
    return false;
}

static bool is_hinted(const struct governor_loop *governor_loop, uint64_t now_us)
{
    struct governor_input input = { .now_us = now_us };

    compositors_fill(&governor_loop->compositors, now_us, &input);
    return input.hint.at_us > 0 &&
           (now_us - input.hint.at_us < COMPOSITOR_FRAME_US || input.hint.busy_until_us > now_us);
}

/* Less memory than engines could have is given back in steps: somebody has to count them. */
static bool is_wanted(const struct hub *hub)
{
    const struct governor_loop *governor_loop = &hub->governor_loop;

    return has_work(hub) || governor_loop->awake_us > 0 || governor_loop->kv_permille < 1000 ||
           is_hinted(governor_loop, clock_mono_us());
}

static void begin(struct hub *hub)
{
    struct governor_loop *governor_loop = &hub->governor_loop;

    governor_loop->ticks = true;
    governor_loop->calm_us = 0;
    machine_watch_rate(hub->watch, GOVERNOR_LOOP_TICK_MS);
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        governor_loop->told_us[i] = governor_loop->held_us[i];
    }
    uv_timer_start(&governor_loop->timer, on_timer, GOVERNOR_LOOP_TICK_MS, GOVERNOR_LOOP_TICK_MS);
    tick(hub);
}

static void end(struct hub *hub)
{
    hub->governor_loop.ticks = false;
    machine_watch_rate(hub->watch, IDLE_RATE_MS);
    uv_timer_stop(&hub->governor_loop.timer);
}

/* It has been waited for long enough. */
static bool is_calm(struct governor_loop *governor_loop)
{
    uint64_t now_us = clock_mono_us();

    if (governor_loop->calm_us == 0) {
        governor_loop->calm_us = now_us;
    }
    return now_us - governor_loop->calm_us >= CALM_US;
}

void governor_loop_run(struct hub *hub)
{
    bool wanted = is_wanted(hub) && !hub->is_closing;

    if (wanted && !hub->governor_loop.ticks) {
        begin(hub);
    } else if (wanted) {
        hub->governor_loop.calm_us = 0;
    } else if (hub->governor_loop.ticks && (hub->is_closing || is_calm(&hub->governor_loop))) {
        end(hub);
    }
}

void governor_loop_on_sample(struct hub *hub, bool early)
{
    struct governor_loop *governor_loop = &hub->governor_loop;
    uint64_t now_us = clock_mono_us();

    metering_read(hub, now_us);
    if (!governor_loop->ticks && !early) {
        return;
    }
    /* A reading is acted upon when it comes, not up to a period later. */
    if (now_us - governor_loop->ticked_us >= TICK_LEAST_US) {
        tick(hub);
    }
    if (governor_loop->ticks) {
        uv_timer_again(&governor_loop->timer);
        governor_loop_run(hub); /* readings that come as often as the timer keep it from doing so */
    } else if (governor_loop->kv_permille < 1000) {
        hub_poke(hub);
    }
}

/* ---- life */

void governor_loop_init(struct hub *hub, const struct governor_policy *policy, const struct energy_stated *stated)
{
    governor_init(&hub->governor, policy);
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        hub->governor.since_us[i] = clock_mono_us(); /* nothing was bounded before, either */
    }
    hub->governor_loop = (struct governor_loop){ .kv_permille = 1000 };
    list_init(&hub->governor_loop.compositors);
    energy_init(&hub->governor_loop.energy, stated);
    usage_table_init(&hub->governor_loop.usage_table);
}

void governor_loop_start(struct hub *hub)
{
    uv_timer_init(hub->loop, &hub->governor_loop.timer);
    hub->governor_loop.timer.data = hub;
}

void governor_loop_configure(struct hub *hub, const struct governor_policy *policy, const struct energy_stated *stated)
{
    governor_configure(&hub->governor, policy);
    energy_configure(&hub->governor_loop.energy, stated);
}

void governor_loop_close(struct hub *hub, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&hub->governor_loop.timer, closed);
}

void governor_loop_finish(struct hub *hub)
{
    usage_table_finish(&hub->governor_loop.usage_table);
}

/* ---- from the dispatcher */

void governor_loop_slice_ended(struct hub *hub, const struct dispatch_step *step, uint64_t held_us, bool done)
{
    struct governor_loop *governor_loop = &hub->governor_loop;

    governor_loop->held_us[step->eq->processor] += held_us;
    trace_add(TRACE_SLICE, step->eq->processor, held_us);
    governor_loop->n_slices[step->eq->processor]++;
    if (!done) {
        return;
    }
    /* What a warm-up said may be wrong by more than what others on the device would make of it. */
    if (step->eq->processor == PROCESSOR_GPU && step->eq->cost.n_learnt >= COST_YOUNG) {
        governor_loop->took_ns += (double)step->held_us * 1000.0;
        governor_loop->estimated_ns += step->plan.estimated_ns;
    }
    metering_charge(hub, step);
}

/* ---- from outside */

void hub_hint(struct hub *hub, struct compositor *compositor, const Sotto__V1__GraphicsHint *hint)
{
    struct governor_loop *governor_loop = &hub->governor_loop;

    hub->counts[HUB_HINTS]++;
    if (compositor->at_us == 0) {
        list_append(&governor_loop->compositors, &compositor->link);
    }
    compositor_said(compositor, hint, clock_mono_us());
    governor_loop->n_missed = (uint32_t)num_saturate(governor_loop->n_missed, hint->missed_frames, UINT16_MAX);
    if (governor_loop->ticks) {
        tick(hub); /* a frame is at stake: now, not up to a period later */
    }
    hub_poke(hub);
}

void hub_hint_ends(struct hub *hub, struct compositor *compositor)
{
    if (compositor->at_us > 0) {
        list_remove(&compositor->link);
        compositor->at_us = 0;
        hub_poke(hub);
    }
}

void hub_sleep(struct hub *hub)
{
    struct governor_loop *governor_loop = &hub->governor_loop;

    governor_loop->is_asleep = true;
    governor_loop->awake_us = 0;
    tick(hub);
    hub_poke(hub);
}

void hub_wake(struct hub *hub)
{
    if (!hub->governor_loop.is_asleep) {
        return;
    }
    hub->governor_loop.awake_us = clock_mono_us();
    governor_awake(&hub->governor);
    tick(hub);
    hub_poke(hub);
}

bool hub_is_still(const struct hub *hub)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        enum dispatch_state state = hub->dispatcher.dispatch.steps[i].state;

        if (state != DISPATCH_FREE && state != DISPATCH_ENDED && state != DISPATCH_SUSPENDED) {
            return false;
        }
    }
    return true;
}
