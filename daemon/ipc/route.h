/*
 * Route: rows that lead from a kind of frame to its handler
 *
 * The table says what each request needs before its handler runs: a state of the connection, a label, a right. A
 * request that lacks it is answered with an Error and ends alone; only a wrong opening ends the connection.
 */
#ifndef SOTTO_IPC_ROUTE_H
#define SOTTO_IPC_ROUTE_H

#include "ipc/conn_request.h"

/* The handlers of a connection's events. */
extern const struct conn_ops route_ops;

/* The handlers. @request is new and the handler's to answer; the frames that make no request get the one that they are
 * about, or NULL. @frame is valid during the call. */
typedef void (*route_fn)(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);

void on_hello(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_generate(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_embed(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_credit(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_cancel(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_tokenize(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_detokenize(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_list_models(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_load_model(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_unload_model(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_status(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_watch(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_open_session(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_close_session(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_hint(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);
void on_reload(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame);

#endif
