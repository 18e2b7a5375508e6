/*
 * Handle: a struct sotto from the inside
 *
 * Bytes come in by pump.c, become events in event.c, and go to the call that they belong to: to its callback, or into
 * its inbox, where sotto_next() finds them. The inbox keeps frames as they came; they are unpacked when they are asked
 * for, so an event never has to be copied.
 */
#ifndef SOTTO_CLIENTS_HANDLE_H
#define SOTTO_CLIENTS_HANDLE_H

#include "base/map.h"
#include "clients/sotto.h"
#include "proto/wire.h"
#include <sotto/v1/sotto.pb-c.h>

enum handle_state {
    HANDLE_GREETING, /* Hello was sent; requests are held back until Welcome */
    HANDLE_READY,
    HANDLE_LOST, /* nothing is read or written any more; @why says why */
};

/* One open request. */
struct call {
    uint32_t stream;
    sotto_event_fn fn; /* NULL: events are fetched from @inbox */
    void *owner;
    struct buf inbox;    /* whole frames, with their heads */
    bool dropped;        /* its events are thrown away until the last */
    uint32_t have_token; /* the caller has got every token below this */
    uint64_t have_byte;  /* and every byte of text below this */
};

struct sotto {
    int fd; /* owned */
    enum handle_state state;
    bool mute;        /* writing has failed: what the daemon still sends is read, then comes the end */
    bool dispatching; /* callbacks may be running */
    bool doomed;      /* closed by a callback: freed when it has returned */
    struct buf in;
    struct buf out;
    struct buf held; /* requests that were packed before Welcome came */
    struct wire wire;
    struct arena scratch; /* arrays and texts of the event at hand */
    struct map calls;     /* stream to struct call */
    uint32_t last_stream;
    struct sotto_error why;   /* HANDLE_LOST: the reason */
    struct sotto_error last;  /* of the error event at hand */
    struct sotto_event event; /* the event at hand */
    struct arena greeting;    /* strings of @welcome */
    struct sotto_welcome welcome;
};

/* ---- open.c */

void handle_free(struct sotto *sotto);

/* ---- error.c */

/* Fills @error (may be NULL) and returns @code. */
enum sotto_code error_set(struct sotto_error *error, enum sotto_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum sotto_code error_no_memory(struct sotto_error *error);
enum sotto_code error_copy(struct sotto_error *error, const struct sotto_error *from);

/* Fills @error with an Error of the daemon. */
void error_from_wire(struct sotto_error *error, const Sotto__V1__Error *from);

/* ---- call.c */

/* Sends what the socket takes. Never waits, calls no callback. */
void call_flush(struct sotto *sotto);

/* Packs a ClientFrame with @message, which is of the kind @body, and sends it. Before Welcome it is held back, since
 * the daemon takes nothing but Hello then. */
enum sotto_code call_queue(struct sotto *sotto, uint32_t stream, Sotto__V1__ClientFrame__BodyCase body,
                           const void *message, struct sotto_error *error);

/* Opens a call on a new stream and sends its frame. */
enum sotto_code call_open(struct sotto *sotto, Sotto__V1__ClientFrame__BodyCase body, const void *message,
                          sotto_event_fn fn, void *owner, uint32_t *ret_stream, struct sotto_error *error);
struct call *call_find(const struct sotto *sotto, uint32_t stream);
void call_close(struct sotto *sotto, struct call *call);

/* ---- generate.c */

/* Writes the message of @request, which points into @request. False: memory was short when it was filled. */
bool generate_assemble(const struct sotto_generate *request, Sotto__V1__Generate *ret_wire);

/* ---- event.c */

enum event_outcome {
    EVENT_OK,
    EVENT_NONE, /* the frame is of a kind that this library does not know */
};

/* Makes sotto->event, for @stream, of @frame. An outcome, or -ENOMEM. */
int event_make(struct sotto *sotto, uint32_t stream, const Sotto__V1__ServerFrame *frame);

/* True if @frame is the last of its stream. */
bool event_is_last(const Sotto__V1__ServerFrame *frame);

/* Keeps what Welcome says. 0 or -ENOMEM. */
int event_welcome(struct sotto *sotto, const Sotto__V1__Welcome *from);

/* Returns @n zeroed elements of @size, valid until the next event; NULL: no memory. */
void *event_scratch(struct sotto *sotto, size_t n, size_t size);

/* Returns a new array; NULL: no memory. */
const struct sotto_model *event_models(struct sotto *sotto, Sotto__V1__ModelInfo **from, size_t n);

/* Returns the name of @value, or "unknown". */
const char *event_name_in(const char *const *names, size_t n, uint64_t value);

/* ---- event_status.c */

/* Fills the struct sotto_status at @ret from a StatusReport. 0 or -ENOMEM. */
int event_make_status(struct sotto *sotto, const Sotto__V1__ServerFrame *frame, void *ret);

/* ---- pump.c */

/* Notes what the event at hand gives to the owner of @call, and closes @call if it is the last. */
void pump_delivered(struct sotto *sotto, struct call *call);

#endif
