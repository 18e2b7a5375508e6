/*
 * Conn request: a request of a client that has not had its last answer
 *
 * The label is the client's and has a meaning on its connection only; inside the daemon the pointer names the request.
 * One answer ends it: Done, Error, or the one that the request's comment in the schema names.
 */
#ifndef SOTTO_IPC_CONN_REQUEST_H
#define SOTTO_IPC_CONN_REQUEST_H

#include "ipc/conn.h"

#define CONN_REQUEST_UNLIMITED UINT32_MAX

struct conn_request {
    struct list link;  /* conn::requests */
    struct list watch; /* ipc::watches; in no list unless it is a Watch */
    struct conn *conn;
    uint32_t label;
    struct stream *stream; /* Generate, Embed, OpenSession; the hub's */
    struct ticket *ticket; /* a question to the hub that is not answered yet */
    uint32_t credit;       /* tokens that may still come, or CONN_REQUEST_UNLIMITED */
    uint64_t moved_ms;     /* when the stream last made progress */
    uint32_t topics;       /* Watch: bit i for topic i; 0: all */
    uint32_t n_dropped;    /* Watch: events lost since the last one sent */
};

struct conn_request *conn_request_find(const struct conn *conn, uint32_t label); /* or NULL */

/* Returns a new request; NULL: no memory. The connection must have no other one of that label. */
struct conn_request *conn_request_open(struct conn *conn, uint32_t label);

/* Sends @message, which is of the kind @body, as the last answer and frees @request. */
void conn_request_answer(struct conn_request *request, Sotto__V1__ServerFrame__BodyCase body, const void *message);

/* Sends @message, which is of the kind @body; more will come. */
void conn_request_tell(struct conn_request *request, Sotto__V1__ServerFrame__BodyCase body, const void *message);

/* Answers as conn_request_answer(), or with @error if that is not NULL. */
void conn_request_end(struct conn_request *request, Sotto__V1__ServerFrame__BodyCase body, const void *message,
                      const Sotto__V1__Error *error);

/* Answers with an Error for what the hub refused at once: @r is a Sotto__V1__Code above 0, or a fault. */
void conn_request_refuse(struct conn_request *request, int r, const struct diag *diag, uint32_t retry_ms);

/* Does what Cancel asks for: the request ends with Done and FINISH_CANCELLED, soon or at once. */
void conn_request_cancel(struct conn_request *request);

/* ---- all requests of a connection */

/* Frees them without an answer and tells the hub. */
void conn_request_forget_all(struct conn *conn);

/* Parks their streams, or lets them go on. */
void conn_request_park_all(struct conn *conn, bool parked);

/* The peer sends no more: ends each Watch, since its Cancel can't come. */
void conn_request_end_watches(struct conn *conn);

/* Aborts streams that wait for credit which a peer that sends no more can't grant. */
void conn_request_end_creditless(struct conn *conn);

#endif
