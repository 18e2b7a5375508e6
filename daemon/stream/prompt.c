#include "stream/prompt.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "govern/governor.h"
#include "proto/limit.h"
#include "sched/admit.h"
#include "stream/credit.h"
#include "stream/report.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>

/* ---- checks */

/* Returns whether the biases and the model's own list forbid each token of the vocabulary. */
static bool forbids_all(const struct stream *stream)
{
    const Sotto__Engine__Sampler *sampler = &stream->request.sampler;
    const struct instance *instance = stream->instance;
    uint32_t n_vocab = instance->facts.n_vocab;
    cleanup(mem_freep) uint8_t *forbidden = NULL;
    uint32_t n = 0;

    if (sampler->n_bias_ids + instance->n_never < n_vocab) {
        return false;
    }
    forbidden = mem_calloc(MEM_STREAM, n_vocab, 1);
    for (size_t i = 0; forbidden && i < instance->n_never; i++) {
        forbidden[instance->never[i]] = 1;
    }
    for (size_t i = 0; forbidden && i < sampler->n_bias_ids; i++) {
        forbidden[sampler->bias_ids[i]] |= isinf(sampler->bias[i]) && sampler->bias[i] < 0;
    }
    for (uint32_t id = 0; forbidden && id < n_vocab; id++) {
        n += forbidden[id];
    }
    return n == n_vocab;
}

static int check_vocabulary(const struct stream *stream, struct diag *diag)
{
    const Sotto__Engine__Sampler *sampler = &stream->request.sampler;
    uint32_t n_vocab = stream->instance->facts.n_vocab;

    for (size_t i = 0; i < stream->prompt.n; i++) {
        if (stream->prompt.ids[i] >= n_vocab) {
            diag_blame(diag, "generate.tokens.ids", "id number %zu is outside the model's vocabulary of %u", i,
                       n_vocab);
            return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
        }
    }
    if (sampler->top_k > n_vocab) {
        diag_blame(diag, "generate.sampling.top_k", "is %u; the model's vocabulary has %u", sampler->top_k, n_vocab);
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < sampler->n_bias_ids; i++) {
        if (sampler->bias_ids[i] >= n_vocab) {
            diag_blame(diag, "generate.sampling.bias", "id number %zu is outside the model's vocabulary of %u", i,
                       n_vocab);
            return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
        }
    }
    if (forbids_all(stream)) {
        diag_blame(diag, "generate.sampling.bias",
                   "the biases forbid every token of the model's vocabulary of %u: leave one that can be sampled",
                   n_vocab);
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    return 0;
}

static int check_size(const struct stream *stream, struct diag *diag)
{
    const struct stream_request *request = &stream->request;

    if (stream->prompt.n == 0) {
        diag_set(diag, "the prompt has no token: this model's vocabulary puts none before a text, so there "
                       "must be a text");
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    if (stream->prompt.n + !request->pools > request->n_context) {
        diag_set(diag, "the prompt has %zu tokens and the context %u%s%s", stream->prompt.n, request->n_context,
                 request->n_context < stream->instance->facts.n_context ? " (this user's limit)" : "",
                 request->pools ? "" : ": there must be room for one token of the answer");
        return SOTTO__V1__CODE__CODE_OUT_OF_RANGE;
    }
    return 0;
}

/* A slide that keeps too much would free a few tokens each time, for the price of nearly a whole context. */
static int check_slide(struct stream_request *request, struct diag *diag)
{
    uint32_t n_most = request->n_context / 2;

    if (request->n_keep == STREAM_KEEP_DEFAULT) {
        request->n_keep = (uint32_t)num_min(DEFAULT_KEEP_TOKENS, n_most);
    }
    if (request->slides && request->n_keep > n_most) {
        diag_blame(diag, "generate.keep_tokens",
                   "keep_tokens is %u and the context %u: at most half of it (%u) can be kept in every slide",
                   request->n_keep, request->n_context, n_most);
        return SOTTO__V1__CODE__CODE_OUT_OF_RANGE;
    }
    return 0;
}

/* Returns false if the stream embeds and its model is not made for that: the stream is failed. */
static bool check_pooling(struct stream *stream)
{
    const struct instance *instance = stream->instance;
    struct diag diag = DIAG_INIT;

    if (!stream->request.pools || instance->facts.n_hidden > 0) {
        return true;
    }
    diag_blame(&diag, "embed.model",
               "model %s is not made for embedding: its file does not say how hidden states are pooled "
               "(key %s.pooling_type: mean, first or last)",
               instance->settings.name, instance->facts.architecture);
    stream_fail_diag(stream, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, &diag);
    return false;
}

/* ---- the journal */

static int start_journal(struct stream *stream)
{
    const struct stream_request *request = &stream->request;
    cleanup(mem_freep) uint8_t *packed = NULL;
    int r;

    r = journal_open(&stream->journal, stream->job.account);
    if (r) {
        stream->journal.fd = -1;
        return err_up(r);
    }
    packed = mem_alloc(MEM_STREAM, sotto__engine__sampler__get_packed_size(&request->sampler));
    if (!packed) {
        return err_new(-ENOMEM);
    }
    r = journal_request(&stream->journal, packed, sotto__engine__sampler__pack(&request->sampler, packed));
    r = r ? r : journal_prompt(&stream->journal, stream->prompt.ids, stream->prompt.n);
    r = r ? r : journal_numerics(&stream->journal, stream->reported.numerics);
    r = r ? r : output_filter_create(&stream->answer.filter, stream->instance->vocab, request->stops, request->n_stops);
    return r ? err_up(r) : 0;
}

/* ---- admission */

/* Returns the time in ms from the request's arrival to @from_now_us. */
static unsigned long long since_arrival_ms(const struct stream *stream, uint64_t from_now_us)
{
    return (clock_mono_us() - stream->usage.opened_us + from_now_us) / 1000;
}

/* Fails the stream: its deadline can't be met. Says what is estimated, and when to ask again. */
static void refuse_late(struct stream *stream, const struct admit_verdict *verdict)
{
    const struct stream_request *request = &stream->request;
    uint64_t estimated_us = verdict->is_first ? verdict->first_us : verdict->finish_us;
    uint32_t wanted_ms = verdict->is_first ? request->first_by_ms : request->finish_by_ms;
    const char *which = verdict->is_first ? "first" : "last";
    const struct governor_limits *limits = &stream->streams->limits[stream->job.eq->processor];
    char text[DIAG_BYTES];

    if (estimated_us == ADMIT_NO_TIME) {
        snprintf(text, sizeof(text),
                 "the %s token is wanted within %u ms, and nothing of this class runs now (mode %s, for %s)", which,
                 wanted_ms, governor_mode_name(limits->mode), governor_cause_name(limits->cause));
    } else {
        snprintf(text, sizeof(text),
                 "the %s token is wanted within %u ms of the request and estimated for %llu ms, behind what was "
                 "promised to others before",
                 which, wanted_ms, since_arrival_ms(stream, estimated_us));
    }
    stream_fail_retry(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, text,
                      (uint32_t)num_min(num_div_up(verdict->retry_us, 1000), UINT32_MAX));
}

/* Returns false if the stream is refused and failed. */
static bool admit(struct stream *stream)
{
    struct streams *streams = stream->streams;
    struct governor_limits usual[PROCESSOR_COUNT];
    struct governor_limits limits[PROCESSOR_COUNT];
    struct admit_verdict verdict;

    admit_limits(streams->limits, clock_mono_us(), clock_boot_us(), usual);
    dispatch_effective_limits(&streams->dispatch, usual, limits);
    switch ((enum admit_outcome)admit_check(&streams->queue, &stream->job, limits, clock_boot_us(), &verdict)) {
    case ADMIT_OK:
        return true;
    case ADMIT_LATE:
        refuse_late(stream, &verdict);
        return false;
    case ADMIT_NEVER:
        if (verdict.bound == ADMIT_CONTEXT) {
            return true; /* check_size() has looked at that, and knows what an embedding needs */
        }
        stream_never_fits(stream, verdict.n_needs);
        return false;
    }
    return true;
}

/* Has the stream wait for a slot, unless its holder or its engine is not ready for that. */
static void queue_up(struct stream *stream)
{
    const struct stream_holder *holder = &stream->holder;
    bool may_queue = !holder->ops->may_queue || holder->ops->may_queue(holder->self);

    stream_move(stream, STREAM_WAITING);
    if (instance_is_ready(stream->instance) && may_queue) {
        queue_want(&stream->streams->queue, &stream->job, clock_mono_us());
    }
    events_poke(stream->streams->events);
}

static bool join_holder(struct stream *stream)
{
    const struct stream_holder *holder = &stream->holder;

    if (stream->request.prompt_only && stream->prompt.n == 0) {
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END); /* there is nothing to compute */
        return false;
    }
    return !holder->ops->on_prompt || holder->ops->on_prompt(holder->self, stream);
}

/* Goes on with the prompt's tokens. */
static void on_known(struct stream *stream)
{
    const struct stream_holder *holder = &stream->holder;
    struct stream_request *request = &stream->request;
    struct job *job = &stream->job;
    struct diag diag = DIAG_INIT;
    int r;

    request->n_context = stream->instance->facts.n_context;
    if (stream->grant.n_context > 0) {
        request->n_context = (uint32_t)num_min(request->n_context, stream->grant.n_context);
    }
    if (!join_holder(stream)) {
        return;
    }
    r = check_size(stream, &diag);
    r = r ? r : check_slide(request, &diag);
    r = r ? r : check_vocabulary(stream, &diag);
    if (r) {
        stream_fail_diag(stream, (Sotto__V1__Code)r, &diag);
        return;
    }
    if (start_journal(stream)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED,
                    "the answer's journal could not be made: no memory or no descriptor is left");
        return;
    }
    job->n_prompt = (uint32_t)stream->prompt.n;
    job->n_known = job->n_prompt;
    job->n_most = (uint32_t)num_min((uint64_t)job->n_prompt + request->max_tok, request->n_context);
    credit_count_left(stream);
    if (holder->ops->on_sized) {
        holder->ops->on_sized(holder->self, stream);
    }
    if (!admit(stream)) {
        return;
    }
    stream->streams->events->counts[COUNT_PROMPT_TOK] += stream->prompt.n;
    ids_finish(&stream->prompt);
    queue_up(stream);
    report_accepted(stream);
}

/* ---- tokens */

static void on_text(void *owner, struct text_job *job)
{
    struct stream *stream = owner;

    stream->text_job = NULL;
    if (job->outcome == TOKENIZE_OK) {
        prompt_set(stream, &job->ids);
        on_known(stream);
    } else if (job->outcome == TOKENIZE_BAD_TEXT && job->kind == TEXT_CHAT && stream->request.prompt_only) {
        /* To the template this is no conversation yet: nothing is computed ahead. */
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END);
    } else if (job->outcome == TOKENIZE_BAD_TEXT) {
        stream_fail_diag(stream, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, &job->diag);
    } else if (job->outcome == TOKENIZE_TOO_MANY) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "the prompt has more tokens than any context");
    } else {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory to tokenise the prompt");
    }
}

void prompt_begin(struct stream *stream)
{
    const struct stream_request *request = &stream->request;
    struct instance *instance = stream->instance;
    struct text_job *job = stream->text_job;

    if (!check_pooling(stream)) {
        return;
    }
    if (!job) {
        on_known(stream);
        return;
    }
    if (job->is_pushed) {
        return;
    }
    if (job->kind == TEXT_CHAT && !instance->chat) {
        stream_fail_diag(stream, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, &instance->chat_diag);
        return;
    }
    job->flags = request->pools ? TOKENIZE_BOS | TOKENIZE_EOS : TOKENIZE_BOS;
    if (request->continues) {
        job->flags = TOKENIZE_MIDDLE;
    }
    job->priority = stream->job.priority;
    instance_lend_text(instance, job);
    text_pool_push(instance->registry->pool, job, on_text, stream);
}

void prompt_set(struct stream *stream, struct ids *prompt)
{
    ids_finish(&stream->prompt);
    stream->prompt = *prompt;
    *prompt = (struct ids){ 0 };
}

void prompt_redo(struct stream *stream, struct text_job *job)
{
    stream->text_job = job;
    ids_finish(&stream->prompt);
    stream->prompt = (struct ids){ 0 };
}

void prompt_sampler(const struct stream *stream, Sotto__Engine__Sampler *ret_sampler)
{
    const struct instance *instance = stream->instance;

    *ret_sampler = stream->request.sampler;
    ret_sampler->never = instance->never;
    ret_sampler->n_never = instance->n_never;
    ret_sampler->top_logprobs = (uint32_t)num_min(ret_sampler->top_logprobs, instance->facts.n_vocab);
}
