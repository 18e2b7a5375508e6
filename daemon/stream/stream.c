#include "stream/stream.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/log.h"
#include "registry/model_entry.h"
#include "stream/sequence.h"
#include <assert.h>
#include <stdio.h>

const struct stream_holder_ops stream_no_holder = { .on_prompt = NULL };

/* ---- state */

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
    [STREAM_TOKENIZING] = "tokenizing", [STREAM_WAITING] = "waiting", [STREAM_RUNNING] = "running",
    [STREAM_PARKED] = "parked",         [STREAM_ENDING] = "ending",   [STREAM_ENDED] = "ended",
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
        list_append(&stream->streams->soon, &stream->soon);
    }
    events_poke(stream->streams->events);
}

void stream_event(const struct stream *stream, const char *name, const char *how)
{
    const char *model = stream->instance->model->settings.name;
    char number[24];
    char tokens[16];

    snprintf(number, sizeof(number), "%llu", (unsigned long long)stream->number);
    snprintf(tokens, sizeof(tokens), "%u", stream->answer.n_tok);
    log_debug("stream", "event: %s, stream: %s, model: %s, how: %s, tokens: %s", name, number, model, how, tokens);
    events_tell(stream->streams->events, stream->grant.uid, "stream", name, "stream", number, "model", model, "how",
                how, "tokens", tokens, NULL);
}

Sotto__V1__PriorityClass stream_class_of(enum priority priority)
{
    static const Sotto__V1__PriorityClass classes[PRIORITY_COUNT] = {
        [PRIORITY_BACKGROUND] = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND,
        [PRIORITY_INTERACTIVE] = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE,
        [PRIORITY_REALTIME] = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME,
    };

    return classes[priority];
}

/* ---- its end */

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

/* Is the one way to the end. The sequence and the place in the queue go now, the last message in the next tick. */
static void end(struct stream *stream)
{
    struct streams *streams = stream->streams;
    bool done = stream->end.code == SOTTO__V1__CODE__CODE_OK;
    bool cancelled = done && stream->end.reason == SOTTO__V1__FINISH_REASON__FINISH_CANCELLED;

    if (stream->holder.ops->on_ending) {
        stream->holder.ops->on_ending(stream->holder.self, stream);
    }
    sequence_close(stream);
    text_pool_drop(steal(&stream->text_job));
    queue_remove(&streams->queue, &stream->job, clock_mono_us());
    if (stream->request.n_key > 0) {
        map_remove_bytes(&streams->keys, stream->request.key, stream->request.n_key);
    }
    if (stream->journal.fd >= 0) {
        journal_finish(&stream->journal, stream->end.reason, stream->end.code);
    }
    stream_move(stream, STREAM_ENDING);
    stream_event(stream, "stream-ended", how_it_ended(stream));
    streams->events->counts[cancelled ? COUNT_STREAMS_CANCELLED : (done ? COUNT_STREAMS_DONE : COUNT_STREAMS_FAILED)]++;
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

void stream_finish_stop(struct stream *stream, int stop)
{
    if (!stream_is_over(stream)) {
        stream->end.stop = stop;
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_STOP);
    }
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

void stream_fail_retry(struct stream *stream, Sotto__V1__Code code, const char *sentence, uint32_t retry_ms)
{
    if (!stream_is_over(stream)) {
        stream->end.retry_ms = retry_ms;
        stream_fail(stream, code, sentence);
    }
}

void stream_name_field(char *field, size_t cap, const char *message)
{
    static const char generate[] = "generate.";
    char rest[64];

    if (strncmp(field, generate, strlen(generate)) == 0) {
        snprintf(rest, sizeof(rest), "%s", field + strlen(generate));
        snprintf(field, cap, "%s.%.40s", message, rest);
    }
}

void stream_fail_diag(struct stream *stream, Sotto__V1__Code code, const struct diag *diag)
{
    if (!stream_is_over(stream)) {
        snprintf(stream->end.field, sizeof(stream->end.field), "%s", diag->field);
        stream_name_field(stream->end.field, sizeof(stream->end.field), stream->request.message);
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
    const struct stream_request *request = &stream->request;
    const struct job *job = &stream->job;
    bool first = !job->has_first && job->first_by_us > 0 && job->first_by_us <= clock_boot_us();
    char text[160];

    snprintf(text, sizeof(text), "the %s token was wanted within %u ms of the request, and is not there",
             first ? "first" : "last", first ? request->first_by_ms : request->finish_by_ms);
    stream->streams->events->counts[COUNT_LATE]++;
    stream_fail(stream, SOTTO__V1__CODE__CODE_DEADLINE_EXCEEDED, text);
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

void stream_drop(struct stream *stream)
{
    text_pool_drop(steal(&stream->text_job));
    mem_free(stream->request.sampler.bias_ids);
    mem_free(stream->request.sampler.bias);
    mem_free(stream->request.stops);
    ids_finish(&stream->prompt);
    account_hold(stream->job.account, -(int64_t)stream->n_held);
    mem_free(stream);
}

void stream_free(struct stream *stream)
{
    struct instance *instance = stream->instance;
    struct events *events = stream->streams->events;

    if (stream->holder.ops->on_freed) {
        stream->holder.ops->on_freed(stream->holder.self, stream);
    }
    list_remove(&stream->holder.link);
    list_remove(&stream->link);
    list_remove(&stream->instance_link);
    list_remove(&stream->soon);
    journal_close(&stream->journal);
    output_filter_destroy(stream->answer.filter);
    for (size_t i = 0; i < stream->answer.n_logprobs; i++) {
        mem_free(stream->answer.logprobs[i].top_ids);
    }
    mem_free(stream->answer.logprobs);
    stream_drop(stream);
    instance_unref(instance);
    events_poke_end(events);
}
