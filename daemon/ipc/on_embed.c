/*
 * Embed: a stream of which the client sees the end alone
 */
#include "base/clock.h"
#include "ipc/route.h"

/* A stream that is on its way is not stalled, though nobody is told how it gets on. */
static void move(void *owner)
{
    struct ask *ask = owner;

    ask->moved_ms = clock_mono_us() / 1000;
}

static void on_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
    (void)accepted;
    move(owner);
}

static void on_notice(void *owner, const Sotto__V1__Notice *notice)
{
    (void)notice;
    move(owner);
}

static void on_embedding(void *owner, const Sotto__V1__Embedding *embedding)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_EMBEDDING;
    frame.embedding = (Sotto__V1__Embedding *)(uintptr_t)embedding; /* packing does not write */
    ask_answer(owner, &frame);
}

static void on_done(void *owner, const Sotto__V1__Done *done)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DONE;
    frame.done = (Sotto__V1__Done *)(uintptr_t)done;
    ask_answer(owner, &frame);
}

static void on_error(void *owner, const Sotto__V1__Error *error)
{
    ask_fail(owner, error);
}

static const struct stream_sink sink = {
    .on_accepted = on_accepted,
    .on_notice = on_notice,
    .on_embedding = on_embedding,
    .on_done = on_done,
    .on_error = on_error,
};

void on_embed(struct conn *conn, struct ask *ask, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r =
        stream_embed(conn->ipc->hub, frame->embed, &conn->grant, &sink, ask, &ask->stream, &retry_ms, &diag);

    if (r) {
        ask->stream = NULL;
        ask_refused(ask, r, &diag, retry_ms);
        return;
    }
    move(ask);
    if (conn->is_parked) {
        stream_park(ask->stream, true);
    }
}
