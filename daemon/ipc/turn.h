/*
 * Turn: whose frame is handled next
 *
 * A connection reads a bounded piece, then waits in its tenant's line until the frames in it are handled. Once an
 * iteration of the loop there is a turn: the tenant that has cost least goes first, frame by frame, its connections one
 * after the other, until the turn's budget is spent. The rest goes on in the next iteration; engines, timers and
 * unsent answers are attended to in between. So one user's flood, of however many connections, delays another's frame
 * by the frame that is being handled, and a step of an engine by one turn.
 *
 * The cost of a frame is counted and not timed: its bytes, those of all that is sent to its tenant, and a constant for
 * what it costs to look at any frame.
 */
#ifndef SOTTO_IPC_TURN_H
#define SOTTO_IPC_TURN_H

#include "ipc/conn.h"

/* What looking at a frame costs, whatever it asks, in bytes: a refusal takes as long as unpacking so many. */
#define TURN_FRAME_COST 2048u

/* Of one turn: about a millisecond. */
#define TURN_BUDGET (128u << 10)

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
