/*
 * GraphicsHint: what a compositor knows better than any sensor. It concerns the connection and has no answer but an
 * Error on stream 0. A hint ends with the connection that gave it.
 */
#include "ipc/route.h"
#include "proto/check.h"
#include <inttypes.h>

void on_hint(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;

    (void)request;
    if (frame->stream) {
        diag_blame(&diag, "stream", "graphics_hint came on stream %" PRIu32 "; send it on stream 0", frame->stream);
        conn_refuse(conn, 0, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, &diag, 0);
    } else if (!conn->grant.graphics_hint) {
        diag_set(&diag,
                 "the policy does not let user %" PRIu32
                 " send graphics hints; an administrator can set \"graphics_hint\"",
                 conn->peer.uid);
        conn_refuse(conn, 0, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, &diag, 0);
    } else if (check_client_frame(frame, &diag)) {
        conn_refuse(conn, 0, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, &diag, 0);
    } else {
        hub_hint(conn->ipc->hub, &conn->compositor, frame->graphics_hint);
    }
}
