#include "ipc/route.h"
#include "proto/check.h"
#include <inttypes.h>

enum route_kind {
    ROUTE_OPENING, /* hello: on stream 0, first, once */
    ROUTE_ASK,     /* has a label of its own and one last answer */
    ROUTE_ABOUT,   /* about a request; never answered, ignored when that is no longer live */
    ROUTE_TELL,    /* about the connection itself, on stream 0; never answered but by an Error there */
};

static const struct route {
    const char *name;
    enum route_kind kind;
    bool admin; /* only for peers whom policy lets administer */
    route_fn run;
} routes[] = {
    [SOTTO__V1__CLIENT_FRAME__BODY_HELLO] = { "hello", ROUTE_OPENING, false, on_hello },
    [SOTTO__V1__CLIENT_FRAME__BODY_GENERATE] = { "generate", ROUTE_ASK, false, on_generate },
    [SOTTO__V1__CLIENT_FRAME__BODY_CREDIT] = { "credit", ROUTE_ABOUT, false, on_credit },
    [SOTTO__V1__CLIENT_FRAME__BODY_CANCEL] = { "cancel", ROUTE_ABOUT, false, on_cancel },
    [SOTTO__V1__CLIENT_FRAME__BODY_TOKENIZE] = { "tokenize", ROUTE_ASK, false, on_tokenize },
    [SOTTO__V1__CLIENT_FRAME__BODY_DETOKENIZE] = { "detokenize", ROUTE_ASK, false, on_detokenize },
    [SOTTO__V1__CLIENT_FRAME__BODY_LIST_MODELS] = { "list_models", ROUTE_ASK, false, on_list_models },
    [SOTTO__V1__CLIENT_FRAME__BODY_LOAD_MODEL] = { "load_model", ROUTE_ASK, false, on_load_model },
    [SOTTO__V1__CLIENT_FRAME__BODY_UNLOAD_MODEL] = { "unload_model", ROUTE_ASK, true, on_unload_model },
    [SOTTO__V1__CLIENT_FRAME__BODY_STATUS] = { "status", ROUTE_ASK, false, on_status },
    [SOTTO__V1__CLIENT_FRAME__BODY_WATCH] = { "watch", ROUTE_ASK, false, on_watch },
    [SOTTO__V1__CLIENT_FRAME__BODY_RELOAD] = { "reload", ROUTE_ASK, true, on_reload },
    [SOTTO__V1__CLIENT_FRAME__BODY_GRAPHICS_HINT] = { "graphics_hint", ROUTE_TELL, false, on_hint },
    [SOTTO__V1__CLIENT_FRAME__BODY_OPEN_SESSION] = { "open_session", ROUTE_ASK, false, on_open_session },
    [SOTTO__V1__CLIENT_FRAME__BODY_CLOSE_SESSION] = { "close_session", ROUTE_ASK, false, on_close_session },
    [SOTTO__V1__CLIENT_FRAME__BODY_EMBED] = { "embed", ROUTE_ASK, false, on_embed },
};

static const struct route *find_route(const Sotto__V1__ClientFrame *frame)
{
    size_t i = frame->body_case;

    return i < COUNTOF(routes) && routes[i].run ? &routes[i] : NULL;
}

/* An Error that must not seem to end a live request of the same label: on stream 0, with about_stream. */
static void refuse_label(struct conn *conn, uint32_t label, Sotto__V1__Code code, const char *sentence)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;

    error.code = code;
    error.message = (char *)(uintptr_t)sentence;
    error.about_stream = label;
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_ERROR;
    frame.error = &error;
    conn_send(conn, &frame);
}

static void refuse_unknown(struct conn *conn, uint32_t label)
{
    struct diag diag = DIAG_INIT;

    if (conn->state == CONN_NEW) {
        conn->ipc->counts.n_bad++;
        conn_fail(conn, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "", "the first frame must be hello, on stream 0");
        return;
    }
    diag_set(&diag, "this daemon does not know that request; it is of a later version, or the frame has no body");
    if (label && conn_request_find(conn, label)) {
        refuse_label(conn, label, SOTTO__V1__CODE__CODE_UNIMPLEMENTED, diag.text);
    } else {
        conn_refuse(conn, label, SOTTO__V1__CODE__CODE_UNIMPLEMENTED, &diag, 0);
    }
}

static void open_connection(struct conn *conn, const struct route *route, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;

    if (conn->state != CONN_NEW) {
        conn->ipc->counts.n_bad++;
        conn_fail(conn, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "hello", "a second hello; there may be one");
    } else if (frame->stream) {
        conn->ipc->counts.n_bad++;
        conn_fail(conn, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "stream",
                  "hello came on stream %" PRIu32 "; its stream is 0", frame->stream);
    } else if (check_client_frame(frame, &diag)) {
        conn->ipc->counts.n_bad++;
        conn_fail(conn, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, diag.field, "%s", diag.text);
    } else {
        route->run(conn, NULL, frame);
    }
}

/* True, and nothing said, if a request of @route may be opened under this label. */
static bool may_ask(struct conn *conn, const struct route *route, const Sotto__V1__ClientFrame *frame)
{
    uint32_t label = frame->stream;
    struct diag diag = DIAG_INIT;
    Sotto__V1__Code code = SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;

    if (!label) {
        diag_blame(&diag, "stream", "%s needs a stream that is not 0; 0 is the connection itself", route->name);
    } else if (conn_request_find(conn, label)) {
        refuse_label(conn, label, SOTTO__V1__CODE__CODE_ALREADY_EXISTS,
                     "a request with that stream is live on this connection; it runs on, the new one was refused");
        return false;
    } else if (conn->n_requests >= LIMIT_STREAMS) {
        code = SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
        diag_set(&diag, "this connection has %u open requests, which is the limit; wait for one to end", LIMIT_STREAMS);
    } else if (route->admin && !conn->grant.admin) {
        code = SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
        diag_set(&diag, "%s is for administrators; the policy does not make user %" PRIu32 " one", route->name,
                 conn->peer.uid);
    } else if (check_client_frame(frame, &diag) == CHECK_OK) {
        return true;
    }
    conn_refuse(conn, label, code, &diag, 0);
    return false;
}

void route_frame(struct conn *conn, const Sotto__V1__ClientFrame *frame)
{
    const struct route *route = find_route(frame);
    struct conn_request *conn_request;

    if (!route) {
        refuse_unknown(conn, frame->stream);
        return;
    }
    if (route->kind == ROUTE_OPENING) {
        open_connection(conn, route, frame);
        return;
    }
    if (conn->state == CONN_NEW) {
        conn->ipc->counts.n_bad++;
        conn_fail(conn, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "", "the first frame must be hello; %s came",
                  route->name);
        return;
    }
    if (route->kind == ROUTE_TELL) {
        route->run(conn, NULL, frame);
        return;
    }
    if (route->kind == ROUTE_ABOUT) {
        conn_request = conn_request_find(conn, frame->stream);
        if (conn_request) {
            route->run(conn, conn_request, frame);
        }
        return;
    }
    if (!may_ask(conn, route, frame)) {
        return;
    }
    conn_request = conn_request_open(conn, frame->stream);
    if (!conn_request) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "", "the daemon has no memory for a request");
        return;
    }
    route->run(conn, conn_request, frame);
}

void route_cancel(struct conn_request *conn_request)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;
    Sotto__V1__Done done = SOTTO__V1__DONE__INIT;

    if (conn_request->stream) {
        stream_cancel(conn_request->stream); /* its Done tells what was used */
        return;
    }
    if (conn_request->ticket) {
        ticket_forget(conn_request->ticket);
    }
    done.reason = SOTTO__V1__FINISH_REASON__FINISH_CANCELLED;
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DONE;
    frame.done = &done;
    conn_request_answer(conn_request, &frame);
}
