/*
 * GraphicsHint: what a compositor knows better than any sensor. It is about the connection and never answered; who may
 * not hint is told so on stream 0. A hint is void with the connection that gave it.
 */
#include "ipc/route.h"
#include "proto/check.h"
#include <inttypes.h>

void on_hint(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;

    (void)conn_request;
    if (frame->stream) {
        diag_blame(&diag, "stream", "graphics_hint came on stream %" PRIu32 "; its stream is 0", frame->stream);
        conn_refuse(conn, 0, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, &diag, 0);
    } else if (!conn->grant.graphics_hint) {
        diag_set(&diag, "graphics_hint is for compositors; the policy does not let user %" PRIu32 " give any",
                 conn->peer.uid);
        conn_refuse(conn, 0, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, &diag, 0);
    } else if (check_client_frame(frame, &diag)) {
        conn_refuse(conn, 0, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, &diag, 0);
    } else {
        hub_hint(conn->ipc->hub, &conn->compositor, frame->graphics_hint);
    }
}
