/*
 * Ending: a stream of which the client sees the end alone
 *
 * For requests that are scheduled as a Generate is, and have one answer: an embedding, a session.
 */
#ifndef SOTTO_IPC_ENDING_H
#define SOTTO_IPC_ENDING_H

#include "ipc/route.h"

/* Its callbacks; the owner is the struct ask. */
extern const struct stream_sink ending_sink;

/* Behind the call that made ask->stream; @r, @diag and @retry_ms are its. Refuses, or lets the stream begin. */
void ending_begin(struct conn_request *conn_request, int r, const struct diag *diag, uint32_t retry_ms);

#endif
