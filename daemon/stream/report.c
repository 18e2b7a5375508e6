#include "stream/report.h"
#include "base/clock.h"
#include "proto/wire.h"
#include "registry/model_entry.h"
#include <stdio.h>

void report_accepted(struct stream *stream)
{
    Sotto__V1__Accepted accepted = SOTTO__V1__ACCEPTED__INIT;
    char name[72];

    if (stream->reported.is_accepted) {
        return;
    }
    stream->reported.is_accepted = true;
    if (stream->is_forgotten) {
        return;
    }
    snprintf(name, sizeof(name), "%s", stream->instance->model->settings.name);
    accepted.queue_position = queue_position(&stream->streams->queue, &stream->job, clock_mono_us());
    accepted.prompt_tokens = stream->journal.n_prompt;
    accepted.max_tokens = stream->request.max_tok;
    accepted.seed = stream->request.sampler.seed;
    accepted.model = name;
    accepted.priority = stream_class_of(stream->job.priority);
    accepted.numerics = stream->reported.numerics;
    stream->sink->on_accepted(stream->owner, &accepted);
}

void report_notice(struct stream *stream, Sotto__V1__NoticeKind kind, const char *detail)
{
    Sotto__V1__Notice notice = SOTTO__V1__NOTICE__INIT;
    char text[160];

    if (stream->is_forgotten) {
        return;
    }
    snprintf(text, sizeof(text), "%s", detail ? detail : "");
    notice.kind = kind;
    notice.detail = text;
    if (kind == SOTTO__V1__NOTICE_KIND__NOTICE_RUNNING) {
        notice.to = stream->reported.numerics;
    }
    if (kind == SOTTO__V1__NOTICE_KIND__NOTICE_SLID) {
        notice.first_token = stream->answer.n_tok;
    }
    stream->sink->on_notice(stream->owner, &notice);
}

void report_loading(struct stream *stream)
{
    if (!stream->reported.is_loading) {
        stream->reported.is_loading = true;
        report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_LOADING, "its model is being loaded");
    }
}

void report_loaded(struct stream *stream)
{
    if (stream->reported.is_loading) {
        stream->reported.is_loading = false;
        report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_RUNNING, "its model is loaded");
    }
}

void report_numerics(struct stream *stream)
{
    Sotto__V1__Notice notice = SOTTO__V1__NOTICE__INIT;
    char *numerics = stream->reported.numerics;
    char from[sizeof(stream->reported.numerics)];

    if (strcmp(numerics, stream->instance->facts.numerics) == 0) {
        return;
    }
    memcpy(from, numerics, sizeof(from));
    snprintf(numerics, sizeof(stream->reported.numerics), "%s", stream->instance->facts.numerics);
    if (stream->journal.fd >= 0) {
        journal_numerics(&stream->journal, numerics);
    }
    if (from[0] == '\0' || stream->is_forgotten) {
        return;
    }
    notice.kind = SOTTO__V1__NOTICE_KIND__NOTICE_MOVED;
    notice.first_token = stream->answer.n_tok;
    notice.from = from;
    notice.to = numerics;
    stream->sink->on_notice(stream->owner, &notice);
}

/* ---- what holds it back */

void report_throttled(struct stream *stream)
{
    if (!stream->reported.is_throttled) {
        stream->reported.is_throttled = true;
        report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED, "the tokens of this minute are spent");
    }
}

void report_unthrottled(struct stream *stream)
{
    if (stream->reported.is_throttled) {
        stream->reported.is_throttled = false;
        report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED, NULL);
    }
}

void report_mode(struct stream *stream, enum governor_mode mode, uint64_t now_us, const char *sentence)
{
    stream->reported.mode = mode;
    stream->reported.mode_us = now_us;
    if (mode == GOVERNOR_FULL) {
        report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED, NULL);
    } else {
        report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED, sentence);
    }
}

void report_preempted(struct stream *stream, bool parked)
{
    stream->reported.is_preempted = true;
    report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_PREEMPTED,
                  parked ? "its place was needed while it was parked"
                         : "its place was needed for another request; it goes on later");
}

void report_rebuilding(struct stream *stream)
{
    stream->reported.is_rebuilding = true;
    report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_REBUILDING,
                  "the engine was lost; a new one computes what was known and goes on");
}

void report_resumed(struct stream *stream)
{
    bool resumed = stream->reported.is_rebuilding || stream->reported.is_preempted;

    stream->reported.is_rebuilding = false;
    stream->reported.is_preempted = false;
    report_numerics(stream);
    if (resumed && !stream_is_over(stream)) {
        report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED, NULL);
    }
}

/* ---- the end */

Sotto__V1__EnergySource report_energy_source(enum energy_source source)
{
    static const Sotto__V1__EnergySource sources[ENERGY_SOURCE_COUNT] = {
        [ENERGY_UNKNOWN] = SOTTO__V1__ENERGY_SOURCE__ENERGY_UNKNOWN,
        [ENERGY_ESTIMATED] = SOTTO__V1__ENERGY_SOURCE__ENERGY_ESTIMATED,
        [ENERGY_MEASURED] = SOTTO__V1__ENERGY_SOURCE__ENERGY_MEASURED,
    };

    return sources[source];
}

static void fill_usage(const struct stream *stream, Sotto__V1__Usage *ret_usage)
{
    const struct stream_usage *usage = &stream->usage;
    uint64_t now_us = clock_mono_us();

    ret_usage->prompt_tokens = stream->journal.n_prompt;
    ret_usage->cached_tokens = usage->n_cached;
    ret_usage->generated_tokens = stream->answer.n_tok;
    ret_usage->queue_us = (usage->started_us ? usage->started_us : now_us) - usage->opened_us;
    ret_usage->ttft_us = usage->first_us ? usage->first_us - usage->opened_us : 0;
    ret_usage->total_us = now_us - usage->opened_us;
    ret_usage->itl_p50_us = histogram_at(&usage->gaps, 500);
    ret_usage->itl_p99_us = histogram_at(&usage->gaps, 990);
    ret_usage->rebuilds = usage->n_rebuilds;
    ret_usage->energy_uj = usage->energy_uj;
    ret_usage->energy_source = report_energy_source(usage->energy_source);
}

static void tell_error(struct stream *stream)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;

    error.code = stream->end.code;
    error.message = stream->end.sentence;
    error.field = stream->end.field;
    error.retry_after_ms = stream->end.retry_ms;
    stream->sink->on_error(stream->owner, &error);
}

static void tell_done(struct stream *stream)
{
    Sotto__V1__Done done = SOTTO__V1__DONE__INIT;
    Sotto__V1__Usage usage = SOTTO__V1__USAGE__INIT;

    fill_usage(stream, &usage);
    done.reason = stream->end.reason;
    done.usage = &usage;
    if (stream->end.reason == SOTTO__V1__FINISH_REASON__FINISH_STOP) {
        const struct stop_text *stop = &stream->request.stops[stream->end.stop];

        done.stop.len = stop->n;
        done.stop.data = wire_message(stop->bytes);
    }
    stream->sink->on_done(stream->owner, &done);
}

void report_end(struct stream *stream)
{
    const struct stream_holder *holder = &stream->holder;

    if (holder->ops->report_end && holder->ops->report_end(holder->self, stream)) {
        return;
    }
    if (stream->is_forgotten) {
        return;
    }
    if (stream->end.code == SOTTO__V1__CODE__CODE_OK) {
        tell_done(stream);
    } else {
        tell_error(stream);
    }
}
