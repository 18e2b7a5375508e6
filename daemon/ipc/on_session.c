/*
 * OpenSession and CloseSession. Opening is a stream of which the client sees the end alone.
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

static void on_opened(void *owner, const Sotto__V1__SessionOpened *opened)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_SESSION_OPENED;
    frame.session_opened = (Sotto__V1__SessionOpened *)(uintptr_t)opened; /* packing does not write */
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
    .on_opened = on_opened,
    .on_done = on_done,
    .on_error = on_error,
};

void on_open_session(struct conn *conn, struct ask *ask, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = session_open(conn->ipc->hub, frame->open_session, &conn->grant, &sink, ask, &ask->stream,
                         &retry_ms, &diag);

    if (r) {
        ask->stream = NULL;
        ask_refused(ask, r, &diag, retry_ms);
        return;
    }
    move(ask);
}

static void on_closed(void *owner, const Sotto__V1__SessionClosed *closed)
{
    struct ask *ask = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    ask->ticket = NULL;
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_SESSION_CLOSED;
    frame.session_closed = (Sotto__V1__SessionClosed *)(uintptr_t)closed;
    ask_answer(ask, &frame);
}

void on_close_session(struct conn *conn, struct ask *ask, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r = session_close(conn->ipc->hub, frame->close_session->session, &conn->grant, on_closed, ask,
                          &ask->ticket, &diag);

    if (r) {
        ask->ticket = NULL;
        ask_refused(ask, r, &diag, 0);
    }
}
