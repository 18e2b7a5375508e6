#include "fake_hub.h"
#include "base/mem.h"
#include "proto/wire.h"
#include "unit.h"
#include <errno.h>
#include <string.h>

enum question { ASKED_TOKENIZE, ASKED_DETOKENIZE, ASKED_LOAD, ASKED_UNLOAD, ASKED_STATUS };

struct ticket {
    struct list link; /* hub::tickets */
    struct hub *hub;
    enum question question;
    void *owner;
    ticket_tokenized_fn tokenized;
    ticket_detokenized_fn detokenized;
    ticket_progress_fn progress;
    ticket_loaded_fn loaded;
    ticket_unloaded_fn unloaded;
    ticket_status_fn status;
};

static struct hub *hub_of; /* there is one in a test */

void fake_hub_init(struct hub *hub)
{
    memset(hub, 0, sizeof(*hub));
    list_init(&hub->streams);
    list_init(&hub->tickets);
    hub_of = hub;
}

void fake_hub_finish(struct hub *hub)
{
    ck_assert(list_is_empty(&hub->streams));
    ck_assert(list_is_empty(&hub->tickets));
}

struct stream *fake_stream(struct hub *hub, unsigned i)
{
    struct list *link;

    list_for_each (link, &hub->streams) {
        if (!i--) {
            return container_of(link, struct stream, link);
        }
    }
    ck_abort_msg("no such stream");
    return NULL;
}

static int steal_refusal(struct hub *hub)
{
    int refuse = hub->refuse;

    hub->refuse = 0;
    return refuse;
}

/* ---- streams */

int hub_generate(struct hub *hub, const Sotto__V1__Generate *ask, const struct grant *grant,
                 const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                 struct diag *diag)
{
    struct stream *stream;

    (void)ask;
    usleep(hub->block_ms * 1000u);
    if (hub->refuse) {
        diag_set(diag, "the fake hub refuses");
        *ret_retry_ms = 250;
        return steal_refusal(hub);
    }
    stream = mem_calloc(MEM_STREAM, 1, sizeof(*stream));
    stream->sink = sink;
    stream->owner = owner;
    stream->grant = *grant;
    list_append(&hub->streams, &stream->link);
    hub->n_opened++;
    *ret_stream = stream;
    return 0;
}

int hub_embed(struct hub *hub, const Sotto__V1__Embed *ask, const struct grant *grant, const struct stream_sink *sink,
              void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms, struct diag *diag)
{
    return hub_generate(hub, NULL, grant, sink, owner, ret_stream, ret_retry_ms, diag);
}

int hub_open_session(struct hub *hub, const Sotto__V1__OpenSession *ask, const struct grant *grant,
                     const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                     struct diag *diag)
{
    (void)ask;
    return hub_generate(hub, NULL, grant, sink, owner, ret_stream, ret_retry_ms, diag);
}

int hub_close_session(struct hub *hub, uint64_t id, const struct grant *grant, ticket_closed_fn done, void *owner,
                      struct ticket **ret_ticket, struct diag *diag)
{
    (void)hub;
    (void)grant;
    (void)done;
    (void)owner;
    (void)ret_ticket;
    diag_set(diag, "there is no session %llu", (unsigned long long)id);
    return SOTTO__V1__CODE__CODE_NOT_FOUND;
}

static void end(struct stream *stream)
{
    list_remove(&stream->link);
    mem_free(stream);
}

void stream_credit(struct stream *stream, const Sotto__V1__Credit *credit)
{
    stream->credit += credit->tokens;
}

void stream_cancel(struct stream *stream)
{
    stream->cancelled = true;
}

void stream_forget(struct stream *stream)
{
    hub_of->n_forgotten++;
    end(stream);
}

void stream_park(struct stream *stream, bool parked)
{
    stream->n_parks += parked;
    stream->parked = parked;
}

void stream_abort(struct stream *stream, Sotto__V1__Code code, const char *sentence)
{
    (void)sentence;
    stream->aborted = code;
}

void fake_embed(struct stream *stream)
{
    Sotto__V1__Embedding embedding = SOTTO__V1__EMBEDDING__INIT;
    float values[] = { 0.6f, -0.8f };
    const struct stream_sink *sink = stream->sink;
    void *owner = stream->owner;

    embedding.values = values;
    embedding.n_values = COUNTOF(values);
    end(stream);
    sink->on_embedding(owner, &embedding);
}

void fake_accept(struct stream *stream)
{
    Sotto__V1__Accepted accepted = SOTTO__V1__ACCEPTED__INIT;

    accepted.max_tokens = 7;
    stream->sink->on_accepted(stream->owner, &accepted);
}

void fake_delta(struct stream *stream, uint32_t n_tokens, size_t n_text)
{
    Sotto__V1__Delta delta = SOTTO__V1__DELTA__INIT;
    uint32_t ids[64] = { 0 };
    char *text = mem_calloc(MEM_STREAM, n_text + 1, 1);

    memset(text, 'x', n_text);
    delta.first = stream->n_tokens;
    delta.n_tokens = n_tokens;
    delta.tokens = ids;
    delta.text.data = (uint8_t *)text;
    delta.text.len = n_text;
    stream->n_tokens += n_tokens;
    stream->sink->on_delta(stream->owner, &delta);
    mem_free(text);
}

void fake_notice(struct stream *stream, Sotto__V1__NoticeKind kind)
{
    Sotto__V1__Notice notice = SOTTO__V1__NOTICE__INIT;

    notice.kind = kind;
    stream->sink->on_notice(stream->owner, &notice);
}

void fake_done(struct stream *stream, Sotto__V1__FinishReason reason)
{
    Sotto__V1__Done done = SOTTO__V1__DONE__INIT;

    done.reason = reason;
    stream->sink->on_done(stream->owner, &done);
    end(stream);
}

static void break_off(struct stream *stream)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;

    error.code = stream->aborted;
    error.message = wire_str("aborted");
    stream->sink->on_error(stream->owner, &error);
    end(stream);
}

/* ---- questions */

static int put(struct hub *hub, struct ticket ticket, struct ticket **ret_ticket, struct diag *diag)
{
    struct ticket *copy;

    if (hub->refuse) {
        diag_set(diag, "the fake hub refuses");
        return steal_refusal(hub);
    }
    copy = mem_calloc(MEM_STREAM, 1, sizeof(*copy));
    *copy = ticket;
    copy->hub = hub;
    list_append(&hub->tickets, &copy->link);
    *ret_ticket = copy;
    return 0;
}

int hub_tokenize(struct hub *hub, const Sotto__V1__Tokenize *ask, const struct grant *grant, ticket_tokenized_fn done,
                 void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    (void)ask;
    (void)grant;
    return put(hub, (struct ticket){ .question = ASKED_TOKENIZE, .owner = owner, .tokenized = done }, ret_ticket, diag);
}

int hub_detokenize(struct hub *hub, const Sotto__V1__Detokenize *ask, const struct grant *grant,
                   ticket_detokenized_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    (void)ask;
    (void)grant;
    return put(hub, (struct ticket){ .question = ASKED_DETOKENIZE, .owner = owner, .detokenized = done }, ret_ticket,
               diag);
}

int hub_load(struct hub *hub, const Sotto__V1__LoadModel *ask, const struct grant *grant, ticket_progress_fn progress,
             ticket_loaded_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    (void)ask;
    (void)grant;
    return put(hub, (struct ticket){ .question = ASKED_LOAD, .owner = owner, .progress = progress, .loaded = done },
               ret_ticket, diag);
}

int hub_unload(struct hub *hub, const Sotto__V1__UnloadModel *ask, const struct grant *grant, ticket_unloaded_fn done,
               void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    (void)ask;
    (void)grant;
    return put(hub, (struct ticket){ .question = ASKED_UNLOAD, .owner = owner, .unloaded = done }, ret_ticket, diag);
}

int hub_status(struct hub *hub, const struct grant *grant, ticket_status_fn done, void *owner,
               struct ticket **ret_ticket, struct diag *diag)
{
    (void)grant;
    return put(hub, (struct ticket){ .question = ASKED_STATUS, .owner = owner, .status = done }, ret_ticket, diag);
}

void ticket_forget(struct ticket *ticket)
{
    ticket->hub->n_tickets_forgotten++;
    list_remove(&ticket->link);
    mem_free(ticket);
}

int hub_list_models(struct hub *hub, const struct grant *grant, struct arena *arena, Sotto__V1__Models *ret_models)
{
    Sotto__V1__ModelInfo **list = arena_alloc(arena, sizeof(*list));
    Sotto__V1__ModelInfo *info = arena_alloc(arena, sizeof(*info));

    (void)hub;
    (void)grant;
    if (!list || !info) {
        return -ENOMEM;
    }
    sotto__v1__model_info__init(info);
    info->name = wire_str("tiny");
    list[0] = info;
    sotto__v1__models__init(ret_models);
    ret_models->models = list;
    ret_models->n_models = 1;
    return 0;
}

static void answer_status(const struct ticket *ticket)
{
    Sotto__V1__StatusReport report = SOTTO__V1__STATUS_REPORT__INIT;
    struct arena arena;

    arena_init(&arena, MEM_STREAM, 1u << 20);
    ticket->status(ticket->owner, &report, &arena);
    arena_finish(&arena);
}

static void answer(struct ticket *ticket)
{
    Sotto__V1__Tokenized tokenized = SOTTO__V1__TOKENIZED__INIT;
    Sotto__V1__Detokenized detokenized = SOTTO__V1__DETOKENIZED__INIT;
    Sotto__V1__LoadProgress progress = SOTTO__V1__LOAD_PROGRESS__INIT;
    Sotto__V1__ModelInfo info = SOTTO__V1__MODEL_INFO__INIT;
    uint32_t ids[] = { 4, 5 };

    switch (ticket->question) {
    case ASKED_TOKENIZE:
        tokenized.ids = ids;
        tokenized.n_ids = 2;
        ticket->tokenized(ticket->owner, &tokenized, NULL);
        break;
    case ASKED_DETOKENIZE:
        ticket->detokenized(ticket->owner, &detokenized, NULL);
        break;
    case ASKED_LOAD:
        progress.fraction = 0.5f;
        ticket->progress(ticket->owner, &progress);
        ticket->loaded(ticket->owner, &info, NULL);
        break;
    case ASKED_UNLOAD:
        ticket->unloaded(ticket->owner, NULL);
        break;
    case ASKED_STATUS:
        answer_status(ticket);
        break;
    }
}

void hub_hint(struct hub *hub, struct compositor *compositor, const Sotto__V1__GraphicsHint *hint)
{
    (void)hint;
    hub->n_hints++;
    hub->n_hinting += compositor->at_us == 0;
    compositor->at_us = 1;
}

void hub_connection_left(struct hub *hub, uint64_t connection)
{
    (void)hub;
    (void)connection;
}

void hub_hint_ends(struct hub *hub, struct compositor *compositor)
{
    hub->n_hinting -= compositor->at_us > 0;
    compositor->at_us = 0;
}

void fake_hub_iterate(struct hub *hub)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &hub->streams) {
        struct stream *stream = container_of(link, struct stream, link);

        if (stream->aborted) {
            break_off(stream);
        } else if (stream->cancelled) {
            fake_done(stream, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
        }
    }
    while (!hub->hold && (link = list_first(&hub->tickets)) != NULL) {
        struct ticket *ticket = container_of(link, struct ticket, link);

        list_remove(link);
        answer(ticket);
        mem_free(ticket);
    }
}
