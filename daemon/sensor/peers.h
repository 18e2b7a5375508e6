/*
 * Peers: the connected processes that receive readings
 *
 * Usually that is one sottod. Only root, our own user, and the user that the command line names may connect, by the
 * kernel's credentials. A peer may set its rate and nothing else; one that sends anything else, or does not read what
 * it is sent, is disconnected.
 */
#ifndef SOTTO_SENSOR_PEERS_H
#define SOTTO_SENSOR_PEERS_H

#include "proto/wire.h"
#include <sys/types.h>

#define PEERS_MAX     4u
#define PEERS_IN_MAX  (4u << 10)
#define PEERS_OUT_MAX (256u << 10)

struct sense_peer {
    int fd;        /* below 0: unused */
    bool is_fresh; /* has received nothing yet */
    uint32_t rate_ms;
    struct buf in;
    struct buf out;
};

struct peers {
    struct sense_peer all[PEERS_MAX];
    uint32_t n;
    uid_t uid;           /* user that may connect, beside root and our own */
    uint32_t served_pid; /* the last peer of @uid, or of any user if that is none; 0: none, or not visible */
    struct wire wire;
};

void peers_init(struct peers *peers, uid_t uid);
void peers_finish(struct peers *peers);

/* Takes @fd over; a user that may not connect, or one peer too many, is closed and logged. */
void peers_add(struct peers *peers, int fd);

/* Reads from peer @i. False: it has left, or was disconnected. */
bool peers_receive(struct peers *peers, uint32_t i);

/* Sends what is queued for peer @i, as far as its socket takes it. False: it has left. */
bool peers_flush(struct peers *peers, uint32_t i);

/* Queues the @n bytes of whole frames for peer @i and sends; a peer that does not read is disconnected. */
void peers_send(struct peers *peers, uint32_t i, const void *frames, size_t n);

void peers_drop(struct peers *peers, uint32_t i);

/* Returns the shortest period that any peer requests; 0: there are no peers. */
uint32_t peers_rate_ms(const struct peers *peers);

#endif
