/*
 * Filters of sequences: what is in them, in which order.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_eval.h"
#include "jinja/jinja_list.h"
#include "jinja/jinja_op.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"
#include "jinja/jinja_text.h"
#include <string.h>

/* ---- attributes by path */

static int step_into(struct jinja_run *run, const struct jinja_string *part, struct jinja_value *value)
{
    struct jinja_value key = { .kind = JINJA_STRING, .string = part };
    int64_t number = 0;
    bool is_number = part->n > 0 && part->n < 10;

    for (size_t i = 0; i < part->n && is_number; i++) {
        is_number = part->bytes[i] >= '0' && part->bytes[i] <= '9';
        number = number * 10 + (part->bytes[i] - '0');
    }
    if (is_number) {
        key = jinja_int(number);
    }
    return jinja_get_item(run, value, &key, value);
}

int jinja_get_path(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *path,
                   struct jinja_value *ret)
{
    struct jinja_value at = *value;
    size_t from = 0;
    int r = JINJA_OK;

    if (path->kind != JINJA_STRING) {
        return jinja_get_item(run, value, path, ret);
    }
    for (size_t i = 0; !r && i <= path->string->n; i++) {
        struct jinja_value part;

        if (i < path->string->n && path->string->bytes[i] != '.') {
            continue;
        }
        r = jinja_string_cut(run, path->string, from, i - from, &part);
        r = r ? r : step_into(run, part.string, &at);
        from = i + 1;
    }
    *ret = at;
    return r;
}

/* ---- sorting */

/* What an element is compared by: an attribute or several, small letters. */
int jinja_sort_key(struct jinja_run *run, const struct jinja_value *item, const struct jinja_value *path,
                   bool case_sensitive, struct jinja_value *ret)
{
    int r = JINJA_OK;

    *ret = *item;
    if (path->kind != JINJA_NONE && jinja_is_given(path)) {
        r = jinja_get_path(run, item, path, ret);
    }
    if (!r && !case_sensitive && ret->kind == JINJA_STRING) {
        r = jinja_text_case(run, ret->string, JINJA_CASE_LOWER, ret);
    }
    return r;
}

/* Merges the runs [from, middle) and [middle, to) of pairs (key, element). Stable. */
static int merge(struct jinja_run *run, struct jinja_pair *pairs, struct jinja_pair *spare, size_t from, size_t middle,
                 size_t to, bool reverse)
{
    size_t a = from;
    size_t b = middle;

    for (size_t i = from; i < to; i++) {
        bool takes_b = a == middle;

        if (a < middle && b < to) {
            const struct jinja_value *first = reverse ? &pairs[a].key : &pairs[b].key;
            const struct jinja_value *second = reverse ? &pairs[b].key : &pairs[a].key;
            bool same = false;
            int order = 0;
            int r = jinja_compare_equal(run, first, second, &same); /* what is equal needs no order */

            r = r || same ? r : jinja_compare_order(run, first, second, "<", &order);
            if (r) {
                return r;
            }
            takes_b = order < 0;
        }
        spare[i] = takes_b ? pairs[b++] : pairs[a++];
    }
    memcpy(pairs + from, spare + from, (to - from) * sizeof(*pairs));
    return JINJA_OK;
}

static int sort_pairs(struct jinja_run *run, struct jinja_pair *pairs, size_t n, bool reverse)
{
    struct jinja_pair *spare = jinja_run_alloc(run, n * sizeof(*spare));
    int r = JINJA_OK;

    if (!spare) {
        return jinja_fail_full(run);
    }
    for (size_t width = 1; !r && width < n; width *= 2) {
        for (size_t from = 0; !r && from + width < n; from += 2 * width) {
            const size_t to = from + 2 * width < n ? from + 2 * width : n;

            r = merge(run, pairs, spare, from, from + width, to, reverse);
        }
    }
    return r;
}

int jinja_sort(struct jinja_run *run, const struct jinja_list *list, const struct jinja_value *path,
               bool case_sensitive, bool reverse, struct jinja_value *ret)
{
    struct jinja_pair *pairs = jinja_run_alloc(run, list->n * sizeof(*pairs));
    int r = jinja_list_new(run, list->n, JINJA_FLAVOUR_LIST, ret);

    if (!pairs) {
        return jinja_fail_full(run);
    }
    for (size_t i = 0; !r && i < list->n; i++) {
        pairs[i].value = list->items[i];
        r = jinja_sort_key(run, &list->items[i], path, case_sensitive, &pairs[i].key);
    }
    r = r ? r : sort_pairs(run, pairs, list->n, reverse);
    for (size_t i = 0; !r && i < list->n; i++) {
        r = jinja_list_push(run, ret->list, &pairs[i].value);
    }
    return r;
}

int jinja_dict_items(struct jinja_run *run, const struct jinja_dict *dict, enum jinja_flavour flavour,
                     struct jinja_value *ret)
{
    struct jinja_value pair;
    int r = jinja_list_new(run, dict->n, flavour, ret);

    for (size_t i = 0; !r && i < dict->n; i++) {
        r = jinja_list_pair(run, &dict->pairs[i].key, &dict->pairs[i].value, &pair);
        r = r ? r : jinja_list_push(run, ret->list, &pair);
    }
    return r;
}

int jinja_sorted_items(struct jinja_run *run, const struct jinja_dict *dict, struct jinja_value *ret)
{
    const struct jinja_value by_key = jinja_int(0);
    struct jinja_value items;
    int r = jinja_dict_items(run, dict, JINJA_FLAVOUR_LIST, &items);

    return r ? r : jinja_sort(run, items.list, &by_key, true, false, ret);
}

static int filter_sort(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    return r ? r
             : jinja_sort(run, list, &args->values[3], jinja_value_truth(&args->values[2]),
                          jinja_value_truth(&args->values[1]), ret);
}

static int filter_dictsort(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];
    const struct jinja_string *by;
    struct jinja_value items;
    struct jinja_value place;
    int r = jinja_args_string(run, &args->values[2], &by);

    if (!r && value->kind != JINJA_DICT) {
        r = jinja_fail(run, "TypeError", "dictsort takes a mapping, not %s", jinja_value_type(value));
    }
    r = r ? r : jinja_dict_items(run, value->dict, JINJA_FLAVOUR_LIST, &items);
    place = jinja_int(by && jinja_string_is(by, "value"));
    return r ? r
             : jinja_sort(run, items.list, &place, jinja_value_truth(&args->values[1]),
                          jinja_value_truth(&args->values[3]), ret);
}

/* ---- parts */

static int filter_first(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    if (r || list->n == 0) {
        return r ? r : jinja_value_undefined(run, "No first item, sequence was empty.", NULL, JINJA_WHY_TEXT, ret);
    }
    *ret = list->items[0];
    return JINJA_OK;
}

static int filter_last(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    if (r || list->n == 0) {
        return r ? r : jinja_value_undefined(run, "No last item, sequence was empty.", NULL, JINJA_WHY_TEXT, ret);
    }
    *ret = list->items[list->n - 1];
    return JINJA_OK;
}

static int filter_list(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    r = r ? r : jinja_list_new(run, list->n, JINJA_FLAVOUR_LIST, ret);
    for (size_t i = 0; !r && i < list->n; i++) {
        r = jinja_list_push(run, ret->list, &list->items[i]);
    }
    return r;
}

static int filter_reverse(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const bool is_string = args->values[0].kind == JINJA_STRING;
    const size_t from = run->out.n;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    r = r ? r : jinja_list_new(run, list->n, JINJA_FLAVOUR_GENERATOR, ret);
    for (size_t i = 0; !r && i < list->n; i++) {
        const struct jinja_value *item = &list->items[list->n - 1 - i];

        r = is_string ? jinja_out_string(run, item->string) : jinja_list_push(run, ret->list, item);
    }
    return r || !is_string ? r : jinja_out_take(run, from, ret);
}

static int filter_items(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];

    if (value->kind == JINJA_UNDEFINED) {
        return jinja_list_new(run, 0, JINJA_FLAVOUR_GENERATOR, ret);
    }
    if (value->kind != JINJA_DICT) {
        return jinja_fail(run, "TypeError", "Can only get item pairs from a mapping.");
    }
    return jinja_dict_items(run, value->dict, JINJA_FLAVOUR_GENERATOR, ret);
}

static int filter_join(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *path = &args->values[2];
    const struct jinja_string *between;
    struct jinja_list *list;
    struct jinja_value item;
    const size_t from = run->out.n;
    int r = jinja_args_text(run, &args->values[1], &between);

    r = r ? r : jinja_value_elements(run, &args->values[0], &list);
    for (size_t i = 0; !r && i < list->n; i++) {
        item = list->items[i];
        if (path->kind != JINJA_NONE && jinja_is_given(path)) {
            r = jinja_get_path(run, &item, path, &item);
        }
        r = r || i == 0 ? r : jinja_out_string(run, between);
        r = r ? r : jinja_show_str(run, &item);
        r = r ? r : jinja_run_count(run, 1);
    }
    return r ? r : jinja_out_take(run, from, ret);
}

static int filter_batch(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_value row = jinja_none();
    struct jinja_list *list;
    int64_t n;
    int r = jinja_args_int(run, &args->values[1], 1, &n);

    n = n < 1 ? 1 : n;
    r = r ? r : jinja_value_elements(run, &args->values[0], &list);
    r = r ? r : jinja_list_new(run, 0, JINJA_FLAVOUR_GENERATOR, ret);
    for (size_t i = 0; !r && i < list->n; i++) {
        if (i % (uint64_t)n == 0) {
            r = jinja_list_new(run, 0, JINJA_FLAVOUR_LIST, &row);
            r = r ? r : jinja_list_push(run, ret->list, &row);
        }
        r = r ? r : jinja_list_push(run, row.list, &list->items[i]);
    }
    while (!r && row.kind == JINJA_LIST && jinja_is_given(&args->values[2]) && args->values[2].kind != JINJA_NONE &&
           row.list->n < (uint64_t)n) {
        r = jinja_list_push(run, row.list, &args->values[2]);
    }
    return r;
}

static int filter_slice(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *fill = &args->values[2];
    struct jinja_value part;
    struct jinja_list *list;
    size_t at = 0;
    int64_t n;
    int r = jinja_args_int(run, &args->values[1], 1, &n);

    if (!r && n < 1) {
        return jinja_fail(run, "ZeroDivisionError", "integer division or modulo by zero");
    }
    r = r ? r : jinja_value_elements(run, &args->values[0], &list);
    r = r ? r : jinja_list_new(run, 0, JINJA_FLAVOUR_GENERATOR, ret);
    for (int64_t i = 0; !r && i < n; i++) {
        const size_t n_more = list->n % (size_t)n;
        const size_t n_items = list->n / (size_t)n + ((size_t)i < n_more);

        r = jinja_list_new(run, n_items + 1, JINJA_FLAVOUR_LIST, &part);
        for (size_t k = 0; !r && k < n_items; k++) {
            r = jinja_list_push(run, part.list, &list->items[at++]);
        }
        if (!r && jinja_is_given(fill) && fill->kind != JINJA_NONE && (size_t)i >= n_more) {
            r = jinja_list_push(run, part.list, fill);
        }
        r = r ? r : jinja_list_push(run, ret->list, &part);
    }
    return r;
}

/* ---- of all */

static int extreme(struct jinja_run *run, const struct jinja_args *args, bool largest, struct jinja_value *ret)
{
    const bool case_sensitive = jinja_value_truth(&args->values[1]);
    struct jinja_value best;
    struct jinja_value key;
    struct jinja_list *list;
    int order;
    int r = jinja_value_elements(run, &args->values[0], &list);

    if (!r && list->n == 0) {
        return jinja_value_undefined(run, "No aggregated item, sequence was empty.", NULL, JINJA_WHY_TEXT, ret);
    }
    for (size_t i = 0; !r && i < list->n; i++) {
        r = jinja_sort_key(run, &list->items[i], &args->values[2], case_sensitive, &key);
        order = largest ? 1 : -1;
        if (!r && i > 0) {
            r = jinja_compare_order(run, &key, &best, largest ? ">" : "<", &order);
        }
        if (!r && (largest ? order > 0 : order < 0)) {
            best = key;
            *ret = list->items[i];
        }
    }
    return r;
}

static int filter_max(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return extreme(run, args, true, ret);
}

static int filter_min(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return extreme(run, args, false, ret);
}

static int filter_sum(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *path = &args->values[1];
    struct jinja_value item;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    *ret = jinja_is_given(&args->values[2]) ? args->values[2] : jinja_int(0);
    for (size_t i = 0; !r && i < list->n; i++) {
        item = list->items[i];
        if (path->kind != JINJA_NONE && jinja_is_given(path)) {
            r = jinja_get_path(run, &item, path, &item);
        }
        r = r ? r : jinja_op_binary(run, JINJA_ADD, ret, &item, ret);
    }
    return r;
}

static int filter_unique(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value none = jinja_none();
    struct jinja_value *known;
    struct jinja_value seen;
    struct jinja_value key;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    r = r ? r : jinja_list_new(run, 0, JINJA_FLAVOUR_GENERATOR, ret);
    r = r ? r : jinja_dict_new(run, &seen);
    for (size_t i = 0; !r && i < list->n; i++) {
        r = jinja_sort_key(run, &list->items[i], &args->values[2], jinja_value_truth(&args->values[1]), &key);
        r = r ? r : jinja_dict_find(run, seen.dict, &key, &known);
        if (!r && !known) {
            r = jinja_dict_put(run, seen.dict, &key, &none);
            r = r ? r : jinja_list_push(run, ret->list, &list->items[i]);
        }
    }
    return r;
}

static const struct jinja_builtin rows[] = {
    { "batch", filter_batch, 2, false, { "value", "linecount", "fill_with" } },
    { "dictsort", filter_dictsort, 1, false, { "value", "case_sensitive", "by", "reverse" } },
    { "first", filter_first, 1, false, { "seq" } },
    { "items", filter_items, 1, false, { "value" } },
    { "join", filter_join, 1, false, { "value", "d", "attribute" } },
    { "last", filter_last, 1, false, { "seq" } },
    { "list", filter_list, 1, false, { "value" } },
    { "max", filter_max, 1, false, { "value", "case_sensitive", "attribute" } },
    { "min", filter_min, 1, false, { "value", "case_sensitive", "attribute" } },
    { "reverse", filter_reverse, 1, false, { "value" } },
    { "slice", filter_slice, 2, false, { "value", "slices", "fill_with" } },
    { "sort", filter_sort, 1, false, { "value", "reverse", "case_sensitive", "attribute" } },
    { "sum", filter_sum, 1, false, { "iterable", "attribute", "start" } },
    { "unique", filter_unique, 1, false, { "value", "case_sensitive", "attribute" } },
};

const struct jinja_builtins jinja_filters_list = { rows, COUNTOF(rows) };
