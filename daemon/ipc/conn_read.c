/*
 * Bytes come in, frames go out. A connection reads a piece, keeps it until its frames have been handled, and then
 * reads on. Its memory grows with the bytes that came, never with a claimed length.
 */
#include "base/err.h"
#include "base/log.h"
#include "ipc/frame_queue.h"
#include <inttypes.h>
#include <poll.h>

static void give_scratch(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    struct conn *conn = handle->data;

    (void)suggested;
    *ret_buf = uv_buf_init((char *)conn->ipc->scratch, sizeof(conn->ipc->scratch));
}

static void refuse_bytes(struct conn *conn, int r, const struct frame *frame)
{
    conn->ipc->counts.n_bad++;
    if (r == WIRE_TOO_MUCH) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "",
                  "a frame of %zu bytes would unpack to more than %u times its length; send fewer and larger fields",
                  frame->n, LIMIT_UNPACK_FACTOR);
    } else if (r == WIRE_MALFORMED) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "",
                  "a frame of %zu bytes is not a ClientFrame of sotto.v1; each message follows its length, which has 4 "
                  "bytes, "
                  "little endian",
                  frame->n);
    } else {
        conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "",
                  "the daemon has no memory for a frame of %zu bytes", frame->n);
    }
}

static void handle_frame(struct conn *conn, const struct frame *frame)
{
    ProtobufCMessage *message;
    int r = wire_unpack(&conn->ipc->wire, &sotto__v1__client_frame__descriptor, frame, &message);

    conn->ipc->counts.n_frames_in++;
    if (r != WIRE_OK) {
        refuse_bytes(conn, r, frame);
    } else {
        conn->ipc->conn_ops->on_frame(conn, (const Sotto__V1__ClientFrame *)message);
    }
    arena_reset(&conn->ipc->wire.arena); /* frees a long prompt now, not with the next frame */
}

/* The deadline of an incomplete frame runs from its first byte. */
static void watch_half_frame(struct conn *conn)
{
    if (!conn->in.n) {
        conn_wait(conn, DUE_HALF_FRAME, 0);
    } else if (conn->some_taken || !conn->due_ms[DUE_HALF_FRAME]) {
        conn_wait(conn, DUE_HALF_FRAME, conn->ipc->limits.half_frame_ms);
    }
    conn->some_taken = false;
}

static void read_on(struct conn *conn)
{
    frame_queue_remove(conn);
    if (!conn->in.n) {
        buf_finish(&conn->in); /* most connections are idle for most of the time */
    }
    conn_charge(conn);
    watch_half_frame(conn);
    conn_start_reading(conn);
}

void conn_take_frame(struct conn *conn)
{
    size_t max = conn->state == CONN_NEW ? LIMIT_FRAME_NEW : LIMIT_FRAME;
    struct frame frame;
    size_t used;
    int r;

    if (!conn_is_open(conn) || conn->fail_why) {
        frame_queue_remove(conn);
        return;
    }
    r = frame_take(buf_data(&conn->in), conn->in.n, max, &frame, &used);
    if (r == FRAME_MORE) {
        read_on(conn);
        return;
    }
    if (r == FRAME_TOO_LARGE) {
        frame_queue_remove(conn);
        conn->ipc->counts.n_bad++;
        conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "",
                  "a frame of %zu bytes was announced; at most %zu are allowed%s", frame.n, max,
                  conn->state == CONN_NEW ? " before Welcome" : "");
        return;
    }
    frame_queue_charge(conn->ipc, conn->tenant, FRAME_QUEUE_FRAME_COST + frame.n);
    handle_frame(conn, &frame);
    buf_eat(&conn->in, used);
    conn->some_taken = true;
}

static void on_bytes(struct conn *conn, const uint8_t *bytes, size_t n)
{
    uv_read_stop((uv_stream_t *)&conn->pipe);
    if (buf_append(&conn->in, bytes, n) != BUF_OK) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "", "the daemon has no memory for the bytes sent");
        return;
    }
    conn_charge(conn);
    frame_queue_add(conn);
}

bool conn_peer_is_gone(const struct conn *conn)
{
    struct pollfd look = { .events = 0 };
    uv_os_fd_t fd;

    if (uv_fileno((const uv_handle_t *)&conn->pipe, &fd)) {
        return true;
    }
    look.fd = fd;
    return poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR));
}

static void on_end(struct conn *conn)
{
    if (conn->state == CONN_NEW || conn->in.n || conn_peer_is_gone(conn)) {
        conn_close(conn);
        return;
    }
    conn_move(conn, CONN_HALF);
    conn_wait(conn, DUE_HALF_FRAME, 0);
    conn_wait(conn, DUE_HALF, 1);
    log_debug("ipc", "connection %" PRIu64 ": half-closed with %" PRIu32 " requests", conn->id, conn->n_requests);
    conn->ipc->conn_ops->on_half_closed(conn);
    conn_end_half(conn);
}

static void on_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *buf)
{
    struct conn *conn = pipe->data;

    if (n == UV_EOF) {
        on_end(conn);
    } else if (n < 0) {
        conn_close(conn);
    } else if (n > 0) {
        on_bytes(conn, (const uint8_t *)buf->base, (size_t)n);
    }
}

void conn_start_reading(struct conn *conn)
{
    if (uv_read_start((uv_stream_t *)&conn->pipe, give_scratch, on_read)) {
        conn_close(conn);
    }
}
