/*
 * Client: what a stream tells the connection that asked for it, and what the connection may do with the stream
 *
 * Everything runs on the loop's thread. Callbacks are never made from inside a call of the connection; they may call
 * any function of this header.
 */
#ifndef SOTTO_STREAM_CLIENT_H
#define SOTTO_STREAM_CLIENT_H

#include <sotto/v1/sotto.pb-c.h>
#include <stdbool.h>

struct stream;

/*
 * Messages live for the call. First comes on_accepted, once (left out if the request turns out to be refusable: too
 * long for the context, bad text), then on_notice and on_delta as they come, then exactly one of on_done, on_embedding,
 * on_opened and on_error; after that the stream is gone.
 */
struct stream_sink {
    void (*on_accepted)(void *owner, const Sotto__V1__Accepted *accepted);
    void (*on_delta)(void *owner, const Sotto__V1__Delta *delta);
    void (*on_notice)(void *owner, const Sotto__V1__Notice *notice);
    void (*on_embedding)(void *owner, const Sotto__V1__Embedding *embedding); /* of an Embed alone */
    void (*on_opened)(void *owner, const Sotto__V1__SessionOpened *opened);   /* of an OpenSession alone */
    void (*on_done)(void *owner, const Sotto__V1__Done *done);
    void (*on_error)(void *owner, const Sotto__V1__Error *error);
};

/* Adds credit; nothing if the stream is over or its answer is not rationed. */
void stream_credit(struct stream *stream, const Sotto__V1__Credit *credit);

/* Cancels it: on_done with FINISH_CANCELLED follows after this call has returned. Idempotent. */
void stream_cancel(struct stream *stream);

/* Cancels it without any further callback: the connection is gone. */
void stream_forget(struct stream *stream);

/* Parks it while the connection's unsent bytes are over their bound. */
void stream_park(struct stream *stream, bool parked);

/* Ends it in on_error with @code and @sentence (slow reader, connection closing). */
void stream_abort(struct stream *stream, Sotto__V1__Code code, const char *sentence);

#endif
