/*
 * Route: which request goes where, as rows
 *
 * A frame that was understood comes here. The table says what each request needs before its handler runs: its place
 * in the connection's life, a label, a right. What fails is answered and costs nobody else anything: with framing
 * intact only the request ends; only a peer that breaks the opening ends its connection.
 */
#ifndef SOTTO_IPC_ROUTE_H
#define SOTTO_IPC_ROUTE_H

#include "ipc/conn_request.h"

/* Checks @frame and runs its handler. The frame lives for the call. */
void route_frame(struct conn *conn, const Sotto__V1__ClientFrame *frame);

/* What Cancel does to a live request: it ends with Done and FINISH_CANCELLED, soon or at once. */
void route_cancel(struct conn_request *conn_request);

/*
 * The handlers, one file a theme. With those that make a request, @conn_request is new, on the connection's list, and theirs to
 * answer; the others get NULL.
 */
typedef void (*route_fn)(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);

void on_hello(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_generate(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_embed(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_credit(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_cancel(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_tokenize(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_detokenize(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_list_models(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_load_model(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_unload_model(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_status(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_watch(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_open_session(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_close_session(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_hint(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);
void on_reload(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame);

#endif
