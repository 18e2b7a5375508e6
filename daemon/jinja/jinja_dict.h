/*
 * Jinja dictionaries: pairs in order of insertion, found by hash
 *
 * A key is a value that Python can hash: no list and no dictionary, and no tuple that contains one; tuples inside a
 * tuple are refused too, so that nothing here recurses. 1, 1.0 and True are one key.
 */
#ifndef SOTTO_JINJA_JINJA_DICT_H
#define SOTTO_JINJA_JINJA_DICT_H

#include "jinja/jinja_value.h"

struct jinja_pair {
    struct jinja_value key;
    struct jinja_value value;
};

struct jinja_dict {
    struct jinja_pair *pairs; /* in order of insertion */
    uint32_t *slots;          /* number of a pair + 1, by hash; NULL while there are few */
    size_t n;
    size_t cap;
    size_t n_slots;
};

int jinja_dict_new(struct jinja_run *run, struct jinja_value *ret);

/* Sets @key to @value; a new key goes behind the others. JINJA_FAILED as well for what cannot be a key. */
int jinja_dict_put(struct jinja_run *run, struct jinja_dict *dict, const struct jinja_value *key,
                   const struct jinja_value *value);

/* Puts all pairs of @from. */
int jinja_dict_update(struct jinja_run *run, struct jinja_dict *dict, const struct jinja_dict *from);

/* *ret: the value of @key, or NULL. */
int jinja_dict_find(struct jinja_run *run, const struct jinja_dict *dict, const struct jinja_value *key,
                    struct jinja_value **ret);

/* Returns the value of a string key, or NULL. Counts no steps. */
struct jinja_value *jinja_dict_get(const struct jinja_dict *dict, const char *key, size_t n);

/* The pairs of @dict as a list of tuples. */
int jinja_dict_items(struct jinja_run *run, const struct jinja_dict *dict, enum jinja_flavour flavour,
                     struct jinja_value *ret);

#endif
