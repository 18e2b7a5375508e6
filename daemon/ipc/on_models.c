/*
 * ListModels, LoadModel, UnloadModel. A load belongs to the daemon: who asked for it may leave.
 */
#include "base/err.h"
#include "base/log.h"
#include "ipc/route.h"
#include <inttypes.h>

/* 64 models with every text at its longest fit several times. */
#define LIST_MOST (1u << 20)

void on_list_models(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    Sotto__V1__ServerFrame answer = SOTTO__V1__SERVER_FRAME__INIT;
    Sotto__V1__Models models = SOTTO__V1__MODELS__INIT;
    struct diag diag = DIAG_INIT;
    struct arena arena;
    int r;

    (void)frame;
    arena_init(&arena, MEM_WIRE, LIST_MOST);
    r = hub_list_models(conn->ipc->hub, &conn->grant, &arena, &models);
    if (r) {
        conn_request_refused(conn_request, err_up(r), &diag, 0);
    } else {
        answer.body_case = SOTTO__V1__SERVER_FRAME__BODY_MODELS;
        answer.models = &models;
        conn_request_answer(conn_request, &answer);
    }
    arena_finish(&arena);
}

static void on_progress(void *owner, const Sotto__V1__LoadProgress *progress)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_LOAD_PROGRESS;
    frame.load_progress = (Sotto__V1__LoadProgress *)(uintptr_t)progress;
    conn_request_tell(owner, &frame);
}

static void on_loaded(void *owner, const Sotto__V1__ModelInfo *info, const Sotto__V1__Error *error)
{
    struct conn_request *conn_request = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;

    conn_request->ticket = NULL;
    if (error) {
        conn_request_fail(conn_request, error);
        return;
    }
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_MODEL_INFO;
    frame.model_info = (Sotto__V1__ModelInfo *)(uintptr_t)info;
    conn_request_answer(conn_request, &frame);
}

void on_load_model(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    const Sotto__V1__LoadModel *load = frame->load_model;
    struct diag diag = DIAG_INIT;
    int r;

    /* The daemon would open a file that the peer itself may not read. */
    if (*load->file && !conn->grant.admin) {
        diag_blame(&diag, "load_model.file", "naming a file is for administrators; name a configured model alone");
        conn_request_refused(conn_request, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, &diag, 0);
        return;
    }
    log_line("ipc", ipc_log_level(conn->ipc), "connection %" PRIu64 ", uid %" PRIu32 ": asks to load model %s",
             conn->id, conn->peer.uid, load->name);
    r = hub_load(conn->ipc->hub, load, &conn->grant, on_progress, on_loaded, conn_request, &conn_request->ticket,
                 &diag);
    if (r) {
        conn_request->ticket = NULL;
        conn_request_refused(conn_request, r, &diag, 0);
    }
}

static void on_unloaded(void *owner, const Sotto__V1__Error *error)
{
    struct conn_request *conn_request = owner;
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;
    Sotto__V1__Unloaded unloaded = SOTTO__V1__UNLOADED__INIT;

    conn_request->ticket = NULL;
    if (error) {
        conn_request_fail(conn_request, error);
        return;
    }
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_UNLOADED;
    frame.unloaded = &unloaded;
    conn_request_answer(conn_request, &frame);
}

void on_unload_model(struct conn *conn, struct conn_request *conn_request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r;

    log_info("ipc", "connection %" PRIu64 ", uid %" PRIu32 ": asks to unload model %s", conn->id, conn->peer.uid,
             frame->unload_model->name);
    r = hub_unload(conn->ipc->hub, frame->unload_model, &conn->grant, on_unloaded, conn_request, &conn_request->ticket,
                   &diag);
    if (r) {
        conn_request->ticket = NULL;
        conn_request_refused(conn_request, r, &diag, 0);
    }
}
