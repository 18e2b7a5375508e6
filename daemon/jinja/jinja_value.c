/*
 * Values and their containers. What they mean in sums and comparisons is in jinja_op.c, how they look in jinja_show.c.
 */
#include "jinja/jinja_value.h"
#include "base/utf8.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_op.h"
#include "jinja/jinja_run.h"
#include <math.h>
#include <string.h>

/* Up to so many pairs a look at each is as quick as a table. */
#define FEW_PAIRS 8u

static const char *const flavours[JINJA_FLAVOUR_COUNT] = {
    [JINJA_FLAVOUR_LIST] = "list",           [JINJA_FLAVOUR_TUPLE] = "tuple",
    [JINJA_FLAVOUR_RANGE] = "range",         [JINJA_FLAVOUR_KEYS] = "dict_keys",
    [JINJA_FLAVOUR_VALUES] = "dict_values",  [JINJA_FLAVOUR_ITEMS] = "dict_items",
    [JINJA_FLAVOUR_GENERATOR] = "generator",
};

static const char *const flavour_objects[JINJA_FLAVOUR_COUNT] = {
    [JINJA_FLAVOUR_LIST] = "list object",           [JINJA_FLAVOUR_TUPLE] = "tuple object",
    [JINJA_FLAVOUR_RANGE] = "range object",         [JINJA_FLAVOUR_KEYS] = "dict_keys object",
    [JINJA_FLAVOUR_VALUES] = "dict_values object",  [JINJA_FLAVOUR_ITEMS] = "dict_items object",
    [JINJA_FLAVOUR_GENERATOR] = "generator object",
};

static const struct {
    const char *type;
    const char *object;
} names[JINJA_KIND_COUNT] = {
    [JINJA_UNDEFINED] = { "Undefined", "jinja2.runtime.Undefined object" },
    [JINJA_NONE] = { "NoneType", "None" },
    [JINJA_BOOL] = { "bool", "bool object" },
    [JINJA_INT] = { "int", "int object" },
    [JINJA_FLOAT] = { "float", "float object" },
    [JINJA_STRING] = { "str", "str object" },
    [JINJA_LIST] = { "list", "list object" },
    [JINJA_DICT] = { "dict", "dict object" },
    [JINJA_NAMESPACE] = { "Namespace", "jinja2.utils.Namespace object" },
    [JINJA_MACRO] = { "Macro", "jinja2.runtime.Macro object" },
    [JINJA_BUILTIN] = { "function", "function object" },
    [JINJA_METHOD] = { "builtin_function_or_method", "builtin_function_or_method object" },
    [JINJA_LOOP] = { "LoopContext", "jinja2.runtime.LoopContext object" },
};

const char *jinja_value_type(const struct jinja_value *value)
{
    return value->kind == JINJA_LIST ? flavours[value->list->flavour] : names[value->kind].type;
}

const char *jinja_value_owner(const struct jinja_value *value)
{
    return value->kind == JINJA_LIST ? flavour_objects[value->list->flavour] : names[value->kind].object;
}

double jinja_real_of(const struct jinja_value *value)
{
    return value->kind == JINJA_FLOAT ? value->real : (double)jinja_int_of(value);
}

int64_t jinja_int_of(const struct jinja_value *value)
{
    return value->kind == JINJA_BOOL ? value->truth : value->number;
}

bool jinja_value_truth(const struct jinja_value *value)
{
    switch (value->kind) {
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        return false;
    case JINJA_BOOL:
        return value->truth;
    case JINJA_INT:
        return value->number != 0;
    case JINJA_FLOAT:
        return value->real != 0;
    case JINJA_STRING:
        return value->string->n > 0;
    case JINJA_LIST:
        return value->list->n > 0 || value->list->flavour == JINJA_FLAVOUR_GENERATOR;
    case JINJA_DICT:
        return value->dict->n > 0;
    case JINJA_NAMESPACE:
    case JINJA_MACRO:
    case JINJA_BUILTIN:
    case JINJA_METHOD:
    case JINJA_LOOP:
    case JINJA_KIND_COUNT:
        break;
    }
    return true;
}

bool jinja_string_is(const struct jinja_string *string, const char *text)
{
    return string->n == strlen(text) && memcmp(string->bytes, text, string->n) == 0;
}

bool jinja_string_equal(const struct jinja_string *a, const struct jinja_string *b)
{
    return a == b || (a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0);
}

enum jinja_mark jinja_string_mark(const struct jinja_string *string, size_t at)
{
    return string->marks ? (enum jinja_mark)string->marks[at] : string->mark;
}

/* ---- strings */

static int new_string(struct jinja_run *run, const struct jinja_string *as, struct jinja_value *ret)
{
    struct jinja_string *string = jinja_run_alloc(run, sizeof(*string));

    if (!string) {
        return jinja_fail_full(run);
    }
    *string = *as;
    *ret = (struct jinja_value){ .kind = JINJA_STRING, .string = string };
    return JINJA_OK;
}

int jinja_string_new(struct jinja_run *run, const char *bytes, size_t n, enum jinja_mark mark, struct jinja_value *ret)
{
    char *copy = jinja_run_alloc(run, n);

    if (!copy) {
        return jinja_fail_full(run);
    }
    if (n > 0) {
        memcpy(copy, bytes, n);
    }
    return new_string(run, &(struct jinja_string){ .bytes = copy, .n = n, .mark = mark }, ret);
}

int jinja_string_word(struct jinja_run *run, const char *word, struct jinja_value *ret)
{
    return new_string(run, &(struct jinja_string){ .bytes = word, .n = strlen(word) }, ret);
}

int jinja_string_cut(struct jinja_run *run, const struct jinja_string *string, size_t from, size_t n,
                     struct jinja_value *ret)
{
    struct jinja_string part = *string;

    part.bytes += from;
    part.n = n;
    if (part.marks) {
        part.marks += from;
    }
    return new_string(run, &part, ret);
}

int jinja_value_undefined(struct jinja_run *run, const char *owner, const struct jinja_string *name, int why,
                          struct jinja_value *ret)
{
    struct jinja_undefined *undefined = jinja_run_alloc(run, sizeof(*undefined));

    if (!undefined) {
        return jinja_fail_full(run);
    }
    undefined->owner = owner;
    undefined->name = name;
    undefined->why = why;
    *ret = (struct jinja_value){ .kind = JINJA_UNDEFINED, .undefined = undefined };
    return JINJA_OK;
}

/* ---- lists */

int jinja_list_new(struct jinja_run *run, size_t cap, enum jinja_flavour flavour, struct jinja_value *ret)
{
    struct jinja_list *list = jinja_run_alloc(run, sizeof(*list));

    if (!list || cap > SIZE_MAX / sizeof(*list->items)) {
        return jinja_fail_full(run);
    }
    *list = (struct jinja_list){ .cap = cap, .flavour = flavour };
    list->items = jinja_run_alloc(run, cap * sizeof(*list->items));
    if (!list->items) {
        return jinja_fail_full(run);
    }
    *ret = (struct jinja_value){ .kind = JINJA_LIST, .list = list };
    return JINJA_OK;
}

int jinja_list_push(struct jinja_run *run, struct jinja_list *list, const struct jinja_value *item)
{
    if (list->n == list->cap) {
        const size_t cap = list->cap < 4 ? 4 : 2 * list->cap;
        struct jinja_value *items = jinja_run_alloc(run, cap * sizeof(*items));

        if (!items) {
            return jinja_fail_full(run);
        }
        if (list->n > 0) {
            memcpy(items, list->items, list->n * sizeof(*items));
        }
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = *item;
    return jinja_run_count(run, 1);
}

int jinja_list_pair(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b,
                    struct jinja_value *ret)
{
    int r = jinja_list_new(run, 2, JINJA_FLAVOUR_TUPLE, ret);

    r = r ? r : jinja_list_push(run, ret->list, a);
    return r ? r : jinja_list_push(run, ret->list, b);
}

/* ---- dictionaries */

/* FNV-1a. Whoever makes keys collide pays for it in steps. */
static uint32_t hash_bytes(const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ at[i]) * 16777619u;
    }
    return hash;
}

/* Equal keys have equal hashes: 1, 1.0 and True are one key; so are tuples, by their length. */
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
    if (key->kind == JINJA_LIST && key->list->flavour == JINJA_FLAVOUR_TUPLE) {
        for (size_t i = 0; i < key->list->n; i++) {
            const struct jinja_value *item = &key->list->items[i];

            /* Tuples of tuples are left out, so that nothing here recurses. */
            if (item->kind == JINJA_LIST || item->kind == JINJA_DICT) {
                return false;
            }
        }
        return true;
    }
    return key->kind != JINJA_LIST && key->kind != JINJA_DICT;
}

/* The first slot for @hash; the next ones follow. */
static size_t slot_of(const struct jinja_dict *dict, uint32_t hash)
{
    return hash & (dict->n_slots - 1);
}

static int grow_slots(struct jinja_run *run, struct jinja_dict *dict)
{
    const size_t n = dict->n_slots ? 2 * dict->n_slots : 4 * FEW_PAIRS;
    int r;

    dict->slots = jinja_run_alloc(run, n * sizeof(*dict->slots));
    if (!dict->slots) {
        return jinja_fail_full(run);
    }
    memset(dict->slots, 0, n * sizeof(*dict->slots));
    dict->n_slots = n;
    for (size_t i = 0; i < dict->n; i++) {
        size_t slot = slot_of(dict, hash_key(&dict->pairs[i].key));
        uint64_t n_tries = 1;

        for (; dict->slots[slot] != 0; n_tries++) {
            slot = (slot + 1) & (n - 1);
        }
        dict->slots[slot] = (uint32_t)i + 1;
        r = jinja_run_count(run, n_tries);
        if (r) {
            return r;
        }
    }
    return JINJA_OK;
}

static int is_pair(struct jinja_run *run, const struct jinja_pair *pair, const struct jinja_value *key, bool *ret)
{
    if (pair->key.kind == JINJA_STRING && key->kind == JINJA_STRING) {
        *ret = jinja_string_equal(pair->key.string, key->string);
        return JINJA_OK;
    }
    return jinja_compare_equal(run, &pair->key, key, ret);
}

int jinja_dict_find(struct jinja_run *run, const struct jinja_dict *dict, const struct jinja_value *key,
                    struct jinja_value **ret)
{
    bool is_it = false;
    size_t i = 0;
    size_t slot = 0;

    *ret = NULL;
    if (!can_be_key(key)) {
        return jinja_fail(run, "TypeError", "unhashable type: '%s'", jinja_value_type(key));
    }
    if (dict->slots) {
        slot = slot_of(dict, hash_key(key));
    }
    for (;; i++, slot = (slot + 1) & (dict->n_slots - 1)) {
        const size_t at = dict->slots ? dict->slots[slot] : (i < dict->n ? i + 1 : 0);
        int r;

        if (at == 0) {
            return JINJA_OK;
        }
        r = is_pair(run, &dict->pairs[at - 1], key, &is_it);
        r = r ? r : jinja_run_count(run, i > 0);
        if (r) {
            return r;
        }
        if (is_it) {
            *ret = &dict->pairs[at - 1].value;
            return JINJA_OK;
        }
    }
}

struct jinja_value *jinja_dict_get(const struct jinja_dict *dict, const char *key, size_t n)
{
    size_t slot = dict->slots ? slot_of(dict, hash_bytes(key, n)) : 0;

    for (size_t i = 0;; i++, slot = (slot + 1) & (dict->n_slots - 1)) {
        const size_t at = dict->slots ? dict->slots[slot] : (i < dict->n ? i + 1 : 0);
        const struct jinja_pair *pair;

        if (at == 0) {
            return NULL;
        }
        pair = &dict->pairs[at - 1];
        if (pair->key.kind == JINJA_STRING && pair->key.string->n == n &&
            memcmp(pair->key.string->bytes, key, n) == 0) {
            return &dict->pairs[at - 1].value;
        }
    }
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

/* Puts a key that is not there behind the others. */
static int append(struct jinja_run *run, struct jinja_dict *dict, const struct jinja_pair *pair)
{
    size_t slot;
    int r;

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
    if (2 * dict->n > dict->n_slots) {
        return grow_slots(run, dict);
    }
    slot = slot_of(dict, hash_key(&pair->key));
    for (r = JINJA_OK; dict->slots[slot] != 0 && !r; r = jinja_run_count(run, 1)) {
        slot = (slot + 1) & (dict->n_slots - 1);
    }
    if (!r) {
        dict->slots[slot] = (uint32_t)dict->n;
    }
    return r;
}

int jinja_dict_put(struct jinja_run *run, struct jinja_dict *dict, const struct jinja_value *key,
                   const struct jinja_value *value)
{
    struct jinja_value *place;
    int r = jinja_dict_find(run, dict, key, &place);

    if (r) {
        return r;
    }
    if (place) {
        *place = *value;
        return JINJA_OK;
    }
    return append(run, dict, &(struct jinja_pair){ .key = *key, .value = *value });
}

/* ---- going through */

static int characters(struct jinja_run *run, const struct jinja_string *string, struct jinja_list **ret)
{
    struct jinja_value list;
    int r = jinja_list_new(run, string->n, JINJA_FLAVOUR_LIST, &list);

    for (size_t at = 0; !r && at < string->n;) {
        const size_t n = jinja_char_bytes(string, at);
        struct jinja_value item;

        r = jinja_string_cut(run, string, at, n, &item);
        r = r ? r : jinja_list_push(run, list.list, &item);
        at += n;
    }
    if (!r) {
        *ret = list.list;
    }
    return r;
}

int jinja_value_elements(struct jinja_run *run, const struct jinja_value *value, struct jinja_list **ret)
{
    struct jinja_value list;
    int r;

    if (value->kind == JINJA_LIST) {
        *ret = value->list;
        return JINJA_OK;
    }
    if (value->kind == JINJA_STRING) {
        return characters(run, value->string, ret);
    }
    if (value->kind != JINJA_DICT && value->kind != JINJA_UNDEFINED) {
        return jinja_fail(run, "TypeError", "'%s' object is not iterable", jinja_value_type(value));
    }
    r = jinja_list_new(run, 0, JINJA_FLAVOUR_LIST, &list);
    for (size_t i = 0; value->kind == JINJA_DICT && !r && i < value->dict->n; i++) {
        r = jinja_list_push(run, list.list, &value->dict->pairs[i].key);
    }
    if (!r) {
        *ret = list.list;
    }
    return r;
}
