/*
 * Peer: the process at the other end, as the kernel knows it
 *
 * The credentials are those of the process at the time of connect(2): they can't be forged, and don't change when the
 * process drops rights or ends.
 */
#ifndef SOTTO_IPC_PEER_H
#define SOTTO_IPC_PEER_H

#include "base/diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_LABEL_BYTES 128

struct peer {
    uint32_t uid;
    uint32_t gid;   /* primary */
    int pid;        /* in this process's namespace; 0: it has none there */
    uint32_t *gids; /* supplementary; owned */
    size_t n_gids;
    char label[PEER_LABEL_BYTES]; /* of a security module, truncated; empty: none */
};

/* Asks the kernel about the peer of the unix socket @fd. 0 or a fault. */
int peer_read(struct peer *ret_peer, int fd);
void peer_finish(struct peer *peer);

/* True if @gid is the peer's primary group or one of the others. */
bool peer_is_in(const struct peer *peer, uint32_t gid);

#endif
