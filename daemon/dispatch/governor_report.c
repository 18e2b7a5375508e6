#include "dispatch/governor_report.h"
#include "base/num.h"
#include "base/trace.h"
#include "stream/report.h"
#include <stdio.h>

static const char *const class_names[PRIORITY_COUNT] = {
    [PRIORITY_BACKGROUND] = "background",
    [PRIORITY_INTERACTIVE] = "interactive",
    [PRIORITY_REALTIME] = "realtime",
};

/* Begin a sentence that says why a stream goes slowly. */
static const char *const reasons[GOVERNOR_CAUSE_COUNT] = {
    [GOVERNOR_FREE] = "the machine has other work",
    [GOVERNOR_GRAPHICS] = "the screen needs the device",
    [GOVERNOR_CONTENTION] = "others seem to use the device, whose driver reports no load",
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

const char *governor_report_processor(enum processor processor)
{
    static const char *const names[PROCESSOR_COUNT] = {
        [PROCESSOR_GPU] = "device",
        [PROCESSOR_CPU] = "cores",
    };

    return names[processor];
}

static void tell_processor(const struct governor *governor, enum processor processor, const struct governor_limits *was,
                           struct events *events)
{
    const struct governor_limits *now = &governor->limits[processor];
    char slice[16];
    char duty[16];
    char rows[16];

    if (now->mode == was->mode && now->cause == was->cause) {
        return;
    }
    snprintf(slice, sizeof(slice), "%u", now->slice_us);
    snprintf(duty, sizeof(duty), "%u", now->duty_permille);
    snprintf(rows, sizeof(rows), "%u", now->n_rows);
    events->counts[COUNT_MODE_CHANGES] += now->mode != was->mode;
    trace_add(TRACE_MODE, processor * 100u + now->mode, now->cause);
    events_tell(events, EVENTS_NO_UID, "mode", "mode-changed", "processor", governor_report_processor(processor),
                "mode", governor_mode_name(now->mode), "cause", governor_cause_name(now->cause), "from",
                governor_mode_name(was->mode), "slice_us", slice, "duty_permille", duty, NULL);
}

void governor_report_modes(const struct governor *governor, const struct governor_limits was[PROCESSOR_COUNT],
                           struct events *events)
{
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        tell_processor(governor, (enum processor)i, &was[i], events);
    }
}

/* ---- streams */

/* Returns the mode that holds the stream back, or GOVERNOR_FULL. */
static enum governor_mode mode_for(const struct stream *stream, const struct governor_limits *limits)
{
    if (stream->job.priority < limits->class_gate) {
        return GOVERNOR_PAUSED;
    }
    return limits->mode;
}

static void explain(const struct stream *stream, const struct governor_limits *limits, char *sentence, size_t cap)
{
    if (stream->job.priority < limits->class_gate) {
        snprintf(sentence, cap, "%s: only %s requests go on", reasons[limits->cause], class_names[limits->class_gate]);
    } else if (limits->duty_permille == 0) {
        snprintf(sentence, cap, "%s: nothing goes on for now", reasons[limits->cause]);
    } else {
        snprintf(sentence, cap, "%s: %.1f %% of the time is left", reasons[limits->cause],
                 limits->duty_permille / 10.0);
    }
}

void governor_report_streams(const struct governor *governor, struct streams *streams, uint64_t now_us)
{
    struct list *link;
    char sentence[160];

    list_for_each (link, &streams->all) {
        struct stream *stream = container_of(link, struct stream, link);
        const struct governor_limits *limits = &governor->limits[stream->job.eq->processor];
        enum governor_mode mode = mode_for(stream, limits);

        if ((stream->state != STREAM_WAITING && stream->state != STREAM_RUNNING) || !stream->reported.is_accepted ||
            stream->reported.mode == mode || now_us - stream->reported.mode_us < GOVERNOR_REPORT_US) {
            continue;
        }
        streams->events->counts[COUNT_THROTTLED] += mode != GOVERNOR_FULL;
        explain(stream, limits, sentence, sizeof(sentence));
        report_mode(stream, mode, now_us, sentence);
    }
}
