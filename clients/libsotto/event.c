/*
 * Event: makes the caller's event of a frame
 *
 * Numbers and strings stay where protobuf-c unpacked them. Structs, and texts, which need a zero byte behind them, go
 * into the scratch arena. Both live until the next frame. Each kind of frame has a function and a row.
 */
#include "base/clean.h"
#include "base/err.h"
#include "clients/libsotto/handle.h"
#include <errno.h>

void *event_scratch(struct sotto *sotto, size_t n, size_t size)
{
    void *block = arena_alloc(&sotto->scratch, n * size + 1);

    if (block) {
        memset(block, 0, n * size + 1);
    }
    return block;
}

/* Returns a copy with a zero byte behind it, or NULL. */
static const char *text_of(struct sotto *sotto, ProtobufCBinaryData from)
{
    char *text = event_scratch(sotto, from.len, 1);

    if (text && from.len) {
        memcpy(text, from.data, from.len);
    }
    return text;
}

const char *event_name_in(const char *const *names, size_t n, uint64_t value)
{
    return value < n && names[value] ? names[value] : "unknown";
}

/* Makers. Each fills the zeroed struct at @ret; 0 or -ENOMEM. */

static int make_accepted(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_accepted *to = ret;
    const Sotto__V1__Accepted *from = frame->accepted;

    *to = (struct sotto_accepted){
        .queue_position = from->queue_position,
        .prompt_tokens = from->prompt_tokens,
        .max_tokens = from->max_tokens,
        .seed = from->seed,
        .model = from->model,
        .priority = (enum sotto_class)from->priority,
        .numerics = from->numerics,
    };
    return 0;
}

static int make_delta(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_delta *to = ret;
    const Sotto__V1__Delta *from = frame->delta;
    struct sotto_logprobs *logprobs = event_scratch(sotto, from->n_logprobs, sizeof(*logprobs));

    if (!logprobs) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < from->n_logprobs; i++) {
        const Sotto__V1__TokenLogprobs *one = from->logprobs[i];

        logprobs[i].logprob = one->logprob;
        logprobs[i].n_top = one->n_top_ids < one->n_top_logprobs ? one->n_top_ids : one->n_top_logprobs;
        logprobs[i].top_ids = one->top_ids;
        logprobs[i].top_logprobs = one->top_logprobs;
    }
    to->first = from->first;
    to->n_tokens = from->n_tokens;
    to->tokens = from->tokens;
    to->n_text = from->text.len;
    to->text = text_of(sotto, from->text);
    to->logprobs = from->n_logprobs && from->n_logprobs == from->n_tokens ? logprobs : NULL;
    return to->text ? 0 : err_new(-ENOMEM);
}

static int make_notice(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_notice *to = ret;
    const Sotto__V1__Notice *from = frame->notice;

    *to = (struct sotto_notice){
        .kind = (enum sotto_notice_kind)from->kind,
        .detail = from->detail,
        .queue_position = from->queue_position,
        .first_token = from->first_token,
        .from = from->from,
        .to = from->to,
    };
    return 0;
}

static void copy_usage(struct sotto_usage *to, const Sotto__V1__Usage *from)
{
    *to = (struct sotto_usage){
        .prompt_tokens = from->prompt_tokens,
        .cached_tokens = from->cached_tokens,
        .generated_tokens = from->generated_tokens,
        .queue_us = from->queue_us,
        .ttft_us = from->ttft_us,
        .total_us = from->total_us,
        .itl_p50_us = from->itl_p50_us,
        .itl_p99_us = from->itl_p99_us,
        .energy_uj = from->energy_uj,
        .energy_source = (uint32_t)from->energy_source,
        .rebuilds = from->rebuilds,
    };
}

/* Returns tokens a second from the second token on, since the time to the first one is that of the prompt. */
static double speed_of(const struct sotto_usage *usage)
{
    if (usage->generated_tokens < 2 || usage->total_us <= usage->ttft_us) {
        return 0;
    }
    return (usage->generated_tokens - 1) * 1e6 / (double)(usage->total_us - usage->ttft_us);
}

static int make_done(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    static const char *const reasons[] = {
        [SOTTO_FINISH_END] = "end",         [SOTTO_FINISH_STOP] = "stop",           [SOTTO_FINISH_LENGTH] = "length",
        [SOTTO_FINISH_CONTEXT] = "context", [SOTTO_FINISH_CANCELLED] = "cancelled",
    };
    struct sotto_done *to = ret;
    const Sotto__V1__Done *from = frame->done;

    to->reason = (enum sotto_finish)from->reason;
    to->reason_name = event_name_in(reasons, COUNTOF(reasons), (uint64_t)from->reason);
    to->n_stop = from->stop.len;
    to->stop = text_of(sotto, from->stop);
    if (from->usage) {
        copy_usage(&to->usage, from->usage);
    }
    to->tokens_per_second = speed_of(&to->usage);
    return to->stop ? 0 : err_new(-ENOMEM);
}

static int make_tokenized(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_tokenized *to = ret;
    const Sotto__V1__Tokenized *from = frame->tokenized;
    struct sotto_bytes *pieces = event_scratch(sotto, from->n_pieces, sizeof(*pieces));

    if (!pieces) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < from->n_pieces; i++) {
        pieces[i].n = from->pieces[i].len;
        pieces[i].bytes = text_of(sotto, from->pieces[i]);
        if (!pieces[i].bytes) {
            return err_new(-ENOMEM);
        }
    }
    to->n = from->n_ids;
    to->ids = from->ids;
    to->n_pieces = from->n_pieces;
    to->pieces = pieces;
    return 0;
}

static int make_detokenized(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_bytes *to = ret;

    to->n = frame->detokenized->text.len;
    to->bytes = text_of(sotto, frame->detokenized->text);
    return to->bytes ? 0 : err_new(-ENOMEM);
}

/* Returns a new array; NULL: no memory. */
static const struct sotto_pin *copy_pins(struct sotto *sotto, Sotto__V1__PinInfo **from, size_t n)
{
    static const char *const states[] = {
        [SOTTO_PIN_WAITING] = "waiting",
        [SOTTO_PIN_COMPUTING] = "computing",
        [SOTTO_PIN_HELD] = "held",
        [SOTTO_PIN_REFUSED] = "refused",
    };
    struct sotto_pin *pins = event_scratch(sotto, n, sizeof(*pins));

    for (size_t i = 0; pins && i < n; i++) {
        pins[i] = (struct sotto_pin){
            .name = from[i]->name,
            .state = (enum sotto_pin_state)from[i]->state,
            .state_name = event_name_in(states, COUNTOF(states), (uint64_t)from[i]->state),
            .reason = from[i]->reason,
            .tokens = from[i]->tokens,
            .pages = from[i]->pages,
            .hits = from[i]->hits,
            .hit_tokens = from[i]->hit_tokens,
            .n_users = from[i]->n_users,
            .users = from[i]->users,
        };
    }
    return pins;
}

static int copy_model(struct sotto *sotto, struct sotto_model *to, const Sotto__V1__ModelInfo *from)
{
    static const char *const states[] = {
        [SOTTO_MODEL_KNOWN] = "known",           [SOTTO_MODEL_LOADING] = "loading",     [SOTTO_MODEL_READY] = "ready",
        [SOTTO_MODEL_RECOVERING] = "recovering", [SOTTO_MODEL_UNLOADING] = "unloading", [SOTTO_MODEL_FAILED] = "failed",
    };

    *to = (struct sotto_model){
        .name = from->name,
        .state = (enum sotto_model_state)from->state,
        .state_name = event_name_in(states, COUNTOF(states), (uint64_t)from->state),
        .reason = from->reason,
        .is_default = from->is_default,
        .file = from->file,
        .file_bytes = from->file_bytes,
        .architecture = from->architecture,
        .format = from->format,
        .parameters = from->parameters,
        .vocabulary = from->vocabulary,
        .context_tokens = from->context_tokens,
        .trained_context_tokens = from->trained_context_tokens,
        .kv_bytes_per_token = from->kv_bytes_per_token,
        .kv_pages = from->kv_pages,
        .kv_pages_used = from->kv_pages_used,
        .backend = from->backend,
        .chat = from->chat,
        .chat_reason = from->chat_reason,
        .load_fraction = from->load_fraction,
        .load_us = from->load_us,
        .embedding_values = from->embedding_values,
        .n_pins = from->n_pins,
        .pins = copy_pins(sotto, from->pins, from->n_pins),
    };
    return to->pins ? 0 : err_new(-ENOMEM);
}

const struct sotto_model *event_models(struct sotto *sotto, Sotto__V1__ModelInfo **from, size_t n)
{
    struct sotto_model *models = event_scratch(sotto, n, sizeof(*models));

    for (size_t i = 0; models && i < n; i++) {
        if (copy_model(sotto, &models[i], from[i])) {
            return NULL;
        }
    }
    return models;
}

static int make_models(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_models *to = ret;

    to->n = frame->models->n_models;
    to->models = event_models(sotto, frame->models->models, to->n);
    return to->models ? 0 : err_new(-ENOMEM);
}

static int make_progress(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_progress *to = ret;

    to->fraction = frame->load_progress->fraction;
    to->phase = frame->load_progress->phase;
    return 0;
}

static int make_model(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_model *to = ret;

    return copy_model(sotto, to, frame->model_info);
}

static int make_watched(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_watched *to = ret;
    const Sotto__V1__Event *from = frame->event;
    struct sotto_pair *pairs = event_scratch(sotto, from->n_pairs, sizeof(*pairs));

    if (!pairs) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < from->n_pairs; i++) {
        pairs[i].key = from->pairs[i]->key;
        pairs[i].value = from->pairs[i]->value;
    }
    to->at_us = from->at_us;
    to->topic = from->topic;
    to->name = from->name;
    to->n_pairs = from->n_pairs;
    to->pairs = pairs;
    to->dropped = from->dropped;
    return 0;
}

static int make_reloaded(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_reloaded *to = ret;
    const Sotto__V1__Reloaded *from = frame->reloaded;

    to->config_generation = from->config_generation;
    to->n_applied = from->n_applied;
    to->applied = (const char *const *)from->applied;
    to->n_needs_restart = from->n_needs_restart;
    to->needs_restart = (const char *const *)from->needs_restart;
    return 0;
}

static int make_embedded(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_embedding *to = ret;
    const Sotto__V1__Embedding *from = frame->embedding;

    to->n_values = from->n_values;
    to->values = from->values;
    to->prompt_tokens = from->prompt_tokens;
    to->model = from->model;
    to->numerics = from->numerics;
    return 0;
}

static int make_session(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_session *to = ret;
    const Sotto__V1__SessionOpened *from = frame->session_opened;

    *to = (struct sotto_session){
        .id = from->session,
        .tokens = from->tokens,
        .model = from->model,
        .context_tokens = from->context_tokens,
        .idle_ms = from->idle_ms,
    };
    return 0;
}

static int make_closed(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret)
{
    struct sotto_session *to = ret;

    *to = (struct sotto_session){ .tokens = frame->session_closed->tokens, .model = "" };
    return 0;
}

/* The index is the body of ServerFrame. A body without a row gives no event; one without a maker has no struct. */
static const struct maker {
    enum sotto_event_kind kind;
    bool last;
    size_t bytes; /* of the struct that @make fills */
    int (*make)(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret);
} makers[] = {
    [SOTTO__V1__SERVER_FRAME__BODY_DELTA] = { SOTTO_EVENT_DELTA, false, sizeof(struct sotto_delta), make_delta },
    [SOTTO__V1__SERVER_FRAME__BODY_DONE] = { SOTTO_EVENT_DONE, true, sizeof(struct sotto_done), make_done },
    [SOTTO__V1__SERVER_FRAME__BODY_ERROR] = { SOTTO_EVENT_ERROR, true },
    [SOTTO__V1__SERVER_FRAME__BODY_ACCEPTED] = { SOTTO_EVENT_ACCEPTED, false, sizeof(struct sotto_accepted),
                                                 make_accepted },
    [SOTTO__V1__SERVER_FRAME__BODY_NOTICE] = { SOTTO_EVENT_NOTICE, false, sizeof(struct sotto_notice), make_notice },
    [SOTTO__V1__SERVER_FRAME__BODY_TOKENIZED] = { SOTTO_EVENT_TOKENIZED, true, sizeof(struct sotto_tokenized),
                                                  make_tokenized },
    [SOTTO__V1__SERVER_FRAME__BODY_DETOKENIZED] = { SOTTO_EVENT_DETOKENIZED, true, sizeof(struct sotto_bytes),
                                                    make_detokenized },
    [SOTTO__V1__SERVER_FRAME__BODY_MODELS] = { SOTTO_EVENT_MODELS, true, sizeof(struct sotto_models), make_models },
    [SOTTO__V1__SERVER_FRAME__BODY_LOAD_PROGRESS] = { SOTTO_EVENT_PROGRESS, false, sizeof(struct sotto_progress),
                                                      make_progress },
    [SOTTO__V1__SERVER_FRAME__BODY_MODEL_INFO] = { SOTTO_EVENT_MODEL, true, sizeof(struct sotto_model), make_model },
    [SOTTO__V1__SERVER_FRAME__BODY_UNLOADED] = { SOTTO_EVENT_UNLOADED, true },
    [SOTTO__V1__SERVER_FRAME__BODY_STATUS_REPORT] = { SOTTO_EVENT_STATUS, true, sizeof(struct sotto_status),
                                                      event_make_status },
    [SOTTO__V1__SERVER_FRAME__BODY_EVENT] = { SOTTO_EVENT_WATCHED, false, sizeof(struct sotto_watched), make_watched },
    [SOTTO__V1__SERVER_FRAME__BODY_RELOADED] = { SOTTO_EVENT_RELOADED, true, sizeof(struct sotto_reloaded),
                                                 make_reloaded },
    [SOTTO__V1__SERVER_FRAME__BODY_EMBEDDING] = { SOTTO_EVENT_EMBEDDED, true, sizeof(struct sotto_embedding),
                                                  make_embedded },
    [SOTTO__V1__SERVER_FRAME__BODY_SESSION_OPENED] = { SOTTO_EVENT_SESSION, true, sizeof(struct sotto_session),
                                                       make_session },
    [SOTTO__V1__SERVER_FRAME__BODY_SESSION_CLOSED] = { SOTTO_EVENT_SESSION, true, sizeof(struct sotto_session),
                                                       make_closed },
};

static const struct maker *maker_of(const Sotto__V1__ServerFrame *frame)
{
    size_t body = (size_t)frame->body_case;

    return body < COUNTOF(makers) && makers[body].kind ? &makers[body] : NULL;
}

bool event_is_last(const Sotto__V1__ServerFrame *frame)
{
    const struct maker *maker = maker_of(frame);

    return maker && maker->last;
}

int event_make(struct sotto *sotto, uint32_t stream, const Sotto__V1__ServerFrame *frame)
{
    const struct maker *maker = maker_of(frame);
    void *to;
    int r;

    if (!maker) {
        return EVENT_NONE;
    }
    arena_reset(&sotto->scratch);
    sotto->event = (struct sotto_event){ .kind = maker->kind, .stream = stream, .last = maker->last };
    if (maker->kind == SOTTO_EVENT_ERROR) {
        error_from_wire(&sotto->last, frame->error);
        sotto->event.error = &sotto->last;
    }
    if (!maker->make) {
        return EVENT_OK;
    }
    to = event_scratch(sotto, 1, maker->bytes);
    if (!to) {
        return err_new(-ENOMEM);
    }
    sotto->event.done = to; /* pointers to structs are alike (C11 6.2.5), so this sets all members of the union */
    r = maker->make(sotto, frame, to);
    return r ? err_up(r) : EVENT_OK;
}

/* Copies @text for as long as the connection lives; NULL: no memory. */
static const char *keep(struct sotto *sotto, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = arena_alloc(&sotto->greeting, n);

    return copy ? memcpy(copy, text, n) : NULL;
}

static void copy_limits(struct sotto_welcome *to, const Sotto__V1__Limits *from)
{
    to->frame_bytes = from->frame_bytes;
    to->streams = from->streams;
    to->text_bytes = from->text_bytes;
    to->context_tokens = from->context_tokens;
    to->answer_tokens = from->answer_tokens;
    to->stops = from->stops;
    to->stop_bytes = from->stop_bytes;
    to->logprobs = from->logprobs;
    to->class_ceiling = (enum sotto_class)from->class_ceiling;
    to->admin = from->admin;
}

int event_welcome(struct sotto *sotto, const Sotto__V1__Welcome *from)
{
    struct sotto_welcome *to = &sotto->welcome;
    size_t n = from->n_capabilities;
    const char **capabilities = arena_alloc(&sotto->greeting, n * sizeof(*capabilities) + 1);

    if (!capabilities) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        capabilities[i] = keep(sotto, from->capabilities[i]);
        if (!capabilities[i]) {
            return err_new(-ENOMEM);
        }
    }
    to->server = keep(sotto, from->server);
    to->instance = keep(sotto, from->instance);
    if (!to->server || !to->instance) {
        return err_new(-ENOMEM);
    }
    to->n_capabilities = n;
    to->capabilities = capabilities;
    if (from->limits) {
        copy_limits(to, from->limits);
    }
    to->version = from->version; /* set last: by it sotto_welcome() sees that the greeting is complete */
    return 0;
}
