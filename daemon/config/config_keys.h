/*
 * Config keys: one row for each setting
 *
 * A row holds the name of a key, the kind and range of its value, and its field in a C structure. Reading, checking,
 * comparing two configurations at a reload, and the sentence that says what is expected all follow from the row.
 * Durations and sizes are texts with a unit ("500ms", "2GiB"): a bare number is refused, since its unit is unknown.
 */
#ifndef SOTTO_CONFIG_CONFIG_KEYS_H
#define SOTTO_CONFIG_CONFIG_KEYS_H

#include "base/arena.h"
#include <jansson.h>

enum config_kind {
    CONFIG_PART,    /* an object or array that a function of its own reads; no field */
    CONFIG_NAME,    /* const char *: check_name() */
    CONFIG_ACCOUNT, /* const char *: the name of a user or group, not empty */
    CONFIG_PATH,    /* const char *: absolute */
    CONFIG_CHOICE,  /* const char *: one of @choices, "a|b" */
    CONFIG_CLASS,   /* Sotto__V1__PriorityClass, by name */
    CONFIG_FLAG,    /* bool */
    CONFIG_COUNT,   /* uint32_t: a whole number from @min to @max */
    CONFIG_MILLI,   /* uint32_t (or int32_t): a number, in thousandths, from @min to @max thousandths */
    CONFIG_BYTES,   /* uint64_t: text with B, KiB, MiB, GiB or TiB, from @min to @max bytes */
    CONFIG_TIME,    /* uint32_t in ms: text with ms, s, min or h, from @min to @max ms */
    CONFIG_TIMES,   /* uint32_t[CONFIG_TIMES_N] in ms: an array of as many CONFIG_TIME texts */
    CONFIG_TEXTS,   /* struct config_texts: an array of at most @max texts, none empty or over 64 bytes */
};

#define CONFIG_TIMES_N 3

struct config_texts {
    const char *const *list;
    size_t n;
};

struct config_key {
    const char *name;
    enum config_kind kind;
    size_t offset; /* of the field in the structure of the list */
    uint64_t min;
    uint64_t max;
    const char *choices;
    bool restart; /* a change needs a restart of the daemon */
};

struct config_list {
    const char *name; /* of the part, for the manual: "models.NAME" */
    const struct config_key *keys;
    size_t n;
    size_t offset; /* of a plain part in struct config; 0: it is not one */
};

enum config_part {
    CONFIG_TOP,
    CONFIG_MODEL,
    CONFIG_PIN,
    CONFIG_RULE,
    CONFIG_DAEMON, /* this and the following are plain parts: objects at the top that rows describe completely */
    CONFIG_DEVICE,
    CONFIG_SENSE,
    CONFIG_GOVERNOR,
    CONFIG_ENERGY,
    CONFIG_PART_COUNT,
};

#define CONFIG_PLAIN_FIRST CONFIG_DAEMON

const struct config_list *config_keys(enum config_part part);

enum config_key_outcome {
    CONFIG_KEY_OK,
    CONFIG_KEY_BAD, /* the row does not allow the value; nothing was set */
};

/* Sets the field of @key in @target from @value; texts are copied to @arena. Returns a config_key_outcome or
 * -ENOMEM. */
int config_key_set(const struct config_key *key, const json_t *value, void *target, struct arena *arena);

/* Returns a copy of @text in @arena, or NULL. */
const char *config_copy_text(struct arena *arena, const char *text);

/* Copies the field of @key, but not its text. */
void config_key_copy(const struct config_key *key, const void *from, void *to);

/* Copies the field of @key, and its text to @arena. Returns 0 or -ENOMEM. */
int config_key_keep(const struct config_key *key, const void *from, void *to, struct arena *arena);

bool config_key_equal(const struct config_key *key, const void *a, const void *b);

/* Writes what @key allows, "a whole number from 1 to 64", to @out. Returns @out. */
const char *config_key_allowed(const struct config_key *key, char *out, size_t cap);

/* Returns the key that @name probably misspells, or NULL. */
const char *config_key_near(const struct config_list *list, const char *name);

#endif
