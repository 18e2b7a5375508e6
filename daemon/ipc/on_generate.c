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
    ask_tell(owner, &frame);
}

static void on_delta(void *owner, const Sotto__V1__Delta *delta)
{
    struct ask *ask = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    ask->moved_ms = clock_mono_us() / 1000;
    if (ask->credit != ASK_CREDIT_ENDLESS) {
        ask->credit -= delta->n_tokens < ask->credit ? (uint32_t)delta->n_tokens : ask->credit;
    }
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DELTA;
    frame.delta = UNCONST(Sotto__V1__Delta, delta);
    ask_tell(ask, &frame);
}

static void on_notice(void *owner, const Sotto__V1__Notice *notice)
{
    struct ask *ask = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    ask->moved_ms = clock_mono_us() / 1000;
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_NOTICE;
    frame.notice = UNCONST(Sotto__V1__Notice, notice);
    ask_tell(ask, &frame);
}

static void on_done(void *owner, const Sotto__V1__Done *done)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DONE;
    frame.done = UNCONST(Sotto__V1__Done, done);
    ask_answer(owner, &frame);
}

static void on_error(void *owner, const Sotto__V1__Error *error)
{
    ask_fail(owner, error);
}

#undef UNCONST

static const struct stream_sink sink = {
    .on_accepted = on_accepted,
    .on_delta = on_delta,
    .on_notice = on_notice,
    .on_done = on_done,
    .on_error = on_error,
};

void on_generate(struct conn *conn, struct ask *ask, const Sotto__V1__ClientFrame *frame)
{
    const Sotto__V1__Generate *generate = frame->generate;
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_generate(conn->ipc->hub, generate, &conn->grant, &sink, ask, &ask->stream, &retry_ms, &diag);

    if (r) {
        ask->stream = NULL;
        ask_refused(ask, r, &diag, retry_ms);
        return;
    }
    ask->moved_ms = clock_mono_us() / 1000;
    if (generate->opt_credit_case == SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT) {
        ask->credit = generate->credit < LIMIT_CREDIT ? generate->credit : LIMIT_CREDIT;
    }
    if (conn->is_parked) {
        stream_park(ask->stream, true);
    }
}

void on_credit(struct conn *conn, struct ask *ask, const Sotto__V1__ClientFrame *frame)
{
    const Sotto__V1__Credit *credit = frame->credit;

    (void)conn;
    if (!ask->stream) {
        return;
    }
    if (ask->credit != ASK_CREDIT_ENDLESS) {
        uint64_t sum = (uint64_t)ask->credit + credit->tokens;

        ask->credit = sum < LIMIT_CREDIT ? (uint32_t)sum : LIMIT_CREDIT;
    }
    stream_credit(ask->stream, credit);
}

void on_cancel(struct conn *conn, struct ask *ask, const Sotto__V1__ClientFrame *frame)
{
    (void)conn;
    (void)frame;
    route_cancel(ask);
}
