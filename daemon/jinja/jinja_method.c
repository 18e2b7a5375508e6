/*
 * Methods of dictionaries, lists and loops. Nothing here changes them.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_list.h"
#include "jinja/jinja_op.h"
#include "jinja/jinja_run.h"

/* ---- dictionaries */

static int dict_get(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_value *found;
    int r = jinja_dict_find(run, args->values[0].dict, &args->values[1], &found);

    if (r) {
        return r;
    }
    if (found) {
        *ret = *found;
    } else {
        *ret = jinja_is_given(&args->values[2]) ? args->values[2] : jinja_none();
    }
    return JINJA_OK;
}

static int dict_items(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_dict_items(run, args->values[0].dict, JINJA_FLAVOUR_ITEMS, ret);
}

/* One half of each pair. */
static int halves(struct jinja_run *run, const struct jinja_dict *dict, enum jinja_flavour flavour,
                  struct jinja_value *ret)
{
    int r = jinja_list_new(run, dict->n, flavour, ret);

    for (size_t i = 0; !r && i < dict->n; i++) {
        r = jinja_list_push(run, ret->list,
                            flavour == JINJA_FLAVOUR_KEYS ? &dict->pairs[i].key : &dict->pairs[i].value);
    }
    return r;
}

static int dict_keys(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return halves(run, args->values[0].dict, JINJA_FLAVOUR_KEYS, ret);
}

static int dict_values(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return halves(run, args->values[0].dict, JINJA_FLAVOUR_VALUES, ret);
}

static int dict_copy(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    *ret = args->values[0]; /* nothing can change either */
    return JINJA_OK;
}

static const struct jinja_builtin dict_rows[] = {
    { "copy", dict_copy, 1, false, { "self" } },     { "get", dict_get, 2, false, { "self", "key", "default" } },
    { "items", dict_items, 1, false, { "self" } },   { "keys", dict_keys, 1, false, { "self" } },
    { "values", dict_values, 1, false, { "self" } },
};

const struct jinja_builtins jinja_methods_dict = { dict_rows, COUNTOF(dict_rows) };

/* ---- lists */

static int list_count(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_list *list = args->values[0].list;
    int64_t n = 0;
    int r = JINJA_OK;

    for (size_t i = 0; !r && i < list->n; i++) {
        bool same = false;

        r = jinja_compare_equal(run, &list->items[i], &args->values[1], &same);
        r = r ? r : jinja_run_count(run, 1);
        n += same;
    }
    *ret = jinja_int(n);
    return r;
}

static int list_index(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_list *list = args->values[0].list;
    int r = JINJA_OK;

    for (size_t i = 0; !r && i < list->n; i++) {
        bool same = false;

        r = jinja_compare_equal(run, &list->items[i], &args->values[1], &same);
        r = r ? r : jinja_run_count(run, 1);
        if (!r && same) {
            *ret = jinja_int((int64_t)i);
            return JINJA_OK;
        }
    }
    return r ? r : jinja_fail(run, "ValueError", "the value is not in the list");
}

static int list_copy(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    *ret = args->values[0];
    return JINJA_OK;
}

static const struct jinja_builtin list_rows[] = {
    { "copy", list_copy, 1, false, { "self" } },
    { "count", list_count, 2, false, { "self", "value" } },
    { "index", list_index, 2, false, { "self", "value" } },
};

const struct jinja_builtins jinja_methods_list = { list_rows, COUNTOF(list_rows) };

/* ---- loops */

static int loop_cycle(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    if (args->n < 2) {
        return jinja_fail(run, "TypeError", "no items for cycling given");
    }
    *ret = args->values[1 + args->values[0].loop->at % (args->n - 1)];
    return JINJA_OK;
}

/* True if it is called with other arguments than the last time. */
static int loop_changed(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_loop *loop = args->values[0].loop;
    struct jinja_value now;
    bool same = false;
    int r = jinja_list_new(run, args->n, JINJA_FLAVOUR_TUPLE, &now);

    for (size_t i = 1; !r && i < args->n; i++) {
        r = jinja_list_push(run, now.list, &args->values[i]);
    }
    if (!r && loop->last_changed.kind == JINJA_LIST) {
        r = jinja_compare_equal(run, &loop->last_changed, &now, &same);
    }
    loop->last_changed = now;
    *ret = jinja_bool(!same);
    return r;
}

static const struct jinja_builtin loop_rows[] = {
    { "changed", loop_changed, 1, true, { "self" } },
    { "cycle", loop_cycle, 1, true, { "self" } },
};

const struct jinja_builtins jinja_methods_loop = { loop_rows, COUNTOF(loop_rows) };
