/*
 * Ipc state: what listeners, connections and requests share
 */
#ifndef SOTTO_IPC_IPC_STATE_H
#define SOTTO_IPC_IPC_STATE_H

#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "ipc/ipc.h"
#include "proto/wire.h"

#define IPC_READ_BYTES (64u << 10) /* of one read: what a unix socket holds in a few large writes */

struct ipc {
    uv_loop_t *loop;
    struct hub *hub;
    const struct ipc_ops *ops;
    const struct conn_ops *conn_ops;
    void *owner;
    struct ipc_limits limits;
    char instance[33];
    uint64_t started_us;   /* CLOCK_BOOTTIME */
    struct list listeners; /* listener::link */
    struct list conns;     /* conn::link */
    struct list dirty;     /* conn::dirty: bytes were queued in this loop iteration */
    struct list tenants;   /* tenant::link */
    struct list watches;   /* conn_request::watch */
    struct list due;       /* tenant::due: frames wait to be handled */
    uint32_t n_conns;      /* served; refused ones and those that are being closed don't count */
    bool is_full_logged;   /* the log has a line about the limit that is reached */
    uint64_t log_since_us; /* when the current period of ipc_log_level() began */
    uint32_t n_logged;     /* lines in that period */
    uint64_t last_id;      /* of a connection, for the log */
    struct wire wire;      /* of the frame being handled */
    uv_prepare_t flusher;
    uv_check_t round_check; /* behind the reading of an iteration */
    bool is_pausing;        /* a round left frames; the next one waits for @round_timer */
    uv_timer_t round_timer; /* runs while a round left frames for the next one */
    uv_timer_t spare_timer; /* runs after large blocks were freed, to return their pages */
    unsigned n_handles;     /* of these four, not closed */
    uint64_t cost;          /* bytes, of all tenants (frame_queue.h) */
    uint64_t least_cost;    /* that the last tenant to have a round had caused: a newcomer begins there */
    bool closing;
    void (*done)(void *owner);
    struct ipc_counts counts;
    struct {
        uint64_t at_ms; /* when the kernel was asked; 0: never */
        uint64_t rss_bytes;
        uint32_t n_descriptors;
    } own;                           /* of this process, for Status */
    uint8_t scratch[IPC_READ_BYTES]; /* bytes just read, before the connection keeps them */
};

/* Returns the level of a log line about what a peer did: LOG_INFO for a few in some seconds, then LOG_DEBUG. */
enum log_level ipc_log_level(struct ipc *ipc);

/* Called when a listener or connection is gone: ipc_close() waits for the last. */
void ipc_left(struct ipc *ipc);

#endif
