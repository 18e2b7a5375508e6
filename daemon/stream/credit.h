/*
 * Credit: how many tokens the client allows, and parking
 *
 * A stream without credit, or with a reader that stalls, is parked: it keeps its sequence while no other request needs
 * the room, and is in no step.
 */
#ifndef SOTTO_STREAM_CREDIT_H
#define SOTTO_STREAM_CREDIT_H

#include "stream/stream.h"

/* Tells the job how many tokens may still be sampled. */
void credit_count_left(struct stream *stream);

/* Parks the stream or lets it run, after credit or reader have changed. */
void credit_repark(struct stream *stream);

/* Counts one token of credit as spent. */
void credit_spend(struct stream *stream);

#endif
