/*
 * Equality is structural; an order exists between numbers, between strings, and between sequences of one type.
 */
#include "jinja/jinja_compare.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_run.h"
#include <string.h>

static int equal_lists(struct jinja_run *run, const struct jinja_list *a, const struct jinja_list *b, bool *ret)
{
    int r = JINJA_OK;

    *ret = a == b || (a->n == b->n && (a->flavour == JINJA_FLAVOUR_TUPLE) == (b->flavour == JINJA_FLAVOUR_TUPLE));
    for (size_t i = 0; !r && *ret && a != b && i < a->n; i++) {
        r = jinja_compare_equal(run, &a->items[i], &b->items[i], ret);
    }
    return r;
}

static int equal_dicts(struct jinja_run *run, const struct jinja_dict *a, const struct jinja_dict *b, bool *ret)
{
    int r = JINJA_OK;

    *ret = a->n == b->n;
    for (size_t i = 0; !r && *ret && i < a->n; i++) {
        struct jinja_value *other;

        r = jinja_dict_find(run, b, &a->pairs[i].key, &other);
        if (!r && !other) {
            *ret = false;
        } else if (!r) {
            r = jinja_compare_equal(run, &a->pairs[i].value, other, ret);
        }
    }
    return r;
}

/* Compares two values of one kind, which are no numbers. */
static int equal_alike(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret)
{
    if (a->kind == JINJA_STRING) {
        *ret = jinja_string_equal(a->string, b->string);
        return jinja_run_count(run, a->string->n / 64);
    }
    if (a->kind == JINJA_LIST) {
        return equal_lists(run, a->list, b->list, ret);
    }
    if (a->kind == JINJA_DICT) {
        return equal_dicts(run, a->dict, b->dict, ret);
    }
    *ret = a->kind == JINJA_UNDEFINED || a->kind == JINJA_NONE || a->object == b->object;
    return JINJA_OK;
}

int jinja_compare_equal(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret)
{
    int r;

    if (jinja_is_int(a) && jinja_is_int(b)) {
        *ret = jinja_int_of(a) == jinja_int_of(b);
        return JINJA_OK;
    }
    if (jinja_is_number(a) && jinja_is_number(b)) {
        *ret = jinja_real_of(a) == jinja_real_of(b);
        return JINJA_OK;
    }
    *ret = false;
    if (a->kind != b->kind) {
        return JINJA_OK;
    }
    r = jinja_run_enter(run);
    r = r ? r : jinja_run_count(run, 1);
    r = r ? r : equal_alike(run, a, b, ret);
    jinja_run_leave(run);
    return r;
}

static int compare_lists(struct jinja_run *run, const struct jinja_list *a, const struct jinja_list *b,
                         const char *sign, int *ret)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        bool same;
        int r = jinja_compare_equal(run, &a->items[i], &b->items[i], &same);

        if (r || !same) {
            return r ? r : jinja_compare_order(run, &a->items[i], &b->items[i], sign, ret);
        }
    }
    *ret = (a->n > b->n) - (a->n < b->n);
    return JINJA_OK;
}

int jinja_compare_order(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b,
                        const char *sign, int *ret)
{
    int r = jinja_run_count(run, 1);

    if (r) {
        return r;
    }
    if (jinja_is_int(a) && jinja_is_int(b)) {
        *ret = (jinja_int_of(a) > jinja_int_of(b)) - (jinja_int_of(a) < jinja_int_of(b));
        return JINJA_OK;
    }
    if (jinja_is_number(a) && jinja_is_number(b)) {
        *ret = (jinja_real_of(a) > jinja_real_of(b)) - (jinja_real_of(a) < jinja_real_of(b));
        return JINJA_OK;
    }
    if (a->kind == JINJA_STRING && b->kind == JINJA_STRING) {
        const size_t n = a->string->n < b->string->n ? a->string->n : b->string->n;
        const int order = memcmp(a->string->bytes, b->string->bytes, n); /* UTF-8 sorts as its characters do */

        *ret = order ? order : (a->string->n > b->string->n) - (a->string->n < b->string->n);
        return jinja_run_count(run, n / 64);
    }
    if (jinja_is_sequence(a) && jinja_is_sequence(b) && a->list->flavour == b->list->flavour) {
        r = jinja_run_enter(run);
        r = r ? r : compare_lists(run, a->list, b->list, sign, ret);
        jinja_run_leave(run);
        return r;
    }
    if (a->kind == JINJA_UNDEFINED || b->kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, a->kind == JINJA_UNDEFINED ? a : b);
    }
    return jinja_fail(run, "TypeError", "'%s' not supported between instances of '%s' and '%s'", sign,
                      jinja_value_type(a), jinja_value_type(b));
}

int jinja_compare_relate(struct jinja_run *run, const struct jinja_value *a, const char *sign,
                         const struct jinja_value *b, bool *ret)
{
    const bool or_equal = sign[1] == '=';
    int order = 0;
    int r;

    if (sign[0] == '=' || sign[0] == '!') {
        r = jinja_compare_equal(run, a, b, ret);
        *ret = *ret == (sign[0] == '=');
        return r;
    }
    r = jinja_compare_order(run, a, b, sign, &order);
    *ret = (order == 0 && or_equal) || (sign[0] == '<' ? order < 0 : order > 0);
    return r;
}

int jinja_compare_in(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret)
{
    struct jinja_value *found = NULL;
    struct jinja_list *list;
    int r;

    *ret = false;
    if (b->kind == JINJA_STRING) {
        if (a->kind != JINJA_STRING) {
            return jinja_fail(run, "TypeError", "'in <string>' requires string as left operand, not %s",
                              jinja_value_type(a));
        }
        *ret = a->string->n == 0 || memmem(b->string->bytes, b->string->n, a->string->bytes, a->string->n) != NULL;
        return jinja_run_count(run, b->string->n / 64);
    }
    if (b->kind == JINJA_DICT) {
        r = jinja_dict_find(run, b->dict, a, &found);
        *ret = found != NULL;
        return r;
    }
    if (b->kind != JINJA_LIST && b->kind != JINJA_UNDEFINED) {
        return jinja_fail(run, "TypeError", "argument of type '%s' is not iterable", jinja_value_type(b));
    }
    r = jinja_value_elements(run, b, &list);
    for (size_t i = 0; !r && !*ret && i < list->n; i++) {
        r = jinja_compare_equal(run, a, &list->items[i], ret);
        r = r ? r : jinja_run_count(run, 1);
    }
    return r;
}
