/*
 * Jinja values: what Python would hold
 *
 * All of them lie in the arena of their run (constants of a template in the template's) and are never freed singly.
 * Strings are bytes of UTF-8 with a mark for each byte: where it comes from. Slices share bytes and marks with what
 * they are cut from. A number or truth from the request is foreign as well, until it is computed with scaffolding
 * alone. Dictionaries keep the order of insertion.
 */
#ifndef SOTTO_JINJA_JINJA_VALUE_H
#define SOTTO_JINJA_JINJA_VALUE_H

#include "jinja/jinja.h"
#include <stdint.h>

enum jinja_kind {
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_FLOAT,
    JINJA_STRING,
    JINJA_LIST, /* tuples, ranges and views as well: see enum jinja_flavour */
    JINJA_DICT,
    JINJA_NAMESPACE,
    JINJA_MACRO,
    JINJA_BUILTIN, /* a function of ours */
    JINJA_METHOD,  /* one bound to a value */
    JINJA_LOOP,
    JINJA_KIND_COUNT
};

struct jinja_string {
    const char *bytes;
    const uint8_t *marks; /* enum jinja_mark of each byte; NULL: all are @mark */
    size_t n;
    enum jinja_mark mark;
};

enum jinja_flavour {
    JINJA_FLAVOUR_LIST,
    JINJA_FLAVOUR_TUPLE,
    JINJA_FLAVOUR_RANGE,
    JINJA_FLAVOUR_KEYS,
    JINJA_FLAVOUR_VALUES,
    JINJA_FLAVOUR_ITEMS,
    JINJA_FLAVOUR_GENERATOR, /* what lazy filters give */
    JINJA_FLAVOUR_COUNT
};

struct jinja_builtin;
struct jinja_macro;
struct jinja_loop;

struct jinja_value {
    enum jinja_kind kind;
    bool foreign; /* JINJA_BOOL, JINJA_INT, JINJA_FLOAT */
    union {
        const struct jinja_undefined *undefined; /* NULL: an argument that was not given */
        bool truth;
        int64_t number;
        double real;
        const struct jinja_string *string;
        struct jinja_list *list;
        struct jinja_dict *dict; /* JINJA_NAMESPACE as well */
        struct jinja_macro *macro;
        const struct jinja_builtin *builtin;
        const struct jinja_method *method;
        struct jinja_loop *loop;
    };
};

/* Why a value is not there; turned into a sentence when somebody uses it. */
struct jinja_undefined {
    const char *owner; /* "dict object"; NULL: a variable */
    const struct jinja_string *name;
    enum { JINJA_WHY_NAME, JINJA_WHY_ELEMENT, JINJA_WHY_UNSAFE, JINJA_WHY_PARAMETER, JINJA_WHY_TEXT } why;
};

struct jinja_list {
    struct jinja_value *items;
    size_t n;
    size_t cap;
    enum jinja_flavour flavour;
};

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

struct jinja_method {
    const struct jinja_builtin *builtin;
    struct jinja_value self;
};

static inline struct jinja_value jinja_none(void)
{
    return (struct jinja_value){ .kind = JINJA_NONE };
}

static inline struct jinja_value jinja_bool(bool truth)
{
    return (struct jinja_value){ .kind = JINJA_BOOL, .truth = truth };
}

static inline struct jinja_value jinja_int(int64_t number)
{
    return (struct jinja_value){ .kind = JINJA_INT, .number = number };
}

static inline struct jinja_value jinja_float(double real)
{
    return (struct jinja_value){ .kind = JINJA_FLOAT, .real = real };
}

/* Not given: no filter or function tells it from an undefined value, but its sentence is empty. */
static inline struct jinja_value jinja_absent(void)
{
    return (struct jinja_value){ .kind = JINJA_UNDEFINED };
}

static inline bool jinja_is_given(const struct jinja_value *value)
{
    return value->kind != JINJA_UNDEFINED || value->undefined;
}

/* True for 1, 1.5 and True. */
static inline bool jinja_is_number(const struct jinja_value *value)
{
    return value->kind == JINJA_BOOL || value->kind == JINJA_INT || value->kind == JINJA_FLOAT;
}

/* True for 1 and True. */
static inline bool jinja_is_int(const struct jinja_value *value)
{
    return value->kind == JINJA_BOOL || value->kind == JINJA_INT;
}

/* Of a number; of JINJA_BOOL or JINJA_INT. */
double jinja_real_of(const struct jinja_value *value);
int64_t jinja_int_of(const struct jinja_value *value);

/* Python's bool(). */
bool jinja_value_truth(const struct jinja_value *value);

/* Python's name of the type: "str", "NoneType"; and as sentences about attributes have it: "str object", "None". */
const char *jinja_value_type(const struct jinja_value *value);
const char *jinja_value_owner(const struct jinja_value *value);

bool jinja_string_is(const struct jinja_string *string, const char *text);
bool jinja_string_equal(const struct jinja_string *a, const struct jinja_string *b);
enum jinja_mark jinja_string_mark(const struct jinja_string *string, size_t at);

/* ---- made in the arena of @run. 0, JINJA_FAILED (the ceiling), or -ENOMEM */

int jinja_string_new(struct jinja_run *run, const char *bytes, size_t n, enum jinja_mark mark, struct jinja_value *ret);

/* A string constant of ours: nothing is copied. */
int jinja_string_word(struct jinja_run *run, const char *word, struct jinja_value *ret);

/* @n bytes of @string from @from on; shares them. */
int jinja_string_cut(struct jinja_run *run, const struct jinja_string *string, size_t from, size_t n,
                     struct jinja_value *ret);

int jinja_list_new(struct jinja_run *run, size_t cap, enum jinja_flavour flavour, struct jinja_value *ret);
int jinja_list_push(struct jinja_run *run, struct jinja_list *list, const struct jinja_value *item);
int jinja_list_pair(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b,
                    struct jinja_value *ret); /* a tuple of two */

int jinja_dict_new(struct jinja_run *run, struct jinja_value *ret);

/* Keys are what Python can hash: no list, no dictionary. JINJA_FAILED as well for others. */
int jinja_dict_put(struct jinja_run *run, struct jinja_dict *dict, const struct jinja_value *key,
                   const struct jinja_value *value);
int jinja_dict_find(struct jinja_run *run, const struct jinja_dict *dict, const struct jinja_value *key,
                    struct jinja_value **ret); /* NULL: not there */

/* For keys that are known: NULL if not there. Counts no steps. */
struct jinja_value *jinja_dict_get(const struct jinja_dict *dict, const char *key, size_t n);

int jinja_value_undefined(struct jinja_run *run, const char *owner, const struct jinja_string *name, int why,
                          struct jinja_value *ret);

/* The elements of anything that can be iterated over: characters, keys, elements, nothing for undefined.
 * JINJA_FAILED: "TypeError: 'int' object is not iterable". */
int jinja_value_elements(struct jinja_run *run, const struct jinja_value *value, struct jinja_list **ret);

#endif
