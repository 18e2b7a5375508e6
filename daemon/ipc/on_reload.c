/*
 * Reload: the owner of the room reads its configuration anew; administrators only.
 */
#include "base/log.h"
#include "ipc/route.h"
#include <inttypes.h>

void on_reload(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    Sotto__V1__ServerFrame answer = SOTTO__V1__SERVER_FRAME__INIT;
    Sotto__V1__Reloaded reloaded = SOTTO__V1__RELOADED__INIT;
    struct diag diag = DIAG_INIT;
    int r;

    (void)frame;
    log_info("ipc", "connection %" PRIu64 ", uid %" PRIu32 ": asks for a reload", conn->id, conn->peer.uid);
    r = conn->ipc->ops->reload(conn->ipc->owner, &reloaded, &diag);
    if (r) {
        conn_request_refused(conn_request, r, &diag, 0);
        return;
    }
    answer.body_case = SOTTO__V1__SERVER_FRAME__BODY_RELOADED;
    answer.reloaded = &reloaded;
    conn_request_answer(conn_request, &answer);
}
