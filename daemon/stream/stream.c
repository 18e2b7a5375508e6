#include "stream/stream.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include "base/trace.h"
#include "dispatch/dispatcher.h"
#include "proto/limit.h"
#include "registry/models.h"
#include "session/pins.h"
#include "session/session.h"
#include <assert.h>
#include <stdio.h>

#define TO(state) (1u << (state))

/* Every legal move of a stream. */
static const uint32_t moves[STREAM_STATE_COUNT] = {
    [STREAM_TOKENIZING] = TO(STREAM_WAITING) | TO(STREAM_ENDING),
    [STREAM_WAITING] = TO(STREAM_RUNNING) | TO(STREAM_ENDING),
    [STREAM_RUNNING] = TO(STREAM_PARKED) | TO(STREAM_WAITING) | TO(STREAM_ENDING),
    [STREAM_PARKED] = TO(STREAM_RUNNING) | TO(STREAM_WAITING) | TO(STREAM_ENDING),
    [STREAM_ENDING] = TO(STREAM_ENDED),
};

#undef TO

static const char *const names[STREAM_STATE_COUNT] = {
    [STREAM_TOKENIZING] = "words", [STREAM_WAITING] = "waiting", [STREAM_RUNNING] = "running",
    [STREAM_PARKED] = "parked",    [STREAM_ENDING] = "ending",   [STREAM_ENDED] = "ended",
};

void stream_move(struct stream *stream, enum stream_state to)
{
    assert(moves[stream->state] & (1u << to));
    log_debug("stream", "stream %llu: %s -> %s", (unsigned long long)stream->number, names[stream->state], names[to]);
    stream->state = to;
}

bool stream_is_over(const struct stream *stream)
{
    return stream->state == STREAM_ENDING || stream->state == STREAM_ENDED;
}

void stream_soon(struct stream *stream)
{
    if (list_is_empty(&stream->soon)) {
        list_append(&stream->hub->soon, &stream->soon);
    }
    hub_poke(stream->hub);
}

void stream_event(const struct stream *stream, const char *name, const char *how)
{
    char number[24];
    char tokens[16];

    snprintf(number, sizeof(number), "%llu", (unsigned long long)stream->number);
    snprintf(tokens, sizeof(tokens), "%u", stream->n_answer);
    log_debug("stream", "event: %s, stream: %s, model: %s, how: %s, tokens: %s", name, number,
              stream->instance->model->settings.name, how, tokens);
    hub_event(stream->hub, stream->grant.uid, "stream", name, "stream", number, "model",
              stream->instance->model->settings.name, "how", how, "tokens", tokens, NULL);
}

/* ---- what the client is told */

void stream_notice(struct stream *stream, Sotto__V1__NoticeKind kind, const char *detail)
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
        notice.to = stream->numerics;
    }
    if (kind == SOTTO__V1__NOTICE_KIND__NOTICE_SLID) {
        notice.first_token = stream->n_answer;
    }
    stream->sink->on_notice(stream->owner, &notice);
}

Sotto__V1__PriorityClass stream_class(const struct stream *stream)
{
    switch (stream->job.priority) {
    case PRIORITY_BACKGROUND:
        return SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND;
    case PRIORITY_INTERACTIVE:
        return SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE;
    case PRIORITY_REALTIME:
        return SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    case PRIORITY_COUNT:
        break;
    }
    return SOTTO__V1__PRIORITY_CLASS__CLASS_UNSPECIFIED;
}

void stream_accept(struct stream *stream)
{
    Sotto__V1__Accepted accepted = SOTTO__V1__ACCEPTED__INIT;
    const struct instance *instance = stream->instance;
    char name[72];

    if (stream->is_accepted) {
        return;
    }
    stream->is_accepted = true;
    if (stream->is_forgotten) {
        return;
    }
    snprintf(name, sizeof(name), "%s", instance->model->settings.name);
    accepted.place = queue_position(&stream->hub->queue, &stream->job, clock_mono_us());
    accepted.prompt_tokens = stream->journal.n_prompt;
    accepted.max_tokens = stream->max_tok;
    accepted.seed = stream->sampler.seed;
    accepted.model = name;
    accepted.priority = stream_class(stream);
    accepted.numerics = stream->numerics;
    stream->sink->on_accepted(stream->owner, &accepted);
}

/* The engine that goes on with the answer may compute with other numerics than the one before it. */
static void tell_numerics(struct stream *stream)
{
    Sotto__V1__Notice notice = SOTTO__V1__NOTICE__INIT;
    char from[sizeof(stream->numerics)];

    if (strcmp(stream->numerics, stream->instance->facts.numerics) == 0) {
        return;
    }
    memcpy(from, stream->numerics, sizeof(from));
    snprintf(stream->numerics, sizeof(stream->numerics), "%s", stream->instance->facts.numerics);
    if (stream->journal.fd >= 0) {
        journal_numerics(&stream->journal, stream->numerics);
    }
    if (from[0] == '\0' || stream->is_forgotten) {
        return;
    }
    notice.kind = SOTTO__V1__NOTICE_KIND__NOTICE_MOVED;
    notice.first_token = stream->n_answer;
    notice.from = from;
    notice.to = stream->numerics;
    stream->sink->on_notice(stream->owner, &notice);
}

/* ---- its end */

static void free_stream(struct stream *stream)
{
    struct instance *instance = stream->instance;
    struct hub *hub = stream->hub;

    session_turn_left(stream);
    list_remove(&stream->link);
    list_remove(&stream->instance_link);
    list_remove(&stream->soon);
    journal_close(&stream->journal);
    output_filter_destroy(stream->filter);
    for (size_t i = 0; i < stream->n_logprobs; i++) {
        mem_free(stream->logprobs[i].top_ids);
    }
    mem_free(stream->logprobs);
    mem_free(stream->hidden);
    stream_free_ask(stream);
    mem_free(stream);
    instance_unref(instance);
    hub_try_close(hub);
}

static void fill_usage(const struct stream *stream, Sotto__V1__Usage *ret_usage)
{
    uint64_t now_us = clock_mono_us();

    ret_usage->prompt_tokens = stream->journal.n_prompt;
    ret_usage->cached_tokens = stream->n_cached;
    ret_usage->generated_tokens = stream->n_answer;
    ret_usage->queue_us = (stream->assigned_us ? stream->assigned_us : now_us) - stream->opened_us;
    ret_usage->ttft_us = stream->first_us ? stream->first_us - stream->opened_us : 0;
    ret_usage->total_us = now_us - stream->opened_us;
    ret_usage->itl_p50_us = histogram_at(&stream->histogram, 500);
    ret_usage->itl_p99_us = histogram_at(&stream->histogram, 990);
    ret_usage->rebuilds = stream->n_rebuilds;
    ret_usage->energy_uj = stream->energy_uj;
    ret_usage->energy_source = governor_loop_energy_source(stream->energy_source);
}

static void tell_end(struct stream *stream)
{
    Sotto__V1__Done done = SOTTO__V1__DONE__INIT;
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;
    Sotto__V1__Usage usage = SOTTO__V1__USAGE__INIT;
    bool is_done = stream->end.code == SOTTO__V1__CODE__CODE_OK;

    if (stream->opens && is_done && stream->end.reason != SOTTO__V1__FINISH_REASON__FINISH_CANCELLED) {
        session_tell(stream);
        return;
    }
    if (stream->is_forgotten) {
        return;
    }
    if (!is_done) {
        error.code = stream->end.code;
        error.message = stream->end.sentence;
        error.field = stream->end.field;
        error.retry_after_ms = stream->end.retry_ms;
        stream->sink->on_error(stream->owner, &error);
        return;
    }
    if (stream->hidden) {
        embed_tell(stream);
        return;
    }
    fill_usage(stream, &usage);
    done.reason = stream->end.reason;
    done.usage = &usage;
    if (stream->end.reason == SOTTO__V1__FINISH_REASON__FINISH_STOP) {
        const struct stop_text *stop = &stream->stops[stream->end.stop];

        done.stop.len = stop->n;
        memcpy(&done.stop.data, &stop->bytes, sizeof(done.stop.data)); /* packing leaves it alone */
    }
    stream->sink->on_done(stream->owner, &done);
}

static const char *how_it_ended(const struct stream *stream)
{
    static const char *const reasons[] = {
        [SOTTO__V1__FINISH_REASON__FINISH_UNSPECIFIED] = "error",
        [SOTTO__V1__FINISH_REASON__FINISH_END] = "end",
        [SOTTO__V1__FINISH_REASON__FINISH_STOP] = "stop",
        [SOTTO__V1__FINISH_REASON__FINISH_LENGTH] = "length",
        [SOTTO__V1__FINISH_REASON__FINISH_CONTEXT] = "context",
        [SOTTO__V1__FINISH_REASON__FINISH_CANCELLED] = "cancelled",
    };

    return reasons[stream->end.reason];
}

/* The one way to the end. The sequence and the place in the queue go now, the last message in the next turn. */
static void end(struct stream *stream)
{
    struct hub *hub = stream->hub;
    bool done = stream->end.code == SOTTO__V1__CODE__CODE_OK;
    bool cancelled = done && stream->end.reason == SOTTO__V1__FINISH_REASON__FINISH_CANCELLED;

    session_turn_ended(stream); /* it may take the sequence over, */
    pins_take(stream);          /* or this does */
    dispatcher_close(stream);
    text_pool_drop(steal(&stream->text_job));
    queue_remove(&hub->queue, &stream->job, clock_mono_us());
    if (stream->n_key > 0) {
        map_remove_bytes(&hub->keys, stream->key, stream->n_key);
    }
    if (stream->journal.fd >= 0) {
        journal_finish(&stream->journal, stream->end.reason, stream->end.code);
    }
    stream_move(stream, STREAM_ENDING);
    stream_event(stream, "stream-ended", how_it_ended(stream));
    hub->counts[cancelled ? HUB_STREAMS_CANCELLED : (done ? HUB_STREAMS_DONE : HUB_STREAMS_FAILED)]++;
    stream_soon(stream);
}

void stream_finish(struct stream *stream, Sotto__V1__FinishReason reason)
{
    if (stream_is_over(stream)) {
        return;
    }
    stream->end.code = SOTTO__V1__CODE__CODE_OK;
    stream->end.reason = reason;
    end(stream);
}

void stream_fail(struct stream *stream, Sotto__V1__Code code, const char *sentence)
{
    if (stream_is_over(stream)) {
        return;
    }
    stream->end.code = code;
    snprintf(stream->end.sentence, sizeof(stream->end.sentence), "%s", sentence);
    end(stream);
}

void stream_fail_diag(struct stream *stream, Sotto__V1__Code code, const struct diag *diag)
{
    if (!stream_is_over(stream)) {
        snprintf(stream->end.field, sizeof(stream->end.field), "%s", diag->field);
        if (stream->embeds) {
            embed_name_field(stream->end.field);
        } else if (stream->opens) {
            session_name_field(stream->end.field, sizeof(stream->end.field));
        }
    }
    stream_fail(stream, code, diag->text);
}

void stream_never_fits(struct stream *stream, uint32_t n_pages)
{
    char text[DIAG_BYTES];

    snprintf(text, sizeof(text),
             "prompt and answer need %u pages of KV memory (%u tokens each) and the model has %u in all: ask "
             "for fewer tokens",
             n_pages, stream->instance->facts.n_page_tok, stream->instance->facts.n_pages);
    stream_fail(stream, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, text);
}

void stream_too_late(struct stream *stream)
{
    const struct job *job = &stream->job;
    bool first = !job->has_first && job->first_by_us > 0 && job->first_by_us <= clock_boot_us();
    char text[160];

    snprintf(text, sizeof(text), "the %s token was wanted within %u ms of the request, and is not there",
             first ? "first" : "last", first ? stream->first_by_ms : stream->finish_by_ms);
    stream->hub->counts[HUB_LATE]++;
    stream_fail(stream, SOTTO__V1__CODE__CODE_DEADLINE_EXCEEDED, text);
}

void stream_end_all(struct instance *instance, Sotto__V1__Code code, const char *sentence)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &instance->streams) {
        stream_fail(container_of(link, struct stream, instance_link), code, sentence);
    }
}

/* ---- parking */

void stream_count_left(struct stream *stream)
{
    uint64_t left = stream->max_tok - num_min(stream->n_answer, stream->max_tok);
    uint64_t room;

    if (stream->embeds) {
        stream->job.n_left = 1; /* its last row is the last */
        return;
    }
    left = stream->has_credit ? num_min(left, stream->credit) : left;
    room = stream->n_context - num_min(stream->job.n_known, stream->n_context);
    stream->job.n_left = (uint32_t)num_min(left, room);
    stream->job.n_beyond = stream->slides ? (uint32_t)num_min(left - stream->job.n_left, UINT32_MAX) : 0;
}

void stream_repark(struct stream *stream)
{
    bool parked = stream->is_stalled || (stream->has_credit && stream->credit == 0);

    if (stream_is_over(stream) || parked == stream->job.parked) {
        return;
    }
    stream->job.parked = parked;
    stream->job.since_us = clock_mono_us();
    trace_add(TRACE_PARK, stream->number, parked);
    if (parked && stream->state == STREAM_RUNNING) {
        stream_move(stream, STREAM_PARKED);
    } else if (!parked && stream->state == STREAM_PARKED) {
        stream_move(stream, STREAM_RUNNING);
    }
    hub_poke(stream->hub);
}

void stream_credit(struct stream *stream, const Sotto__V1__Credit *credit)
{
    if (stream_is_over(stream) || !stream->has_credit) {
        return; /* it crossed the last frame, or nothing is rationed */
    }
    stream->credit = (uint32_t)num_saturate(stream->credit, credit->tokens, LIMIT_CREDIT);
    stream_count_left(stream);
    stream_repark(stream);
}

void stream_park(struct stream *stream, bool parked)
{
    stream->is_stalled = parked;
    stream_repark(stream);
}

void stream_cancel(struct stream *stream)
{
    stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
}

void stream_forget(struct stream *stream)
{
    stream->is_forgotten = true;
    stream_cancel(stream);
}

void stream_abort(struct stream *stream, Sotto__V1__Code code, const char *sentence)
{
    stream_fail(stream, code, sentence);
}

/* ---- its seat */

void stream_on_ready(struct instance *instance)
{
    struct list *link;

    list_for_each (link, &instance->streams) {
        struct stream *stream = container_of(link, struct stream, instance_link);

        if (stream->state == STREAM_TOKENIZING) {
            stream_soon(stream);
        } else if (stream->job.state == JOB_HELD && stream->state == STREAM_WAITING) {
            queue_want(&stream->hub->queue, &stream->job, clock_mono_us());
        }
    }
}

void stream_seated(struct stream *stream, uint32_t n_cached, uint32_t n_pinned)
{
    uint64_t now_us = clock_mono_us();
    bool resumed = stream->is_rebuilding || stream->is_preempted;

    job_move(&stream->job, JOB_ASSIGNED, now_us);
    stream->job.n_done = n_cached;
    stream->job.owns_slot = false;
    stream->hub->counts[HUB_SESSION_KEPT_TOK] += stream->extends ? n_cached : 0;
    stream->extends = false;
    stream->job.n_paid = (uint32_t)num_max(stream->job.n_paid, n_cached); /* what was found costs nothing */
    if (stream->assigned_us == 0) {
        stream->assigned_us = now_us;
        stream->n_cached = n_cached;
        stream->hub->counts[HUB_CACHED_TOK] += n_cached;
        stream->hub->counts[HUB_PREFIX_HITS] += n_cached > 0;
        if (!stream->pin) {
            pins_count(stream->instance, stream->looks_like, n_pinned);
        }
    }
    stream->is_rebuilding = false;
    stream->is_preempted = false;
    stream_move(stream, STREAM_RUNNING);
    if (stream->job.parked) {
        stream_move(stream, STREAM_PARKED);
    }
    /* Last, since the one who is told may end the stream. */
    tell_numerics(stream);
    if (resumed && !stream_is_over(stream)) {
        stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED, NULL);
    }
}

void stream_unseated(struct stream *stream)
{
    bool had = stream->state == STREAM_RUNNING || stream->state == STREAM_PARKED;

    if (stream->state == STREAM_TOKENIZING) {
        return;
    }
    stream->sequence = 0;
    stream->extends = false;
    job_forget(&stream->job);
    if (stream->job.state != JOB_HELD) {
        job_move(&stream->job, JOB_HELD, clock_mono_us());
    }
    if (!had) {
        return;
    }
    stream_move(stream, STREAM_WAITING);
    stream->n_rebuilds++;
    stream->hub->counts[HUB_REBUILDS]++;
    stream->is_rebuilding = true;
    stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_REBUILDING,
                  "the engine was lost; a new one computes what was known and goes on");
}

void stream_preempt(struct stream *stream)
{
    bool parked = stream->job.parked;

    dispatcher_put_aside(stream);
    queue_preempt(&stream->hub->queue, &stream->job, clock_mono_us());
    stream_move(stream, STREAM_WAITING);
    stream->is_preempted = true;
    stream->hub->counts[HUB_PREEMPTIONS]++;
    stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_PREEMPTED,
                  parked ? "its place was needed while it was parked"
                         : "its place was needed for another request; it goes on later");
}

void stream_slide(struct stream *stream)
{
    struct job *job = &stream->job;
    uint32_t n_free = job->n_known - stream->n_keep; /* to go or to stay */
    uint32_t n_gone = n_free - n_free / 2;
    char text[128];

    if (journal_slide(&stream->journal, stream->n_keep, n_gone)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for the answer's journal");
        return;
    }
    snprintf(text, sizeof(text), "of %u tokens in a full context the first %u and the last %u stay", job->n_known,
             stream->n_keep, n_free / 2);
    dispatcher_put_aside(stream);
    job_forget(job);
    job->n_known -= n_gone;
    job->n_prompt = (uint32_t)num_min(job->n_prompt, job->n_known - 1); /* what is left is decoded on */
    job->n_paid = 0; /* asked for, so what it costs to compute the rest again is the account's */
    stream_count_left(stream);
    queue_want(&stream->hub->queue, job, clock_mono_us());
    stream_move(stream, STREAM_WAITING);
    stream->hub->counts[HUB_SLIDES]++;
    stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_SLID, text);
}

void stream_throttled(struct stream *stream)
{
    if (!stream->is_throttled) {
        stream->is_throttled = true;
        stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_THROTTLED, "the tokens of this minute are spent");
    }
}

/* ---- once a turn */

/* Whoever is told something may end the stream: each step looks. */
static void attend_words(struct stream *stream)
{
    if (!instance_is_ready(stream->instance)) {
        stream_accept(stream);
        if (!stream->is_waiting_load && !stream_is_over(stream)) {
            stream->is_waiting_load = true;
            stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_LOADING, "its model is being loaded");
        }
        return;
    }
    tell_numerics(stream);
    if (stream->is_waiting_load && !stream_is_over(stream)) {
        stream->is_waiting_load = false;
        stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_RUNNING, "its model is loaded");
    }
    if (!stream_is_over(stream)) {
        stream_begin(stream);
    }
}

void stream_attend(struct stream *stream)
{
    switch (stream->state) {
    case STREAM_TOKENIZING:
        attend_words(stream);
        break;
    case STREAM_WAITING:
    case STREAM_RUNNING:
    case STREAM_PARKED:
        stream_accept(stream);
        break;
    case STREAM_ENDING:
        stream_move(stream, STREAM_ENDED);
        tell_end(stream);
        stream->is_forgotten = true;
        if (stream->job.n_steps == 0) {
            free_stream(stream);
        }
        break;
    case STREAM_ENDED:
        if (stream->job.n_steps == 0) {
            free_stream(stream);
        }
        break;
    case STREAM_STATE_COUNT:
        break;
    }
}
