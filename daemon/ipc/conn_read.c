/*
 * Bytes in, frames out. What was read lies in a buffer of the room; a connection keeps only the part of a frame that
 * waits for its rest, so its memory grows with the bytes that really came, never with the length that was claimed.
 */
#include "base/err.h"
#include "base/log.h"
#include "ipc/conn_request.h"
#include "ipc/route.h"
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
                  "a frame of %zu bytes would unpack to more than %u times its length; send fewer, larger fields",
                  frame->n, LIMIT_UNPACK_FACTOR);
    } else if (r == WIRE_MALFORMED) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "",
                  "a frame of %zu bytes is no ClientFrame of sotto.v1; before each message stands its length, in 4 "
                  "bytes, little endian",
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
        route_frame(conn, (const Sotto__V1__ClientFrame *)message);
    }
    arena_reset(&conn->ipc->wire.arena); /* a long prompt is not kept until the next frame of anybody comes */
}

/* Handles every whole frame at the head of @bytes and returns how many bytes they had. */
static size_t take_frames(struct conn *conn, const uint8_t *bytes, size_t n)
{
    size_t at = 0;

    while (conn_is_open(conn) && !conn->doom && at < n) {
        size_t max = conn->state == CONN_NEW ? LIMIT_FRAME_NEW : LIMIT_FRAME;
        struct frame frame;
        size_t used;
        int r = frame_take(bytes + at, n - at, max, &frame, &used);

        if (r == FRAME_MORE) {
            break;
        }
        if (r == FRAME_TOO_LARGE) {
            conn->ipc->counts.n_bad++;
            conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "",
                      "a frame of %zu bytes is announced; %s at most %zu are allowed", frame.n,
                      conn->state == CONN_NEW ? "before Welcome" : "here", max);
            break;
        }
        handle_frame(conn, &frame);
        at += used;
    }
    return at;
}

/* The time for a half frame runs from its first byte; a whole one ends it. */
static void watch_half_frame(struct conn *conn, bool some_taken)
{
    if (!conn_is_open(conn)) {
        return;
    }
    if (!conn->in.n) {
        conn_wait(conn, DUE_HALF_FRAME, 0);
    } else if (some_taken || !conn->due_ms[DUE_HALF_FRAME]) {
        conn_wait(conn, DUE_HALF_FRAME, conn->ipc->limits.half_frame_ms);
    }
}

static void on_bytes(struct conn *conn, const uint8_t *bytes, size_t n)
{
    size_t taken = 0;

    if (!conn->in.n) {
        taken = take_frames(conn, bytes, n);
        bytes += taken;
        n -= taken;
    }
    if (n && conn_is_open(conn) && buf_append(&conn->in, bytes, n) != BUF_OK) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "", "the daemon has no memory for what was sent");
        return;
    }
    if (conn->in.n && !taken) {
        taken = take_frames(conn, buf_data(&conn->in), conn->in.n);
        buf_eat(&conn->in, taken);
    }
    conn_charge(conn);
    watch_half_frame(conn, taken > 0);
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

/* A Watch goes on until it is cancelled, which can't come any more. */
static void end_watches(struct conn *conn)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &conn->requests) {
        struct conn_request *conn_request = container_of(link, struct conn_request, link);

        if (!list_is_empty(&conn_request->watch)) {
            route_cancel(conn_request);
        }
    }
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
    end_watches(conn);
    conn_ask_ended(conn);
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
