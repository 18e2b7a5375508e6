/*
 * Desk: those who are told
 *
 * One sottod, usually. Only those whom the kernel names as root, as our own user, or as the one that the command line
 * names may sit here. They may say how fast they want to know, and nothing else; who says other things, or does not
 * take what it is told, is sent away.
 */
#ifndef SOTTO_SENSOR_PEERS_H
#define SOTTO_SENSOR_PEERS_H

#include "proto/wire.h"
#include <sys/types.h>

#define PEERS_MAX     4u
#define PEERS_IN_MAX  (4u << 10)
#define PEERS_OUT_MAX (256u << 10)

struct sense_peer {
    int fd;        /* below 0: free */
    bool is_fresh; /* was told nothing yet */
    uint32_t rate_ms;
    struct buf in;
    struct buf out;
};

struct peers {
    struct sense_peer all[PEERS_MAX];
    uint32_t n;
    uid_t uid;           /* who may come, beside root and ourselves */
    uint32_t served_pid; /* the last of this user who came, or of any where it is nobody's; 0: none, or not visible */
    struct wire wire;
};

void peers_init(struct peers *peers, uid_t uid);
void peers_finish(struct peers *peers);

/* Takes @fd over; a stranger, or one too many, is closed and told of in the log. */
void peers_add(struct peers *peers, int fd);

/* Reads what seat @i says. False: it has left, or was sent away. */
bool peers_receive(struct peers *peers, uint32_t i);

/* Sends what waits for seat @i, as far as its socket takes it. False: it has left. */
bool peers_flush(struct peers *peers, uint32_t i);

/* Appends the @n bytes of whole frames for seat @i and sends; one who does not take them is sent away. */
void peers_send(struct peers *peers, uint32_t i, const void *frames, size_t n);

void peers_drop(struct peers *peers, uint32_t i);

/* The fastest rate that is asked for; 0: nobody is here. */
uint32_t peers_rate_ms(const struct peers *peers);

#endif
