/*
 * Requests that are scheduled as streams: Generate, of which the client sees every part, and Embed and OpenSession, of
 * which it sees the last answer alone. Credit and Cancel go to a running one.
 */
#include "base/clock.h"
#include "ipc/route.h"

static void moved(struct conn_request *request)
{
    request->moved_ms = clock_mono_us() / 1000;
}

static void on_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
    conn_request_tell(owner, SOTTO__V1__SERVER_FRAME__BODY_ACCEPTED, accepted);
}

static void on_delta(void *owner, const Sotto__V1__Delta *delta)
{
    struct conn_request *request = owner;

    moved(request);
    if (request->credit != CONN_REQUEST_UNLIMITED) {
        request->credit -= delta->n_tokens < request->credit ? (uint32_t)delta->n_tokens : request->credit;
    }
    conn_request_tell(request, SOTTO__V1__SERVER_FRAME__BODY_DELTA, delta);
}

static void on_notice(void *owner, const Sotto__V1__Notice *notice)
{
    moved(owner);
    conn_request_tell(owner, SOTTO__V1__SERVER_FRAME__BODY_NOTICE, notice);
}

static void on_done(void *owner, const Sotto__V1__Done *done)
{
    conn_request_answer(owner, SOTTO__V1__SERVER_FRAME__BODY_DONE, done);
}

static void on_error(void *owner, const Sotto__V1__Error *error)
{
    conn_request_answer(owner, SOTTO__V1__SERVER_FRAME__BODY_ERROR, error);
}

static const struct stream_sink all_sink = {
    .on_accepted = on_accepted,
    .on_delta = on_delta,
    .on_notice = on_notice,
    .on_done = on_done,
    .on_error = on_error,
};

/* A stream that gets on is not stalled, although the client is not told. */
static void skip_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
    (void)accepted;
    moved(owner);
}

static void skip_notice(void *owner, const Sotto__V1__Notice *notice)
{
    (void)notice;
    moved(owner);
}

static void on_embedding(void *owner, const Sotto__V1__Embedding *embedding)
{
    conn_request_answer(owner, SOTTO__V1__SERVER_FRAME__BODY_EMBEDDING, embedding);
}

static void on_opened(void *owner, const Sotto__V1__SessionOpened *opened)
{
    conn_request_answer(owner, SOTTO__V1__SERVER_FRAME__BODY_SESSION_OPENED, opened);
}

static const struct stream_sink last_sink = {
    .on_accepted = skip_accepted,
    .on_notice = skip_notice,
    .on_embedding = on_embedding,
    .on_opened = on_opened,
    .on_done = on_done,
    .on_error = on_error,
};

/* Follows the call that made request->stream, of which @r, @diag and @retry_ms are the result. */
static void begin(struct conn_request *request, int r, const struct diag *diag, uint32_t retry_ms)
{
    if (r) {
        conn_request_refuse(request, r, diag, retry_ms);
        return;
    }
    moved(request);
    if (request->stream && request->conn->is_parked) {
        stream_park(request->stream, true);
    }
}

void on_generate(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    const Sotto__V1__Generate *generate = frame->generate;
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r =
        hub_generate(conn->ipc->hub, generate, &conn->grant, &all_sink, request, &request->stream, &retry_ms, &diag);

    if (!r && generate->opt_credit_case == SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT) {
        request->credit = generate->credit < LIMIT_CREDIT ? generate->credit : LIMIT_CREDIT;
    }
    begin(request, r, &diag, retry_ms);
}

void on_embed(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r =
        hub_embed(conn->ipc->hub, frame->embed, &conn->grant, &last_sink, request, &request->stream, &retry_ms, &diag);

    begin(request, r, &diag, retry_ms);
}

void on_open_session(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_open_session(conn->ipc->hub, frame->open_session, &conn->grant, &last_sink, request, &request->stream,
                             &retry_ms, &diag);

    begin(request, r, &diag, retry_ms);
}

static void on_closed(void *owner, const Sotto__V1__SessionClosed *closed)
{
    conn_request_answer(owner, SOTTO__V1__SERVER_FRAME__BODY_SESSION_CLOSED, closed);
}

void on_close_session(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r = hub_close_session(conn->ipc->hub, frame->close_session->session, &conn->grant, on_closed, request,
                              &request->ticket, &diag);

    if (r) {
        conn_request_refuse(request, r, &diag, 0);
    }
}

void on_credit(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    const Sotto__V1__Credit *credit = frame->credit;

    (void)conn;
    if (!request->stream) {
        return;
    }
    if (request->credit != CONN_REQUEST_UNLIMITED) {
        uint64_t sum = (uint64_t)request->credit + credit->tokens;

        request->credit = sum < LIMIT_CREDIT ? (uint32_t)sum : LIMIT_CREDIT;
    }
    stream_credit(request->stream, credit);
}

void on_cancel(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    (void)conn;
    (void)frame;
    conn_request_cancel(request);
}
