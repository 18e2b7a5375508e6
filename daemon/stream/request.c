#include "stream/request.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "proto/limit.h"
#include "registry/models.h"
#include "stream/credit.h"
#include "stream/quota.h"
#include <errno.h>
#include <stdio.h>

#define SWEEP_EVERY 64u /* requests between two looks for accounts that are not needed any more */

static enum priority sched_class_of(Sotto__V1__PriorityClass priority)
{
    switch (priority) {
    case SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND:
        return PRIORITY_BACKGROUND;
    case SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME:
        return PRIORITY_REALTIME;
    case SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE:
    case SOTTO__V1__PRIORITY_CLASS__CLASS_UNSPECIFIED:
        break;
    }
    return PRIORITY_INTERACTIVE;
}

static const char *class_name(Sotto__V1__PriorityClass priority)
{
    static const char *const names[] = { "unspecified", "background", "interactive", "realtime" };

    return priority >= 0 && (size_t)priority < COUNTOF(names) ? names[priority] : "unknown";
}

/* 0, or above 0 a Code. */
static int choose_class(const Sotto__V1__Generate *generate, const struct grant *grant, enum priority *ret_class,
                        struct diag *diag)
{
    if (generate->priority > grant->class_ceiling) {
        diag_blame(diag, "generate.priority", "class %s is above this user's ceiling, %s",
                   class_name(generate->priority), class_name(grant->class_ceiling));
        return SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
    }
    *ret_class = sched_class_of(generate->priority ? generate->priority : grant->class_default);
    if (*ret_class > sched_class_of(grant->class_ceiling)) {
        *ret_class = sched_class_of(grant->class_ceiling);
    }
    return 0;
}

/* ---- copying */

static void fill_sampler(Sotto__Engine__Sampler *sampler, const Sotto__V1__Sampling *sampling)
{
    const Sotto__V1__Sampling none = SOTTO__V1__SAMPLING__INIT;

    sampling = sampling ? sampling : &none;
    *sampler = (Sotto__Engine__Sampler)SOTTO__ENGINE__SAMPLER__INIT;
    sampler->temperature = sampling->opt_temperature_case ? sampling->temperature : DEFAULT_TEMPERATURE;
    sampler->top_k = sampling->opt_top_k_case ? sampling->top_k : 0;
    sampler->top_p = sampling->opt_top_p_case ? sampling->top_p : DEFAULT_TOP_P;
    sampler->min_p = sampling->opt_min_p_case ? sampling->min_p : 0.0f;
    sampler->repetition_penalty = sampling->opt_repetition_penalty_case ? sampling->repetition_penalty : 1.0f;
    sampler->frequency_penalty = sampling->opt_frequency_penalty_case ? sampling->frequency_penalty : 0.0f;
    sampler->presence_penalty = sampling->opt_presence_penalty_case ? sampling->presence_penalty : 0.0f;
    sampler->penalty_window = sampling->opt_penalty_window_case ? sampling->penalty_window : DEFAULT_PENALTY_WINDOW;
    sampler->logprobs = sampling->logprobs || sampling->top_logprobs > 0;
    sampler->top_logprobs = sampling->top_logprobs;
    if (sampling->opt_seed_case) {
        sampler->seed = sampling->seed;
    } else {
        clock_entropy(&sampler->seed, sizeof(sampler->seed));
    }
}

static int copy_biases(Sotto__Engine__Sampler *sampler, const Sotto__V1__Sampling *sampling)
{
    size_t n = sampling ? sampling->n_bias : 0;

    if (n == 0) {
        return 0;
    }
    sampler->bias_ids = mem_alloc(MEM_STREAM, n * sizeof(*sampler->bias_ids));
    sampler->bias = mem_alloc(MEM_STREAM, n * sizeof(*sampler->bias));
    if (!sampler->bias_ids || !sampler->bias) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        sampler->bias_ids[i] = sampling->bias[i]->id;
        sampler->bias[i] = sampling->bias[i]->bias;
    }
    sampler->n_bias_ids = n;
    sampler->n_bias = n;
    return 0;
}

static size_t stops_bytes(const Sotto__V1__Generate *generate)
{
    size_t n = generate->n_stop * sizeof(struct stop_text);

    for (size_t i = 0; i < generate->n_stop; i++) {
        n += generate->stop[i].len;
    }
    return n;
}

static int copy_stops(struct stream_request *own, const Sotto__V1__Generate *generate)
{
    uint8_t *at;

    if (generate->n_stop == 0) {
        return 0;
    }
    own->stops = mem_alloc(MEM_STREAM, stops_bytes(generate));
    if (!own->stops) {
        return err_new(-ENOMEM);
    }
    at = (uint8_t *)(own->stops + generate->n_stop);
    for (size_t i = 0; i < generate->n_stop; i++) {
        memcpy(at, generate->stop[i].data, generate->stop[i].len);
        own->stops[i] = (struct stop_text){ .bytes = at, .n = generate->stop[i].len };
        at += generate->stop[i].len;
    }
    own->n_stops = generate->n_stop;
    return 0;
}

static int copy_tokens(struct ids *prompt, const Sotto__V1__TokenIds *tokens)
{
    size_t n = tokens->n_ids;

    if (n == 0) {
        return 0;
    }
    prompt->ids = mem_alloc(MEM_STREAM, n * sizeof(*prompt->ids));
    if (!prompt->ids) {
        return err_new(-ENOMEM);
    }
    memcpy(prompt->ids, tokens->ids, n * sizeof(*prompt->ids));
    prompt->n = n;
    prompt->cap = n;
    return 0;
}

static int copy_input(struct stream *stream, const Sotto__V1__Generate *generate)
{
    struct account *account = stream->job.account;

    switch (generate->input_case) {
    case SOTTO__V1__GENERATE__INPUT_TEXT:
        return text_job_tokenize(&stream->text_job, account, generate->text.data, generate->text.len);
    case SOTTO__V1__GENERATE__INPUT_CHAT:
        return text_job_chat(&stream->text_job, account, generate->chat);
    case SOTTO__V1__GENERATE__INPUT_TOKENS:
        return copy_tokens(&stream->prompt, generate->tokens);
    case SOTTO__V1__GENERATE__INPUT__NOT_SET:
        break;
    }
    return 0;
}

/* Returns the bytes that a request holds until its tokens are there, about. */
static uint64_t bytes_of(const Sotto__V1__Generate *generate)
{
    uint64_t n = sizeof(struct stream) + stops_bytes(generate);

    n += generate->sampling ? generate->sampling->n_bias * 8 : 0;
    if (generate->input_case == SOTTO__V1__GENERATE__INPUT_TOKENS) {
        n += generate->tokens->n_ids * sizeof(uint32_t);
    }
    return n;
}

static void dropp(struct stream **stream)
{
    if (*stream) {
        stream_drop(*stream);
    }
}

static void fill_request(const struct request *request, struct stream_request *own)
{
    const Sotto__V1__Generate *generate = request->generate;
    const struct grant *grant = request->grant;

    own->message = request->message ? request->message : "generate";
    own->pools = request->pools;
    own->prompt_only = request->prompt_only;
    own->continues = request->continues;
    own->max_tok = grant->n_answer ? grant->n_answer : DEFAULT_ANSWER_TOKENS;
    if (generate->opt_max_tokens_case) {
        own->max_tok = (uint32_t)num_min(own->max_tok, generate->max_tokens);
    }
    own->max_tok = request->pools ? 0 : own->max_tok;
    own->ignores_end = generate->ignore_end;
    own->slides = request->slides || generate->on_full == SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
    own->n_keep = generate->opt_keep_tokens_case ? generate->keep_tokens : STREAM_KEEP_DEFAULT;
    own->first_by_ms = generate->opt_first_token_by_ms_case ? generate->first_token_by_ms : 0;
    own->finish_by_ms = generate->opt_finish_by_ms_case ? generate->finish_by_ms : 0;
}

static int create(const struct request *request, struct stream **ret_stream)
{
    const Sotto__V1__Generate *generate = request->generate;
    cleanup(dropp) struct stream *stream = mem_calloc(MEM_STREAM, 1, sizeof(*stream));
    int r;

    if (!stream) {
        return err_new(-ENOMEM);
    }
    list_init(&stream->link);
    list_init(&stream->instance_link);
    list_init(&stream->soon);
    list_init(&stream->holder.link);
    stream->streams = request->streams;
    stream->sink = request->sink;
    stream->owner = request->owner;
    stream->grant = *request->grant;
    stream->journal.fd = -1;
    stream->job.account = request->account;
    stream->job.yields = request->yields;
    stream->n_held = bytes_of(generate);
    account_hold(request->account, (int64_t)stream->n_held);
    fill_sampler(&stream->request.sampler, generate->sampling);
    fill_request(request, &stream->request);
    r = copy_biases(&stream->request.sampler, generate->sampling);
    r = r ? r : copy_stops(&stream->request, generate);
    r = r ? r : copy_input(stream, generate);
    if (r) {
        return err_up(r);
    }
    stream->credit.is_rationed = generate->opt_credit_case != 0;
    stream->credit.n_tok = generate->opt_credit_case ? (uint32_t)num_min(generate->credit, LIMIT_CREDIT) : 0;
    stream->usage.opened_us = clock_mono_us();
    *ret_stream = steal(&stream);
    return 0;
}

/* ---- entering */

/* Writes the key as streams::keys has it. False: it is taken. */
static bool take_key(struct stream *stream, const char *key)
{
    struct stream_request *own = &stream->request;
    size_t n = strnlen(key, LIMIT_KEY);

    if (n == 0) {
        return true;
    }
    memcpy(own->key, &stream->grant.uid, sizeof(stream->grant.uid));
    memcpy(own->key + sizeof(stream->grant.uid), key, n);
    n += sizeof(stream->grant.uid);
    if (map_put_bytes(&stream->streams->keys, own->key, n, (union map_value){ .pointer = stream })) {
        return false;
    }
    own->n_key = n;
    return true;
}

static void fill_job(struct stream *stream, enum priority priority)
{
    const struct stream_request *own = &stream->request;
    uint64_t boot_us = clock_boot_us();

    stream->job.limits = quota_limits(&stream->grant);
    stream->job.priority = priority;
    stream->job.eq = &stream->instance->eq;
    stream->job.first_by_us = own->first_by_ms ? boot_us + own->first_by_ms * 1000ull : 0;
    stream->job.finish_by_us = own->finish_by_ms ? boot_us + own->finish_by_ms * 1000ull : 0;
    if (stream->job.account->suspect_us > clock_mono_us()) {
        blame_suspect(&stream->mark);
        stream->job.alone = true;
    }
}

/* Lets the stream live: it is the loop's from here on. */
static void enter(struct stream *stream, struct instance *instance, enum priority priority)
{
    struct streams *streams = stream->streams;

    stream->instance = instance;
    instance_ref(instance);
    list_append(&streams->all, &stream->link);
    list_append(&instance->streams, &stream->instance_link);
    stream->number = ++streams->n_made;
    streams->events->counts[COUNT_STREAMS]++;
    fill_job(stream, priority);
    queue_add(&streams->queue, &stream->job, clock_mono_us());
    credit_count_left(stream);
    if (stream->number % SWEEP_EVERY == 0) {
        accounts_sweep(&streams->queue.accounts, clock_mono_us(), clock_boot_us());
    }
    stream_event(stream, "stream-opened", class_name(stream_class_of(stream->job.priority)));
    credit_repark(stream);
    stream_soon(stream);
}

/* ---- the steps */

int request_refused(struct streams *streams, const struct grant *grant, int code)
{
    struct usage *usage = code > 0 ? usage_table_get(&streams->usage_table, grant->uid) : NULL;

    streams->events->counts[COUNT_REFUSED] += code > 0;
    if (usage) {
        usage->n_refused++;
    }
    return err_pass(code);
}

static int check_quota(const struct request *request, uint32_t *ret_retry_ms, struct diag *diag)
{
    const struct quota_request quota = {
        .account = request->account,
        .priority = request->priority,
        .grant = request->grant,
        .n_bytes = bytes_of(request->generate),
    };

    if (request->grant->uid == GRANT_DAEMON_UID) {
        return 0;
    }
    return quota_check(request->streams, &quota, ret_retry_ms, diag);
}

static int look(struct request *request, uint32_t *ret_retry_ms, struct diag *diag)
{
    const Sotto__V1__Generate *generate = request->generate;
    struct streams *streams = request->streams;
    int r;

    if (streams->events->is_stopping) {
        diag_set(diag, "the daemon is shutting down");
        return SOTTO__V1__CODE__CODE_UNAVAILABLE;
    }
    if (!request->model) {
        request->model = model_entry_find(streams->registry, generate->model);
    }
    if (!request->model) {
        diag_blame(diag, "generate.model",
                   generate->model[0] ? "there is no model of that name" : "no model is configured");
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    r = choose_class(generate, request->grant, &request->priority, diag);
    if (r) {
        return r;
    }
    r = accounts_get(&streams->queue.accounts, request->grant->uid, &request->account);
    if (r) {
        return err_up(r);
    }
    r = check_quota(request, ret_retry_ms, diag);
    return r ? r : models_want(request->model, false, diag);
}

int request_admit(struct request *request, uint32_t *ret_retry_ms, struct diag *diag)
{
    *ret_retry_ms = 0;
    return request_refused(request->streams, request->grant, look(request, ret_retry_ms, diag));
}

int request_open(const struct request *request, struct stream **ret_stream, struct diag *diag)
{
    cleanup(dropp) struct stream *stream = NULL;
    int r;

    r = create(request, &stream);
    if (r) {
        return err_up(r);
    }
    if (!take_key(stream, request->generate->key)) {
        diag_blame(diag, "generate.key", "a live answer of this user has that key already");
        return request_refused(request->streams, request->grant, SOTTO__V1__CODE__CODE_ALREADY_EXISTS);
    }
    stream->holder.ops = request->holder.ops ? request->holder.ops : &stream_no_holder;
    stream->holder.self = request->holder.self;
    enter(stream, model_entry_pick(request->model), request->priority);
    *ret_stream = steal(&stream);
    return 0;
}

int request_generate(struct request *request, struct stream **ret_stream, uint32_t *ret_retry_ms, struct diag *diag)
{
    int r;

    r = request_admit(request, ret_retry_ms, diag);
    r = r ? r : request_open(request, ret_stream, diag);
    return err_pass(r);
}
