/*
 * Answer: from a sampled token to a Delta
 *
 * Each token is journalled first, then counted against credit, then given to the stage, which says what may be shown.
 * The checks for an end stand in one place, in the order in which they win: the model's end token, a stop string, the
 * budget, the context.
 */
#include "base/clean.h"
#include "base/clock.h"
#include "base/trace.h"
#include "session/session.h"
#include <errno.h>

/* Frees the logprobs of tokens that were shown. */
static void forget_logprobs(struct stream *stream, size_t n)
{
    n = n < stream->n_logprobs ? n : stream->n_logprobs;
    if (n == 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        mem_free(stream->logprobs[i].top_ids);
    }
    memmove(stream->logprobs, stream->logprobs + n, (stream->n_logprobs - n) * sizeof(*stream->logprobs));
    stream->n_logprobs -= n;
}

/* Keeps @logprobs until the token's text is let go. 0 or -ENOMEM. */
static int keep_logprobs(struct stream *stream, const Sotto__Engine__Logprobs *logprobs)
{
    size_t n_top = logprobs->n_top_ids < logprobs->n_top_logprobs ? logprobs->n_top_ids : logprobs->n_top_logprobs;
    struct stream_logprob kept = { .logprob = logprobs->logprob, .n_top = (uint32_t)n_top };

    if (stream->n_logprobs == stream->cap_logprobs) {
        size_t cap = stream->cap_logprobs ? 2 * stream->cap_logprobs : 8;
        struct stream_logprob *grown = mem_realloc(MEM_STREAM, stream->logprobs, cap * sizeof(*grown));

        if (!grown) {
            return -ENOMEM;
        }
        stream->logprobs = grown;
        stream->cap_logprobs = cap;
    }
    if (n_top > 0) {
        kept.top_ids = mem_alloc(MEM_STREAM, n_top * (sizeof(uint32_t) + sizeof(float)));
        if (!kept.top_ids) {
            return -ENOMEM;
        }
        kept.top_logprobs = (float *)(void *)(kept.top_ids + n_top);
        memcpy(kept.top_ids, logprobs->top_ids, n_top * sizeof(uint32_t));
        memcpy(kept.top_logprobs, logprobs->top_logprobs, n_top * sizeof(float));
    }
    stream->logprobs[stream->n_logprobs++] = kept;
    return 0;
}

/* Fills @ret_logprobs and @ret_list for @n tokens from the oldest logprobs. */
static void fill_logprobs(const struct stream *stream, size_t n, Sotto__V1__TokenLogprobs *ret_logprobs,
                          Sotto__V1__TokenLogprobs **ret_list)
{
    for (size_t i = 0; i < n; i++) {
        const struct stream_logprob *logprobs = &stream->logprobs[i];

        ret_logprobs[i] = (Sotto__V1__TokenLogprobs)SOTTO__V1__TOKEN_LOGPROBS__INIT;
        ret_logprobs[i].logprob = logprobs->logprob;
        ret_logprobs[i].top_ids = logprobs->top_ids;
        ret_logprobs[i].n_top_ids = logprobs->n_top;
        ret_logprobs[i].top_logprobs = logprobs->top_logprobs;
        ret_logprobs[i].n_top_logprobs = logprobs->n_top;
        ret_list[i] = &ret_logprobs[i];
    }
}

/* What the stage let go, to the client. */
static void deliver(struct stream *stream, const struct output_filter_out *out)
{
    Sotto__V1__Delta delta = SOTTO__V1__DELTA__INIT;
    cleanup(mem_freep) Sotto__V1__TokenLogprobs *logprobs = NULL;
    cleanup(mem_freep) Sotto__V1__TokenLogprobs **list = NULL;

    if ((out->n_tokens == 0 && out->n_text == 0) || stream_is_over(stream)) {
        return;
    }
    delta.first = out->first;
    delta.n_tokens = out->n_tokens;
    memcpy(&delta.tokens, &out->tokens, sizeof(delta.tokens)); /* packing leaves both alone */
    delta.text.len = out->n_text;
    memcpy(&delta.text.data, &out->text, sizeof(delta.text.data));
    if (stream->sampler.logprobs && stream->n_logprobs >= out->n_tokens) {
        logprobs = mem_calloc(MEM_STREAM, out->n_tokens, sizeof(*logprobs));
        list = mem_calloc(MEM_STREAM, out->n_tokens, sizeof(*list));
        if (!logprobs || !list) {
            stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for log-probabilities");
            return;
        }
        fill_logprobs(stream, out->n_tokens, logprobs, list);
        delta.logprobs = list;
        delta.n_logprobs = out->n_tokens;
    }
    if (!stream->is_forgotten && stream->session && session_give(stream->session, &delta)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED,
                    "there is no memory for what the session keeps of the answer");
        return;
    }
    if (!stream->is_forgotten) {
        stream->sink->on_delta(stream->owner, &delta);
    }
    forget_logprobs(stream, out->n_tokens);
    journal_delivered(&stream->journal, output_filter_n_shown(stream->filter), output_filter_n_bytes(stream->filter));
}

/* All that was held back may be shown: the answer ends here. */
static void flush(struct stream *stream)
{
    struct output_filter_out out;

    output_filter_flush(stream->filter, &out);
    deliver(stream, &out);
}

static void beat(struct stream *stream)
{
    uint64_t now_us = clock_mono_us();

    if (stream->first_us == 0) {
        stream->first_us = now_us;
    } else {
        histogram_add(&stream->histogram, now_us - stream->last_us);
    }
    stream->last_us = now_us;
    trace_add(TRACE_TOKEN, stream->number, stream->n_answer);
}

/* Pushes @id through the stage and delivers. True: a stop string is complete. */
static bool show(struct stream *stream, uint32_t id)
{
    struct output_filter_out out;
    int r;

    r = output_filter_push(stream->filter, id, &out);
    if (r < 0) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for the answer's text");
        return false;
    }
    deliver(stream, &out);
    if (r == OUTPUT_FILTER_STOPPED) {
        stream->end.stop = out.stop;
        return true;
    }
    return false;
}

/* Counts one token of credit as spent; a stream without any is parked. */
static void spend(struct stream *stream)
{
    if (stream->has_credit && stream->credit > 0) {
        stream->credit--;
        stream_count_left(stream);
        stream_repark(stream);
    }
}

void stream_token(struct stream *stream, uint32_t id, const Sotto__Engine__Logprobs *logprobs)
{
    bool ends = vocab_ends(stream->instance->vocab, id) && !stream->ignores_end;

    if (stream->opens) {
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END); /* what it begins with is computed */
        return;
    }
    if (journal_token(&stream->journal, id)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for the answer's journal");
        return;
    }
    beat(stream);
    stream->n_answer++;
    stream->job.n_known++;
    stream_count_left(stream);
    stream->hub->counts[HUB_GENERATED_TOK]++;
    if (stream->is_throttled) {
        stream->is_throttled = false;
        stream_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED, NULL);
    }
    if (ends) {
        flush(stream);
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END);
        return;
    }
    if (logprobs && stream->sampler.logprobs && keep_logprobs(stream, logprobs)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for log-probabilities");
        return;
    }
    if (show(stream, id)) {
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_STOP);
    } else if (stream->n_answer >= stream->max_tok) {
        flush(stream);
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_LENGTH);
    } else if (stream->job.n_known >= stream->n_context && stream->slides) {
        spend(stream);
        stream_slide(stream);
    } else if (stream->job.n_known >= stream->n_context) {
        flush(stream);
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_CONTEXT);
    } else {
        spend(stream);
    }
}
