/*
 * Ask: from a Generate to a stream that waits for its turn
 *
 * Two looks at a request. The first, inside the call, needs neither model nor words: may this peer have one more, of
 * this class, under this key? What it refuses leaves no stream behind. The second (ask_known.c), when model and tokens
 * are there, checks what depends on them: context, vocabulary, deadlines. All values that the client left out are
 * filled in here, so that everything behind it knows only values in force.
 */
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "proto/limit.h"
#include "registry/models.h"
#include "session/pins.h"
#include "session/session.h"
#include "stream/quota.h"
#include <errno.h>
#include <stdio.h>

#define SWEEP_EVERY 64u /* requests between two looks for accounts that nobody needs any more */

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

/* Above 0: a Code. */
static int choose_class(const Sotto__V1__Generate *ask, const struct grant *grant, enum priority *ret_class,
                        struct diag *diag)
{
    if (ask->priority > grant->class_ceiling) {
        diag_blame(diag, "generate.priority", "class %s is above this user's ceiling, %s", class_name(ask->priority),
                   class_name(grant->class_ceiling));
        return SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
    }
    *ret_class = sched_class_of(ask->priority ? ask->priority : grant->class_default);
    if (*ret_class > sched_class_of(grant->class_ceiling)) {
        *ret_class = sched_class_of(grant->class_ceiling);
    }
    return 0;
}

/* ---- copying */

static void fill_sampler(Sotto__Engine__Sampler *sampler, const Sotto__V1__Sampling *ask)
{
    const Sotto__V1__Sampling none = SOTTO__V1__SAMPLING__INIT;

    ask = ask ? ask : &none;
    *sampler = (Sotto__Engine__Sampler)SOTTO__ENGINE__SAMPLER__INIT;
    sampler->temperature = ask->opt_temperature_case ? ask->temperature : DEFAULT_TEMPERATURE;
    sampler->top_k = ask->opt_top_k_case ? ask->top_k : 0;
    sampler->top_p = ask->opt_top_p_case ? ask->top_p : DEFAULT_TOP_P;
    sampler->min_p = ask->opt_min_p_case ? ask->min_p : 0.0f;
    sampler->repetition_penalty = ask->opt_repetition_penalty_case ? ask->repetition_penalty : 1.0f;
    sampler->frequency_penalty = ask->opt_frequency_penalty_case ? ask->frequency_penalty : 0.0f;
    sampler->presence_penalty = ask->opt_presence_penalty_case ? ask->presence_penalty : 0.0f;
    sampler->penalty_window = ask->opt_penalty_window_case ? ask->penalty_window : DEFAULT_PENALTY_WINDOW;
    sampler->logprobs = ask->logprobs || ask->top_logprobs > 0;
    sampler->top_logprobs = ask->top_logprobs;
    if (ask->opt_seed_case) {
        sampler->seed = ask->seed;
    } else {
        clock_entropy(&sampler->seed, sizeof(sampler->seed));
    }
}

static int copy_biases(Sotto__Engine__Sampler *sampler, const Sotto__V1__Sampling *ask)
{
    size_t n = ask ? ask->n_bias : 0;

    if (n == 0) {
        return 0;
    }
    sampler->bias_ids = mem_alloc(MEM_STREAM, n * sizeof(*sampler->bias_ids));
    sampler->bias = mem_alloc(MEM_STREAM, n * sizeof(*sampler->bias));
    if (!sampler->bias_ids || !sampler->bias) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        sampler->bias_ids[i] = ask->bias[i]->id;
        sampler->bias[i] = ask->bias[i]->bias;
    }
    sampler->n_bias_ids = n;
    sampler->n_bias = n;
    return 0;
}

static size_t stops_bytes(const Sotto__V1__Generate *ask)
{
    size_t n = ask->n_stop * sizeof(struct stop_text);

    for (size_t i = 0; i < ask->n_stop; i++) {
        n += ask->stop[i].len;
    }
    return n;
}

static int copy_stops(struct stream *stream, const Sotto__V1__Generate *ask)
{
    uint8_t *at;

    if (ask->n_stop == 0) {
        return 0;
    }
    stream->stops = mem_alloc(MEM_STREAM, stops_bytes(ask));
    if (!stream->stops) {
        return err_new(-ENOMEM);
    }
    at = (uint8_t *)(stream->stops + ask->n_stop);
    for (size_t i = 0; i < ask->n_stop; i++) {
        memcpy(at, ask->stop[i].data, ask->stop[i].len);
        stream->stops[i] = (struct stop_text){ .bytes = at, .n = ask->stop[i].len };
        at += ask->stop[i].len;
    }
    stream->n_stops = ask->n_stop;
    return 0;
}

static int copy_input(struct stream *stream, const Sotto__V1__Generate *ask)
{
    struct account *account = stream->job.account;

    switch (ask->input_case) {
    case SOTTO__V1__GENERATE__INPUT_TEXT:
        return text_pool_tokenize(&stream->text_job, account, ask->text.data, ask->text.len);
    case SOTTO__V1__GENERATE__INPUT_CHAT:
        return text_pool_chat(&stream->text_job, account, ask->chat);
    case SOTTO__V1__GENERATE__INPUT_TOKENS:
    case SOTTO__V1__GENERATE__INPUT__NOT_SET:
        break;
    }
    if (ask->input_case == SOTTO__V1__GENERATE__INPUT_TOKENS && ask->tokens->n_ids > 0) {
        size_t n = ask->tokens->n_ids;

        stream->prompt.ids = mem_alloc(MEM_STREAM, n * sizeof(*stream->prompt.ids));
        if (!stream->prompt.ids) {
            return err_new(-ENOMEM);
        }
        memcpy(stream->prompt.ids, ask->tokens->ids, n * sizeof(*stream->prompt.ids));
        stream->prompt.n = n;
        stream->prompt.cap = n;
    }
    return 0;
}

/* Bytes that a request holds until its words are there, about. */
static uint64_t bytes_of(const Sotto__V1__Generate *ask)
{
    uint64_t n = sizeof(struct stream) + stops_bytes(ask);

    n += ask->sampling ? ask->sampling->n_bias * 8 : 0;
    if (ask->input_case == SOTTO__V1__GENERATE__INPUT_TOKENS) {
        n += ask->tokens->n_ids * sizeof(uint32_t);
    }
    return n;
}

void stream_free_ask(struct stream *stream)
{
    text_pool_drop(steal(&stream->text_job));
    mem_free(stream->sampler.bias_ids);
    mem_free(stream->sampler.bias);
    mem_free(stream->stops);
    ids_finish(&stream->prompt);
    account_hold(stream->job.account, -(int64_t)stream->n_held);
}

/* A stream that nobody knows of yet. */
static void drop(struct stream **stream)
{
    if (*stream) {
        stream_free_ask(*stream);
        mem_free(*stream);
    }
}

static int create(struct stream **ret_stream, struct hub *hub, struct account *account, const Sotto__V1__Generate *ask,
                  const struct grant *grant)
{
    cleanup(drop) struct stream *stream = mem_calloc(MEM_STREAM, 1, sizeof(*stream));
    int r;

    if (!stream) {
        return err_new(-ENOMEM);
    }
    list_init(&stream->link);
    list_init(&stream->instance_link);
    list_init(&stream->soon);
    stream->hub = hub;
    stream->grant = *grant;
    stream->journal.fd = -1;
    stream->job.account = account;
    stream->n_held = bytes_of(ask);
    account_hold(account, (int64_t)stream->n_held);
    fill_sampler(&stream->sampler, ask->sampling);
    r = copy_biases(&stream->sampler, ask->sampling);
    r = r ? r : copy_stops(stream, ask);
    r = r ? r : copy_input(stream, ask);
    if (r) {
        return err_up(r);
    }
    stream->max_tok = grant->n_answer ? grant->n_answer : DEFAULT_ANSWER_TOKENS;
    if (ask->opt_max_tokens_case) {
        stream->max_tok = (uint32_t)num_min(stream->max_tok, ask->max_tokens);
    }
    stream->ignores_end = ask->ignore_end;
    stream->slides = ask->on_full == SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
    stream->n_keep = ask->opt_keep_tokens_case ? ask->keep_tokens : STREAM_KEEP_UNSAID;
    stream->first_by_ms = ask->opt_first_token_by_ms_case ? ask->first_token_by_ms : 0;
    stream->finish_by_ms = ask->opt_finish_by_ms_case ? ask->finish_by_ms : 0;
    stream->has_credit = ask->opt_credit_case != 0;
    stream->credit = ask->opt_credit_case ? (uint32_t)num_min(ask->credit, LIMIT_CREDIT) : 0;
    stream->opened_us = clock_mono_us();
    *ret_stream = steal(&stream);
    return 0;
}

/* ---- the door */

/* Writes the key as hub::keys has it; false: it is taken. */
static bool take_key(struct hub *hub, struct stream *stream, const char *key)
{
    size_t n = strnlen(key, LIMIT_KEY);

    if (n == 0) {
        return true;
    }
    memcpy(stream->key, &stream->grant.uid, sizeof(stream->grant.uid));
    memcpy(stream->key + sizeof(stream->grant.uid), key, n);
    if (map_put_bytes(&hub->keys, stream->key, sizeof(stream->grant.uid) + n, (union map_value){ .pointer = stream })) {
        return false;
    }
    stream->n_key = sizeof(stream->grant.uid) + n;
    return true;
}

/* From here on the stream is the hub's. */
static void enter(struct stream *stream, struct instance *instance, enum priority priority)
{
    struct hub *hub = stream->hub;
    uint64_t now_us = clock_mono_us();
    uint64_t boot_us = clock_boot_us();

    stream->instance = instance;
    instance_ref(instance);
    list_append(&hub->streams, &stream->link);
    list_append(&instance->streams, &stream->instance_link);
    stream->number = ++hub->n_made;
    hub->counts[HUB_STREAMS]++;
    stream->job.limits = quota_limits(&stream->grant);
    stream->job.priority = priority;
    stream->job.eq = &instance->eq;
    stream->job.first_by_us = stream->first_by_ms ? boot_us + stream->first_by_ms * 1000ull : 0;
    stream->job.finish_by_us = stream->finish_by_ms ? boot_us + stream->finish_by_ms * 1000ull : 0;
    if (stream->job.account->suspect_us > now_us) {
        blame_suspect(&stream->mark);
        stream->job.alone = true;
    }
    queue_add(&hub->queue, &stream->job, now_us);
    if (stream->number % SWEEP_EVERY == 0) {
        accounts_sweep(&hub->queue.accounts, now_us, boot_us);
    }
    stream_event(stream, "stream-opened", class_name(stream_class(stream)));
    stream_repark(stream);
    stream_soon(stream);
}

static int refuse(struct hub *hub, uint32_t uid, int code)
{
    hub->counts[HUB_REFUSED]++;
    metering_refused(hub, uid);
    return code;
}

/* A request on its way in. */
struct entry {
    struct hub *hub;
    const Sotto__V1__Generate *ask;
    const struct grant *grant;
    struct session *session; /* that it names, or NULL */
    struct model *model;
    struct account *account;
    enum priority priority;
};

/* The first look. Above 0: a Code. */
static int look(struct entry *entry, uint32_t *ret_retry_ms, struct diag *diag)
{
    const Sotto__V1__Generate *ask = entry->ask;
    struct hub *hub = entry->hub;
    struct quota_request place;
    int r;

    if (hub->is_stopping) {
        diag_set(diag, "the daemon is shutting down");
        return SOTTO__V1__CODE__CODE_UNAVAILABLE;
    }
    r = session_find(hub, ask, entry->grant, &entry->session, diag);
    if (r) {
        return r;
    }
    entry->model = entry->session ? entry->session->model : models_find(hub, ask->model);
    if (!entry->model) {
        diag_blame(diag, "generate.model", ask->model[0] ? "there is no model of that name" : "no model is configured");
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    r = choose_class(ask, entry->grant, &entry->priority, diag);
    if (r) {
        return r;
    }
    r = accounts_get(&hub->queue.accounts, entry->grant->uid, &entry->account);
    if (r) {
        return err_up(r);
    }
    if (entry->grant->uid != PIN_UID) { /* the daemon's own is nobody's to refuse */
        place = (struct quota_request){
            .ask = ask,
            .account = entry->account,
            .priority = entry->priority,
            .grant = entry->grant,
            .n_bytes = bytes_of(ask),
        };
        r = quota_check(hub, &place, ret_retry_ms, diag);
    }
    return r ? r : models_want(entry->model, false, diag);
}

/* A stream that asks for what @ask does; in a session with all that was said before. Above 0: a Code. */
static int make(const struct entry *entry, struct stream **ret_stream, struct diag *diag)
{
    cleanup(drop) struct stream *stream = NULL;
    Sotto__V1__Generate whole = *entry->ask;
    Sotto__V1__Chat chat;
    int r = 0;

    if (entry->session) {
        r = session_begin_turn(entry->session, entry->ask, &whole, &chat, diag);
        if (r) {
            return err_pass(r);
        }
    }
    r = create(&stream, entry->hub, entry->account, &whole, entry->grant);
    if (r == 0 && !take_key(entry->hub, stream, whole.key)) {
        diag_blame(diag, "generate.key", "a live answer of this user has that key already");
        r = SOTTO__V1__CODE__CODE_ALREADY_EXISTS;
    }
    if (r && entry->session) {
        session_take_back(entry->session);
    }
    if (r) {
        return err_pass(r);
    }
    if (entry->session) {
        entry->session->turn = stream;
        entry->session->holder = entry->grant->connection;
        stream->session = entry->session;
        stream->opens = entry->session->is_opening;
        stream->slides = stream->slides || entry->session->slides;
    }
    *ret_stream = steal(&stream);
    return 0;
}

int stream_make(struct hub *hub, const Sotto__V1__Generate *ask, const Sotto__V1__Embed *embed,
                const struct grant *grant, const struct stream_sink *sink, void *owner, struct stream **ret_stream,
                uint32_t *ret_retry_ms, struct diag *diag)
{
    struct entry entry = { .hub = hub, .ask = ask, .grant = grant };
    struct stream *stream = NULL;
    int r;

    *ret_retry_ms = 0;
    r = look(&entry, ret_retry_ms, diag);
    r = r ? r : make(&entry, &stream, diag);
    if (r) {
        return r < 0 ? err_up(r) : refuse(hub, grant->uid, r);
    }
    if (embed) {
        stream->embeds = true;
        stream->is_raw = embed->raw;
        stream->max_tok = 0;
    }
    stream->sink = sink;
    stream->owner = owner;
    enter(stream, models_pick(entry.model), entry.priority);
    *ret_stream = stream;
    return 0;
}

int hub_generate(struct hub *hub, const Sotto__V1__Generate *ask, const struct grant *grant,
                 const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                 struct diag *diag)
{
    return stream_make(hub, ask, NULL, grant, sink, owner, ret_stream, ret_retry_ms, diag);
}
