/*
 * Embed: a vector, from a stream that samples nothing
 */
#include "ipc/ending.h"

void on_embed(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_embed(conn->ipc->hub, frame->embed, &conn->grant, &ending_sink, conn_request, &conn_request->stream,
                      &retry_ms, &diag);

    ending_begin(conn_request, r, &diag, retry_ms);
}
