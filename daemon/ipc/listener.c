#include "ipc/listener.h"
#include "base/err.h"
#include "base/log.h"
#include "ipc/conn.h"
#include <errno.h>
#include <string.h>

/* Connections that wait to be accepted: a burst of all that are served. The kernel's ceiling is usually 4,096. */
#define BACKLOG ((int)LIMIT_CONNS)

static void accept_one(struct listener *listener);

/* Frees the listener when both handles are closed. */
static void leave(struct listener *listener)
{
    struct ipc *ipc = listener->ipc;

    if (listener->is_open || listener->spare_busy) {
        return;
    }
    list_remove(&listener->link);
    mem_free(listener);
    ipc_left(ipc);
}

static void on_spare_closed(uv_handle_t *spare)
{
    struct listener *listener = spare->data;

    listener->spare_busy = false;
    if (uv_is_closing((const uv_handle_t *)&listener->pipe)) {
        leave(listener);
        return;
    }
    if (listener->is_pending) {
        listener->is_pending = false;
        accept_one(listener);
    }
}

/* A connection that is not accepted hides the next one from the loop. So without memory it is accepted into the spare
 * pipe, and closed. */
static void turn_away(struct listener *listener)
{
    if (listener->spare_busy) {
        listener->is_pending = true;
        return;
    }
    uv_pipe_init(listener->ipc->loop, &listener->spare, 0);
    listener->spare.data = listener;
    listener->spare_busy = true;
    uv_accept((uv_stream_t *)&listener->pipe, (uv_stream_t *)&listener->spare);
    uv_close((uv_handle_t *)&listener->spare, on_spare_closed);
}

static void accept_one(struct listener *listener)
{
    int r = conn_accept(listener->ipc, (uv_stream_t *)&listener->pipe);

    if (r == -ENOMEM) {
        log_warn("ipc", "no memory for a connection; it was closed");
        turn_away(listener);
    } else if (r) {
        log_warn("ipc", "a connection could not be accepted: %s", strerrordesc_np(-r));
    }
}

static void on_connection(uv_stream_t *pipe, int status)
{
    if (status < 0) {
        log_warn("ipc", "accepting failed: %s", uv_strerror(status));
        return;
    }
    accept_one(pipe->data);
}

static int start(struct ipc *ipc, int fd, struct listener **ret_listener)
{
    struct listener *listener = mem_calloc(MEM_WIRE, 1, sizeof(*listener));
    int r;

    if (!listener) {
        close(fd);
        return err_new(-ENOMEM);
    }
    listener->ipc = ipc;
    listener->file.fd = -1;
    listener->file.lock_fd = -1;
    listener->is_open = true;
    listener->pipe.data = listener;
    uv_pipe_init(ipc->loop, &listener->pipe, 0);
    list_append(&ipc->listeners, &listener->link);
    r = uv_pipe_open(&listener->pipe, fd);
    if (r) {
        close(fd);
    } else {
        r = uv_listen((uv_stream_t *)&listener->pipe, BACKLOG, on_connection);
    }
    if (r) {
        listener_close(listener);
        return err_new(r);
    }
    *ret_listener = listener;
    return 0;
}

int listener_open(struct ipc *ipc, const char *path, gid_t gid, struct diag *diag)
{
    struct socket_file file;
    struct listener *listener;
    int r = socket_file_make(&file, path, gid, diag);

    if (r) {
        return err_pass(r);
    }
    r = start(ipc, fd_steal(&file.fd), &listener);
    if (r) {
        diag_set(diag, "socket %s: can't listen on it: %s", path, strerrordesc_np(-r));
        socket_file_remove(&file);
        return err_up(r);
    }
    listener->is_ours = true;
    listener->file = file;
    return 0;
}

int listener_adopt(struct ipc *ipc, int fd, struct diag *diag)
{
    struct listener *listener;
    int r = start(ipc, fd, &listener);

    if (r) {
        diag_set(diag, "socket passed in as descriptor %d: can't listen on it: %s", fd, strerrordesc_np(-r));
        return err_up(r);
    }
    return 0;
}

static void on_closed(uv_handle_t *pipe)
{
    struct listener *listener = pipe->data;

    listener->is_open = false;
    leave(listener);
}

void listener_close(struct listener *listener)
{
    if (uv_is_closing((const uv_handle_t *)&listener->pipe)) {
        return;
    }
    if (listener->is_ours) {
        socket_file_remove(&listener->file);
    }
    uv_close((uv_handle_t *)&listener->pipe, on_closed);
}
