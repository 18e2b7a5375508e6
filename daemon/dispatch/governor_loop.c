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

uint64_t governing_held_us(const struct hub *hub, enum processor place, uint64_t now_us)
{
    const struct dispatch *dispatch = &hub->pacer.dispatch;
    uint64_t held_us = hub->governing.held_us[place];

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
    struct governing *governing = &hub->governing;

    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        uint64_t held_us = governing_held_us(hub, (enum processor)i, input->now_us);

        /* A slice may end shorter than it looked while it ran: what was told too much is kept back. */
        input->held_us[i] = held_us > governing->told_us[i] ? held_us - governing->told_us[i] : 0;
        governing->told_us[i] = num_max(held_us, governing->told_us[i]);
    }
    if (governing->estimated_ns > 0.0) {
        input->delay_permille =
            (uint32_t)num_min((uint64_t)(1000.0 * governing->took_ns / governing->estimated_ns), 1000000);
    }
    governing->took_ns = 0.0;
    governing->estimated_ns = 0.0;
}

static void fill_hint(struct governing *governing, struct governor_input *input)
{
    compositors_fill(&governing->compositors, input->now_us, input);
    input->hint.n_missed = governing->n_missed;
    governing->n_missed = 0;
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
    struct governing *governing = &hub->governing;

    *input = (struct governor_input){ .now_us = clock_mono_us() };
    machine_watch_fill(hub->machine_watch, input->now_us, input);
    fill_held(hub, input);
    fill_hint(governing, input);
    if (governing->awake_us > 0 &&
        (!distrust_old(governing->awake_us, input) || input->now_us - governing->awake_us >= WAKE_US)) {
        governing->awake_us = 0;
        governing->is_asleep = false;
    }
    input->is_asleep = governing->is_asleep;
}

/* ---- ticks */

static bool differs(const struct governor_limits *a, const struct governor_limits *b)
{
    return a->mode != b->mode || a->slice_us != b->slice_us || a->duty_permille != b->duty_permille ||
           a->n_rows != b->n_rows || a->class_gate != b->class_gate || a->kv_permille != b->kv_permille;
}

static void tick(struct hub *hub)
{
    struct governing *governing = &hub->governing;
    struct governor *governor = &hub->governor;
    struct governor_limits was[PROCESSOR_COUNT];
    struct governor_input input;

    memcpy(was, governor->limits, sizeof(was));
    fill(hub, &input);
    governing->ticked_us = input.now_us;
    hub->counts[HUB_TICKS]++;
    if (governor_tick(governor, &input)) {
        governing_tell(hub, was);
    }
    if (governor->limits[PROCESSOR_CPU].kv_permille != governing->kv_permille) {
        governing->kv_permille = governor->limits[PROCESSOR_CPU].kv_permille;
        governing_tell_pages(hub);
    }
    for (uint32_t i = 0; i < PROCESSOR_COUNT; i++) {
        const struct governor_limits *now = &governor->limits[i];

        if (differs(&was[i], now)) {
            trace_add(TRACE_LIMITS, i * 10000 + now->duty_permille, now->slice_us);
            hub_poke(hub);
        }
    }
    governing_notice(hub, input.now_us);
}

static void on_timer(uv_timer_t *timer)
{
    tick(timer->data);
    governing_run(timer->data); /* nobody else looks while nothing is to do */
}

static bool wants_to_move(const struct stream *stream)
{
    switch (stream->state) {
    case STREAM_WAITING:
    case STREAM_RUNNING:
        return true;
    case STREAM_WORDS:
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
        enum dispatch_state state = hub->pacer.dispatch.steps[i].state;

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

static bool is_hinted(const struct governing *governing, uint64_t now_us)
{
    struct governor_input input = { .now_us = now_us };

    compositors_fill(&governing->compositors, now_us, &input);
    return input.hint.at_us > 0 &&
           (now_us - input.hint.at_us < COMPOSITOR_FRAME_US || input.hint.busy_until_us > now_us);
}

/* Less memory than engines could have is given back in steps: somebody has to count them. */
static bool is_wanted(const struct hub *hub)
{
    const struct governing *governing = &hub->governing;

    return has_work(hub) || governing->awake_us > 0 || governing->kv_permille < 1000 ||
           is_hinted(governing, clock_mono_us());
}

static void begin(struct hub *hub)
{
    struct governing *governing = &hub->governing;

    governing->ticks = true;
    governing->calm_us = 0;
    machine_watch_rate(hub->machine_watch, GOVERNING_TICK_MS);
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        governing->told_us[i] = governing->held_us[i];
    }
    uv_timer_start(&governing->timer, on_timer, GOVERNING_TICK_MS, GOVERNING_TICK_MS);
    tick(hub);
}

static void end(struct hub *hub)
{
    hub->governing.ticks = false;
    machine_watch_rate(hub->machine_watch, IDLE_RATE_MS);
    uv_timer_stop(&hub->governing.timer);
}

/* It has been waited for long enough. */
static bool is_calm(struct governing *governing)
{
    uint64_t now_us = clock_mono_us();

    if (governing->calm_us == 0) {
        governing->calm_us = now_us;
    }
    return now_us - governing->calm_us >= CALM_US;
}

void governing_run(struct hub *hub)
{
    bool wanted = is_wanted(hub) && !hub->is_closing;

    if (wanted && !hub->governing.ticks) {
        begin(hub);
    } else if (wanted) {
        hub->governing.calm_us = 0;
    } else if (hub->governing.ticks && (hub->is_closing || is_calm(&hub->governing))) {
        end(hub);
    }
}

void governing_on_sample(struct hub *hub, bool early)
{
    struct governing *governing = &hub->governing;
    uint64_t now_us = clock_mono_us();

    metering_read(hub, now_us);
    if (!governing->ticks && !early) {
        return;
    }
    /* A reading is acted upon when it comes, not up to a period later. */
    if (now_us - governing->ticked_us >= TICK_LEAST_US) {
        tick(hub);
    }
    if (governing->ticks) {
        uv_timer_again(&governing->timer);
        governing_run(hub); /* readings that come as often as the timer keep it from doing so */
    } else if (governing->kv_permille < 1000) {
        hub_poke(hub);
    }
}

/* ---- life */

void governing_init(struct hub *hub, const struct governor_policy *policy, const struct energy_stated *stated)
{
    governor_init(&hub->governor, policy);
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        hub->governor.since_us[i] = clock_mono_us(); /* nothing was bounded before, either */
    }
    hub->governing = (struct governing){ .kv_permille = 1000 };
    list_init(&hub->governing.compositors);
    energy_init(&hub->governing.energy, stated);
    usage_table_init(&hub->governing.usage_table);
}

void governing_start(struct hub *hub)
{
    uv_timer_init(hub->loop, &hub->governing.timer);
    hub->governing.timer.data = hub;
}

void governing_configure(struct hub *hub, const struct governor_policy *policy, const struct energy_stated *stated)
{
    governor_configure(&hub->governor, policy);
    energy_configure(&hub->governing.energy, stated);
}

void governing_close(struct hub *hub, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&hub->governing.timer, closed);
}

void governing_finish(struct hub *hub)
{
    usage_table_finish(&hub->governing.usage_table);
}

/* ---- from the pacer */

void governing_slice_ended(struct hub *hub, const struct dispatch_step *step, uint64_t held_us, bool done)
{
    struct governing *governing = &hub->governing;

    governing->held_us[step->eq->processor] += held_us;
    trace_add(TRACE_SLICE, step->eq->processor, held_us);
    governing->n_slices[step->eq->processor]++;
    if (!done) {
        return;
    }
    /* What a warm-up said may be wrong by more than what others on the device would make of it. */
    if (step->eq->processor == PROCESSOR_GPU && step->eq->cost.n_learnt >= COST_YOUNG) {
        governing->took_ns += (double)step->held_us * 1000.0;
        governing->estimated_ns += step->plan.estimated_ns;
    }
    metering_charge(hub, step);
}

/* ---- from outside */

void hub_hint(struct hub *hub, struct compositor *compositor, const Sotto__V1__GraphicsHint *hint)
{
    struct governing *governing = &hub->governing;

    hub->counts[HUB_HINTS]++;
    if (compositor->at_us == 0) {
        list_append(&governing->compositors, &compositor->link);
    }
    compositor_said(compositor, hint, clock_mono_us());
    governing->n_missed = (uint32_t)num_saturate(governing->n_missed, hint->missed_frames, UINT16_MAX);
    if (governing->ticks) {
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
    struct governing *governing = &hub->governing;

    governing->is_asleep = true;
    governing->awake_us = 0;
    tick(hub);
    hub_poke(hub);
}

void hub_wake(struct hub *hub)
{
    if (!hub->governing.is_asleep) {
        return;
    }
    hub->governing.awake_us = clock_mono_us();
    governor_awake(&hub->governor);
    tick(hub);
    hub_poke(hub);
}

bool hub_is_still(const struct hub *hub)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        enum dispatch_state state = hub->pacer.dispatch.steps[i].state;

        if (state != DISPATCH_FREE && state != DISPATCH_ENDED && state != DISPATCH_SUSPENDED) {
            return false;
        }
    }
    return true;
}
