#include "ipc/conn_request.h"
#include "base/err.h"
#include "base/log.h"
#include <inttypes.h>
#include <string.h>

struct conn_request *conn_request_find(const struct conn *conn, uint32_t label)
{
    struct list *link;

    /* At most LIMIT_STREAMS of them. */
    list_for_each (link, &conn->requests) {
        struct conn_request *conn_request = container_of(link, struct conn_request, link);

        if (conn_request->label == label) {
            return conn_request;
        }
    }
    return NULL;
}

struct conn_request *conn_request_open(struct conn *conn, uint32_t label)
{
    struct conn_request *conn_request = mem_calloc(MEM_WIRE, 1, sizeof(*conn_request));

    if (!conn_request) {
        return NULL;
    }
    conn_request->conn = conn;
    conn_request->label = label;
    conn_request->credit = CONN_REQUEST_CREDIT_ENDLESS;
    list_init(&conn_request->watch);
    list_append(&conn->requests, &conn_request->link);
    conn->n_requests++;
    return conn_request;
}

/* Out of every list first: what happens to the connection while it sends must not meet the request again. */
static void drop(struct conn_request *conn_request)
{
    list_remove(&conn_request->link);
    list_remove(&conn_request->watch);
    conn_request->conn->n_requests--;
    mem_free(conn_request);
}

void conn_request_answer(struct conn_request *conn_request, Sotto__V1__ServerFrame *frame)
{
    struct conn *conn = conn_request->conn;

    frame->stream = conn_request->label;
    drop(conn_request);
    conn_send(conn, frame);
    conn_ask_ended(conn);
}

void conn_request_tell(struct conn_request *conn_request, Sotto__V1__ServerFrame *frame)
{
    frame->stream = conn_request->label;
    conn_send(conn_request->conn, frame);
}

void conn_request_fail(struct conn_request *conn_request, const Sotto__V1__Error *error)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_ERROR;
    frame.error = (Sotto__V1__Error *)(uintptr_t)error; /* packing does not write */
    conn_request_answer(conn_request, &frame);
}

void conn_request_refused(struct conn_request *conn_request, int r, const struct diag *diag, uint32_t retry_ms)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;
    char trail[128];

    if (r > 0) {
        error.code = (Sotto__V1__Code)r;
        error.message = (char *)(uintptr_t)diag->text;
        error.field = (char *)(uintptr_t)diag->field;
        error.retry_after_ms = retry_ms;
    } else {
        log_error("ipc", "connection %" PRIu64 ": request failed: %s at %s", conn_request->conn->id,
                  strerrordesc_np(-r), err_trail(trail, sizeof(trail)));
        error.code = SOTTO__V1__CODE__CODE_INTERNAL;
        error.message = (char *)(uintptr_t) "the daemon failed at this request; its log says where";
    }
    conn_request_fail(conn_request, &error);
}

void conn_request_forget(struct conn_request *conn_request)
{
    struct conn *conn = conn_request->conn;

    if (conn_request->stream) {
        stream_forget(conn_request->stream);
    }
    if (conn_request->ticket) {
        ticket_forget(conn_request->ticket);
    }
    drop(conn_request);
    conn_ask_ended(conn);
}
