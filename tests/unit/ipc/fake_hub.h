/*
 * Fake hub: the hub's door, played by the test
 *
 * Streams do nothing by themselves: a test lets them speak. What the door promises to answer later (a cancelled
 * stream's Done, an aborted one's Error, tokenising) is answered in fake_hub_iterate(), never from inside a call.
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
    uint32_t n_tokens; /* given so far */
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
    int refuse;         /* what hub_generate() and the questions return, once */
    unsigned block_ms;  /* hub_generate() keeps the loop for so long */
    bool hold;          /* questions stay unanswered */
};

void fake_hub_init(struct hub *hub);
void fake_hub_finish(struct hub *hub); /* nothing may be live */
void fake_hub_iterate(struct hub *hub);

/* The @i-th live stream; the test fails if there is none. */
struct stream *fake_stream(struct hub *hub, unsigned i);

void fake_accept(struct stream *stream);
void fake_embed(struct stream *stream);
void fake_delta(struct stream *stream, uint32_t n_tokens, size_t n_text);
void fake_notice(struct stream *stream, Sotto__V1__NoticeKind kind);
void fake_done(struct stream *stream, Sotto__V1__FinishReason reason);

#endif
