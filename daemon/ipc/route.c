#include "ipc/route.h"
#include "proto/check.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum route_kind {
    ROUTE_OPENING, /* hello: on stream 0, first, once */
    ROUTE_REQUEST, /* has a label of its own and one last answer */
    ROUTE_ABOUT,   /* about a request; has no answer, and is ignored if that request has ended */
    ROUTE_TELL,    /* about the connection, on stream 0; has no answer but an Error there */
};

static const struct route {
    const char *name;
    enum route_kind kind;
    bool admin; /* for peers that may administer, by policy */
    route_fn run;
} routes[] = {
    [SOTTO__V1__CLIENT_FRAME__BODY_HELLO] = { "hello", ROUTE_OPENING, false, on_hello },
    [SOTTO__V1__CLIENT_FRAME__BODY_GENERATE] = { "generate", ROUTE_REQUEST, false, on_generate },
    [SOTTO__V1__CLIENT_FRAME__BODY_CREDIT] = { "credit", ROUTE_ABOUT, false, on_credit },
    [SOTTO__V1__CLIENT_FRAME__BODY_CANCEL] = { "cancel", ROUTE_ABOUT, false, on_cancel },
    [SOTTO__V1__CLIENT_FRAME__BODY_TOKENIZE] = { "tokenize", ROUTE_REQUEST, false, on_tokenize },
    [SOTTO__V1__CLIENT_FRAME__BODY_DETOKENIZE] = { "detokenize", ROUTE_REQUEST, false, on_detokenize },
    [SOTTO__V1__CLIENT_FRAME__BODY_LIST_MODELS] = { "list_models", ROUTE_REQUEST, false, on_list_models },
    [SOTTO__V1__CLIENT_FRAME__BODY_LOAD_MODEL] = { "load_model", ROUTE_REQUEST, false, on_load_model },
    [SOTTO__V1__CLIENT_FRAME__BODY_UNLOAD_MODEL] = { "unload_model", ROUTE_REQUEST, true, on_unload_model },
    [SOTTO__V1__CLIENT_FRAME__BODY_STATUS] = { "status", ROUTE_REQUEST, false, on_status },
    [SOTTO__V1__CLIENT_FRAME__BODY_WATCH] = { "watch", ROUTE_REQUEST, false, on_watch },
    [SOTTO__V1__CLIENT_FRAME__BODY_RELOAD] = { "reload", ROUTE_REQUEST, true, on_reload },
    [SOTTO__V1__CLIENT_FRAME__BODY_GRAPHICS_HINT] = { "graphics_hint", ROUTE_TELL, false, on_hint },
    [SOTTO__V1__CLIENT_FRAME__BODY_OPEN_SESSION] = { "open_session", ROUTE_REQUEST, false, on_open_session },
    [SOTTO__V1__CLIENT_FRAME__BODY_CLOSE_SESSION] = { "close_session", ROUTE_REQUEST, false, on_close_session },
    [SOTTO__V1__CLIENT_FRAME__BODY_EMBED] = { "embed", ROUTE_REQUEST, false, on_embed },
};

static const struct route *find_route(const Sotto__V1__ClientFrame *frame)
{
    size_t i = frame->body_case;

    return i < COUNTOF(routes) && routes[i].run ? &routes[i] : NULL;
}

/* Refuses a request with a label that is in use: on stream 0 with about_stream, so that it does not seem to end the
 * other. */
static void refuse_label(struct conn *conn, uint32_t label, Sotto__V1__Code code, const char *sentence)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;

    error.code = code;
    error.message = wire_str(sentence);
    error.about_stream = label;
    conn_send(conn, 0, SOTTO__V1__SERVER_FRAME__BODY_ERROR, &error);
}

/* Ends a connection that does not begin as it must. */
__attribute__((format(printf, 4, 5))) static void refuse_opening(struct conn *conn, Sotto__V1__Code code,
                                                                 const char *field, const char *format, ...)
{
    char sentence[DIAG_BYTES];
    va_list words;

    va_start(words, format);
    vsnprintf(sentence, sizeof(sentence), format, words);
    va_end(words);
    conn->ipc->counts.n_bad++;
    conn_fail(conn, code, field, "%s", sentence);
}

static void refuse_unknown(struct conn *conn, uint32_t label)
{
    struct diag diag = DIAG_INIT;

    if (conn->state == CONN_NEW) {
        refuse_opening(conn, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "",
                       "the first frame must be hello, on stream 0");
        return;
    }
    diag_set(&diag, "this daemon does not know that request: the frame has no body, or the body is of a later version");
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
        refuse_opening(conn, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "hello",
                       "hello came twice; send it once, first");
    } else if (frame->stream) {
        refuse_opening(conn, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "stream",
                       "hello came on stream %" PRIu32 "; send it on stream 0", frame->stream);
    } else if (check_client_frame(frame, &diag)) {
        refuse_opening(conn, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, diag.field, "%s", diag.text);
    } else {
        route->run(conn, NULL, frame);
    }
}

/* Returns true if a request of @route may be opened under this label; else it was refused. */
static bool may_open(struct conn *conn, const struct route *route, const Sotto__V1__ClientFrame *frame)
{
    uint32_t label = frame->stream;
    struct diag diag = DIAG_INIT;
    Sotto__V1__Code code = SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;

    if (!label) {
        diag_blame(&diag, "stream", "%s came on stream 0, which is the connection itself; choose another number",
                   route->name);
    } else if (conn_request_find(conn, label)) {
        refuse_label(conn, label, SOTTO__V1__CODE__CODE_ALREADY_EXISTS,
                     "a request with that stream is open on this connection; it goes on, the new one was refused");
        return false;
    } else if (conn->n_requests >= LIMIT_STREAMS) {
        code = SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
        diag_set(&diag, "this connection has %u open requests, which is the limit; wait until one ends", LIMIT_STREAMS);
    } else if (route->admin && !conn->grant.admin) {
        code = SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
        diag_set(&diag, "%s is for administrators, and the policy does not make user %" PRIu32 " one", route->name,
                 conn->peer.uid);
    } else if (check_client_frame(frame, &diag) == CHECK_OK) {
        return true;
    }
    conn_refuse(conn, label, code, &diag, 0);
    return false;
}

static void on_frame(struct conn *conn, const Sotto__V1__ClientFrame *frame)
{
    const struct route *route = find_route(frame);
    struct conn_request *request;

    if (!route) {
        refuse_unknown(conn, frame->stream);
        return;
    }
    if (route->kind == ROUTE_OPENING) {
        open_connection(conn, route, frame);
        return;
    }
    if (conn->state == CONN_NEW) {
        refuse_opening(conn, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "", "the first frame must be hello; %s came",
                       route->name);
        return;
    }
    if (route->kind == ROUTE_TELL) {
        route->run(conn, NULL, frame);
        return;
    }
    if (route->kind == ROUTE_ABOUT) {
        request = conn_request_find(conn, frame->stream);
        if (request) {
            route->run(conn, request, frame);
        }
        return;
    }
    if (!may_open(conn, route, frame)) {
        return;
    }
    request = conn_request_open(conn, frame->stream);
    if (!request) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "", "the daemon has no memory for this request");
        return;
    }
    route->run(conn, request, frame);
}

const struct conn_ops route_ops = {
    .on_frame = on_frame,
    .on_park = conn_request_park_all,
    .on_half_closed = conn_request_end_watches,
    .on_half_look = conn_request_end_creditless,
    .on_close = conn_request_forget_all,
};
