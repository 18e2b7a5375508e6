/*
 * Filters of sequences: their order, their parts, and those that call other filters or tests.
 */
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_compare.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_get.h"
#include "jinja/jinja_node.h"
#include "jinja/jinja_op.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"
#include "jinja/jinja_sort.h"
#include "jinja/jinja_text.h"

/* *ret: the member of @item at @path, or @item itself where no path is given. */
static int get_member(struct jinja_run *run, const struct jinja_value *item, const struct jinja_value *path,
                      struct jinja_value *ret)
{
    *ret = *item;
    return jinja_is_set(path) ? jinja_get_path(run, item, path, ret) : JINJA_OK;
}

/* *ret: the key that @item is compared by, its member at @path, in lower case unless @case_sensitive. */
static int get_key(struct jinja_run *run, const struct jinja_value *item, const struct jinja_value *path,
                   bool case_sensitive, struct jinja_value *ret)
{
    int r = get_member(run, item, path, ret);

    if (!r && !case_sensitive && ret->kind == JINJA_STRING) {
        r = jinja_text_case(run, ret->string, JINJA_CASE_LOWER, ret);
    }
    return r;
}

/* ---- order */

static int sort_by(struct jinja_run *run, const struct jinja_list *list, const struct jinja_value *path,
                   bool case_sensitive, bool reverse, struct jinja_value *ret)
{
    struct jinja_pair *pairs = jinja_run_alloc(run, list->n * sizeof(*pairs));
    int r = jinja_list_new(run, list->n, JINJA_FLAVOUR_LIST, ret);

    if (!pairs) {
        return jinja_fail_full(run);
    }
    for (size_t i = 0; !r && i < list->n; i++) {
        pairs[i].value = list->items[i];
        r = get_key(run, &list->items[i], path, case_sensitive, &pairs[i].key);
    }
    r = r ? r : jinja_sort_pairs(run, pairs, list->n, reverse);
    for (size_t i = 0; !r && i < list->n; i++) {
        r = jinja_list_push(run, ret->list, &pairs[i].value);
    }
    return r;
}

static int filter_sort(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const bool reverse = jinja_value_truth(&args->values[1]);
    const bool case_sensitive = jinja_value_truth(&args->values[2]);
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    return r ? r : sort_by(run, list, &args->values[3], case_sensitive, reverse, ret);
}

static int filter_dictsort(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];
    const bool case_sensitive = jinja_value_truth(&args->values[1]);
    const bool reverse = jinja_value_truth(&args->values[3]);
    const struct jinja_string *by;
    struct jinja_value items;
    struct jinja_value half;
    int r = jinja_args_string(run, &args->values[2], &by);

    if (!r && value->kind != JINJA_DICT) {
        r = jinja_fail(run, "TypeError", "dictsort takes a mapping, not %s", jinja_value_type(value));
    }
    r = r ? r : jinja_dict_items(run, value->dict, JINJA_FLAVOUR_LIST, &items);
    half = jinja_int(by && jinja_string_is(by, "value"));
    return r ? r : sort_by(run, items.list, &half, case_sensitive, reverse, ret);
}

enum { SMALLEST = -1, LARGEST = 1 };

/* min and max. */
static int filter_extreme(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const bool case_sensitive = jinja_value_truth(&args->values[1]);
    struct jinja_value best;
    struct jinja_value key;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    if (!r && list->n == 0) {
        return jinja_value_undefined(run, "No aggregated item, sequence was empty.", NULL, JINJA_WHY_TEXT, ret);
    }
    for (size_t i = 0; !r && i < list->n; i++) {
        int order = args->variant;

        r = get_key(run, &list->items[i], &args->values[2], case_sensitive, &key);
        if (!r && i > 0) {
            r = jinja_compare_order(run, &key, &best, args->variant == LARGEST ? ">" : "<", &order);
        }
        if (!r && (args->variant == LARGEST ? order > 0 : order < 0)) {
            best = key;
            *ret = list->items[i];
        }
    }
    return r;
}

/* ---- parts */

enum { FIRST, LAST };

static int filter_end(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const bool is_first = args->variant == FIRST;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    if (!r && list->n == 0) {
        return jinja_value_undefined(run,
                                     is_first ? "No first item, sequence was empty."
                                              : "No last item, sequence was empty.",
                                     NULL, JINJA_WHY_TEXT, ret);
    }
    if (!r) {
        *ret = list->items[is_first ? 0 : list->n - 1];
    }
    return r;
}

static int filter_list(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    r = r ? r : jinja_list_new(run, list->n, JINJA_FLAVOUR_LIST, ret);
    return r ? r : jinja_list_extend(run, ret->list, list->items, list->n);
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
    const struct jinja_string *between;
    struct jinja_list *list;
    struct jinja_value item;
    const size_t from = run->out.n;
    int r = jinja_args_text(run, &args->values[1], &between);

    r = r ? r : jinja_value_elements(run, &args->values[0], &list);
    for (size_t i = 0; !r && i < list->n; i++) {
        r = get_member(run, &list->items[i], &args->values[2], &item);
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
    while (!r && row.kind == JINJA_LIST && jinja_is_set(&args->values[2]) && row.list->n < (uint64_t)n) {
        r = jinja_list_push(run, row.list, &args->values[2]);
    }
    return r;
}

static int filter_slice(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
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
        const size_t n_longer = list->n % (size_t)n;
        const size_t n_items = list->n / (size_t)n + ((size_t)i < n_longer);

        r = jinja_list_new(run, n_items + 1, JINJA_FLAVOUR_LIST, &part);
        r = r ? r : jinja_list_extend(run, part.list, list->items + at, n_items);
        at += n_items;
        if (!r && jinja_is_set(&args->values[2]) && (size_t)i >= n_longer) {
            r = jinja_list_push(run, part.list, &args->values[2]);
        }
        r = r ? r : jinja_list_push(run, ret->list, &part);
    }
    return r;
}

static int filter_sum(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_value item;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    *ret = jinja_is_given(&args->values[2]) ? args->values[2] : jinja_int(0);
    for (size_t i = 0; !r && i < list->n; i++) {
        r = get_member(run, &list->items[i], &args->values[1], &item);
        r = r ? r : jinja_op_binary(run, JINJA_ADD, ret, &item, ret);
    }
    return r;
}

static int filter_unique(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const bool case_sensitive = jinja_value_truth(&args->values[1]);
    const struct jinja_value none = jinja_none();
    struct jinja_value *known;
    struct jinja_value seen;
    struct jinja_value key;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    r = r ? r : jinja_list_new(run, 0, JINJA_FLAVOUR_GENERATOR, ret);
    r = r ? r : jinja_dict_new(run, &seen);
    for (size_t i = 0; !r && i < list->n; i++) {
        r = get_key(run, &list->items[i], &args->values[2], case_sensitive, &key);
        r = r ? r : jinja_dict_find(run, seen.dict, &key, &known);
        if (!r && !known) {
            r = jinja_dict_put(run, seen.dict, &key, &none);
            r = r ? r : jinja_list_push(run, ret->list, &list->items[i]);
        }
    }
    return r;
}

/* ---- filters that call others */

/* *ret: arguments for another filter or test: room for an element, then those of @args from @from on. */
static int pass_on(struct jinja_run *run, const struct jinja_args *args, size_t from, struct jinja_args *ret)
{
    const size_t n = args->n > from ? args->n - from : 0;
    const struct jinja_value room = jinja_none();
    struct jinja_value list;
    int r = jinja_list_new(run, n + 1, JINJA_FLAVOUR_LIST, &list);

    r = r ? r : jinja_list_push(run, list.list, &room);
    r = r ? r : jinja_list_extend(run, list.list, n > 0 ? args->values + from : NULL, n);
    if (!r) {
        *ret = (struct jinja_args){ .values = list.list->items, .n = n + 1, .named = args->named };
    }
    return r;
}

static int unknown(struct jinja_run *run, const char *what, const struct jinja_string *name)
{
    return jinja_fail(run, "TemplateRuntimeError", "No %s named '%.*s'.", what, (int)(name->n < 64 ? name->n : 64),
                      name->bytes);
}

static int map_attribute(struct jinja_run *run, const struct jinja_list *list, const struct jinja_value *path,
                         const struct jinja_value *fallback, struct jinja_value *ret)
{
    struct jinja_value item;
    int r = jinja_list_new(run, list->n, JINJA_FLAVOUR_GENERATOR, ret);

    for (size_t i = 0; !r && i < list->n; i++) {
        r = jinja_get_path(run, &list->items[i], path, &item);
        if (!r && item.kind == JINJA_UNDEFINED && fallback) {
            item = *fallback;
        }
        r = r ? r : jinja_list_push(run, ret->list, &item);
    }
    return r;
}

static int map_filter(struct jinja_run *run, const struct jinja_list *list, const struct jinja_args *args,
                      struct jinja_value *ret)
{
    const struct jinja_builtin *filter = NULL;
    struct jinja_args inner;
    struct jinja_value item;
    int r = jinja_list_new(run, list->n, JINJA_FLAVOUR_GENERATOR, ret);

    if (!r && (args->n < 2 || args->values[1].kind != JINJA_STRING)) {
        return jinja_fail(run, "FilterArgumentError", "map requires a filter argument");
    }
    r = r ? r : pass_on(run, args, 2, &inner);
    if (!r) {
        filter = jinja_builtin_filter(run->jinja->library, args->values[1].string);
    }
    for (size_t i = 0; !r && i < list->n; i++) {
        inner.values[0] = list->items[i];
        r = filter ? jinja_builtin_call(run, filter, &inner, &item) : unknown(run, "filter", args->values[1].string);
        r = r ? r : jinja_list_push(run, ret->list, &item);
    }
    return r;
}

static int filter_map(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *path = args->named ? jinja_dict_get(args->named, "attribute", 9) : NULL;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    if (!r && path && args->n == 1) {
        return map_attribute(run, list, path, jinja_dict_get(args->named, "default", 7), ret);
    }
    return r ? r : map_filter(run, list, args, ret);
}

enum { SELECT = 1, BY_ATTRIBUTE = 2 };

/* Applies the test @test (NULL: unknown), or bool() where no test is named. */
static int passes(struct jinja_run *run, const struct jinja_string *name, const struct jinja_builtin *test,
                  const struct jinja_args *args, bool *ret)
{
    struct jinja_value answer = args->values[0];
    int r = JINJA_OK;

    if (name) {
        r = test ? jinja_builtin_call(run, test, args, &answer) : unknown(run, "test", name);
    }
    if (!r) {
        *ret = jinja_value_truth(&answer);
    }
    return r;
}

/* select, reject, selectattr and rejectattr: the last two apply the test to a member of each element. */
static int filter_pick(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const size_t i_test = args->variant & BY_ATTRIBUTE ? 2 : 1;
    const struct jinja_builtin *test = NULL;
    const struct jinja_string *name = NULL;
    struct jinja_args inner;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    if (!r && (args->n < i_test || (args->n > i_test && args->values[i_test].kind != JINJA_STRING))) {
        return jinja_fail(run, "FilterArgumentError", "Missing parameter for attribute name or test");
    }
    r = r ? r : jinja_list_new(run, 0, JINJA_FLAVOUR_GENERATOR, ret);
    r = r ? r : pass_on(run, args, i_test + 1, &inner);
    if (!r && args->n > i_test) {
        name = args->values[i_test].string;
        test = jinja_builtin_test(run->jinja->library, name);
    }
    for (size_t i = 0; !r && i < list->n; i++) {
        bool is_so = false;

        inner.values[0] = list->items[i];
        if (args->variant & BY_ATTRIBUTE) {
            r = jinja_get_path(run, &list->items[i], &args->values[1], &inner.values[0]);
        }
        r = r ? r : passes(run, name, test, &inner, &is_so);
        r = r ? r : jinja_run_count(run, 1);
        if (!r && is_so == !!(args->variant & SELECT)) {
            r = jinja_list_push(run, ret->list, &list->items[i]);
        }
    }
    return r;
}

static int filter_attr(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *name;
    int r = jinja_args_text(run, &args->values[1], &name);

    return r ? r : jinja_get_attr(run, &args->values[0], name, ret);
}

const struct jinja_builtin jinja_filters_list[] = {
    { "attr", filter_attr, 0, 2, { "obj", "name" } },
    { "batch", filter_batch, 0, 2, { "value", "linecount", "fill_with" } },
    { "dictsort", filter_dictsort, 0, 1, { "value", "case_sensitive", "by", "reverse" } },
    { "first", filter_end, FIRST, 1, { "seq" } },
    { "items", filter_items, 0, 1, { "value" } },
    { "join", filter_join, 0, 1, { "value", "d", "attribute" } },
    { "last", filter_end, LAST, 1, { "seq" } },
    { "list", filter_list, 0, 1, { "value" } },
    { "map", filter_map, 0, 0, { NULL } },
    { "max", filter_extreme, LARGEST, 1, { "value", "case_sensitive", "attribute" } },
    { "min", filter_extreme, SMALLEST, 1, { "value", "case_sensitive", "attribute" } },
    { "reject", filter_pick, 0, 0, { NULL } },
    { "rejectattr", filter_pick, BY_ATTRIBUTE, 0, { NULL } },
    { "reverse", filter_reverse, 0, 1, { "value" } },
    { "select", filter_pick, SELECT, 0, { NULL } },
    { "selectattr", filter_pick, SELECT | BY_ATTRIBUTE, 0, { NULL } },
    { "slice", filter_slice, 0, 2, { "value", "slices", "fill_with" } },
    { "sort", filter_sort, 0, 1, { "value", "reverse", "case_sensitive", "attribute" } },
    { "sum", filter_sum, 0, 1, { "iterable", "attribute", "start" } },
    { "unique", filter_unique, 0, 1, { "value", "case_sensitive", "attribute" } },
    { NULL },
};
