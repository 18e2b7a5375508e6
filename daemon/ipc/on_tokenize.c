/*
 * Tokenize and Detokenize: questions to the hub, answered from its pool.
 */
#include "ipc/route.h"

static void on_tokenized(void *owner, const Sotto__V1__Tokenized *tokenized, const Sotto__V1__Error *error)
{
    struct conn_request *conn_request = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    conn_request->ticket = NULL;
    if (error) {
        conn_request_fail(conn_request, error);
        return;
    }
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_TOKENIZED;
    frame.tokenized = (Sotto__V1__Tokenized *)(uintptr_t)tokenized;
    conn_request_answer(conn_request, &frame);
}

void on_tokenize(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r;

    if (frame->tokenize->special && !conn->grant.special) {
        diag_blame(&diag, "tokenize.special", "the policy does not let user %u have control tokens recognised",
                   conn->peer.uid);
        conn_request_refused(conn_request, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, &diag, 0);
        return;
    }
    r = hub_tokenize(conn->ipc->hub, frame->tokenize, &conn->grant, on_tokenized, conn_request, &conn_request->ticket,
                     &diag);
    if (r) {
        conn_request->ticket = NULL;
        conn_request_refused(conn_request, r, &diag, 0);
    }
}

static void on_detokenized(void *owner, const Sotto__V1__Detokenized *detokenized, const Sotto__V1__Error *error)
{
    struct conn_request *conn_request = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    conn_request->ticket = NULL;
    if (error) {
        conn_request_fail(conn_request, error);
        return;
    }
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DETOKENIZED;
    frame.detokenized = (Sotto__V1__Detokenized *)(uintptr_t)detokenized;
    conn_request_answer(conn_request, &frame);
}

void on_detokenize(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r = hub_detokenize(conn->ipc->hub, frame->detokenize, &conn->grant, on_detokenized, conn_request,
                           &conn_request->ticket, &diag);

    if (r) {
        conn_request->ticket = NULL;
        conn_request_refused(conn_request, r, &diag, 0);
    }
}
