#include "session_fixture.h"
#include <string.h>

struct fixture fixture;

/* ---- opening and closing */

static void on_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
    (void)owner;
    (void)accepted;
}

static void on_notice(void *owner, const Sotto__V1__Notice *notice)
{
    (void)owner;
    (void)notice;
}

static void on_opened(void *owner, const Sotto__V1__SessionOpened *opened)
{
    struct opener *opener = owner;

    opener->session = opened->session;
    opener->n_tok = opened->tokens;
    opener->n_context = opened->context_tokens;
    opener->idle_ms = opened->idle_ms;
    opener->n_ends++;
    ck_assert_str_eq(opened->model, "tiny");
}

static void on_done(void *owner, const Sotto__V1__Done *done)
{
    struct opener *opener = owner;

    opener->reason = done->reason;
    opener->n_ends++;
}

static void on_error(void *owner, const Sotto__V1__Error *error)
{
    struct opener *opener = owner;

    opener->code = error->code;
    snprintf(opener->field, sizeof(opener->field), "%s", error->field);
    opener->n_ends++;
}

static const struct stream_sink opener_sink = {
    .on_accepted = on_accepted,
    .on_notice = on_notice,
    .on_opened = on_opened,
    .on_done = on_done,
    .on_error = on_error,
};

bool has_ended(void *owner)
{
    return ((struct opener *)owner)->n_ends > 0;
}

int try_open(struct opener *opener, const Sotto__V1__OpenSession *ask, struct diag *diag)
{
    uint32_t retry_ms;

    *opener = (struct opener){ .n_ends = 0 };
    return hub_open_session(fixture.hub, ask, &fixture.grant, &opener_sink, opener, &opener->stream, &retry_ms, diag);
}

uint64_t open_with(const Sotto__V1__OpenSession *ask)
{
    struct opener opener;
    struct diag diag = DIAG_INIT;

    ck_assert_msg(try_open(&opener, ask, &diag) == 0, "%s", diag.text);
    fixture_until(&fixture, has_ended, &opener);
    ck_assert_uint_eq(opener.code, 0);
    ck_assert_uint_ne(opener.session, 0);
    return opener.session;
}

uint64_t open_empty(void)
{
    const Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;

    return open_with(&ask);
}

static void on_closed(void *owner, const Sotto__V1__SessionClosed *closed)
{
    struct closing *closing = owner;

    closing->n_tok = closed->tokens;
    closing->is_closed = true;
}

bool is_closed(void *owner)
{
    return ((struct closing *)owner)->is_closed;
}

int close_session(uint64_t id, uint32_t uid, struct closing *closing)
{
    struct grant grant = fixture.grant;
    struct diag diag = DIAG_INIT;

    grant.uid = uid;
    *closing = (struct closing){ .ticket = NULL };
    return hub_close_session(fixture.hub, id, &grant, on_closed, closing, &closing->ticket, &diag);
}

uint32_t close_well(uint64_t id)
{
    struct closing closing;

    ck_assert_int_eq(close_session(id, fixture.grant.uid, &closing), 0);
    fixture_until(&fixture, is_closed, &closing);
    return closing.n_tok;
}

struct session *the_session(void)
{
    return container_of(list_first(&fixture.hub->sessions.all), struct session, link);
}

/* ---- turns */

void init_turn(struct client *client, uint64_t id, uint32_t first, uint32_t n, uint32_t n_answer)
{
    client_init(client, first, n, n_answer);
    client->generate.session = id;
    client->generate.ignore_end = true;
}

void run(struct client *client)
{
    client_generate(&fixture, client);
    client_until_over(&fixture, client);
}

void log_append(struct log *log, const uint32_t *ids, size_t n)
{
    memcpy(log->ids + log->n, ids, n * sizeof(*ids));
    log->n += (uint32_t)n;
}

void assert_same_as_cold(struct log *log, const struct client *warm)
{
    struct client cold;

    log_append(log, warm->ids.ids, warm->ids.n_ids);
    client_init(&cold, 0, log->n, warm->generate.max_tokens);
    memcpy(cold.ids.ids, log->ids, log->n * sizeof(*log->ids));
    cold.generate.ignore_end = true;
    cold.generate.on_full = SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
    run(&cold);
    ck_assert_uint_eq(cold.usage.prompt_tokens, warm->usage.prompt_tokens);
    ck_assert_uint_ge(cold.n_tokens, warm->n_tokens);
    ck_assert_mem_eq(cold.tokens, warm->tokens, warm->n_tokens * sizeof(*warm->tokens));
    log_append(log, warm->tokens, warm->n_tokens);
    client_finish(&cold);
}
