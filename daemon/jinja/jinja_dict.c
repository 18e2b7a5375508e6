/*
 * A hash table with linear probing over the list of pairs, made once there are more than FEW_PAIRS. A template that
 * makes its keys collide pays for the probes in steps.
 */
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_run.h"
#include <string.h>

/* Up to this many pairs a linear search is as quick as a table. */
#define FEW_PAIRS 8u

/* FNV-1a. */
static uint32_t hash_bytes(const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ at[i]) * 16777619u;
    }
    return hash;
}

/* Equal keys have equal hashes: numbers are hashed by their value, tuples by their length. */
static uint32_t hash_key(const struct jinja_value *key)
{
    if (key->kind == JINJA_STRING) {
        return hash_bytes(key->string->bytes, key->string->n);
    }
    if (jinja_is_number(key)) {
        const double real = jinja_real_of(key) + 0.0; /* -0.0 becomes 0.0 */

        return hash_bytes(&real, sizeof(real));
    }
    return key->kind == JINJA_LIST ? (uint32_t)key->list->n : (uint32_t)key->kind;
}

static bool can_be_key(const struct jinja_value *key)
{
    for (size_t i = 0; jinja_is_tuple(key) && i < key->list->n; i++) {
        const struct jinja_value *item = &key->list->items[i];

        if (item->kind == JINJA_LIST || item->kind == JINJA_DICT) {
            return false;
        }
    }
    return jinja_is_tuple(key) || (key->kind != JINJA_LIST && key->kind != JINJA_DICT);
}

/* Compares two values that are no lists and no dictionaries. */
static bool same_atom(const struct jinja_value *a, const struct jinja_value *b)
{
    if (jinja_is_int(a) && jinja_is_int(b)) {
        return jinja_int_of(a) == jinja_int_of(b);
    }
    if (jinja_is_number(a) && jinja_is_number(b)) {
        return jinja_real_of(a) == jinja_real_of(b);
    }
    if (a->kind != b->kind || a->kind == JINJA_LIST) {
        return false;
    }
    if (a->kind == JINJA_STRING) {
        return jinja_string_equal(a->string, b->string);
    }
    return a->kind == JINJA_NONE || a->kind == JINJA_UNDEFINED || a->object == b->object;
}

static int same_key(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret)
{
    if (a->kind != JINJA_LIST || b->kind != JINJA_LIST) {
        *ret = same_atom(a, b);
        return JINJA_OK;
    }
    *ret = a->list->n == b->list->n;
    for (size_t i = 0; *ret && i < a->list->n; i++) {
        *ret = same_atom(&a->list->items[i], &b->list->items[i]);
    }
    return jinja_run_count(run, a->list->n);
}

/* Returns the first slot for @hash; the next ones follow. */
static size_t slot_of(const struct jinja_dict *dict, uint32_t hash)
{
    return hash & (dict->n_slots - 1);
}

/* Returns the number of pair + 1 that is tried at step @i of a search from slot @from on, or 0 at its end. */
static size_t probe(const struct jinja_dict *dict, size_t from, size_t i)
{
    return dict->slots ? dict->slots[(from + i) & (dict->n_slots - 1)] : i < dict->n ? i + 1 : 0;
}

int jinja_dict_find(struct jinja_run *run, const struct jinja_dict *dict, const struct jinja_value *key,
                    struct jinja_value **ret)
{
    size_t from;
    size_t at;

    *ret = NULL;
    if (!can_be_key(key)) {
        return jinja_fail(run, "TypeError", "unhashable type: '%s'", jinja_value_type(key));
    }
    from = dict->slots ? slot_of(dict, hash_key(key)) : 0;
    for (size_t i = 0; !*ret && (at = probe(dict, from, i)) > 0; i++) {
        bool is_it = false;
        int r = same_key(run, &dict->pairs[at - 1].key, key, &is_it);

        r = r ? r : jinja_run_count(run, i > 0);
        if (r) {
            return r;
        }
        if (is_it) {
            *ret = &dict->pairs[at - 1].value;
        }
    }
    return JINJA_OK;
}

struct jinja_value *jinja_dict_get(const struct jinja_dict *dict, const char *key, size_t n)
{
    const struct jinja_string string = { .bytes = key, .n = n };
    const size_t from = dict->slots ? slot_of(dict, hash_bytes(key, n)) : 0;
    size_t at;

    for (size_t i = 0; (at = probe(dict, from, i)) > 0; i++) {
        const struct jinja_value *other = &dict->pairs[at - 1].key;

        if (other->kind == JINJA_STRING && jinja_string_equal(other->string, &string)) {
            return &dict->pairs[at - 1].value;
        }
    }
    return NULL;
}

int jinja_dict_new(struct jinja_run *run, struct jinja_value *ret)
{
    struct jinja_dict *dict = jinja_run_alloc(run, sizeof(*dict));

    if (!dict) {
        return jinja_fail_full(run);
    }
    *dict = (struct jinja_dict){ .n = 0 };
    *ret = (struct jinja_value){ .kind = JINJA_DICT, .dict = dict };
    return JINJA_OK;
}

/* Enters pair number @i, which is not in the table, into a free slot. */
static int enter(struct jinja_run *run, struct jinja_dict *dict, size_t i)
{
    size_t slot = slot_of(dict, hash_key(&dict->pairs[i].key));
    uint64_t n_tries = 1;

    for (; dict->slots[slot] != 0; n_tries++) {
        slot = (slot + 1) & (dict->n_slots - 1);
    }
    dict->slots[slot] = (uint32_t)i + 1;
    return jinja_run_count(run, n_tries);
}

static int grow_slots(struct jinja_run *run, struct jinja_dict *dict)
{
    const size_t n = dict->n_slots ? 2 * dict->n_slots : 4 * FEW_PAIRS;
    int r = JINJA_OK;

    dict->slots = jinja_run_alloc(run, n * sizeof(*dict->slots));
    if (!dict->slots) {
        return jinja_fail_full(run);
    }
    memset(dict->slots, 0, n * sizeof(*dict->slots));
    dict->n_slots = n;
    for (size_t i = 0; !r && i < dict->n; i++) {
        r = enter(run, dict, i);
    }
    return r;
}

/* Puts a key that is not there behind the others. */
static int append(struct jinja_run *run, struct jinja_dict *dict, const struct jinja_pair *pair)
{
    if (dict->n == dict->cap) {
        const size_t cap = dict->cap ? 2 * dict->cap : 4;
        struct jinja_pair *pairs = jinja_run_alloc(run, cap * sizeof(*pairs));

        if (!pairs) {
            return jinja_fail_full(run);
        }
        if (dict->n > 0) {
            memcpy(pairs, dict->pairs, dict->n * sizeof(*pairs));
        }
        dict->pairs = pairs;
        dict->cap = cap;
    }
    dict->pairs[dict->n++] = *pair;
    if (dict->n <= FEW_PAIRS) {
        return JINJA_OK;
    }
    return 2 * dict->n > dict->n_slots ? grow_slots(run, dict) : enter(run, dict, dict->n - 1);
}

int jinja_dict_put(struct jinja_run *run, struct jinja_dict *dict, const struct jinja_value *key,
                   const struct jinja_value *value)
{
    struct jinja_value *known;
    int r = jinja_dict_find(run, dict, key, &known);

    if (r) {
        return r;
    }
    if (known) {
        *known = *value;
        return JINJA_OK;
    }
    return append(run, dict, &(struct jinja_pair){ .key = *key, .value = *value });
}

int jinja_dict_update(struct jinja_run *run, struct jinja_dict *dict, const struct jinja_dict *from)
{
    int r = JINJA_OK;

    for (size_t i = 0; !r && i < from->n; i++) {
        r = jinja_dict_put(run, dict, &from->pairs[i].key, &from->pairs[i].value);
    }
    return r;
}

int jinja_dict_items(struct jinja_run *run, const struct jinja_dict *dict, enum jinja_flavour flavour,
                     struct jinja_value *ret)
{
    struct jinja_value pair;
    int r = jinja_list_new(run, dict->n, flavour, ret);

    for (size_t i = 0; !r && i < dict->n; i++) {
        r = jinja_list_new(run, 2, JINJA_FLAVOUR_TUPLE, &pair);
        r = r ? r : jinja_list_push(run, pair.list, &dict->pairs[i].key);
        r = r ? r : jinja_list_push(run, pair.list, &dict->pairs[i].value);
        r = r ? r : jinja_list_push(run, ret->list, &pair);
    }
    return r;
}
