/*
 * Ipc: the room of connections, as its owner sees it
 *
 * One struct ipc holds every listener and connection of the daemon. It asks its owner who may do what (policy), and
 * the hub for all the work; it knows neither the configuration nor the service manager. Everything runs on the
 * loop's thread.
 */
#ifndef SOTTO_IPC_IPC_H
#define SOTTO_IPC_IPC_H

#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "hub/hub.h"
#include "ipc/peer.h"
#include "proto/wire.h"

/* Bounds of all connections; the usual ones stand in proto/limit.h, tests shorten the times. */
struct ipc_limits {
    uint32_t n_conns; /* above it a connection is told so and closed */
    uint32_t n_conns_a_uid;
    uint64_t wire_bytes_a_uid; /* read or unsent, all connections of one uid */
    uint32_t hello_ms;
    uint32_t half_frame_ms;
    uint32_t stall_ms;
    uint32_t closing_ms;
};

/* What the room asks of its owner. */
struct ipc_ops {
    /* What policy gives @peer; ret_grant->uid is the peer's. */
    void (*grant)(void *owner, const struct peer *peer, struct grant *ret_grant);

    /* Reads the configuration anew. 0, with the lists valid until the next call; or a Sotto__V1__Code with the
     * sentence in @diag, and nothing has changed. */
    int (*reload)(void *owner, Sotto__V1__Reloaded *ret_reloaded, struct diag *diag);

    /* Sets what only the owner knows: config_file (if @grant may see it) and config_generation. */
    void (*describe)(void *owner, const struct grant *grant, Sotto__V1__StatusReport *report);
};

/* Totals since start; with the names that Status gives them. */
struct ipc_counts {
    uint64_t n_accepted;
    uint64_t n_refused; /* connections above a bound */
    uint64_t n_frames_in;
    uint64_t n_frames_out;
    uint64_t n_bad;         /* connections ended for what they sent */
    uint64_t n_slow;        /* connections ended since they did not read */
    uint64_t n_stalls;      /* times that the streams of a connection were parked */
    uint64_t n_events_lost; /* events that a watcher was too slow for */
};

#define IPC_READ_BYTES (64u << 10) /* one read: what a unix socket holds in a few large writes */

/* The fields are the room's own. */
struct ipc {
    uv_loop_t *loop;
    struct hub *hub;
    const struct ipc_ops *ops;
    void *owner;
    struct ipc_limits limits;
    char instance[33];
    uint64_t started_us;   /* CLOCK_BOOTTIME */
    struct list listeners; /* listener::link */
    struct list conns;     /* conn::link */
    struct list dirty;     /* conn::dirty: bytes were queued in this turn of the loop */
    struct list tenants;   /* tenant::link */
    struct list watches;   /* conn_request::watch */
    uint32_t n_conns;      /* served: those refused and being closed don't count */
    bool told_full;        /* the log has a line about the limit that is reached */
    uint64_t told_from_us; /* a while of lines about peers, and how many it has had */
    uint32_t n_told;
    uint64_t last_id; /* of a connection, for the log */
    struct wire wire; /* of the frame being handled: handlers are done with it when they return */
    uv_prepare_t flusher;
    bool flusher_open;
    bool closing;
    void (*done)(void *owner);
    struct ipc_counts counts;
    struct {
        uint64_t at_ms; /* when the kernel was asked; 0: never */
        uint64_t rss_bytes;
        uint32_t n_descriptors;
    } own;                           /* of this process, for Status */
    uint8_t scratch[IPC_READ_BYTES]; /* bytes just read; a connection keeps only what is no whole frame */
};

/* @hub and @ops outlive it. 0 or a fault. */
int ipc_create(struct ipc **ret_ipc, uv_loop_t *loop, struct hub *hub, const struct ipc_limits *limits,
               const struct ipc_ops *ops, void *owner);

/* A new configuration: its bounds and its policy hold for connections to come, and for what the others ask from now
 * on. Streams keep what they began with. */
void ipc_reconfigure(struct ipc *ipc, const struct ipc_limits *limits);

/* No new connections any more; the path, if it is ours, is removed. */
void ipc_stop_listening(struct ipc *ipc);

/* Stops listening, tells every peer that the daemon ends, closes all; @done (of @ipc's owner) is called when every
 * handle is closed. Then ipc_destroy(). */
void ipc_close(struct ipc *ipc, void (*done)(void *owner));
void ipc_destroy(struct ipc *ipc);

/* Tells watchers; has the form of events_fn but for its first argument. */
void ipc_event(struct ipc *ipc, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
               uint32_t uid);

/* For the room: how loud a line about what a peer did is. A few in some seconds are LOG_INFO. */
enum log_level ipc_log_level(struct ipc *ipc);

/* For the room: called when a listener or connection is gone, since ipc_close() waits for the last. */
void ipc_left(struct ipc *ipc);

#endif
