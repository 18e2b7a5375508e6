#include "stream/answer.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/trace.h"
#include "proto/wire.h"
#include "stream/credit.h"
#include "stream/report.h"
#include "stream/slot.h"
#include <errno.h>

/* ---- log-probabilities */

/* Frees the logprobs of tokens that were shown. */
static void forget_logprobs(struct stream_answer *answer, size_t n)
{
    n = n < answer->n_logprobs ? n : answer->n_logprobs;
    if (n == 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        mem_free(answer->logprobs[i].top_ids);
    }
    memmove(answer->logprobs, answer->logprobs + n, (answer->n_logprobs - n) * sizeof(*answer->logprobs));
    answer->n_logprobs -= n;
}

/* Keeps @logprobs until the token's text is let go. 0 or -ENOMEM. */
static int keep_logprobs(struct stream_answer *answer, const Sotto__Engine__Logprobs *logprobs)
{
    size_t n_top = logprobs->n_top_ids < logprobs->n_top_logprobs ? logprobs->n_top_ids : logprobs->n_top_logprobs;
    struct stream_logprob kept = { .logprob = logprobs->logprob, .n_top = (uint32_t)n_top };

    if (answer->n_logprobs == answer->cap_logprobs) {
        size_t cap = answer->cap_logprobs ? 2 * answer->cap_logprobs : 8;
        struct stream_logprob *grown = mem_realloc(MEM_STREAM, answer->logprobs, cap * sizeof(*grown));

        if (!grown) {
            return -ENOMEM;
        }
        answer->logprobs = grown;
        answer->cap_logprobs = cap;
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
    answer->logprobs[answer->n_logprobs++] = kept;
    return 0;
}

/* Fills @ret_logprobs and @ret_list for @n tokens from the oldest logprobs. */
static void fill_logprobs(const struct stream_answer *answer, size_t n, Sotto__V1__TokenLogprobs *ret_logprobs,
                          Sotto__V1__TokenLogprobs **ret_list)
{
    for (size_t i = 0; i < n; i++) {
        const struct stream_logprob *logprobs = &answer->logprobs[i];

        ret_logprobs[i] = (Sotto__V1__TokenLogprobs)SOTTO__V1__TOKEN_LOGPROBS__INIT;
        ret_logprobs[i].logprob = logprobs->logprob;
        ret_logprobs[i].top_ids = logprobs->top_ids;
        ret_logprobs[i].n_top_ids = logprobs->n_top;
        ret_logprobs[i].top_logprobs = logprobs->top_logprobs;
        ret_logprobs[i].n_top_logprobs = logprobs->n_top;
        ret_list[i] = &ret_logprobs[i];
    }
}

/* ---- delivery */

/* Returns what is wrong with delivering @delta to the holder, and then to the client; or NULL. */
static const char *hand_out(struct stream *stream, const Sotto__V1__Delta *delta)
{
    const struct stream_holder *holder = &stream->holder;

    if (stream->is_forgotten) {
        return NULL;
    }
    if (holder->ops->on_delta && holder->ops->on_delta(holder->self, delta)) {
        return "there is no memory for what the session keeps of the answer";
    }
    stream->sink->on_delta(stream->owner, delta);
    return NULL;
}

/* Hands what the output filter let go to the client. */
static void deliver(struct stream *stream, const struct output_filter_out *out)
{
    struct stream_answer *answer = &stream->answer;
    Sotto__V1__Delta delta = SOTTO__V1__DELTA__INIT;
    cleanup(mem_freep) Sotto__V1__TokenLogprobs *logprobs = NULL;
    cleanup(mem_freep) Sotto__V1__TokenLogprobs **list = NULL;
    const char *why;

    if ((out->n_tokens == 0 && out->n_text == 0) || stream_is_over(stream)) {
        return;
    }
    delta.first = out->first;
    delta.n_tokens = out->n_tokens;
    delta.tokens = wire_message(out->tokens);
    delta.text.len = out->n_text;
    delta.text.data = wire_message(out->text);
    if (stream->request.sampler.logprobs && answer->n_logprobs >= out->n_tokens) {
        logprobs = mem_calloc(MEM_STREAM, out->n_tokens, sizeof(*logprobs));
        list = mem_calloc(MEM_STREAM, out->n_tokens, sizeof(*list));
        if (!logprobs || !list) {
            stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for log-probabilities");
            return;
        }
        fill_logprobs(answer, out->n_tokens, logprobs, list);
        delta.logprobs = list;
        delta.n_logprobs = out->n_tokens;
    }
    why = hand_out(stream, &delta);
    if (why) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, why);
        return;
    }
    forget_logprobs(answer, out->n_tokens);
    journal_delivered(&stream->journal, output_filter_n_shown(answer->filter), output_filter_n_bytes(answer->filter));
}

/* Shows all that was held back: the answer ends here. */
static void flush(struct stream *stream)
{
    struct output_filter_out out;

    output_filter_flush(stream->answer.filter, &out);
    deliver(stream, &out);
}

/* Measures the time since the last token. */
static void measure(struct stream *stream)
{
    struct stream_usage *usage = &stream->usage;
    uint64_t now_us = clock_mono_us();

    if (usage->first_us == 0) {
        usage->first_us = now_us;
    } else {
        histogram_add(&usage->gaps, now_us - usage->last_us);
    }
    usage->last_us = now_us;
    trace_add(TRACE_TOKEN, stream->number, stream->answer.n_tok);
}

/* Pushes @id through the output filter and delivers; ends the stream at a complete stop string. */
static void show(struct stream *stream, uint32_t id)
{
    struct output_filter_out out;
    int r;

    r = output_filter_push(stream->answer.filter, id, &out);
    if (r < 0) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for the answer's text");
        return;
    }
    deliver(stream, &out);
    if (r == OUTPUT_FILTER_STOPPED) {
        stream_finish_stop(stream, out.stop);
    }
}

static void take_token(struct stream *stream, uint32_t id, const Sotto__Engine__Logprobs *logprobs)
{
    const struct stream_request *request = &stream->request;
    struct stream_answer *answer = &stream->answer;
    bool ends = vocab_ends(stream->instance->vocab, id) && !request->ignores_end;

    if (request->prompt_only) {
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END);
        return;
    }
    if (journal_token(&stream->journal, id)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for the answer's journal");
        return;
    }
    measure(stream);
    answer->n_tok++;
    stream->job.n_known++;
    credit_count_left(stream);
    stream->streams->events->counts[COUNT_GENERATED_TOK]++;
    report_unthrottled(stream);
    if (ends) {
        flush(stream);
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END);
        return;
    }
    if (logprobs && request->sampler.logprobs && keep_logprobs(answer, logprobs)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for log-probabilities");
        return;
    }
    show(stream, id);
    if (stream_is_over(stream)) {
        return; /* at a stop string, or by the client's callback */
    }
    if (answer->n_tok >= request->max_tok) {
        flush(stream);
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_LENGTH);
    } else if (stream->job.n_known >= request->n_context && request->slides) {
        credit_spend(stream);
        slot_slide(stream);
    } else if (stream->job.n_known >= request->n_context) {
        flush(stream);
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_CONTEXT);
    } else {
        credit_spend(stream);
    }
}

/* ---- from a step */

bool answer_is_plausible(const struct stream *stream, const Sotto__Engine__EntryDone *done)
{
    const struct job *job = &stream->job;
    bool pools = stream->request.pools;
    bool is_last =
        pools && job->n_done + done->rows == job->n_known && done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_DONE;

    if (pools && done->n_tokens > 0) {
        return false;
    }
    return done->n_hidden == (is_last ? stream->instance->facts.n_hidden : 0);
}

void answer_take(struct stream *stream, const Sotto__Engine__EntryDone *done)
{
    for (size_t i = 0; i < done->n_tokens && !stream_is_over(stream); i++) {
        take_token(stream, done->tokens[i], done->n_logprobs ? done->logprobs[i] : NULL);
    }
    if (done->n_hidden > 0) {
        stream->holder.ops->on_hidden(stream->holder.self, stream, done->hidden, done->n_hidden);
    } else if (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_NO_ROOM && stream->request.pools) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED,
                    "there is no room left for the text: try again later");
    } else if (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_NO_ROOM) {
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_CONTEXT);
    } else if (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_NUMERIC) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_INTERNAL, "the model gave no finite number for this request");
    }
}
