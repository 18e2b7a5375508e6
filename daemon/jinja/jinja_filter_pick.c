/*
 * Filters that call others: map, select and reject, and those that look at an attribute.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_eval.h"
#include "jinja/jinja_list.h"
#include "jinja/jinja_run.h"

/* Arguments for another filter or test: @item, then those of @args from @from on. */
static int pass_on(struct jinja_run *run, const struct jinja_args *args, size_t from, struct jinja_args *ret)
{
    const size_t n = args->n > from ? args->n - from : 0;

    *ret = (struct jinja_args){ .n = n + 1, .named = args->named };
    ret->values = jinja_run_alloc(run, (n + 1) * sizeof(*ret->values));
    if (!ret->values) {
        return jinja_fail_full(run);
    }
    for (size_t i = 0; i < n; i++) {
        ret->values[i + 1] = args->values[from + i];
    }
    return JINJA_OK;
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
    struct jinja_args inner;
    struct jinja_value item;
    int r = jinja_list_new(run, list->n, JINJA_FLAVOUR_GENERATOR, ret);

    if (!r && (args->n < 2 || args->values[1].kind != JINJA_STRING)) {
        return jinja_fail(run, "FilterArgumentError", "map requires a filter argument");
    }
    r = r ? r : pass_on(run, args, 2, &inner);
    for (size_t i = 0; !r && i < list->n; i++) {
        inner.values[0] = list->items[i];
        r = jinja_builtin_call_filter(run, args->values[1].string, &inner, &item);
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

/* Keeps the elements of which the test says @wanted. @by_attribute: the first argument says what is tested. */
static int pick(struct jinja_run *run, const struct jinja_args *args, bool by_attribute, bool wanted,
                struct jinja_value *ret)
{
    const size_t i_test = by_attribute ? 2 : 1;
    const bool has_test = args->n > i_test;
    struct jinja_args inner;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[0], &list);

    if (!r && (args->n < i_test || (has_test && args->values[i_test].kind != JINJA_STRING))) {
        return jinja_fail(run, "FilterArgumentError", "Missing parameter for attribute name or test");
    }
    r = r ? r : jinja_list_new(run, 0, JINJA_FLAVOUR_GENERATOR, ret);
    r = r ? r : pass_on(run, args, i_test + 1, &inner);
    for (size_t i = 0; !r && i < list->n; i++) {
        bool is_so = false;

        inner.values[0] = list->items[i];
        if (by_attribute) {
            r = jinja_get_path(run, &list->items[i], &args->values[1], &inner.values[0]);
        }
        if (!r && has_test) {
            r = jinja_builtin_call_test(run, args->values[i_test].string, &inner, &is_so);
        } else if (!r) {
            is_so = jinja_value_truth(&inner.values[0]);
        }
        r = r ? r : jinja_run_count(run, 1);
        if (!r && is_so == wanted) {
            r = jinja_list_push(run, ret->list, &list->items[i]);
        }
    }
    return r;
}

static int filter_select(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return pick(run, args, false, true, ret);
}

static int filter_reject(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return pick(run, args, false, false, ret);
}

static int filter_selectattr(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return pick(run, args, true, true, ret);
}

static int filter_rejectattr(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return pick(run, args, true, false, ret);
}

static int filter_attr(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *name;
    int r = jinja_args_text(run, &args->values[1], &name);

    return r ? r : jinja_get_attr(run, &args->values[0], name, ret);
}

static const struct jinja_builtin rows[] = {
    { "attr", filter_attr, 2, false, { "obj", "name" } }, { "map", filter_map, 0, true, { "value" } },
    { "reject", filter_reject, 0, true, { "value" } },    { "rejectattr", filter_rejectattr, 0, true, { "value" } },
    { "select", filter_select, 0, true, { "value" } },    { "selectattr", filter_selectattr, 0, true, { "value" } },
};

const struct jinja_builtins jinja_filters_pick = { rows, COUNTOF(rows) };
