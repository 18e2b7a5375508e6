/*
 * Pins: beginnings of prompts that policy has computed ahead
 *
 * An instance has those of its model's settings. When its engine is ready each is made into tokens, once, and then
 * computed by a stream of the daemon's own, one after the other: background work that yields to everybody. Where
 * that stream ends the engine keeps its pages and the seat is free. An engine that is lost takes all of it along:
 * the next one computes them again. A reload adds and drops pins of an instance that serves.
 *
 * Pins may hold half of the pages, and beside them a whole context fits in any case: so no request is refused that
 * would fit without them. What is more than that is refused for good, with a sentence; where the governor has taken
 * pages back the last ones are let go, and computed again when the pages are back.
 *
 * Each pin is for everybody, or for some users. Who may find it are told to the engine with each request, by name
 * of the audience; what a request computes behind a pin is its own user's, as ever. That a prompt begins like a
 * pin, its user can measure: that is the platform's decision, made with its text.
 *
 * The loop's thread.
 */
#ifndef SOTTO_SESSION_PINS_H
#define SOTTO_SESSION_PINS_H

#include "registry/instance.h"

/* The daemon's own account. */
#define PIN_UID UINT32_MAX

enum pin_state {
    PIN_WAITING,    /* for its engine, for those before it, or for memory */
    PIN_TOKENIZING, /* becomes tokens */
    PIN_COMPUTING,  /* has a stream */
    PIN_HELD,       /* the engine holds it */
    PIN_REFUSED,    /* @why says so; until the next load or another setting */
    PIN_STATE_COUNT,
};

struct stream;

struct pin {
    struct list link; /* instance::pins */
    struct instance *instance;
    struct pin_settings settings; /* in @block */
    void *block;                  /* owned */
    enum pin_state state;
    struct text_job *text_job;
    void (*words_done)(struct pin *pin, const char *why);
    bool is_second;    /* its words are being made with another ending: what both begin with is pinned */
    struct ids tokens; /* owned; none: not known yet */
    struct stream *stream;
    uint32_t number;  /* the engine's name for it; 0: it has none */
    uint32_t n_pages; /* of the tokens */
    uint64_t n_hits;  /* requests that found some of it, since it is configured */
    uint64_t n_hit_tok;
    char why[DIAG_BYTES];
};

/* @pins of settings, copied into @block of so many bytes, at its beginning. */
size_t pins_bytes(const struct pin_settings *pins, size_t n);
const struct pin_settings *pins_copy(const struct pin_settings *pins, size_t n, void *block);

/* Those of @pins that @instance has already stay as they are, the others go or come. 0, or -ENOMEM: all stay. */
int pins_configure(struct instance *instance, const struct pin_settings *pins, size_t n);

/* Something changed that they depend on: the next turn looks. */
void pins_due(struct instance *instance);

/* Once a turn. */
void pins_run(struct hub *hub);

/* The engine is gone, and what it held. */
void pins_lose(struct instance *instance);

/* All go: the instance ends, or nobody new comes to it. */
void pins_end(struct instance *instance);
void pins_end_all(struct hub *hub);

/* A pin's stream ends: its sequence is kept if it is whole. Of any stream. */
void pins_take(struct stream *stream);

/* ---- requests */

/* The longest name of an audience. */
#define PIN_SALT_BYTES (5u + 4u * PIN_USERS_MAX)

struct pin_salts {
    uint8_t bytes[PINS_MAX][PIN_SALT_BYTES];
    ProtobufCBinaryData list[PINS_MAX];
    size_t n;
};

/* The audiences whose pins @stream may find. */
void pins_salts(const struct stream *stream, struct pin_salts *ret_salts);

/* The audience whose pins its sequence is one of, in @bytes; its length. @stream computes a pin. */
size_t pins_own_salt(const struct stream *stream, uint8_t *bytes);

/* The pin (its number, or 0) that @tokens have most in common with, of those that @stream may find. */
uint32_t pins_match(const struct stream *stream, const uint32_t *tokens, size_t n);

/* @n_tok tokens of a request that looked like pin @number were found. */
void pins_count(struct instance *instance, uint32_t number, uint32_t n_tok);

/* ---- Status */

bool pin_is_for(const struct pin_settings *settings, uint32_t uid);

/* Those of @model that @grant may hear of, filled into @info from @arena. 0 or -ENOMEM. */
int pins_report(const struct model *model, const struct grant *grant, struct arena *arena, Sotto__V1__ModelInfo *info);

#endif
