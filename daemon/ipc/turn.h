/*
 * Turn: which frame is handled next
 *
 * A connection reads a bounded piece, then waits in its tenant's line until the frames in it are handled. Once an
 * iteration of the loop there is a turn: the tenant that has cost least goes first, frame by frame, its connections one
 * after the other, until the turn's budget is spent. The rest waits for the next turn, a pause later; engines, timers
 * and unsent answers are attended to in between. A frame of another tenant goes on in the pause, too. So one user's
 * flood, of however many connections, delays another's frame by one frame, and a step of an engine by one turn.
 *
 * The cost of a frame is counted and not timed: its bytes, those of all that is sent to its tenant, and a constant for
 * what it costs to look at any frame.
 */
#ifndef SOTTO_IPC_TURN_H
#define SOTTO_IPC_TURN_H

#include "ipc/conn.h"

/* What looking at a frame costs, whatever it asks, in bytes: a refusal takes as long as unpacking so many. */
#define TURN_FRAME_COST 2048u

/* The cost of one turn: about a millisecond. */
#define TURN_BUDGET (128u << 10)

/* The cost of one connection's frames before the next connection of its tenant. */
#define TURN_CONN_COST (64u << 10)

/* The pause behind a turn that left frames. It leaves processor time to the engines in a flood: 30,000 frames a second
 * are more than any model answers. */
#define TURN_PAUSE_MS 1u

/* Puts the handles of the turns into the loop. */
void turn_start(struct ipc *ipc);

/* Lets @conn wait for its turn, in which conn_take_frame() is called. It has read bytes that were not looked at. */
void turn_join(struct conn *conn);

/* Takes @conn out of the line. It need not be in it. */
void turn_leave(struct conn *conn);

/* Returns whether @conn waits for its turn. */
bool turn_is_due(const struct conn *conn);

/* Charges @tenant for @n bytes. NULL is allowed. */
void turn_charge(struct ipc *ipc, struct tenant *tenant, size_t n);

#endif
