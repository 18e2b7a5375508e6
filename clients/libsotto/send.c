/*
 * Send: all requests but Generate
 */
#include "clients/libsotto/handle.h"
#include <string.h>

/* The name as a field; NULL is the empty string. */
static char *name(const char *given)
{
    return wire_str(given ? given : protobuf_c_empty_string);
}

static ProtobufCBinaryData bytes(const char *text, size_t n)
{
    return (ProtobufCBinaryData){ .len = text ? n : 0, .data = wire_message(text) };
}

enum sotto_code sotto_send_tokenize(struct sotto *sotto, const char *model, const char *text, size_t n, uint32_t flags,
                                    sotto_event_fn fn, void *owner, uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__Tokenize tokenize = SOTTO__V1__TOKENIZE__INIT;

    tokenize.model = name(model);
    tokenize.text = bytes(text, n);
    tokenize.special = (flags & SOTTO_TOKENIZE_SPECIAL) != 0;
    tokenize.pieces = (flags & SOTTO_TOKENIZE_PIECES) != 0;
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_TOKENIZE, &tokenize, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_detokenize(struct sotto *sotto, const char *model, const uint32_t *ids, size_t n,
                                      bool special, sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                      struct sotto_error *error)
{
    Sotto__V1__Detokenize detokenize = SOTTO__V1__DETOKENIZE__INIT;

    detokenize.model = name(model);
    detokenize.n_ids = n;
    detokenize.ids = wire_message(ids);
    detokenize.special = special;
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_DETOKENIZE, &detokenize, fn, owner, ret_stream, error);
}

static enum sotto_code send_embed(struct sotto *sotto, Sotto__V1__Embed *embed, const char *model, uint32_t flags,
                                  enum sotto_class priority, sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                  struct sotto_error *error)
{
    embed->model = name(model);
    embed->raw = (flags & SOTTO_EMBED_RAW) != 0;
    embed->priority = (Sotto__V1__PriorityClass)priority;
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_EMBED, embed, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_embed(struct sotto *sotto, const char *model, const char *text, size_t n, uint32_t flags,
                                 enum sotto_class priority, sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                 struct sotto_error *error)
{
    Sotto__V1__Embed embed = SOTTO__V1__EMBED__INIT;

    embed.input_case = SOTTO__V1__EMBED__INPUT_TEXT;
    embed.text = bytes(text, n);
    return send_embed(sotto, &embed, model, flags, priority, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_embed_tokens(struct sotto *sotto, const char *model, const uint32_t *ids, size_t n,
                                        uint32_t flags, enum sotto_class priority, sotto_event_fn fn, void *owner,
                                        uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__TokenIds tokens = SOTTO__V1__TOKEN_IDS__INIT;
    Sotto__V1__Embed embed = SOTTO__V1__EMBED__INIT;

    tokens.n_ids = n;
    tokens.ids = wire_message(ids);
    embed.input_case = SOTTO__V1__EMBED__INPUT_TOKENS;
    embed.tokens = &tokens;
    return send_embed(sotto, &embed, model, flags, priority, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_models(struct sotto *sotto, sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                  struct sotto_error *error)
{
    Sotto__V1__ListModels list = SOTTO__V1__LIST_MODELS__INIT;

    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_LIST_MODELS, &list, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_load(struct sotto *sotto, const char *model, const char *file, sotto_event_fn fn,
                                void *owner, uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__LoadModel load = SOTTO__V1__LOAD_MODEL__INIT;

    load.name = name(model);
    load.file = name(file);
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_LOAD_MODEL, &load, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_unload(struct sotto *sotto, const char *model, bool now, sotto_event_fn fn, void *owner,
                                  uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__UnloadModel unload = SOTTO__V1__UNLOAD_MODEL__INIT;

    unload.name = name(model);
    unload.now = now;
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_UNLOAD_MODEL, &unload, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_status(struct sotto *sotto, sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                  struct sotto_error *error)
{
    Sotto__V1__Status status = SOTTO__V1__STATUS__INIT;

    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_STATUS, &status, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_watch(struct sotto *sotto, const char *const *topics, size_t n_topics, sotto_event_fn fn,
                                 void *owner, uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__Watch watch = SOTTO__V1__WATCH__INIT;

    watch.n_topics = n_topics;
    watch.topics = wire_message(topics);
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_WATCH, &watch, fn, owner, ret_stream, error);
}

/* Returns false if the greeting has come and does not allow hints. */
static bool may_hint(const struct sotto *sotto)
{
    const struct sotto_welcome *welcome = sotto_welcome(sotto);

    for (size_t i = 0; welcome && i < welcome->n_capabilities; i++) {
        if (strcmp(welcome->capabilities[i], "graphics-hint") == 0) {
            return true;
        }
    }
    return !welcome;
}

enum sotto_code sotto_send_hint(struct sotto *sotto, const struct sotto_hint *hint, struct sotto_error *error)
{
    Sotto__V1__GraphicsHint body = SOTTO__V1__GRAPHICS_HINT__INIT;

    if (!may_hint(sotto)) {
        return error_set(error, SOTTO_PERMISSION_DENIED,
                         "the daemon's policy does not let this user send graphics hints; an administrator can set "
                         "\"graphics_hint\"");
    }
    if (hint->frame_budget_us) {
        body.opt_frame_budget_us_case = SOTTO__V1__GRAPHICS_HINT__OPT_FRAME_BUDGET_US_FRAME_BUDGET_US;
        body.frame_budget_us = hint->frame_budget_us;
    }
    body.missed_frames = hint->missed_frames;
    body.busy_for_us = hint->busy_for_us;
    return call_queue(sotto, 0, SOTTO__V1__CLIENT_FRAME__BODY_GRAPHICS_HINT, &body, error);
}

enum sotto_code sotto_send_reload(struct sotto *sotto, sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                  struct sotto_error *error)
{
    Sotto__V1__Reload reload = SOTTO__V1__RELOAD__INIT;

    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_RELOAD, &reload, fn, owner, ret_stream, error);
}

/* Fills @open with the prompt, model, class and slide of @from. */
static void take_beginning(Sotto__V1__OpenSession *open, const Sotto__V1__Generate *from)
{
    open->model = from->model;
    open->priority = from->priority;
    open->on_full = from->on_full;
    switch (from->input_case) {
    case SOTTO__V1__GENERATE__INPUT_TOKENS:
        open->input_case = SOTTO__V1__OPEN_SESSION__INPUT_TOKENS;
        open->tokens = from->tokens;
        break;
    case SOTTO__V1__GENERATE__INPUT_TEXT:
        open->input_case = SOTTO__V1__OPEN_SESSION__INPUT_TEXT;
        open->text = from->text;
        break;
    case SOTTO__V1__GENERATE__INPUT_CHAT:
        open->input_case = SOTTO__V1__OPEN_SESSION__INPUT_CHAT;
        open->chat = from->chat;
        break;
    case SOTTO__V1__GENERATE__INPUT__NOT_SET:
        break;
    }
}

enum sotto_code sotto_send_session_open(struct sotto *sotto, const struct sotto_generate *begin, uint32_t idle_ms,
                                        sotto_event_fn fn, void *owner, uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__OpenSession open = SOTTO__V1__OPEN_SESSION__INIT;
    Sotto__V1__Generate from;

    if (begin && !generate_assemble(begin, &from)) {
        return error_no_memory(error);
    }
    if (begin) {
        take_beginning(&open, &from);
    }
    if (idle_ms) {
        open.opt_idle_ms_case = SOTTO__V1__OPEN_SESSION__OPT_IDLE_MS_IDLE_MS;
        open.idle_ms = idle_ms;
    }
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_OPEN_SESSION, &open, fn, owner, ret_stream, error);
}

enum sotto_code sotto_send_session_close(struct sotto *sotto, uint64_t session, sotto_event_fn fn, void *owner,
                                         uint32_t *ret_stream, struct sotto_error *error)
{
    Sotto__V1__CloseSession close = SOTTO__V1__CLOSE_SESSION__INIT;

    close.session = session;
    return call_open(sotto, SOTTO__V1__CLIENT_FRAME__BODY_CLOSE_SESSION, &close, fn, owner, ret_stream, error);
}
