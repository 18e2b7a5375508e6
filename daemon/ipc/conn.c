/*
 * The life of a connection: its states, its deadlines, and its two ways to end.
 */
#include "ipc/conn.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "ipc/frame_queue.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#define HALF_LOOK_MS 1000u /* a peer that vanishes after its half-close keeps its streams no longer */

#define TO(state) (1u << (state))

/* Every legal move. CONN_CLOSED is final. */
static const unsigned moves[CONN_STATE_COUNT] = {
    [CONN_NEW] = TO(CONN_READY) | TO(CONN_CLOSING) | TO(CONN_CLOSED),
    [CONN_READY] = TO(CONN_STALLED) | TO(CONN_HALF) | TO(CONN_CLOSING) | TO(CONN_CLOSED),
    [CONN_STALLED] = TO(CONN_READY) | TO(CONN_HALF) | TO(CONN_CLOSING) | TO(CONN_CLOSED),
    [CONN_HALF] = TO(CONN_CLOSING) | TO(CONN_CLOSED),
    [CONN_CLOSING] = TO(CONN_CLOSED),
    [CONN_CLOSED] = 0,
};

#undef TO

bool conn_may_move(enum conn_state from, enum conn_state to)
{
    return (moves[from] & (1u << to)) != 0;
}

void conn_move(struct conn *conn, enum conn_state to)
{
    assert(conn_may_move(conn->state, to));
    conn->state = to;
}

bool conn_is_open(const struct conn *conn)
{
    return conn->state == CONN_NEW || conn->state == CONN_READY || conn->state == CONN_STALLED;
}

/* ---- time */

static void on_timer(uv_timer_t *timer);

static void arm(struct conn *conn)
{
    uint64_t now_ms = clock_mono_us() / 1000;
    uint64_t next_ms = UINT64_MAX;

    if (conn->state == CONN_CLOSED) {
        return;
    }
    for (size_t i = 0; i < DUE_COUNT; i++) {
        if (conn->due_ms[i] && conn->due_ms[i] < next_ms) {
            next_ms = conn->due_ms[i];
        }
    }
    if (next_ms == UINT64_MAX) {
        uv_timer_stop(&conn->timer);
        return;
    }
    /* After a long callback the loop's time is old, and a timer would fire too early. */
    uv_update_time(conn->ipc->loop);
    uv_timer_start(&conn->timer, on_timer, next_ms > now_ms ? next_ms - now_ms : 0, 0);
}

void conn_wait(struct conn *conn, enum conn_due due, uint32_t ms)
{
    conn->due_ms[due] = ms ? clock_mono_us() / 1000 + ms : 0;
    arm(conn);
}

static void on_half(struct conn *conn)
{
    if (conn_peer_is_gone(conn)) {
        conn_close(conn);
        return;
    }
    conn->ipc->conn_ops->on_half_look(conn);
    conn_wait(conn, DUE_HALF, HALF_LOOK_MS);
}

static void on_due(struct conn *conn, enum conn_due due)
{
    const struct ipc_limits *limits = &conn->ipc->limits;

    switch (due) {
    case DUE_HELLO:
        conn_fail(conn, SOTTO__V1__CODE__CODE_DEADLINE_EXCEEDED, "hello", "no hello came within %" PRIu32 " ms",
                  limits->hello_ms);
        break;
    case DUE_HALF_FRAME:
        if (frame_queue_has(conn)) { /* what it sent was not looked at */
            conn_wait(conn, DUE_HALF_FRAME, limits->half_frame_ms);
            break;
        }
        conn_fail(conn, SOTTO__V1__CODE__CODE_DEADLINE_EXCEEDED, "",
                  "a frame was begun (%zu bytes came) and not completed within %" PRIu32 " ms", conn->in.n,
                  limits->half_frame_ms);
        break;
    case DUE_STALL:
        conn_check_stall(conn);
        break;
    case DUE_HALF:
        on_half(conn);
        break;
    case DUE_CLOSING:
        conn_close(conn);
        break;
    case DUE_COUNT:
        break;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct conn *conn = timer->data;
    uint64_t now_ms = clock_mono_us() / 1000;

    for (size_t i = 0; i < DUE_COUNT && conn->state != CONN_CLOSED; i++) {
        if (conn->due_ms[i] && conn->due_ms[i] <= now_ms) {
            conn->due_ms[i] = 0;
            on_due(conn, (enum conn_due)i);
        }
    }
    arm(conn);
}

/* ---- end */

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    struct ipc *ipc = conn->ipc;

    if (--conn->n_handles) {
        return;
    }
    list_remove(&conn->link);
    buf_finish(&conn->in);
    buf_finish(&conn->out);
    buf_finish(&conn->in_flight);
    peer_finish(&conn->peer);
    mem_free(conn);
    ipc_left(ipc);
}

void conn_close(struct conn *conn)
{
    if (conn->state == CONN_CLOSED) {
        return;
    }
    conn_move(conn, CONN_CLOSED);
    conn->ipc->conn_ops->on_close(conn);
    hub_hint_ends(conn->ipc->hub, &conn->compositor);
    hub_connection_left(conn->ipc->hub, conn->id);
    list_remove(&conn->dirty);
    frame_queue_remove(conn);
    if (conn->tenant) {
        conn->ipc->n_conns--;
        tenant_leave(steal(&conn->tenant), conn->charged);
        conn->charged = 0;
    }
    log_debug("ipc", "connection %" PRIu64 ": closed", conn->id);
    uv_close((uv_handle_t *)&conn->pipe, on_closed);
    uv_close((uv_handle_t *)&conn->timer, on_closed);
}

/* The last frame is queued: nothing more is read, and what is unsent has some time to go out. */
static void finish_sending(struct conn *conn)
{
    conn_move(conn, CONN_CLOSING);
    uv_read_stop((uv_stream_t *)&conn->pipe);
    for (size_t i = 0; i < DUE_COUNT; i++) {
        conn->due_ms[i] = 0;
    }
    conn_wait(conn, DUE_CLOSING, conn->ipc->limits.closing_ms);
    if (list_is_empty(&conn->dirty)) {
        list_append(&conn->ipc->dirty, &conn->dirty); /* even with nothing unsent, since the flush closes then */
    }
}

void conn_end_half(struct conn *conn)
{
    if (conn->state == CONN_HALF && !conn->n_requests) {
        finish_sending(conn);
    }
}

void conn_fail(struct conn *conn, Sotto__V1__Code code, const char *field, const char *format, ...)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;
    struct diag diag = DIAG_INIT;
    char sentence[DIAG_BYTES];
    va_list words;

    if (conn->state == CONN_CLOSING || conn->state == CONN_CLOSED) {
        return;
    }
    va_start(words, format);
    vsnprintf(sentence, sizeof(sentence), format, words);
    va_end(words);
    diag_blame(&diag, field, "%s", sentence); /* replaces bytes of a client that are not UTF-8 */
    /* The end of the daemon, and the limit of connections, are logged elsewhere, once. */
    log_line("ipc",
             code == SOTTO__V1__CODE__CODE_UNAVAILABLE || !conn->is_admitted ? LOG_DEBUG : ipc_log_level(conn->ipc),
             "connection %" PRIu64 ", uid %" PRIu32 ", pid %d: ended: %s", conn->id, conn->peer.uid, conn->peer.pid,
             diag.text);

    error.code = code;
    error.message = diag.text;
    error.field = diag.field;
    error.fatal = true;
    conn_send(conn, 0, SOTTO__V1__SERVER_FRAME__BODY_ERROR, &error);
    conn->ipc->conn_ops->on_close(conn); /* a half-closed connection begins to close by itself with the last request */
    if (conn->state != CONN_CLOSING && conn->state != CONN_CLOSED) {
        finish_sending(conn);
    }
}

/* ---- beginning */

/* Logs once, not for each connection of a flood; Status has their number. */
static void log_full(struct conn *conn)
{
    if (!conn->ipc->is_full_logged) {
        log_warn("ipc", "uid %" PRIu32 ", pid %d: refused: the limit of connections is reached", conn->peer.uid,
                 conn->peer.pid);
    }
    conn->ipc->is_full_logged = true;
}

/* Returns how many connections there may be with @conn, the newest. A few users that hold as many as they may do not
 * shut out all others, and never an administrator. A small limit keeps an eighth. */
static uint32_t conns_most(const struct conn *conn)
{
    uint32_t n = conn->ipc->limits.n_conns;
    uint32_t n_kept = n / 8 < LIMIT_CONNS_KEPT ? n / 8 : LIMIT_CONNS_KEPT;

    if (conn->grant.admin) {
        return n;
    }
    return conn->tenant->n_conns <= LIMIT_CONNS_FEW ? n - n_kept : n - 2 * n_kept;
}

/* Admits the connection, or refuses it with one write that does not wait: a flood of connections must not be held. */
static bool admit(struct conn *conn)
{
    const struct ipc_limits *limits = &conn->ipc->limits;

    conn->tenant = tenant_join(&conn->ipc->tenants, conn->peer.uid);
    if (!conn->tenant) {
        return false;
    }
    conn->ipc->n_conns++;
    if (conn->ipc->n_conns > conns_most(conn)) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "",
                  "the daemon has reached its limit of %" PRIu32 " connections, of which some are kept for "
                  "administrators and for users with few; try again later",
                  limits->n_conns);
    } else if (conn->tenant->n_conns > limits->n_conns_a_uid) {
        conn_fail(conn, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "",
                  "user %" PRIu32 " has reached its limit of %" PRIu32 " connections; close one first", conn->peer.uid,
                  limits->n_conns_a_uid);
    } else {
        conn->ipc->is_full_logged = false;
        conn->is_admitted = true;
        return true;
    }
    log_full(conn);
    uv_try_write((uv_stream_t *)&conn->pipe,
                 &(uv_buf_t){ .base = wire_message(buf_data(&conn->out)), .len = conn->out.n }, 1);
    return false;
}

void conn_ask_policy(struct conn *conn)
{
    conn->ipc->ops->grant(conn->ipc->owner, &conn->peer, &conn->grant);
    conn->grant.connection = conn->id;
}

static void begin(struct conn *conn)
{
    uv_os_fd_t fd;
    int r = uv_fileno((const uv_handle_t *)&conn->pipe, &fd);

    if (!r) {
        r = peer_read(&conn->peer, fd);
    }
    if (r) {
        log_warn("ipc", "connection %" PRIu64 ": the kernel does not tell its credentials: %s", conn->id,
                 strerrordesc_np(-r));
        conn_close(conn);
        return;
    }
    conn_ask_policy(conn);
    if (!admit(conn)) {
        conn->ipc->counts.n_refused++;
        conn_close(conn);
        return;
    }
    conn->ipc->counts.n_accepted++;
    log_debug("ipc", "connection %" PRIu64 ": uid %" PRIu32 ", pid %d, label \"%s\"", conn->id, conn->peer.uid,
              conn->peer.pid, conn->peer.label);
    conn_wait(conn, DUE_HELLO, conn->ipc->limits.hello_ms);
    conn_start_reading(conn);
}

int conn_accept(struct ipc *ipc, uv_stream_t *server)
{
    struct conn *conn = mem_calloc(MEM_WIRE, 1, sizeof(*conn));
    int r;

    if (!conn) {
        return err_new(-ENOMEM);
    }
    conn->ipc = ipc;
    conn->id = ++ipc->last_id;
    list_init(&conn->dirty);
    list_init(&conn->queued);
    list_init(&conn->requests);
    buf_init(&conn->in, MEM_WIRE, FRAME_HEAD_BYTES + LIMIT_FRAME + IPC_READ_BYTES);
    buf_init(&conn->out, MEM_WIRE, LIMIT_OUT_MAX + 2 * (FRAME_HEAD_BYTES + LIMIT_FRAME));
    buf_init(&conn->in_flight, MEM_WIRE, conn->out.max);
    conn->pipe.data = conn;
    conn->timer.data = conn;
    uv_timer_init(ipc->loop, &conn->timer);
    uv_pipe_init(ipc->loop, &conn->pipe, 0);
    conn->n_handles = 2;
    list_append(&ipc->conns, &conn->link);
    r = uv_accept(server, (uv_stream_t *)&conn->pipe);
    if (r) {
        conn_close(conn);
        return err_new(r);
    }
    begin(conn);
    return 0;
}
