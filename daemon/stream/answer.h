/*
 * Answer: from a sampled token to a Delta
 *
 * Each token is written to the journal first, then counted against credit, then given to the output filter, which
 * decides what may be shown. The checks for an end stand in one place, in the order in which they win: the model's end
 * token, a stop string, the budget, the context.
 */
#ifndef SOTTO_STREAM_ANSWER_H
#define SOTTO_STREAM_ANSWER_H

#include "stream/stream.h"

/* Returns false if the hidden states of an engine's answer contradict what was asked. */
bool answer_is_plausible(const struct stream *stream, const Sotto__Engine__EntryDone *done);

/* Takes what a step computed for the stream beside its rows: a token, a hidden state, or the reason for an end. */
void answer_take(struct stream *stream, const Sotto__Engine__EntryDone *done);

#endif
