/*
 * Kinds of values, strings and lists.
 */
#include "jinja/jinja_value.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_run.h"
#include <string.h>

static const char *const flavour_names[JINJA_FLAVOUR_COUNT] = {
    [JINJA_FLAVOUR_LIST] = "list",           [JINJA_FLAVOUR_TUPLE] = "tuple",
    [JINJA_FLAVOUR_RANGE] = "range",         [JINJA_FLAVOUR_KEYS] = "dict_keys",
    [JINJA_FLAVOUR_VALUES] = "dict_values",  [JINJA_FLAVOUR_ITEMS] = "dict_items",
    [JINJA_FLAVOUR_GENERATOR] = "generator",
};

static const char *const kind_names[JINJA_KIND_COUNT] = {
    [JINJA_UNDEFINED] = "jinja2.runtime.Undefined",
    [JINJA_NONE] = "NoneType",
    [JINJA_BOOL] = "bool",
    [JINJA_INT] = "int",
    [JINJA_FLOAT] = "float",
    [JINJA_STRING] = "str",
    [JINJA_LIST] = "list",
    [JINJA_DICT] = "dict",
    [JINJA_NAMESPACE] = "jinja2.utils.Namespace",
    [JINJA_MACRO] = "jinja2.runtime.Macro",
    [JINJA_BUILTIN] = "function",
    [JINJA_METHOD] = "builtin_function_or_method",
    [JINJA_LOOP] = "jinja2.runtime.LoopContext",
};

const char *jinja_value_name(const struct jinja_value *value)
{
    return value->kind == JINJA_LIST ? flavour_names[value->list->flavour] : kind_names[value->kind];
}

const char *jinja_value_type(const struct jinja_value *value)
{
    const char *name = jinja_value_name(value);
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

bool jinja_value_truth(const struct jinja_value *value)
{
    switch ((int)value->kind) {
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
    }
    return true;
}

int jinja_value_undefined(struct jinja_run *run, const char *owner, const struct jinja_string *name, int why,
                          struct jinja_value *ret)
{
    struct jinja_undefined *undefined = jinja_run_alloc(run, sizeof(*undefined));

    if (!undefined) {
        return jinja_fail_full(run);
    }
    *undefined = (struct jinja_undefined){ .why = why, .owner = owner, .name = name };
    *ret = (struct jinja_value){ .kind = JINJA_UNDEFINED, .undefined = undefined };
    return JINJA_OK;
}

static int characters(struct jinja_run *run, const struct jinja_string *string, struct jinja_list **ret)
{
    struct jinja_value list;
    int r = jinja_list_new(run, string->n, JINJA_FLAVOUR_LIST, &list);

    for (size_t at = 0; !r && at < string->n;) {
        const size_t n = jinja_char_bytes(string, at);

        r = jinja_list_push_cut(run, list.list, string, at, n);
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

/* ---- strings */

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

static int new_string(struct jinja_run *run, const struct jinja_string *as, struct jinja_value *ret)
{
    struct jinja_string *string = jinja_run_alloc(run, sizeof(*string));

    if (!string) {
        return jinja_fail_full(run);
    }
    *string = *as;
    *ret = jinja_str(string);
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

int jinja_list_extend(struct jinja_run *run, struct jinja_list *list, const struct jinja_value *items, size_t n)
{
    int r = JINJA_OK;

    for (size_t i = 0; !r && i < n; i++) {
        r = jinja_list_push(run, list, &items[i]);
    }
    return r;
}

int jinja_list_push_cut(struct jinja_run *run, struct jinja_list *list, const struct jinja_string *string, size_t from,
                        size_t n)
{
    struct jinja_value piece;
    int r = jinja_string_cut(run, string, from, n, &piece);

    return r ? r : jinja_list_push(run, list, &piece);
}
