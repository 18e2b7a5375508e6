/*
 * Sequence: where a stream is computed
 *
 * A sequence takes a slot of its instance from the Open on. It is the stream's own, or its holder's that goes on
 * (Extend) and has its slot already.
 */
#ifndef SOTTO_STREAM_SEQUENCE_H
#define SOTTO_STREAM_SEQUENCE_H

#include "stream/stream.h"

/* Gives @stream a sequence number, which its holder lends or which is new. False: there is no memory for it. */
bool sequence_take(struct stream *stream);

/* Notes what the engine has answered: the sequence is open. */
void sequence_opened(struct stream *stream);

/* Drops the sequence, which the engine has refused; what was lent is closed. Returns whether it was lent. */
bool sequence_refused(struct stream *stream);

/* Closes the sequence, if there is one. What steps under way report of it is dropped if the stream has ended. */
void sequence_close(struct stream *stream);

/* Closes the sequence of a stream that goes on without it: it is in no step any more, and nothing of it is computed. */
void sequence_preempt(struct stream *stream);

/* Hands the sequence over: it stays open, with its slot. Returns its number. */
uint32_t sequence_give(struct stream *stream);

/* Forgets the sequence: its engine is gone. */
void sequence_lose(struct stream *stream);

#endif
