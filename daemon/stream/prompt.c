/*
 * The second look at a request: model and tokens are there. Does it fit the context and the vocabulary, and can it
 * be served in time? Then its journal begins, and it waits for a seat.
 */
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "proto/limit.h"
#include "registry/models.h"
#include "sched/admit.h"
#include "session/session.h"
#include <errno.h>
#include <stdio.h>

static int check_vocabulary(const struct stream *stream, struct diag *diag)
{
    const Sotto__Engine__Sampler *sampler = &stream->sampler;
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
    return 0;
}

static int check_size(const struct stream *stream, struct diag *diag)
{
    if (stream->prompt.n == 0) {
        diag_set(diag, "the prompt has no token: this model's vocabulary puts none before a text, so there "
                       "must be a text");
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    if (stream->prompt.n + !stream->embeds > stream->n_context) {
        diag_set(diag, "the prompt has %zu tokens and the context %u%s%s", stream->prompt.n, stream->n_context,
                 stream->n_context < stream->instance->facts.n_context ? " (this user's limit)" : "",
                 stream->embeds ? "" : ": there must be room for one token of the answer");
        return SOTTO__V1__CODE__CODE_OUT_OF_RANGE;
    }
    return 0;
}

/* A slide that keeps too much would free a few tokens each time, for the price of nearly a whole context. */
static int check_slide(struct stream *stream, struct diag *diag)
{
    uint32_t n_most = stream->n_context / 2;

    if (stream->n_keep == STREAM_KEEP_UNSAID) {
        stream->n_keep = (uint32_t)num_min(DEFAULT_KEEP_TOKENS, n_most);
    }
    if (stream->slides && stream->n_keep > n_most) {
        diag_blame(diag, "generate.keep_tokens",
                   "keep_tokens is %u and the context %u: at most half of it (%u) can be kept in every slide",
                   stream->n_keep, stream->n_context, n_most);
        return SOTTO__V1__CODE__CODE_OUT_OF_RANGE;
    }
    return 0;
}

static int start_journal(struct stream *stream)
{
    cleanup(mem_freep) uint8_t *packed = NULL;
    int r;

    r = journal_open(&stream->journal, stream->job.account);
    if (r) {
        stream->journal.fd = -1;
        return err_up(r);
    }
    packed = mem_alloc(MEM_STREAM, sotto__engine__sampler__get_packed_size(&stream->sampler));
    if (!packed) {
        return err_new(-ENOMEM);
    }
    r = journal_request(&stream->journal, packed, sotto__engine__sampler__pack(&stream->sampler, packed));
    r = r ? r : journal_prompt(&stream->journal, stream->prompt.ids, stream->prompt.n);
    r = r ? r : journal_numerics(&stream->journal, stream->numerics);
    r = r ? r : output_filter_create(&stream->filter, stream->instance->vocab, stream->stops, stream->n_stops);
    return r ? err_up(r) : 0;
}

/* Time from the request's arrival, in ms, to what is foretold for @from_now_us later. */
static unsigned long long since_arrival_ms(const struct stream *stream, uint64_t from_now_us)
{
    return (clock_mono_us() - stream->opened_us + from_now_us) / 1000;
}

/* The promise that was asked for can't be given: says what was foretold, and when to ask again. */
static void refuse_late(struct stream *stream, const struct admit_verdict *verdict)
{
    uint64_t estimated_us = verdict->is_first ? verdict->first_us : verdict->finish_us;
    uint32_t wanted_ms = verdict->is_first ? stream->first_by_ms : stream->finish_by_ms;
    const char *which = verdict->is_first ? "first" : "last";
    const struct governor_limits *limits = &stream->hub->governor.limits[stream->job.eq->processor];
    char text[DIAG_BYTES];

    if (estimated_us == ADMIT_NO_TIME) {
        snprintf(text, sizeof(text),
                 "the %s token is wanted within %u ms, and nothing of this class runs now (mode %s, for %s)", which,
                 wanted_ms, governor_mode_name(limits->mode), governor_cause_name(limits->cause));
    } else {
        snprintf(text, sizeof(text),
                 "the %s token is wanted within %u ms of the request and foretold for %llu ms, with what was "
                 "promised to others before",
                 which, wanted_ms, since_arrival_ms(stream, estimated_us));
    }
    stream->end.retry_ms = (uint32_t)num_min(num_div_up(verdict->retry_us, 1000), UINT32_MAX);
    stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, text);
}

/* False: it is refused, and told so. */
static bool may_come_in(struct stream *stream)
{
    struct hub *hub = stream->hub;
    struct governor_limits usual[PROCESSOR_COUNT];
    struct governor_limits limits[PROCESSOR_COUNT];
    struct admit_verdict verdict;

    admit_limits(hub->governor.limits, clock_mono_us(), clock_boot_us(), usual);
    dispatch_real_limits(&hub->dispatcher.dispatch, usual, limits);
    switch ((enum admit_outcome)admit_check(&hub->queue, &stream->job, limits, clock_boot_us(), &verdict)) {
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

/* Puts what its session holds before the prompt. False: it is over, or words are made again without the oldest ones. */
static bool join_session(struct stream *stream)
{
    if (stream->opens && stream->prompt.n == 0) {
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END); /* it begins with nothing */
        return false;
    }
    if (session_join_prompt(stream)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED,
                    "there is no memory for the session's tokens: this user's requests and sessions hold as "
                    "much as they may");
        return false;
    }
    if (stream->prompt.n + 1 > stream->n_context && session_forget_some(stream)) {
        if (!stream_is_over(stream)) { /* or who was told has ended it */
            stream_begin(stream);
        }
        return false;
    }
    return !stream_is_over(stream);
}

/* It waits for a seat from now on, unless something of an earlier turn is still under way in its session's sequence. */
static void want_seat(struct stream *stream)
{
    stream_move(stream, STREAM_WAITING);
    if (instance_is_ready(stream->instance) && (!stream->session || session_is_free(stream->session))) {
        queue_want(&stream->hub->queue, &stream->job, clock_mono_us());
    }
    hub_poke(stream->hub);
}

/* The prompt's tokens are known. */
static void on_known(struct stream *stream)
{
    const struct instance *instance = stream->instance;
    struct diag diag = DIAG_INIT;
    int r;

    stream->n_context = instance->facts.n_context;
    if (stream->grant.n_context > 0) {
        stream->n_context = (uint32_t)num_min(stream->n_context, stream->grant.n_context);
    }
    if (!join_session(stream)) {
        return;
    }
    r = check_size(stream, &diag);
    r = r ? r : check_slide(stream, &diag);
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
    stream->job.n_prompt = (uint32_t)stream->prompt.n;
    stream->job.n_known = stream->job.n_prompt;
    stream->job.n_most = (uint32_t)num_min((uint64_t)stream->job.n_prompt + stream->max_tok, stream->n_context);
    stream_count_left(stream);
    session_prepare(stream);
    if (!may_come_in(stream)) {
        return;
    }
    stream->hub->counts[HUB_PROMPT_TOK] += stream->prompt.n;
    ids_finish(&stream->prompt);
    want_seat(stream);
    stream_accept(stream);
}

static void on_text(void *owner, struct text_job *job)
{
    struct stream *stream = owner;

    stream->text_job = NULL;
    if (job->outcome == TOKENIZE_OK) {
        stream->prompt = job->ids;
        job->ids = (struct ids){ 0 };
        on_known(stream);
    } else if (job->outcome == TOKENIZE_BAD_TEXT && job->kind == TEXT_CHAT && stream->opens) {
        /* Not a conversation yet, to the template: nothing is computed ahead. */
        stream_finish(stream, SOTTO__V1__FINISH_REASON__FINISH_END);
    } else if (job->outcome == TOKENIZE_BAD_TEXT) {
        stream_fail_diag(stream, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, &job->diag);
    } else if (job->outcome == TOKENIZE_TOO_MANY) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "the prompt has more tokens than any context");
    } else {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory to tokenise the prompt");
    }
}

void stream_begin(struct stream *stream)
{
    struct instance *instance = stream->instance;
    struct text_job *job = stream->text_job;
    struct diag diag = DIAG_INIT;
    int r = embed_check(stream, &diag);

    if (r) {
        stream_fail_diag(stream, (Sotto__V1__Code)r, &diag);
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
    job->vocab = instance->vocab;
    job->chat = instance->chat;
    job->flags = stream->embeds ? TOKENIZE_BOS | TOKENIZE_EOS : TOKENIZE_BOS;
    if (stream->session && stream->session->ids.n > 0) {
        job->flags = TOKENIZE_MIDDLE; /* goes on from what the session holds */
    }
    job->release = instance_unref;
    job->keeper = instance;
    instance_ref(instance);
    text_pool_push(&stream->hub->pool, job, on_text, stream);
}

void stream_sampler(const struct stream *stream, Sotto__Engine__Sampler *ret_sampler)
{
    *ret_sampler = stream->sampler;
    ret_sampler->never = stream->instance->never;
    ret_sampler->n_never = stream->instance->n_never;
    ret_sampler->top_logprobs = (uint32_t)num_min(ret_sampler->top_logprobs, stream->instance->facts.n_vocab);
}
