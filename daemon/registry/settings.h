/*
 * Settings: the configuration of a model and its pins
 *
 * Copies own their strings, in one block.
 */
#ifndef SOTTO_REGISTRY_SETTINGS_H
#define SOTTO_REGISTRY_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most pins of a model: the engine looks through no more for one request. */
#define PINS_MAX      16u
#define PIN_USERS_MAX 64u

/* A beginning of prompts that is computed ahead of requests and stays (session/pins.h). */
struct pin_settings {
    const char *name;
    const char *text;    /* NULL: messages */
    const uint8_t *chat; /* a packed sotto.v1.Chat; or NULL */
    size_t n_chat;
    const uint32_t *uids; /* ascending; the users that may find it */
    size_t n_uids;        /* 0: every user */
};

struct model_settings {
    const char *name;
    const char *file;    /* absolute */
    const char *backend; /* "cpu", "truth", "fake" */
    const char *kv_format;
    uint64_t kv_bytes;  /* 0: a default from memory and context */
    uint32_t n_context; /* 0: as trained, at most the default ceiling */
    uint32_t n_threads; /* 0: all that affinity and quota allow */
    uint32_t n_sequences;
    uint32_t n_step_rows;
    const char *fake_script;
    bool drafts;         /* answers may take more than one token from a step where the text repeats itself */
    bool share_prefixes; /* a user's requests find what earlier requests of that user have computed */
    const struct pin_settings *pins;
    size_t n_pins;
    bool load_at_start;
    bool is_default;
};

bool pin_settings_equal(const struct pin_settings *a, const struct pin_settings *b);

/* Returns whether user @uid may find the pin. */
bool pin_settings_are_for(const struct pin_settings *settings, uint32_t uid);

/* Returns whether both pins are for exactly the same users. */
bool pin_settings_same_users(const struct pin_settings *a, const struct pin_settings *b);

/* Returns the bytes that a copy of @n pins takes. */
size_t settings_pins_bytes(const struct pin_settings *pins, size_t n);

/* Copies @n pins into @block, which has settings_pins_bytes() of them; returns the copies, at its beginning. */
const struct pin_settings *settings_copy_pins(const struct pin_settings *pins, size_t n, void *block);

/* Copies @settings; the strings are in *ret_strings, which the caller frees. 0 or -ENOMEM. */
int settings_copy(const struct model_settings *settings, struct model_settings *ret_settings, char **ret_strings);

#endif
