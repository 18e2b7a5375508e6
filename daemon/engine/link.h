/*
 * Link: the engine's end of the socketpair to sottod
 *
 * Frames are read into one mapped buffer that is large enough for the longest order behind another one. Its pages cost
 * nothing until bytes arrive, and are given back when a long order is done. Orders are obeyed from the front. Between
 * the parts of a step the engine peeks at all waiting orders, without blocking and without allocating: urgent ones
 * (Stop, Suspend, Withdraw, Limits) are obeyed at once and removed from the queue, the others keep their place.
 *
 * Only the control thread reads. Any thread may call link_send() (log lines).
 */
#ifndef SOTTO_ENGINE_LINK_H
#define SOTTO_ENGINE_LINK_H

#include "base/diag.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include "sotto/engine.pb-c.h"
#include <pthread.h>

struct link {
    int fd;          /* the caller's */
    uint8_t *buffer; /* mapped, LINK_BUFFER bytes; buffer[head .. head + n] has been read and not yet obeyed */
    size_t head;
    size_t n;
    size_t seen;    /* of the n, bytes of frames that were peeked at */
    size_t touched; /* bytes of the buffer that may be resident; charged to MEM_WIRE */
    struct wire wire;
    struct buf out;
    pthread_mutex_t lock; /* guards @out and writing */
};

enum link_outcome {
    LINK_OK,
    LINK_NONE, /* there is no whole frame */
    LINK_END,  /* the other end is gone */
    LINK_BAD,  /* not an order; @diag says why */
};

int link_open(struct link *link, int fd);
void link_close(struct link *link);

/* Waits for the next order and removes it from the queue. It is valid until the next call. LINK_OK, LINK_END, LINK_BAD,
 * or a fault. */
int link_take(struct link *link, Sotto__Engine__ToEngine **ret_order, struct diag *diag);

/* The leading number fields of an order, up to the first field of another kind. Urgent orders have no other fields. */
struct peeked_order {
    Sotto__Engine__ToEngine__BodyCase kind;
    uint64_t field[4]; /* by field number in the schema; [0] is unused; absent fields are 0 */
    size_t at;         /* offset of its frame behind link->head */
    size_t n;          /* bytes of the frame */
};

/* Lets the next link_peek() begin at the front of the queue. */
void link_rewind(struct link *link);

/* Reads the next order that was not peeked at, without blocking. LINK_OK, LINK_NONE, LINK_END, LINK_BAD. */
int link_peek(struct link *link, struct peeked_order *ret_peeked, struct diag *diag);

/* Removes the order just peeked at, or one peeked at before it, from the queue. */
void link_drop(struct link *link, const struct peeked_order *peeked);

/* Writes a whole message, waiting while the socket is full. LINK_OK, LINK_END, or a fault. */
int link_send(struct link *link, const Sotto__Engine__FromEngine *message);

#endif
