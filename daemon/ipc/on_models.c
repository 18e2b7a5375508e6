/*
 * ListModels, LoadModel, UnloadModel. A load belongs to the daemon and goes on if the client that asked for it leaves.
 */
#include "base/err.h"
#include "base/log.h"
#include "ipc/route.h"
#include <inttypes.h>

/* Several times what 64 models with their longest texts take. */
#define LIST_MOST (1u << 20)

void on_list_models(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    Sotto__V1__Models models = SOTTO__V1__MODELS__INIT;
    struct diag diag = DIAG_INIT;
    struct arena arena;
    int r;

    (void)frame;
    arena_init(&arena, MEM_WIRE, LIST_MOST);
    r = hub_list_models(conn->ipc->hub, &conn->grant, &arena, &models);
    if (r) {
        conn_request_refuse(request, err_up(r), &diag, 0);
    } else {
        conn_request_answer(request, SOTTO__V1__SERVER_FRAME__BODY_MODELS, &models);
    }
    arena_finish(&arena);
}

static void on_progress(void *owner, const Sotto__V1__LoadProgress *progress)
{
    conn_request_tell(owner, SOTTO__V1__SERVER_FRAME__BODY_LOAD_PROGRESS, progress);
}

static void on_loaded(void *owner, const Sotto__V1__ModelInfo *info, const Sotto__V1__Error *error)
{
    conn_request_end(owner, SOTTO__V1__SERVER_FRAME__BODY_MODEL_INFO, info, error);
}

void on_load_model(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    const Sotto__V1__LoadModel *load = frame->load_model;
    struct diag diag = DIAG_INIT;
    int r;

    /* The daemon would open a file that the peer itself may not be able to read. */
    if (*load->file && !conn->grant.admin) {
        diag_blame(&diag, "load_model.file",
                   "only administrators may name a file; name a configured model and leave \"file\" out");
        conn_request_refuse(request, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, &diag, 0);
        return;
    }
    log_line("ipc", ipc_log_level(conn->ipc), "connection %" PRIu64 ", uid %" PRIu32 ": asks to load model %s",
             conn->id, conn->peer.uid, load->name);
    r = hub_load(conn->ipc->hub, load, &conn->grant, on_progress, on_loaded, request, &request->ticket, &diag);
    if (r) {
        conn_request_refuse(request, r, &diag, 0);
    }
}

static void on_unloaded(void *owner, const Sotto__V1__Error *error)
{
    Sotto__V1__Unloaded unloaded = SOTTO__V1__UNLOADED__INIT;

    conn_request_end(owner, SOTTO__V1__SERVER_FRAME__BODY_UNLOADED, &unloaded, error);
}

void on_unload_model(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r;

    log_info("ipc", "connection %" PRIu64 ", uid %" PRIu32 ": asks to unload model %s", conn->id, conn->peer.uid,
             frame->unload_model->name);
    r = hub_unload(conn->ipc->hub, frame->unload_model, &conn->grant, on_unloaded, request, &request->ticket, &diag);
    if (r) {
        conn_request_refuse(request, r, &diag, 0);
    }
}
