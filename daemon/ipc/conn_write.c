/*
 * Frames are joined in a buffer and handed to the kernel once in a loop iteration, one write at a time. The kernel
 * buffers little: a few hundred small frames fill a socket. So unsent bytes are bounded here: above LIMIT_OUT_STALL the
 * connection's streams are parked, below LIMIT_OUT_RESUME they go on; at LIMIT_OUT_MAX, or when the peer takes no byte
 * for the stall time, the connection fails.
 */
#include "base/clock.h"
#include "ipc/frame_queue.h"
#include <linux/sockios.h>
#include <sys/ioctl.h>

#define LABEL_BYTES 6u  /* at most, of a ServerFrame that has a stream and no body */
#define STALL_LOOKS 16u /* number of looks at a stalled peer within the stall time */

size_t conn_unsent(const struct conn *conn)
{
    size_t in_flight = conn->is_writing ? uv_stream_get_write_queue_size((const uv_stream_t *)&conn->pipe) : 0;

    return conn->out.n + in_flight;
}

static void mark_dirty(struct conn *conn)
{
    if (list_is_empty(&conn->dirty)) {
        list_append(&conn->ipc->dirty, &conn->dirty);
    }
}

void conn_fail_later(struct conn *conn, Sotto__V1__Code code, const char *why)
{
    if (!conn->fail_why && conn->state != CONN_CLOSING && conn->state != CONN_CLOSED) {
        conn->fail_why = why;
        conn->fail_code = code;
        mark_dirty(conn);
    }
}

void conn_charge(struct conn *conn)
{
    uint64_t now = conn->in.cap + conn->out.cap + conn->in_flight.cap;

    if (!conn->tenant) {
        return;
    }
    conn->tenant->wire_bytes += now - conn->charged; /* may be negative, which unsigned arithmetic allows */
    conn->charged = now;
    if (conn->tenant->wire_bytes > conn->ipc->limits.wire_bytes_a_uid) {
        conn_fail_later(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED,
                        "the connections of this user hold too many bytes together, in requests and unread answers; "
                        "read the answers before sending more");
    }
}

/* ---- the slow reader */

static void park(struct conn *conn, bool parked)
{
    conn->is_parked = parked;
    conn->ipc->conn_ops->on_park(conn, parked);
}

/* Returns the bytes that the peer has not taken: the rest of the write, and what the kernel holds. (The kernel takes
 * more only when three quarters of its buffer are free, so the write alone does not show a reader that is slow but
 * reads.) */
static size_t left_to_take(const struct conn *conn)
{
    size_t in_flight = uv_stream_get_write_queue_size((const uv_stream_t *)&conn->pipe);
    uv_os_fd_t fd;
    int held = 0;

    if (uv_fileno((const uv_handle_t *)&conn->pipe, &fd) || ioctl(fd, SIOCOUTQ, &held) < 0) {
        held = 0;
    }
    return in_flight + (size_t)held;
}

static uint32_t look_ms(const struct conn *conn)
{
    uint32_t ms = conn->ipc->limits.stall_ms / STALL_LOOKS;

    return ms ? ms : 1;
}

static void stall(struct conn *conn)
{
    if (conn->state == CONN_READY) {
        conn_move(conn, CONN_STALLED);
    }
    conn->ipc->counts.n_stalls++;
    conn->seen_left = left_to_take(conn);
    conn->taken_ms = clock_mono_us() / 1000;
    park(conn, true);
    conn_wait(conn, DUE_STALL, look_ms(conn));
}

static void resume(struct conn *conn)
{
    if (conn->state == CONN_STALLED) {
        conn_move(conn, CONN_READY);
    }
    conn_wait(conn, DUE_STALL, 0);
    park(conn, false);
}

void conn_check_stall(struct conn *conn)
{
    uint64_t now_ms = clock_mono_us() / 1000;
    size_t left = left_to_take(conn);

    if (!conn->is_parked || conn->state == CONN_CLOSING || conn->state == CONN_CLOSED) {
        return;
    }
    if (conn_unsent(conn) <= LIMIT_OUT_RESUME) {
        resume(conn);
        return;
    }
    if (left < conn->seen_left) {
        conn->taken_ms = now_ms;
    }
    conn->seen_left = left;
    if (now_ms - conn->taken_ms >= conn->ipc->limits.stall_ms) {
        conn_fail_later(
            conn, SOTTO__V1__CODE__CODE_ABORTED,
            "slow reader: answers wait, and the client took no byte for too long; read, or grant less credit");
        return;
    }
    conn_wait(conn, DUE_STALL, look_ms(conn));
}

/* ---- writing */

static void on_written(uv_write_t *write, int status)
{
    struct conn *conn = write->data;

    conn->is_writing = false;
    buf_eat(&conn->in_flight, conn->in_flight.n);
    if (conn->state == CONN_CLOSED) {
        return;
    }
    if (status < 0) {
        conn_close(conn); /* EPIPE: the peer has gone */
        return;
    }
    conn->taken_ms = clock_mono_us() / 1000;
    conn_flush(conn);
    if (conn->state == CONN_CLOSED) {
        return;
    }
    conn_charge(conn);
    if (conn->is_parked) {
        conn_check_stall(conn);
    }
}

static void fail_now(struct conn *conn)
{
    const char *why = conn->fail_why;

    conn->fail_why = NULL;
    conn->ipc->counts.n_slow++;
    conn_fail(conn, conn->fail_code, "", "%s", why);
}

void conn_flush(struct conn *conn)
{
    uv_buf_t bytes;
    struct buf empty;

    list_remove(&conn->dirty);
    if (conn->fail_why) {
        fail_now(conn); /* queues its last frame, which goes out below */
        list_remove(&conn->dirty);
    }
    if (conn->is_writing || conn->state == CONN_CLOSED) {
        return;
    }
    if (!conn->out.n) {
        if (conn->state == CONN_CLOSING) {
            conn_close(conn);
        }
        return;
    }
    empty = conn->in_flight;
    conn->in_flight = conn->out;
    conn->out = empty;
    bytes = uv_buf_init(wire_message(buf_data(&conn->in_flight)), (unsigned)conn->in_flight.n);
    conn->write.data = conn;
    conn->is_writing = true;
    if (uv_write(&conn->write, (uv_stream_t *)&conn->pipe, &bytes, 1, on_written)) {
        conn->is_writing = false;
        conn_close(conn);
    }
}

/* Refuses an answer that no frame can hold, such as all pieces of the longest text. */
static void send_too_large(struct conn *conn, uint32_t stream, size_t n)
{
    struct diag diag = DIAG_INIT;

    diag_set(&diag, "the answer has %zu bytes, and a frame at most %u; ask for less at once", n, LIMIT_FRAME);
    conn_refuse(conn, stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, &diag, 0);
}

static bool may_send(const struct conn *conn)
{
    return !conn->fail_why && conn->state != CONN_CLOSING && conn->state != CONN_CLOSED;
}

/* Returns false if too much waits already, and lets the connection fail. */
static bool has_room(struct conn *conn)
{
    if (conn_unsent(conn) <= LIMIT_OUT_MAX) {
        return true;
    }
    conn_fail_later(conn, SOTTO__V1__CODE__CODE_ABORTED,
                    "slow reader: one MiB of answers is unread; read, or ask for less at once");
    return false;
}

/* Follows the packing of a frame of @n bytes into conn::out, of which @r is the result. */
static void sent(struct conn *conn, int r, size_t n, bool is_fatal)
{
    if (r != BUF_OK) {
        conn_fail_later(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "the daemon has no memory for an answer");
        return;
    }
    conn->ipc->counts.n_frames_out++;
    frame_queue_charge(conn->ipc, conn->tenant, n);
    mark_dirty(conn);
    conn_charge(conn);
    if (!is_fatal && !conn->is_parked && conn_unsent(conn) > LIMIT_OUT_STALL) {
        stall(conn);
    }
}

void conn_send(struct conn *conn, uint32_t stream, Sotto__V1__ServerFrame__BodyCase body, const void *message)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;
    bool is_fatal;
    size_t n;

    frame.stream = stream;
    frame.body_case = body;
    frame.error = wire_message(message); /* all bodies share this pointer */
    is_fatal = body == SOTTO__V1__SERVER_FRAME__BODY_ERROR && frame.error->fatal;
    n = sotto__v1__server_frame__get_packed_size(&frame);
    if (!may_send(conn)) {
        return;
    }
    if (n > LIMIT_FRAME) {
        send_too_large(conn, stream, n);
    } else if (is_fatal || has_room(conn)) {
        sent(conn, wire_pack(&frame.base, &conn->out), n, is_fatal);
    }
}

/* A packed message is the sequence of its packed fields, so the stream can be put before the shared bytes. */
void conn_send_shared(struct conn *conn, uint32_t stream, const struct buf *body)
{
    Sotto__V1__ServerFrame label = SOTTO__V1__SERVER_FRAME__INIT;
    uint8_t head[FRAME_HEAD_BYTES + LABEL_BYTES];
    size_t n;
    int r;

    if (!may_send(conn) || !has_room(conn)) {
        return;
    }
    label.stream = stream;
    n = sotto__v1__server_frame__pack(&label, head + FRAME_HEAD_BYTES);
    frame_head(head, (uint32_t)(n + body->n));
    r = buf_append(&conn->out, head, FRAME_HEAD_BYTES + n);
    sent(conn, r ? r : buf_append(&conn->out, buf_data(body), body->n), n + body->n, false);
}

void conn_refuse(struct conn *conn, uint32_t stream, Sotto__V1__Code code, const struct diag *diag, uint32_t retry_ms)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;

    error.code = code;
    error.message = wire_str(diag->text);
    error.field = wire_str(diag->field);
    error.retry_after_ms = retry_ms;
    conn_send(conn, stream, SOTTO__V1__SERVER_FRAME__BODY_ERROR, &error);
}
