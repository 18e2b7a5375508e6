/*
 * Frame queue: which frame is handled next
 *
 * A connection reads a bounded piece, then waits in its tenant's queue until the frames in it are handled. Once an
 * iteration of the loop there is a round: the tenant that has cost least goes first, frame by frame, its connections
 * one after the other, until the round's budget is spent. The rest waits for the next round, a pause later; engines,
 * timers and unsent answers are attended to in between. A frame of another tenant goes on in the pause, too. So one
 * user's flood, of however many connections, delays another's frame by one frame, and a step of an engine by one round.
 *
 * The cost of a frame is counted and not timed: its bytes, those of all that is sent to its tenant, and a constant for
 * what it costs to look at any frame.
 */
#ifndef SOTTO_IPC_FRAME_QUEUE_H
#define SOTTO_IPC_FRAME_QUEUE_H

#include "ipc/conn.h"

/* The cost of looking at a frame, whatever it asks, in bytes: a refusal takes as long as unpacking so many. */
#define FRAME_QUEUE_FRAME_COST 2048u

/* The cost of one round: about a millisecond. */
#define FRAME_QUEUE_BUDGET (128u << 10)

/* The cost of one connection's frames before the next connection of its tenant. */
#define FRAME_QUEUE_CONN_COST (64u << 10)

/* The pause behind a round that left frames. It leaves processor time to the engines in a flood: 30,000 frames a second
 * are more than any model answers. */
#define FRAME_QUEUE_PAUSE_MS 1u

/* Puts the handles of the rounds into the loop. */
void frame_queue_start(struct ipc *ipc);

/* Lets @conn wait for a round in which conn_take_frame() is called. It has read bytes that were not looked at. */
void frame_queue_add(struct conn *conn);

/* Takes @conn out of the queue. It need not be in it. */
void frame_queue_remove(struct conn *conn);

/* Returns whether @conn waits in the queue. */
bool frame_queue_has(const struct conn *conn);

/* Charges @tenant for @n bytes. NULL is allowed. */
void frame_queue_charge(struct ipc *ipc, struct tenant *tenant, size_t n);

#endif
