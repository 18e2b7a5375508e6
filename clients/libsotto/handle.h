/*
 * Handle: what stands behind a struct sotto
 *
 * Inside of libsotto only. Bytes come in by pump.c, become events in event.c, and go to the call that they are for:
 * to its callback, or into its inbox, where sotto_next() finds them. A frame in an inbox is kept as it came; it is
 * unpacked when it is asked for, so that an event never has to be copied.
 */
#ifndef SOTTO_CLIENTS_HANDLE_H
#define SOTTO_CLIENTS_HANDLE_H

#include "base/map.h"
#include "clients/sotto.h"
#include "proto/wire.h"
#include <sotto/v1/sotto.pb-c.h>

enum handle_state {
    HANDLE_GREETING, /* Hello is on its way; requests are held back until Welcome */
    HANDLE_READY,
    HANDLE_LOST, /* @why says so; nothing is read or written any more */
};

/* One open request. */
struct call {
    uint32_t stream;
    sotto_event_fn fn; /* NULL: events are fetched from @inbox */
    void *owner;
    struct buf inbox;    /* whole frames, head and all */
    bool dropped;        /* nobody wants its events: they are thrown away until the last */
    uint32_t have_token; /* the caller was handed every token below this */
    uint64_t have_byte;  /* and every byte of text below this */
};

struct sotto {
    int fd; /* owned */
    enum handle_state state;
    bool mute;        /* writing has failed: what the daemon still says is read, then comes the end */
    bool dispatching; /* callbacks may be running */
    bool doomed;      /* closed by one of them: freed when they have returned */
    struct buf in;
    struct buf out;
    struct buf held; /* packed before Welcome came */
    struct wire wire;
    struct arena scratch; /* arrays and texts of the event at hand */
    struct map calls;     /* stream to struct call */
    uint32_t last_stream;
    struct sotto_error why;   /* HANDLE_LOST: what the calls are told */
    struct sotto_error last;  /* of the error event at hand */
    struct sotto_event event; /* the event at hand */
    struct arena greeting;    /* strings of @welcome */
    struct sotto_welcome welcome;
};

void handle_free(struct sotto *sotto);

/* ---- error.c */

/* Fills @error (may be NULL) and returns @code. */
enum sotto_code error_set(struct sotto_error *error, enum sotto_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum sotto_code error_no_memory(struct sotto_error *error);
enum sotto_code error_copy(struct sotto_error *error, const struct sotto_error *from);

/* What the daemon said. */
void error_from_wire(struct sotto_error *error, const Sotto__V1__Error *from);

/* ---- call.c */

/* Sends @frame under a new stream and opens its call. */
/* Packs @frame behind what is unsent. Before Welcome it is held: the daemon takes nothing but Hello then. */
enum sotto_code call_queue(struct sotto *sotto, const Sotto__V1__ClientFrame *frame, struct sotto_error *error);

enum sotto_code call_open(struct sotto *sotto, Sotto__V1__ClientFrame *frame, sotto_event_fn fn, void *owner,
                          uint32_t *ret_stream, struct sotto_error *error);
struct call *call_find(const struct sotto *sotto, uint32_t stream);
void call_close(struct sotto *sotto, struct call *call);

/* ---- generate.c */

/* The message that @ask stands for; it points into @ask. False: memory was short when it was filled. */
bool generate_assemble(const struct sotto_generate *ask, Sotto__V1__Generate *ret_wire);

/* ---- event.c */

/* Makes sotto->event, for @stream, of @frame. EVENT_NONE: a kind that this library does not know. */
enum event_outcome {
    EVENT_OK,
    EVENT_NONE,
};
int event_make(struct sotto *sotto, uint32_t stream, const Sotto__V1__ServerFrame *frame);

/* Is this frame the last of its stream? */
bool event_is_last(const Sotto__V1__ServerFrame *frame);

/* Keeps what Welcome says. 0 or -ENOMEM. */
int event_welcome(struct sotto *sotto, const Sotto__V1__Welcome *from);

/* @n zeroed ones of @size, that live until the next event; NULL: no memory. */
void *event_scratch(struct sotto *sotto, size_t n, size_t size);

/* A new array, or NULL. */
const struct sotto_model *event_models(struct sotto *sotto, Sotto__V1__ModelInfo **from, size_t n);

/* The name of @value, or "unknown". */
const char *event_name_in(const char *const *names, size_t n, uint64_t value);

/* ---- event_status.c */

/* The maker of a StatusReport. */
int event_make_status(struct sotto *sotto, const Sotto__V1__ServerFrame *frame);

/* ---- pump.c */

/* Sends what the socket takes. Never waits, calls nobody. */
void pump_out(struct sotto *sotto);

/* Ends the connection for @code; its calls are told before the dispatch ends. The first reason counts. */
void pump_lose(struct sotto *sotto, enum sotto_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes what the event at hand gives to the owner of @call, and closes @call if it is the last. */
void pump_delivered(struct sotto *sotto, struct call *call);

#endif
