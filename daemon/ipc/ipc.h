/*
 * Ipc: all connections of clients, as their owner sees them
 *
 * One struct ipc holds every listener and connection of the daemon. It asks its owner what a peer may do (policy) and
 * the hub for all work; it knows neither the configuration nor the service manager. Everything runs on the loop's
 * thread.
 */
#ifndef SOTTO_IPC_IPC_H
#define SOTTO_IPC_IPC_H

#include "hub/hub.h"
#include "ipc/peer.h"
#include <uv.h>

/* Limits of all connections. Their values stand in proto/limit.h; tests shorten the times. */
struct ipc_limits {
    uint32_t n_conns; /* a connection above it gets an Error and is closed */
    uint32_t n_conns_a_uid;
    uint64_t wire_bytes_a_uid; /* read or unsent, of all connections of one uid */
    uint32_t hello_ms;
    uint32_t half_frame_ms;
    uint32_t stall_ms;
    uint32_t closing_ms;
};

/* Questions to the owner. */
struct ipc_ops {
    /* Writes what policy grants to @peer; ret_grant->uid is the peer's. */
    void (*grant)(void *owner, const struct peer *peer, struct grant *ret_grant);

    /* Reads the configuration again. 0, with the lists valid until the next call; or a Sotto__V1__Code with the
     * sentence in @diag, and nothing has changed. */
    int (*reload)(void *owner, Sotto__V1__Reloaded *ret_reloaded, struct diag *diag);

    /* Adds what only the owner knows: config_file (if @grant may see it) and config_generation. */
    void (*describe)(void *owner, const struct grant *grant, Sotto__V1__StatusReport *report);
};

/* Totals since the start, which Status reports. */
struct ipc_counts {
    uint64_t n_accepted;
    uint64_t n_refused; /* connections above a limit */
    uint64_t n_frames_in;
    uint64_t n_frames_out;
    uint64_t n_bad;         /* connections ended for what they sent */
    uint64_t n_slow;        /* connections ended because they did not read */
    uint64_t n_stalls;      /* times that the streams of a connection were parked */
    uint64_t n_events_lost; /* events that a watcher was too slow for */
};

struct ipc;

/* @hub and @ops outlive it. 0 or a fault. */
int ipc_create(struct ipc **ret_ipc, uv_loop_t *loop, struct hub *hub, const struct ipc_limits *limits,
               const struct ipc_ops *ops, void *owner);

/* Takes a new configuration: its limits and policy hold for new connections and for new requests of the others. Streams
 * keep what they began with. */
void ipc_reconfigure(struct ipc *ipc, const struct ipc_limits *limits);

/* Accepts no more connections; a path that sotto made is removed. */
void ipc_stop_listening(struct ipc *ipc);

/* Stops listening, tells every peer that the daemon ends, and closes all connections; calls @done with @ipc's owner
 * when every handle is closed. Then call ipc_destroy(). */
void ipc_close(struct ipc *ipc, void (*done)(void *owner));
void ipc_destroy(struct ipc *ipc);

/* Sends an event to watchers; a events_fn but for its first argument. @uid: of the stream's user, or UINT32_MAX. */
void ipc_event(struct ipc *ipc, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
               uint32_t uid);

#endif
