/*
 * Embed: a stream with a different end
 *
 * An embedding waits, is scheduled, is cancelled and outlives its engine as an answer does; so it is a stream that
 * samples nothing and ends when the engine gives the pooled hidden state of its prompt. What is left to do is defined
 * so that the bits depend on that state alone: unless the client wants it raw, the sum of all squares is taken in
 * float64, values ascending, and each value divided by its root and rounded once. A state of zeros stays.
 *
 * The loop's thread.
 */
#ifndef SOTTO_SESSION_EMBED_H
#define SOTTO_SESSION_EMBED_H

#include "stream/request.h"

/* Makes a stream that ends in on_embedding; in on_done only when it is cancelled. A model that is not made for it:
 * on_error with CODE_FAILED_PRECONDITION. Results as of request_generate(). */
int embed_open(struct streams *streams, const Sotto__V1__Embed *asked, const struct grant *grant,
               const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
               struct diag *diag);

#endif
