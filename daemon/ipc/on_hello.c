/*
 * Hello opens a connection: versions are compared, and the peer is told what it may.
 */
#include "base/log.h"
#include "ipc/route.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What a client may find out here rather than by trying. */
static char *const capabilities[] = {
    (char *)(uintptr_t) "chat",          (char *)(uintptr_t) "logprobs",
    (char *)(uintptr_t) "credit",        (char *)(uintptr_t) "tokenize",
    (char *)(uintptr_t) "watch",         (char *)(uintptr_t) "half-close",
    (char *)(uintptr_t) "embed",         (char *)(uintptr_t) "sessions",
    (char *)(uintptr_t) "graphics-hint", /* last: for those who may */
};

static void fill_limits(const struct grant *grant, Sotto__V1__Limits *limits)
{
    limits->frame_bytes = LIMIT_FRAME;
    limits->streams = grant->n_streams < LIMIT_STREAMS ? grant->n_streams : LIMIT_STREAMS;
    limits->text_bytes = LIMIT_TEXT;
    limits->context_tokens = grant->n_context;
    limits->answer_tokens = grant->n_answer;
    limits->stops = LIMIT_STOPS;
    limits->stop_bytes = LIMIT_STOP;
    limits->logprobs = LIMIT_TOP_LOGPROBS;
    limits->class_ceiling = grant->class_ceiling;
    limits->admin = grant->admin;
}

void on_hello(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    const Sotto__V1__Hello *hello = frame->hello;
    Sotto__V1__ServerFrame answer = SOTTO__V1__SERVER_FRAME__INIT;
    Sotto__V1__Welcome welcome = SOTTO__V1__WELCOME__INIT;
    Sotto__V1__Limits limits = SOTTO__V1__LIMITS__INIT;

    (void)conn_request;
    if (hello->version_min > PROTO_VERSION || hello->version_max < PROTO_VERSION) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_UNIMPLEMENTED, "hello.version_min",
                  "this daemon speaks version %d, the client versions %" PRIu32 " to %" PRIu32, PROTO_VERSION,
                  hello->version_min, hello->version_max);
        return;
    }
    snprintf(conn->client, sizeof(conn->client), "%s", hello->client);
    fill_limits(&conn->grant, &limits);
    welcome.version = PROTO_VERSION;
    welcome.instance = conn->ipc->instance;
    welcome.server = (char *)(uintptr_t) "sottod/" SOTTO_VERSION;
    welcome.limits = &limits;
    welcome.n_capabilities = COUNTOF(capabilities) - !conn->grant.graphics_hint;
    welcome.capabilities = (char **)(uintptr_t)capabilities;
    answer.body_case = SOTTO__V1__SERVER_FRAME__BODY_WELCOME;
    answer.welcome = &welcome;

    conn_move(conn, CONN_READY);
    conn_wait(conn, DUE_HELLO, 0);
    log_debug("ipc", "connection %" PRIu64 ": hello from \"%s\"", conn->id, conn->client);
    conn_send(conn, &answer);
}
