/*
 * Whatever the answer is, it is one frame and the last one.
 */
#include "ipc/ending.h"
#include "base/clock.h"

/* A stream that is on its way is not stalled, though nobody is told how it gets on. */
static void move(struct conn_request *conn_request)
{
    conn_request->moved_ms = clock_mono_us() / 1000;
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
    conn_request_answer(owner, &frame);
}

static void on_opened(void *owner, const Sotto__V1__SessionOpened *opened)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_SESSION_OPENED;
    frame.session_opened = (Sotto__V1__SessionOpened *)(uintptr_t)opened;
    conn_request_answer(owner, &frame);
}

static void on_done(void *owner, const Sotto__V1__Done *done)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DONE;
    frame.done = (Sotto__V1__Done *)(uintptr_t)done;
    conn_request_answer(owner, &frame);
}

static void on_error(void *owner, const Sotto__V1__Error *error)
{
    conn_request_fail(owner, error);
}

const struct stream_sink ending_sink = {
    .on_accepted = on_accepted,
    .on_notice = on_notice,
    .on_embedding = on_embedding,
    .on_opened = on_opened,
    .on_done = on_done,
    .on_error = on_error,
};

void ending_begin(struct conn_request *conn_request, int r, const struct diag *diag, uint32_t retry_ms)
{
    if (r) {
        conn_request->stream = NULL;
        conn_request_refused(conn_request, r, diag, retry_ms);
        return;
    }
    move(conn_request);
    if (conn_request->stream && conn_request->conn->is_parked) {
        stream_park(conn_request->stream, true);
    }
}
