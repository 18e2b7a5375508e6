/*
 * What the governor has decided, in words: for those who watch, for streams that are held back, for engines.
 */
#include "base/clock.h"
#include "base/num.h"
#include "base/trace.h"
#include "dispatch/governor_loop.h"
#include "registry/models.h"
#include "session/pins.h"
#include "stream/stream.h"
#include <stdio.h>

static const char *const place_names[PROCESSOR_COUNT] = {
    [PROCESSOR_GPU] = "device",
    [PROCESSOR_CPU] = "cores",
};

static const char *const class_names[PRIORITY_COUNT] = {
    [PRIORITY_BACKGROUND] = "background",
    [PRIORITY_INTERACTIVE] = "interactive",
    [PRIORITY_REALTIME] = "realtime",
};

/* The beginning of a sentence that says why a stream goes slowly. */
static const char *const reasons[GOVERNOR_CAUSE_COUNT] = {
    [GOVERNOR_FREE] = "the machine has other work",
    [GOVERNOR_GRAPHICS] = "the screen needs the device",
    [GOVERNOR_HINT] = "the compositor asked for the device",
    [GOVERNOR_HEAT] = "the chip is as warm as it may get",
    [GOVERNOR_TRIP] = "the chip is near a limit of the kernel's",
    [GOVERNOR_POWER] = "the chip takes as much power as it may",
    [GOVERNOR_PRESSURE] = "memory is short",
    [GOVERNOR_SLEEP] = "the machine goes to sleep",
    [GOVERNOR_BLIND_GRAPHICS] = "the load of the screen can't be read",
    [GOVERNOR_BLIND_HEAT] = "the temperature can't be read",
};

/* ---- events */

static void tell_place(struct hub *hub, enum processor place, const struct governor_limits *was)
{
    const struct governor_limits *now = &hub->governor.limits[place];
    char slice[16];
    char duty[16];
    char rows[16];

    if (now->mode == was->mode && now->cause == was->cause) {
        return;
    }
    snprintf(slice, sizeof(slice), "%u", now->slice_us);
    snprintf(duty, sizeof(duty), "%u", now->duty_permille);
    snprintf(rows, sizeof(rows), "%u", now->n_rows);
    hub->counts[HUB_MODE_CHANGES] += now->mode != was->mode;
    trace_add(TRACE_MODE, place * 100u + now->mode, now->cause);
    hub_event(hub, UINT32_MAX, "mode", "mode-changed", "place", place_names[place], "mode",
              governor_mode_name(now->mode), "cause", governor_cause_name(now->cause), "from",
              governor_mode_name(was->mode), "slice_us", slice, "duty_permille", duty, NULL);
}

void governor_report_mode(struct hub *hub, const struct governor_limits was[PROCESSOR_COUNT])
{
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        tell_place(hub, (enum processor)i, &was[i]);
    }
}

/* ---- streams */

/* What a stream is told: the mode that holds it back, or GOVERNOR_FULL. */
static enum governor_mode mode_for(const struct stream *stream, const struct governor_limits *limits)
{
    if (stream->job.priority < limits->class_gate) {
        return GOVERNOR_PAUSED;
    }
    return limits->mode;
}

static void tell_stream(struct stream *stream, const struct governor_limits *limits, enum governor_mode mode)
{
    char sentence[160];

    if (mode == GOVERNOR_FULL) {
        stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED, NULL);
        return;
    }
    if (stream->job.priority < limits->class_gate) {
        snprintf(sentence, sizeof(sentence), "%s: only %s requests go on", reasons[limits->cause],
                 class_names[limits->class_gate]);
    } else if (limits->duty_permille == 0) {
        snprintf(sentence, sizeof(sentence), "%s: nothing goes on for now", reasons[limits->cause]);
    } else {
        snprintf(sentence, sizeof(sentence), "%s: %.1f %% of the time is left", reasons[limits->cause],
                 limits->duty_permille / 10.0);
    }
    stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED, sentence);
}

void governor_report_streams(struct hub *hub, uint64_t now_us)
{
    struct list *link;

    list_for_each (link, &hub->streams) {
        struct stream *stream = container_of(link, struct stream, link);
        const struct governor_limits *limits = &hub->governor.limits[stream->instance->eq.processor];
        enum governor_mode mode = mode_for(stream, limits);

        if ((stream->state != STREAM_WAITING && stream->state != STREAM_RUNNING) || !stream->is_accepted ||
            stream->told_mode == mode || now_us - stream->told_us < GOVERNOR_LOOP_NOTICE_US) {
            continue;
        }
        stream->told_mode = mode;
        stream->told_us = now_us;
        hub->counts[HUB_THROTTLED] += mode != GOVERNOR_FULL;
        tell_stream(stream, limits, mode);
    }
}

/* ---- engines */

void governor_loop_on_ready(struct instance *instance)
{
    const struct instance_facts *facts = &instance->facts;
    uint32_t permille = instance->hub->governor_loop.kv_permille;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Limits limits = SOTTO__ENGINE__LIMITS__INIT;
    uint64_t pages = num_max((uint64_t)facts->n_pages * permille / 1000, 1);

    if (permille >= 1000 && !instance->is_pressed) {
        return; /* as it was started */
    }
    instance->is_pressed = permille < 1000;
    limits.kv_bytes = permille < 1000 ? pages * facts->n_page_tok * facts->kv_token_bytes : 0;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_LIMITS;
    order.limits = &limits;
    engine_tell(instance->engine, &order);
}

void governor_loop_tell_pages(struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->models) {
        struct list *at;

        list_for_each (at, &container_of(link, struct model, link)->instances) {
            struct instance *instance = container_of(at, struct instance, link);

            pins_due(instance);
            if (instance_takes_orders(instance)) {
                governor_loop_on_ready(instance);
            }
        }
    }
}
