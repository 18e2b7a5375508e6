/*
 * Fake hub: the functions of stream/hub.h for tests
 *
 * Streams do nothing by themselves: a test lets them send. What the hub answers later (the Done of a cancelled stream,
 * the Error of an aborted one, tokenising) is answered in fake_hub_iterate(), never from inside a call.
 */
#ifndef SOTTO_TESTS_FAKE_HUB_H
#define SOTTO_TESTS_FAKE_HUB_H

#include "base/list.h"
#include "hub/hub.h"
#include "machine/compositor.h"

struct stream {
    struct list link; /* hub::streams */
    const struct stream_sink *sink;
    void *owner;
    struct grant grant;
    uint32_t n_tokens; /* sent so far */
    uint64_t credit;   /* granted after the first */
    bool parked;
    bool cancelled;
    Sotto__V1__Code aborted;
    unsigned n_parks;
};

struct hub {
    struct list streams; /* in order of opening */
    struct list tickets;
    unsigned n_opened;
    unsigned n_forgotten;
    unsigned n_tickets_forgotten;
    unsigned n_hints;
    unsigned n_hinting; /* connections */
    int refuse;         /* the next result of hub_generate() or a question */
    unsigned block_ms;  /* hub_generate() blocks the loop for this time */
    bool hold;          /* questions are not answered */
};

void fake_hub_init(struct hub *hub);
void fake_hub_finish(struct hub *hub); /* nothing may be open */
void fake_hub_iterate(struct hub *hub);

/* Returns the @i-th open stream; the test fails if there is none. */
struct stream *fake_stream(struct hub *hub, unsigned i);

void fake_accept(struct stream *stream);
void fake_embed(struct stream *stream);
void fake_delta(struct stream *stream, uint32_t n_tokens, size_t n_text);
void fake_notice(struct stream *stream, Sotto__V1__NoticeKind kind);
void fake_done(struct stream *stream, Sotto__V1__FinishReason reason);

#endif
