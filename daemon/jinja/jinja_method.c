/*
 * Methods of dictionaries, lists and loops. No method changes its subject, which is the first argument of each.
 */
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_compare.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_run.h"

static int method_copy(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    *ret = args->values[0]; /* neither of the two can change */
    return JINJA_OK;
}

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

/* keys and values: one half of each pair. */
static int dict_halves(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const enum jinja_flavour flavour = (enum jinja_flavour)args->variant;
    const struct jinja_dict *dict = args->values[0].dict;
    int r = jinja_list_new(run, dict->n, flavour, ret);

    for (size_t i = 0; !r && i < dict->n; i++) {
        r = jinja_list_push(run, ret->list,
                            flavour == JINJA_FLAVOUR_KEYS ? &dict->pairs[i].key : &dict->pairs[i].value);
    }
    return r;
}

const struct jinja_builtin jinja_methods_dict[] = {
    { "copy", method_copy, 0, 1, { "self" } },
    { "get", dict_get, 0, 2, { "self", "key", "default" } },
    { "items", dict_items, 0, 1, { "self" } },
    { "keys", dict_halves, JINJA_FLAVOUR_KEYS, 1, { "self" } },
    { "values", dict_halves, JINJA_FLAVOUR_VALUES, 1, { "self" } },
    { NULL },
};

/* ---- lists */

enum { COUNT, INDEX };

/* count and index. */
static int list_look_up(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_list *list = args->values[0].list;
    int64_t n = 0;
    int r = JINJA_OK;

    for (size_t i = 0; !r && i < list->n; i++) {
        bool same = false;

        r = jinja_compare_equal(run, &list->items[i], &args->values[1], &same);
        r = r ? r : jinja_run_count(run, 1);
        if (!r && same && args->variant == INDEX) {
            *ret = jinja_int((int64_t)i);
            return JINJA_OK;
        }
        n += same;
    }
    if (!r && args->variant == INDEX) {
        return jinja_fail(run, "ValueError", "the value is not in the list");
    }
    *ret = jinja_int(n);
    return r;
}

const struct jinja_builtin jinja_methods_list[] = {
    { "copy", method_copy, 0, 1, { "self" } },
    { "count", list_look_up, COUNT, 2, { "self", "value" } },
    { "index", list_look_up, INDEX, 2, { "self", "value" } },
    { NULL },
};

/* ---- loops */

static int loop_cycle(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    if (args->n < 2) {
        return jinja_fail(run, "TypeError", "no items for cycling given");
    }
    *ret = args->values[1 + args->values[0].loop->at % (args->n - 1)];
    return JINJA_OK;
}

/* True if the arguments differ from those of the last call. */
static int loop_changed(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct jinja_loop *loop = args->values[0].loop;
    struct jinja_value now;
    bool same = false;
    int r = jinja_list_new(run, args->n, JINJA_FLAVOUR_TUPLE, &now);

    r = r ? r : jinja_list_extend(run, now.list, args->values + 1, args->n - 1);
    if (!r && loop->last_changed.kind == JINJA_LIST) {
        r = jinja_compare_equal(run, &loop->last_changed, &now, &same);
    }
    loop->last_changed = now;
    *ret = jinja_bool(!same);
    return r;
}

const struct jinja_builtin jinja_methods_loop[] = {
    { "changed", loop_changed, 0, 0, { NULL } },
    { "cycle", loop_cycle, 0, 0, { NULL } },
    { NULL },
};
