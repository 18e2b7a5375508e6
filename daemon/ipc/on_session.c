/*
 * OpenSession and CloseSession. Opening is a stream of which the client sees the end alone.
 */
#include "ipc/ending.h"

void on_open_session(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_open_session(conn->ipc->hub, frame->open_session, &conn->grant, &ending_sink, conn_request,
                             &conn_request->stream, &retry_ms, &diag);

    ending_begin(conn_request, r, &diag, retry_ms);
}

static void on_closed(void *owner, const Sotto__V1__SessionClosed *closed)
{
    struct conn_request *conn_request = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    conn_request->ticket = NULL;
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_SESSION_CLOSED;
    frame.session_closed = (Sotto__V1__SessionClosed *)(uintptr_t)closed;
    conn_request_answer(conn_request, &frame);
}

void on_close_session(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r = hub_close_session(conn->ipc->hub, frame->close_session->session, &conn->grant, on_closed, conn_request,
                              &conn_request->ticket, &diag);

    if (r) {
        conn_request->ticket = NULL;
        conn_request_refused(conn_request, r, &diag, 0);
    }
}
