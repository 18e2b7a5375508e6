/*
 * Pin: a beginning of prompts that an instance holds, and which requests may find it
 *
 * session/pins.h has the pins computed; here is what requests have to do with them. The users that may find a pin are
 * its audience, and each audience has a salt of its own in the engine: with an Open go the salts of all audiences that
 * the request's user belongs to. What a request computes behind a pin stays under its own user's salt. A user can
 * measure that a prompt begins like a pin: that is the platform's decision, made with the pin's text.
 *
 * The loop's thread.
 */
#ifndef SOTTO_REGISTRY_PIN_H
#define SOTTO_REGISTRY_PIN_H

#include "base/diag.h"
#include "loop/text_pool.h"
#include "registry/settings.h"

/* The longest name of an audience. */
#define PIN_SALT_BYTES (5u + 4u * PIN_USERS_MAX)

enum pin_state {
    PIN_WAITING,    /* for its engine, for the pins before it, or for memory */
    PIN_TOKENIZING, /* with the text pool */
    PIN_COMPUTING,  /* has a stream */
    PIN_HELD,       /* the engine holds it */
    PIN_REFUSED,    /* for the reason @why; until the next load or another setting */
    PIN_STATE_COUNT,
};

struct instance;
struct stream;

struct pin {
    struct list link; /* instance::pins */
    struct instance *instance;
    struct pin_settings settings; /* in @block */
    void *block;                  /* owned */
    enum pin_state state;
    struct text_job *text_job;
    void (*text_done)(struct pin *pin, const char *why);
    bool is_second;        /* the text is tokenised with another ending: what both begin with is pinned */
    struct ids tokens;     /* owned; none: not known yet */
    struct stream *stream; /* computes it, or NULL */
    uint32_t number;       /* the engine's name for it; 0: it has none */
    uint32_t n_pages;      /* of the tokens */
    uint64_t n_hits;       /* requests that found some of it, since it is configured */
    uint64_t n_hit_tok;
    char why[DIAG_BYTES];
};

struct pin_salts {
    uint8_t bytes[PINS_MAX][PIN_SALT_BYTES];
    ProtobufCBinaryData list[PINS_MAX];
    size_t n;
};

/* Has the pins of @instance looked after in the next tick: something that they depend on has changed. */
void pin_due(struct instance *instance);

/* Collects the salts of the audiences that a request of user @uid belongs to; @own is the pin that the request
 * computes, or NULL. */
void pin_find_salts(const struct instance *instance, const struct pin *own, uint32_t uid, struct pin_salts *ret_salts);

/* Writes the salt of the pin's audience, of at most PIN_SALT_BYTES; returns its length. */
size_t pin_salt(const struct pin *pin, uint8_t *bytes);

/* Returns the number of the pin that @tokens have most in common with, among those that the request may find; 0:
 * none. */
uint32_t pin_match(const struct instance *instance, const struct pin *own, uint32_t uid, const uint32_t *tokens,
                   size_t n);

/* Counts @n_tok pinned tokens that a request found; its tokens matched pin @number. */
void pin_count(struct instance *instance, uint32_t number, uint32_t n_tok);

#endif
