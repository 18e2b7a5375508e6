#include "ipc/conn_request.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include <inttypes.h>
#include <string.h>

struct conn_request *conn_request_find(const struct conn *conn, uint32_t label)
{
    struct list *link;

    /* There are at most LIMIT_STREAMS of them. */
    list_for_each (link, &conn->requests) {
        struct conn_request *request = container_of(link, struct conn_request, link);

        if (request->label == label) {
            return request;
        }
    }
    return NULL;
}

struct conn_request *conn_request_open(struct conn *conn, uint32_t label)
{
    struct conn_request *request = mem_calloc(MEM_WIRE, 1, sizeof(*request));

    if (!request) {
        return NULL;
    }
    request->conn = conn;
    request->label = label;
    request->credit = CONN_REQUEST_UNLIMITED;
    list_init(&request->watch);
    list_append(&conn->requests, &request->link);
    conn->n_requests++;
    return request;
}

/* Takes the request out of its lists before anything is sent: the sending may end the connection, which must not meet
 * the request again. */
static void drop(struct conn_request *request)
{
    list_remove(&request->link);
    list_remove(&request->watch);
    request->conn->n_requests--;
    mem_free(request);
}

void conn_request_answer(struct conn_request *request, Sotto__V1__ServerFrame__BodyCase body, const void *message)
{
    struct conn *conn = request->conn;
    uint32_t label = request->label;

    drop(request);
    conn_send(conn, label, body, message);
    conn_end_half(conn);
}

void conn_request_tell(struct conn_request *request, Sotto__V1__ServerFrame__BodyCase body, const void *message)
{
    conn_send(request->conn, request->label, body, message);
}

void conn_request_end(struct conn_request *request, Sotto__V1__ServerFrame__BodyCase body, const void *message,
                      const Sotto__V1__Error *error)
{
    if (error) {
        conn_request_answer(request, SOTTO__V1__SERVER_FRAME__BODY_ERROR, error);
    } else {
        conn_request_answer(request, body, message);
    }
}

void conn_request_refuse(struct conn_request *request, int r, const struct diag *diag, uint32_t retry_ms)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;
    char trail[128];

    if (r > 0) {
        error.code = (Sotto__V1__Code)r;
        error.message = wire_str(diag->text);
        error.field = wire_str(diag->field);
        error.retry_after_ms = retry_ms;
    } else {
        log_error("ipc", "connection %" PRIu64 ": request failed: %s at %s", request->conn->id, strerrordesc_np(-r),
                  err_trail(trail, sizeof(trail)));
        error.code = SOTTO__V1__CODE__CODE_INTERNAL;
        error.message = wire_str("the daemon failed to handle this request; its log says where");
    }
    conn_request_answer(request, SOTTO__V1__SERVER_FRAME__BODY_ERROR, &error);
}

static void forget(struct conn_request *request)
{
    struct conn *conn = request->conn;

    if (request->stream) {
        stream_forget(request->stream);
    }
    if (request->ticket) {
        ticket_forget(request->ticket);
    }
    drop(request);
    conn_end_half(conn);
}

void conn_request_cancel(struct conn_request *request)
{
    Sotto__V1__Done done = SOTTO__V1__DONE__INIT;

    if (request->stream) {
        stream_cancel(request->stream); /* its Done tells what was used */
        return;
    }
    if (request->ticket) {
        ticket_forget(request->ticket);
    }
    done.reason = SOTTO__V1__FINISH_REASON__FINISH_CANCELLED;
    conn_request_answer(request, SOTTO__V1__SERVER_FRAME__BODY_DONE, &done);
}

void conn_request_forget_all(struct conn *conn)
{
    struct list *link;

    while ((link = list_first(&conn->requests)) != NULL) {
        forget(container_of(link, struct conn_request, link));
    }
}

void conn_request_park_all(struct conn *conn, bool parked)
{
    struct list *link;

    list_for_each (link, &conn->requests) {
        struct conn_request *request = container_of(link, struct conn_request, link);

        if (request->stream) {
            stream_park(request->stream, parked);
        }
    }
}

void conn_request_end_watches(struct conn *conn)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &conn->requests) {
        struct conn_request *request = container_of(link, struct conn_request, link);

        if (!list_is_empty(&request->watch)) {
            conn_request_cancel(request);
        }
    }
}

void conn_request_end_creditless(struct conn *conn)
{
    uint64_t now_ms = clock_mono_us() / 1000;
    struct list *link;

    list_for_each (link, &conn->requests) {
        struct conn_request *request = container_of(link, struct conn_request, link);
        bool waits =
            request->credit != CONN_REQUEST_UNLIMITED && now_ms - request->moved_ms >= conn->ipc->limits.stall_ms;

        if (request->stream && (request->credit == 0 || waits)) {
            stream_abort(request->stream, SOTTO__V1__CODE__CODE_ABORTED,
                         "the stream is out of credit, and the client has closed its side of the connection");
        }
    }
}
