/*
 * Jinja values: what Python would hold
 *
 * All values lie in the arena of their run (constants of a template in the template's) and are never freed singly.
 * Strings are UTF-8 with a mark for each byte, which says where it comes from; slices share bytes and marks with the
 * string that they are cut from. A number or truth from the request is foreign as well, until it is computed from
 * scaffolding alone. Dictionaries (jinja_dict.h) keep the order of insertion.
 *
 * Every function of this module that takes a run returns 0, JINJA_FAILED (with the run's diag set), JINJA_CANCELLED or
 * -ENOMEM. The run is over then: nothing is undone, all memory goes with the arena. These outcomes are the module's own
 * and are passed up as they are.
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
    JINJA_BUILTIN, /* a global function of the library */
    JINJA_METHOD,  /* a function of the library, bound to a value */
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
    JINJA_FLAVOUR_GENERATOR, /* the result of a lazy filter */
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
        const void *object; /* any of the pointers, to compare identities */
    };
};

/* Why a value is undefined; it becomes a sentence when the value is used. */
struct jinja_undefined {
    enum {
        JINJA_WHY_NAME,      /* no attribute @name of @owner; no variable @name where @owner is NULL */
        JINJA_WHY_ELEMENT,   /* no element @name of @owner */
        JINJA_WHY_UNSAFE,    /* the sandbox keeps attribute @name of @owner */
        JINJA_WHY_PARAMETER, /* parameter @name of a macro was not given */
        JINJA_WHY_TEXT       /* @owner is the sentence */
    } why;
    const char *owner; /* jinja_value_name() of the value that was asked */
    const struct jinja_string *name;
};

struct jinja_list {
    struct jinja_value *items;
    size_t n;
    size_t cap;
    enum jinja_flavour flavour;
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

static inline struct jinja_value jinja_str(const struct jinja_string *string)
{
    return (struct jinja_value){ .kind = JINJA_STRING, .string = string };
}

/* An argument that was not given: filters and functions see an undefined value. */
static inline struct jinja_value jinja_absent(void)
{
    return (struct jinja_value){ .kind = JINJA_UNDEFINED };
}

static inline bool jinja_is_given(const struct jinja_value *value)
{
    return value->kind != JINJA_UNDEFINED || value->undefined;
}

/* True for an argument that was given and is not None. */
static inline bool jinja_is_set(const struct jinja_value *value)
{
    return value->kind != JINJA_NONE && jinja_is_given(value);
}

/* True for 1 and True. */
static inline bool jinja_is_int(const struct jinja_value *value)
{
    return value->kind == JINJA_BOOL || value->kind == JINJA_INT;
}

/* True for 1, 1.5 and True. */
static inline bool jinja_is_number(const struct jinja_value *value)
{
    return jinja_is_int(value) || value->kind == JINJA_FLOAT;
}

/* True for lists and tuples, which can be added, multiplied and ordered. */
static inline bool jinja_is_sequence(const struct jinja_value *value)
{
    return value->kind == JINJA_LIST && value->list->flavour <= JINJA_FLAVOUR_TUPLE;
}

static inline bool jinja_is_tuple(const struct jinja_value *value)
{
    return value->kind == JINJA_LIST && value->list->flavour == JINJA_FLAVOUR_TUPLE;
}

/* The number that @value is, for which jinja_is_int() holds. */
static inline int64_t jinja_int_of(const struct jinja_value *value)
{
    return value->kind == JINJA_BOOL ? value->truth : value->number;
}

/* The number that @value is, for which jinja_is_number() holds. */
static inline double jinja_real_of(const struct jinja_value *value)
{
    return value->kind == JINJA_FLOAT ? value->real : (double)jinja_int_of(value);
}

/* Python's bool(). */
bool jinja_value_truth(const struct jinja_value *value);

/* Python's name of the type, with its module ("jinja2.utils.Namespace") and without ("Namespace"). */
const char *jinja_value_name(const struct jinja_value *value);
const char *jinja_value_type(const struct jinja_value *value);

/* An undefined value: @why is that of struct jinja_undefined. */
int jinja_value_undefined(struct jinja_run *run, const char *owner, const struct jinja_string *name, int why,
                          struct jinja_value *ret);

/* The elements of a value that can be iterated over: characters, keys, elements; none for an undefined value.
 * JINJA_FAILED: "TypeError: 'int' object is not iterable". */
int jinja_value_elements(struct jinja_run *run, const struct jinja_value *value, struct jinja_list **ret);

/* ---- strings */

bool jinja_string_is(const struct jinja_string *string, const char *text);
bool jinja_string_equal(const struct jinja_string *a, const struct jinja_string *b);
enum jinja_mark jinja_string_mark(const struct jinja_string *string, size_t at);

/* A copy of @n bytes. */
int jinja_string_new(struct jinja_run *run, const char *bytes, size_t n, enum jinja_mark mark, struct jinja_value *ret);

/* A string of scaffolding over the constant @word, which is not copied. */
int jinja_string_word(struct jinja_run *run, const char *word, struct jinja_value *ret);

/* The @n bytes of @string from @from on; they are shared. */
int jinja_string_cut(struct jinja_run *run, const struct jinja_string *string, size_t from, size_t n,
                     struct jinja_value *ret);

/* ---- lists */

int jinja_list_new(struct jinja_run *run, size_t cap, enum jinja_flavour flavour, struct jinja_value *ret);
int jinja_list_push(struct jinja_run *run, struct jinja_list *list, const struct jinja_value *item);

int jinja_list_extend(struct jinja_run *run, struct jinja_list *list, const struct jinja_value *items, size_t n);

/* Pushes the @n bytes of @string from @from on. */
int jinja_list_push_cut(struct jinja_run *run, struct jinja_list *list, const struct jinja_string *string, size_t from,
                        size_t n);

#endif
