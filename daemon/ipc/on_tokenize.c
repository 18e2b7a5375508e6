/*
 * Tokenize and Detokenize: questions to the hub, which answers them from its thread pool.
 */
#include "ipc/route.h"

static void on_tokenized(void *owner, const Sotto__V1__Tokenized *tokenized, const Sotto__V1__Error *error)
{
    conn_request_end(owner, SOTTO__V1__SERVER_FRAME__BODY_TOKENIZED, tokenized, error);
}

void on_tokenize(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r = SOTTO__V1__CODE__CODE_PERMISSION_DENIED;

    if (frame->tokenize->special && !conn->grant.special) {
        diag_blame(&diag, "tokenize.special",
                   "the policy does not let user %u have control tokens read; send the text without \"special\"",
                   conn->peer.uid);
    } else {
        r = hub_tokenize(conn->ipc->hub, frame->tokenize, &conn->grant, on_tokenized, request, &request->ticket, &diag);
    }
    if (r) {
        conn_request_refuse(request, r, &diag, 0);
    }
}

static void on_detokenized(void *owner, const Sotto__V1__Detokenized *detokenized, const Sotto__V1__Error *error)
{
    conn_request_end(owner, SOTTO__V1__SERVER_FRAME__BODY_DETOKENIZED, detokenized, error);
}

void on_detokenize(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r = hub_detokenize(conn->ipc->hub, frame->detokenize, &conn->grant, on_detokenized, request, &request->ticket,
                           &diag);

    if (r) {
        conn_request_refuse(request, r, &diag, 0);
    }
}
