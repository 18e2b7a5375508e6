/*
 * Ask: a request that has not had its last answer
 *
 * The label is the client's and means something on its connection only; inside the daemon the pointer names the
 * request. One answer ends it: Done, Error, or what the request's comment in the schema names.
 */
#ifndef SOTTO_IPC_ASK_H
#define SOTTO_IPC_ASK_H

#include "ipc/conn.h"

#define ASK_CREDIT_ENDLESS UINT32_MAX

struct ask {
    struct list link;  /* conn::asks */
    struct list watch; /* ipc::watches; in no list unless it is a Watch */
    struct conn *conn;
    uint32_t label;
    struct stream *stream; /* Generate, Embed; the hub's */
    struct ticket *ticket; /* a question to the hub */
    uint32_t credit;       /* tokens that may still come, or ASK_CREDIT_ENDLESS */
    uint64_t moved_ms;     /* when the stream last gave something */
    uint32_t topics;       /* Watch: bit i for topic i; 0: all */
    uint32_t n_dropped;    /* Watch: events lost since the last one sent */
};

struct ask *ask_find(const struct conn *conn, uint32_t label); /* or NULL */

/* NULL: no memory. The connection has no live request of that label. */
struct ask *ask_open(struct conn *conn, uint32_t label);

/* Sends @frame on the request's label as its last answer and frees @ask. Nothing of @ask may be used afterwards. */
void ask_answer(struct ask *ask, Sotto__V1__ServerFrame *frame);

/* Sends @frame on the request's label; more will come. */
void ask_tell(struct ask *ask, Sotto__V1__ServerFrame *frame);

/* ask_answer() with an Error. */
void ask_fail(struct ask *ask, const Sotto__V1__Error *error);

/* The same for what the hub refused at once: @r is a Sotto__V1__Code above 0, or a fault. */
void ask_refused(struct ask *ask, int r, const struct diag *diag, uint32_t retry_ms);

/* Nobody waits for the answer any more: tells the hub, then frees @ask. */
void ask_forget(struct ask *ask);

#endif
