/*
 * Link: the engine's end of the socketpair to sottod
 *
 * Frames are read into one mapped room that is large enough for the longest order behind another; its pages cost
 * nothing until bytes come, and are given back when a long order is done. Orders are obeyed from the front. Between
 * the parts of a step the engine glances at all that waits, without blocking and without allocating: what is urgent
 * (Stop, Suspend, Withdraw, Limits) is obeyed then and taken out of the queue, the rest keeps its place.
 *
 * Reading is the control thread's alone. link_send() may be called by any thread (log lines).
 */
#ifndef SOTTO_ENGINE_LINK_H
#define SOTTO_ENGINE_LINK_H

#include "base/diag.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include "sotto/engine.pb-c.h"
#include <pthread.h>

struct link {
    int fd;        /* the caller's */
    uint8_t *room; /* mapped, LINK_ROOM bytes; those read and not yet obeyed are room[head .. head + n] */
    size_t head;
    size_t n;
    size_t seen;    /* of the n, bytes of frames that were glanced at */
    size_t touched; /* bytes of the room that may be resident; charged to MEM_WIRE */
    bool ended;     /* the other end is gone */
    struct wire wire;
    struct buf out;
    pthread_mutex_t lock; /* of out and of writing */
};

enum link_outcome {
    LINK_OK,
    LINK_NONE, /* no whole frame is there */
    LINK_END,  /* the other end is gone */
    LINK_BAD,  /* what came is no order: @diag says what */
};

int link_open(struct link *link, int fd);
void link_close(struct link *link);

/* Waits for the next order and takes it out of the queue. It lives until the next call. LINK_END, LINK_BAD. */
int link_take(struct link *link, Sotto__Engine__ToEngine **ret_order, struct diag *diag);

/* The numbers of an order whose fields are numbers only, or of the first field of one that has more. */
struct peeked_order {
    Sotto__Engine__ToEngine__BodyCase kind;
    uint64_t field[4]; /* by the field's number in the schema; [0] is unused; absent: 0 */
    size_t at;         /* where its frame lies, behind link->head */
    size_t n;          /* bytes of the frame */
};

/* The next glance begins at the front of the queue again. */
void link_rewind(struct link *link);

/* The next order that was not glanced at, read without blocking. LINK_NONE, LINK_END, LINK_BAD. */
int link_peek(struct link *link, struct peeked_order *ret_peeked, struct diag *diag);

/* Takes the order just glanced at, or one that was glanced at before it, out of the queue. */
void link_drop(struct link *link, const struct peeked_order *peeked);

/* Waits until something can be read, at most @us. Returns at once if the other end is gone. */
void link_wait(struct link *link, uint64_t us);

/* Writes a whole message, waiting for room. LINK_END, or a fault. */
int link_send(struct link *link, const Sotto__Engine__FromEngine *message);

#endif
