/*
 * Slot: what happens to a stream as its sequence comes and goes
 *
 * A stream waits for a sequence slot, runs in it, and may lose it: to another request, to a slide of its context, or
 * with the engine. It goes on from its journal each time.
 */
#ifndef SOTTO_STREAM_SLOT_H
#define SOTTO_STREAM_SLOT_H

#include "stream/stream.h"

/* Lets the stream run: its sequence is open, with @n_cached rows found. */
void slot_gained(struct stream *stream, uint32_t n_cached);

/* Puts the stream back to waiting: its engine is gone, and with it what was computed. */
void slot_lost(struct stream *stream);

/* Takes the sequence away: another request needs it. */
void slot_preempt(struct stream *stream);

/* Makes room in a full context: forgets a part of what is known and asks for a sequence with the rest. */
void slot_slide(struct stream *stream);

#endif
