/*
 * Conn: one connection, from its first byte to its close callback
 *
 * Reading: frames are taken out of what came, bounded by length before any memory is set aside (conn_read.c).
 * Writing: frames are joined in a buffer and go out in one write at a time, once a turn of the loop; a peer that does
 * not read first parks its own streams, then loses its connection (conn_write.c). Whatever a peer does, it is this
 * connection that ends, with a typed Error as the last frame where that can still be sent.
 */
#ifndef SOTTO_IPC_CONN_H
#define SOTTO_IPC_CONN_H

#include "ipc/ipc.h"
#include "ipc/tenant.h"
#include "machine/compositor.h"
#include "proto/limit.h"

enum conn_state {
    CONN_NEW,     /* accepted, credentials read; frames of at most LIMIT_FRAME_NEW */
    CONN_READY,   /* requests are served */
    CONN_STALLED, /* too much unsent: its streams are parked; requests are still read */
    CONN_HALF,    /* the peer sends no more, but reads: streams finish */
    CONN_CLOSING, /* the last frame is queued; nothing is read */
    CONN_CLOSED,  /* handles are being closed; freed in their callback and nowhere else */
    CONN_STATE_COUNT,
};

/* What a connection waits for; each has a time by which it must have come. */
enum conn_due {
    DUE_HELLO,
    DUE_HALF_FRAME,
    DUE_STALL, /* looks whether a byte was taken */
    DUE_HALF,  /* looks whether a half-closed peer is still there, and its streams can still finish */
    DUE_CLOSING,
    DUE_COUNT,
};

struct conn {
    struct list link;  /* ipc::conns */
    struct list dirty; /* ipc::dirty */
    struct ipc *ipc;
    uv_pipe_t pipe;
    uv_timer_t timer; /* the earliest of due_ms */
    unsigned n_handles;
    enum conn_state state;
    uint64_t id;
    struct peer peer;
    struct grant grant;
    bool is_admitted;      /* within the bounds of connections */
    struct tenant *tenant; /* NULL: refused before it was served */
    char client[LIMIT_NAME + 1];

    struct buf in;     /* what is no whole frame yet */
    struct buf out;    /* frames not yet handed to the kernel */
    struct buf flying; /* frames that the write in flight sends */
    uv_write_t write;
    bool is_writing;
    bool is_parked;    /* unsent bytes are over their bound */
    uint64_t taken_ms; /* when the peer last took a byte, while parked */
    size_t seen_left;  /* bytes it had still to take when last looked at */
    uint64_t charged;  /* bytes of the three buffers, as the tenant knows them */
    const char *doom;  /* why it ends with this turn of the loop, or NULL; static text */
    Sotto__V1__Code doom_code;

    uint64_t due_ms[DUE_COUNT];   /* CLOCK_MONOTONIC; 0: not waiting */
    struct compositor compositor; /* what it says of its screen, if it is one */
    struct list requests;         /* conn_request::link: requests without their last answer */
    uint32_t n_requests;
};

/* Accepts from @server (a listener's pipe). 0, or a fault: then nothing was accepted. */
int conn_accept(struct ipc *ipc, uv_stream_t *server);

bool conn_may_move(enum conn_state from, enum conn_state to);

/* Asks policy what it may: when it comes, and with a new configuration. */
void conn_judge(struct conn *conn);

/* True while requests are read. */
bool conn_is_open(const struct conn *conn);

/* Queues @frame. Never ends the connection in the middle of the caller's work: a slow reader is doomed, its further
 * frames are dropped, and it ends when this turn of the loop does. */
void conn_send(struct conn *conn, const Sotto__V1__ServerFrame *frame);

/* The same for one that goes to many, so that it is packed once: @body is a packed ServerFrame without its stream,
 * far below LIMIT_FRAME. */
void conn_send_shared(struct conn *conn, uint32_t stream, const struct buf *body);

/* Queues an Error on @stream that is not fatal. */
void conn_refuse(struct conn *conn, uint32_t stream, Sotto__V1__Code code, const struct diag *diag, uint32_t retry_ms);

/* Ends the connection: all its requests are forgotten, a fatal Error on stream 0 is its last frame. */
void conn_fail(struct conn *conn, Sotto__V1__Code code, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Ends the connection at once. May be called again and in every state. */
void conn_close(struct conn *conn);

/* ---- within the room */

void conn_move(struct conn *conn, enum conn_state to);

/* Waits for @due from now on; 0 ms: no longer. */
void conn_wait(struct conn *conn, enum conn_due due, uint32_t ms);

/* A request has had its last answer: a half-closed connection ends with the last of them. */
void conn_ask_ended(struct conn *conn);

void conn_start_reading(struct conn *conn); /* conn_read.c */
bool conn_peer_is_gone(const struct conn *conn);

size_t conn_unsent(const struct conn *conn); /* conn_write.c */
void conn_flush(struct conn *conn);
void conn_check_stall(struct conn *conn);

/* Tells the tenant what the buffers hold now; over its bound the connection is doomed. */
void conn_charge(struct conn *conn);

/* Ends the connection when this turn of the loop ends; @why is static text. The first reason counts. */
void conn_doom(struct conn *conn, Sotto__V1__Code code, const char *why);

#endif
