/*
 * Conn: one connection, from its first byte to its close callback
 *
 * Reading stops after each piece until the frames in it have been handled (frame_queue.h); the length of a frame is
 * checked before any memory is set aside (conn_read.c). Writing joins frames in a buffer, which goes out once in a loop
 * iteration, one write at a time; a peer that does not read first parks its own streams, then loses its connection
 * (conn_write.c). A connection that fails ends alone, with a typed Error as its last frame where that can still be
 * sent. It hands frames and the events of its life to the functions of struct conn_ops and knows no requests.
 */
#ifndef SOTTO_IPC_CONN_H
#define SOTTO_IPC_CONN_H

#include "ipc/ipc_state.h"
#include "ipc/tenant.h"
#include "machine/compositor.h"
#include "proto/limit.h"

enum conn_state {
    CONN_NEW,     /* accepted, credentials read; frames of at most LIMIT_FRAME_NEW */
    CONN_READY,   /* requests are served */
    CONN_STALLED, /* too much unsent: its streams are parked; requests are still read */
    CONN_HALF,    /* the peer sends no more but still reads: streams finish */
    CONN_CLOSING, /* the last frame is queued, and nothing more is read */
    CONN_CLOSED,  /* its handles are being closed; only their callback frees it */
    CONN_STATE_COUNT,
};

/* Deadlines of a connection. */
enum conn_due {
    DUE_HELLO,
    DUE_HALF_FRAME,
    DUE_STALL, /* the time to look whether the peer took a byte */
    DUE_HALF,  /* the time to look whether a half-closed peer is still there and its streams can finish */
    DUE_CLOSING,
    DUE_COUNT,
};

struct conn;

/* Callbacks at the events of a connection; the requests are behind them. */
struct conn_ops {
    void (*on_frame)(struct conn *conn, const Sotto__V1__ClientFrame *frame); /* valid during the call */
    void (*on_park)(struct conn *conn, bool parked);                          /* too much is unsent, or no longer */
    void (*on_half_closed)(struct conn *conn);                                /* the peer sends no more */
    void (*on_half_look)(struct conn *conn);                                  /* from time to time after that */
    void (*on_close)(struct conn *conn);                                      /* all requests end without an answer */
};

struct conn {
    struct list link;    /* ipc::conns */
    struct list dirty;   /* ipc::dirty */
    struct list queued;  /* tenant::queue */
    uint64_t round_cost; /* of its frames since the next connection of the tenant was let in */
    struct ipc *ipc;
    uv_pipe_t pipe;
    uv_timer_t timer; /* for the earliest of due_ms */
    unsigned n_handles;
    enum conn_state state;
    uint64_t id;
    struct peer peer;
    struct grant grant;
    bool is_admitted;      /* within the limits of connections */
    struct tenant *tenant; /* NULL: refused before it was served */
    char client[LIMIT_NAME + 1];

    struct buf in;        /* what was read and not yet handled: frames, and the beginning of one */
    bool some_taken;      /* a frame was handled since the last reading */
    struct buf out;       /* frames not yet handed to the kernel */
    struct buf in_flight; /* frames of the write that is under way */
    uv_write_t write;
    bool is_writing;
    bool is_parked;       /* its streams are: unsent bytes are over their limit */
    uint64_t taken_ms;    /* when the peer last took a byte, while parked */
    size_t seen_left;     /* bytes that the peer had not taken at the last look */
    uint64_t charged;     /* bytes of the three buffers in the tenant's sum */
    const char *fail_why; /* it fails at the end of this loop iteration; NULL: no; static text */
    Sotto__V1__Code fail_code;

    uint64_t due_ms[DUE_COUNT];   /* CLOCK_MONOTONIC; 0: not waiting */
    struct compositor compositor; /* its graphics hints */
    struct list requests;         /* conn_request::link: those without their last answer */
    uint32_t n_requests;
};

/* Accepts a connection from @server, a listener's pipe. 0, or a fault: nothing was accepted. */
int conn_accept(struct ipc *ipc, uv_stream_t *server);

bool conn_may_move(enum conn_state from, enum conn_state to);

/* Asks policy what the peer may do. */
void conn_ask_policy(struct conn *conn);

/* True while requests are read. */
bool conn_is_open(const struct conn *conn);

/* Queues a frame with @message, which is of the kind @body. Never ends the connection during the caller's work: the
 * further frames of a slow reader are dropped, and it fails at the end of the loop iteration. */
void conn_send(struct conn *conn, uint32_t stream, Sotto__V1__ServerFrame__BodyCase body, const void *message);

/* Queues a frame that goes to many connections and was packed once: @body is a packed ServerFrame without its stream,
 * far below LIMIT_FRAME. */
void conn_send_shared(struct conn *conn, uint32_t stream, const struct buf *body);

/* Queues an Error on @stream that is not fatal. */
void conn_refuse(struct conn *conn, uint32_t stream, Sotto__V1__Code code, const struct diag *diag, uint32_t retry_ms);

/* Ends the connection and its requests; a fatal Error on stream 0 is its last frame. */
void conn_fail(struct conn *conn, Sotto__V1__Code code, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Ends the connection at once. May be called again and in every state. */
void conn_close(struct conn *conn);

/* ---- within the module */

void conn_move(struct conn *conn, enum conn_state to);

/* Sets the deadline @due in @ms from now; 0: none. */
void conn_wait(struct conn *conn, enum conn_due due, uint32_t ms);

/* Takes note that a request has had its last answer. A half-closed connection ends with its last request. */
void conn_end_half(struct conn *conn);

void conn_start_reading(struct conn *conn); /* conn_read.c */

/* Handles the frame at the head of what was read. If there is no whole one, @conn leaves the queue and reads on. */
void conn_take_frame(struct conn *conn);
bool conn_peer_is_gone(const struct conn *conn);

size_t conn_unsent(const struct conn *conn); /* conn_write.c */
void conn_flush(struct conn *conn);
void conn_check_stall(struct conn *conn);

/* Adds what the buffers hold now to the tenant's sum; above its limit the connection fails. */
void conn_charge(struct conn *conn);

/* Lets the connection fail at the end of this loop iteration; @why is static text. The first reason counts. */
void conn_fail_later(struct conn *conn, Sotto__V1__Code code, const char *why);

#endif
