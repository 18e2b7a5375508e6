/*
 * Desk: those who are told
 *
 * One sottod, usually. Only those whom the kernel names as root, as our own user, or as the one that the command line
 * names may sit here. They may say how fast they want to know, and nothing else; who says other things, or does not
 * take what it is told, is sent away.
 */
#ifndef SOTTO_SENSOR_DESK_H
#define SOTTO_SENSOR_DESK_H

#include "proto/wire.h"
#include <sys/types.h>

#define DESK_SEATS   4u
#define DESK_TO_MAX  (4u << 10)
#define DESK_OUT_MAX (256u << 10)

struct seat {
    int fd;        /* below 0: free */
    bool is_fresh; /* was told nothing yet */
    uint32_t rate_ms;
    struct buf in;
    struct buf out;
};

struct desk {
    struct seat seats[DESK_SEATS];
    uint32_t n;
    uid_t uid;           /* who may come, beside root and ourselves */
    uint32_t served_pid; /* the last of this user who came, or of any where it is nobody's; 0: none, or not visible */
    struct wire wire;
};

void desk_init(struct desk *desk, uid_t uid);
void desk_finish(struct desk *desk);

/* Takes @fd over; a stranger, or one too many, is closed and told of in the log. */
void desk_seat(struct desk *desk, int fd);

/* Reads what seat @i says. False: it has left, or was sent away. */
bool desk_hear(struct desk *desk, uint32_t i);

/* Sends what waits for seat @i, as far as its socket takes it. False: it has left. */
bool desk_send(struct desk *desk, uint32_t i);

/* Appends the @n bytes of whole frames for seat @i and sends; one who does not take them is sent away. */
void desk_tell(struct desk *desk, uint32_t i, const void *frames, size_t n);

void desk_leave(struct desk *desk, uint32_t i);

/* The fastest rate that is asked for; 0: nobody is here. */
uint32_t desk_rate_ms(const struct desk *desk);

#endif
