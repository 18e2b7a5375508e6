#include "ipc/ask.h"
#include "base/err.h"
#include "base/log.h"
#include <inttypes.h>
#include <string.h>

struct ask *ask_find(const struct conn *conn, uint32_t label)
{
    struct list *link;

    /* At most LIMIT_STREAMS of them. */
    list_for_each (link, &conn->asks) {
        struct ask *ask = container_of(link, struct ask, link);

        if (ask->label == label) {
            return ask;
        }
    }
    return NULL;
}

struct ask *ask_open(struct conn *conn, uint32_t label)
{
    struct ask *ask = mem_calloc(MEM_WIRE, 1, sizeof(*ask));

    if (!ask) {
        return NULL;
    }
    ask->conn = conn;
    ask->label = label;
    ask->credit = ASK_CREDIT_ENDLESS;
    list_init(&ask->watch);
    list_append(&conn->asks, &ask->link);
    conn->n_asks++;
    return ask;
}

/* Out of every list first: what happens to the connection while it sends must not meet the request again. */
static void drop(struct ask *ask)
{
    list_remove(&ask->link);
    list_remove(&ask->watch);
    ask->conn->n_asks--;
    mem_free(ask);
}

void ask_answer(struct ask *ask, Sotto__V1__ServerFrame *frame)
{
    struct conn *conn = ask->conn;

    frame->stream = ask->label;
    drop(ask);
    conn_send(conn, frame);
    conn_ask_ended(conn);
}

void ask_tell(struct ask *ask, Sotto__V1__ServerFrame *frame)
{
    frame->stream = ask->label;
    conn_send(ask->conn, frame);
}

void ask_fail(struct ask *ask, const Sotto__V1__Error *error)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_ERROR;
    frame.error = (Sotto__V1__Error *)(uintptr_t)error; /* packing does not write */
    ask_answer(ask, &frame);
}

void ask_refused(struct ask *ask, int r, const struct diag *diag, uint32_t retry_ms)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;
    char trail[128];

    if (r > 0) {
        error.code = (Sotto__V1__Code)r;
        error.message = (char *)(uintptr_t)diag->text;
        error.field = (char *)(uintptr_t)diag->field;
        error.retry_after_ms = retry_ms;
    } else {
        log_error("ipc", "connection %" PRIu64 ": request failed: %s at %s", ask->conn->id, strerrordesc_np(-r),
                  err_trail(trail, sizeof(trail)));
        error.code = SOTTO__V1__CODE__CODE_INTERNAL;
        error.message = (char *)(uintptr_t) "the daemon failed at this request; its log says where";
    }
    ask_fail(ask, &error);
}

void ask_forget(struct ask *ask)
{
    struct conn *conn = ask->conn;

    if (ask->stream) {
        stream_forget(ask->stream);
    }
    if (ask->ticket) {
        ticket_forget(ask->ticket);
    }
    drop(ask);
    conn_ask_ended(conn);
}
