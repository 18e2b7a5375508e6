/*
 * Ask: a request that has not had its last answer
 *
 * The label is the client's and means something on its connection only; inside the daemon the pointer names the
 * request. One answer ends it: Done, Error, or what the request's comment in the schema names.
 */
#ifndef SOTTO_IPC_CONN_REQUEST_H
#define SOTTO_IPC_CONN_REQUEST_H

#include "ipc/conn.h"

#define CONN_REQUEST_CREDIT_ENDLESS UINT32_MAX

struct conn_request {
    struct list link;  /* conn::asks */
    struct list watch; /* ipc::watches; in no list unless it is a Watch */
    struct conn *conn;
    uint32_t label;
    struct stream *stream; /* Generate, Embed; the hub's */
    struct ticket *ticket; /* a question to the hub */
    uint32_t credit;       /* tokens that may still come, or CONN_REQUEST_CREDIT_ENDLESS */
    uint64_t moved_ms;     /* when the stream last gave something */
    uint32_t topics;       /* Watch: bit i for topic i; 0: all */
    uint32_t n_dropped;    /* Watch: events lost since the last one sent */
};

struct conn_request *conn_request_find(const struct conn *conn, uint32_t label); /* or NULL */

/* NULL: no memory. The connection has no live request of that label. */
struct conn_request *conn_request_open(struct conn *conn, uint32_t label);

/* Sends @frame on the request's label as its last answer and frees @conn_request. Nothing of @conn_request may be used afterwards. */
void conn_request_answer(struct conn_request *conn_request, Sotto__V1__ServerFrame *frame);

/* Sends @frame on the request's label; more will come. */
void conn_request_tell(struct conn_request *conn_request, Sotto__V1__ServerFrame *frame);

/* conn_request_answer() with an Error. */
void conn_request_fail(struct conn_request *conn_request, const Sotto__V1__Error *error);

/* The same for what the hub refused at once: @r is a Sotto__V1__Code above 0, or a fault. */
void conn_request_refused(struct conn_request *conn_request, int r, const struct diag *diag, uint32_t retry_ms);

/* Nobody waits for the answer any more: tells the hub, then frees @conn_request. */
void conn_request_forget(struct conn_request *conn_request);

#endif
