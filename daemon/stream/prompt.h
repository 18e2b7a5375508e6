/*
 * Prompt: the second look at a request, when its model and its tokens are there
 *
 * Does it fit the context and the vocabulary, and can it be served in time? Then its journal begins, and it waits for
 * a slot.
 */
#ifndef SOTTO_STREAM_PROMPT_H
#define SOTTO_STREAM_PROMPT_H

#include "stream/stream.h"

/* Has the text tokenised, or goes on with the tokens that were given. Ends the stream if it is not acceptable. */
void prompt_begin(struct stream *stream);

/* Replaces the prompt's tokens by @prompt, which is moved. */
void prompt_set(struct stream *stream, struct ids *prompt);

/* Drops the prompt's tokens and has them made again from @job by the next prompt_begin(). */
void prompt_redo(struct stream *stream, struct text_job *job);

/* Fills the sampler for the engine; its arrays are the stream's and its instance's. */
void prompt_sampler(const struct stream *stream, Sotto__Engine__Sampler *ret_sampler);

#endif
