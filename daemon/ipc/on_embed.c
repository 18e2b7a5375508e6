/*
 * Embed: a vector, from a stream that samples nothing
 */
#include "ipc/ending.h"

void on_embed(struct conn *conn, struct ask *ask, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_embed(conn->ipc->hub, frame->embed, &conn->grant, &ending_sink, ask, &ask->stream, &retry_ms, &diag);

    ending_begin(ask, r, &diag, retry_ms);
}
