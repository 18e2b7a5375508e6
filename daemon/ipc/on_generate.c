/*
 * Generate, Credit and Cancel: the ask is the sink of its stream.
 */
#include "base/clock.h"
#include "ipc/route.h"

/* Packing reads only; messages of the hub are const here and not in the generated structures. */
#define UNCONST(type, message) ((type *)(uintptr_t)(message))

static void on_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_ACCEPTED;
    frame.accepted = UNCONST(Sotto__V1__Accepted, accepted);
    conn_request_tell(owner, &frame);
}

static void on_delta(void *owner, const Sotto__V1__Delta *delta)
{
    struct conn_request *conn_request = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    conn_request->moved_ms = clock_mono_us() / 1000;
    if (conn_request->credit != CONN_REQUEST_CREDIT_ENDLESS) {
        conn_request->credit -=
            delta->n_tokens < conn_request->credit ? (uint32_t)delta->n_tokens : conn_request->credit;
    }
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DELTA;
    frame.delta = UNCONST(Sotto__V1__Delta, delta);
    conn_request_tell(conn_request, &frame);
}

static void on_notice(void *owner, const Sotto__V1__Notice *notice)
{
    struct conn_request *conn_request = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    conn_request->moved_ms = clock_mono_us() / 1000;
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_NOTICE;
    frame.notice = UNCONST(Sotto__V1__Notice, notice);
    conn_request_tell(conn_request, &frame);
}

static void on_done(void *owner, const Sotto__V1__Done *done)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DONE;
    frame.done = UNCONST(Sotto__V1__Done, done);
    conn_request_answer(owner, &frame);
}

static void on_error(void *owner, const Sotto__V1__Error *error)
{
    conn_request_fail(owner, error);
}

#undef UNCONST

static const struct stream_sink sink = {
    .on_accepted = on_accepted,
    .on_delta = on_delta,
    .on_notice = on_notice,
    .on_done = on_done,
    .on_error = on_error,
};

void on_generate(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    const Sotto__V1__Generate *generate = frame->generate;
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_generate(conn->ipc->hub, generate, &conn->grant, &sink, conn_request, &conn_request->stream, &retry_ms,
                         &diag);

    if (r) {
        conn_request->stream = NULL;
        conn_request_refused(conn_request, r, &diag, retry_ms);
        return;
    }
    conn_request->moved_ms = clock_mono_us() / 1000;
    if (generate->opt_credit_case == SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT) {
        conn_request->credit = generate->credit < LIMIT_CREDIT ? generate->credit : LIMIT_CREDIT;
    }
    if (conn->is_parked) {
        stream_park(conn_request->stream, true);
    }
}

void on_credit(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    const Sotto__V1__Credit *credit = frame->credit;

    (void)conn;
    if (!conn_request->stream) {
        return;
    }
    if (conn_request->credit != CONN_REQUEST_CREDIT_ENDLESS) {
        uint64_t sum = (uint64_t)conn_request->credit + credit->tokens;

        conn_request->credit = sum < LIMIT_CREDIT ? (uint32_t)sum : LIMIT_CREDIT;
    }
    stream_credit(conn_request->stream, credit);
}

void on_cancel(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    (void)conn;
    (void)frame;
    route_cancel(conn_request);
}
