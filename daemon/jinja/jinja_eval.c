/*
 * The evaluation of expressions.
 */
#include "jinja/jinja_eval.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_compare.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_get.h"
#include "jinja/jinja_op.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_scope.h"
#include "jinja/jinja_show.h"

/* ---- slices */

struct slice {
    int64_t start;
    int64_t stop;
    int64_t step;
    int64_t n; /* elements of the result */
};

static int64_t clamp(int64_t i, int64_t n, int64_t low, int64_t high)
{
    i = i < 0 ? i + n : i;
    return i < low ? low : i > high ? high : i;
}

/* Reads start, stop and step as CPython's PySlice_AdjustIndices() does. */
static int make_slice(struct jinja_run *run, const struct jinja_value *parts, int64_t n, struct slice *ret)
{
    int64_t start;
    int64_t stop;
    int64_t step;
    int r = jinja_args_int(run, &parts[2], 1, &step);

    if (!r && step == 0) {
        r = jinja_fail(run, "ValueError", "slice step cannot be zero");
    }
    if (r) {
        return r;
    }
    step = step < -INT64_MAX ? -INT64_MAX : step;
    r = jinja_args_int(run, &parts[0], step > 0 ? 0 : n - 1, &start);
    r = r ? r : jinja_args_int(run, &parts[1], step > 0 ? n : -n - 1, &stop);
    if (r) {
        return r;
    }
    start = step > 0 ? clamp(start, n, 0, n) : clamp(start, n, -1, n - 1);
    stop = step > 0 ? clamp(stop, n, 0, n) : clamp(stop, n, -1, n - 1);
    *ret = (struct slice){ .start = start, .stop = stop, .step = step };
    if (step > 0 && stop > start) {
        ret->n = (stop - start - 1) / step + 1;
    } else if (step < 0 && stop < start) {
        ret->n = (start - stop - 1) / -step + 1;
    }
    return JINJA_OK;
}

static int slice_list(struct jinja_run *run, const struct jinja_list *list, const struct slice *slice,
                      struct jinja_value *ret)
{
    int r = jinja_list_new(run, (size_t)slice->n, list->flavour, ret);

    for (int64_t i = 0; !r && i < slice->n; i++) {
        r = jinja_list_push(run, ret->list, &list->items[slice->start + i * slice->step]);
    }
    return r;
}

static int slice_string(struct jinja_run *run, const struct jinja_string *string, const struct slice *slice,
                        struct jinja_value *ret)
{
    const struct jinja_value whole = jinja_str(string);
    const size_t from = run->out.n;
    struct jinja_list *chars;
    int r;

    if (slice->step == 1) {
        const size_t begin = jinja_char_offset(string, (size_t)slice->start);
        const struct jinja_string rest = { .bytes = string->bytes + begin, .n = string->n - begin };

        r = jinja_run_count(run, string->n / 64);
        return r ? r : jinja_string_cut(run, string, begin, jinja_char_offset(&rest, (size_t)slice->n), ret);
    }
    r = jinja_value_elements(run, &whole, &chars);
    for (int64_t i = 0; !r && i < slice->n; i++) {
        r = jinja_out_string(run, chars->items[slice->start + i * slice->step].string);
    }
    return r ? r : jinja_out_take(run, from, ret);
}

static int eval_slice(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_value parts[3] = { jinja_none(), jinja_none(), jinja_none() };
    struct jinja_value value;
    struct slice slice;
    size_t n_parts = 0;
    int64_t n;
    int r = jinja_eval(run, node->a, &value);

    for (const struct jinja_node *part = node->list; !r && part; part = part->next) {
        r = jinja_eval(run, part, &parts[n_parts++]);
    }
    if (r) {
        return r;
    }
    if (value.kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, &value);
    }
    if (value.kind != JINJA_STRING && value.kind != JINJA_LIST) {
        return jinja_fail(run, "TypeError",
                          value.kind == JINJA_DICT ? "unhashable type: 'slice'" : "'%s' object is not subscriptable",
                          jinja_value_type(&value));
    }
    n = (int64_t)(value.kind == JINJA_STRING ? jinja_char_count(value.string) : value.list->n);
    r = make_slice(run, parts, n, &slice);
    if (r) {
        return r;
    }
    return value.kind == JINJA_STRING ? slice_string(run, value.string, &slice, ret)
                                      : slice_list(run, value.list, &slice, ret);
}

/* ---- calls */

/* Appends what *args unpacks. */
static int unpack_list(struct jinja_run *run, const struct jinja_value *value, struct jinja_list *values)
{
    struct jinja_list *list;
    int r = jinja_value_elements(run, value, &list);

    return r ? r : jinja_list_extend(run, values, list->items, list->n);
}

/* Adds what **kwargs unpacks. */
static int unpack_dict(struct jinja_run *run, const struct jinja_value *value, struct jinja_dict *named)
{
    if (value->kind != JINJA_DICT) {
        return jinja_fail(run, "TypeError", "argument after ** must be a mapping, not %s", jinja_value_type(value));
    }
    for (size_t i = 0; i < value->dict->n; i++) {
        if (value->dict->pairs[i].key.kind != JINJA_STRING) {
            return jinja_fail(run, "TypeError", "keywords must be strings");
        }
    }
    return jinja_dict_update(run, named, value->dict);
}

int jinja_eval_args(struct jinja_run *run, const struct jinja_node *list, const struct jinja_value *subject,
                    struct jinja_args *ret)
{
    struct jinja_value named = { .dict = NULL };
    struct jinja_value values;
    struct jinja_value value;
    int r = jinja_list_new(run, 4, JINJA_FLAVOUR_LIST, &values);

    if (!r && subject) {
        r = jinja_list_push(run, values.list, subject);
    }
    for (const struct jinja_node *arg = list; !r && arg; arg = arg->next) {
        r = jinja_eval(run, arg->a, &value);
        if (!r && !named.dict && (arg->name || arg->n_stars == 2)) {
            r = jinja_dict_new(run, &named);
        }
        if (r) {
            return r;
        }
        if (arg->name) {
            const struct jinja_value key = jinja_str(arg->name);

            r = jinja_dict_put(run, named.dict, &key, &value);
        } else if (arg->n_stars == 2) {
            r = unpack_dict(run, &value, named.dict);
        } else if (arg->n_stars == 1) {
            r = unpack_list(run, &value, values.list);
        } else {
            r = jinja_list_push(run, values.list, &value);
        }
    }
    if (!r) {
        *ret = (struct jinja_args){ .values = values.list->items, .n = values.list->n, .named = named.dict };
    }
    return r;
}

/* Calls a method with the value that it is bound to in front of the arguments. */
static int call_method(struct jinja_run *run, const struct jinja_method *method, const struct jinja_args *args,
                       struct jinja_value *ret)
{
    struct jinja_args with_self = { .n = args->n + 1, .named = args->named };
    struct jinja_value values;
    int r = jinja_list_new(run, args->n + 1, JINJA_FLAVOUR_LIST, &values);

    r = r ? r : jinja_list_push(run, values.list, &method->self);
    r = r ? r : jinja_list_extend(run, values.list, args->values, args->n);
    with_self.values = r ? NULL : values.list->items;
    return r ? r : jinja_builtin_call(run, method->builtin, &with_self, ret);
}

int jinja_eval_call(struct jinja_run *run, const struct jinja_value *callee, const struct jinja_args *args,
                    struct jinja_value *ret)
{
    switch ((int)callee->kind) {
    case JINJA_MACRO:
        return jinja_exec_macro(run, callee->macro, args, ret);
    case JINJA_BUILTIN:
        return jinja_builtin_call(run, callee->builtin, args, ret);
    case JINJA_METHOD:
        return call_method(run, callee->method, args, ret);
    case JINJA_LOOP:
        if (args->n != 1) {
            return jinja_fail(run, "TypeError", "loop() takes one argument, the iterable");
        }
        return jinja_exec_loop(run, callee->loop, &args->values[0], ret);
    case JINJA_UNDEFINED:
        return jinja_fail_undefined(run, callee);
    }
    return jinja_fail(run, "TypeError", "'%s' object is not callable", jinja_value_type(callee));
}

static int eval_call(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_value callee;
    struct jinja_args args;
    int r = jinja_eval(run, node->a, &callee);

    r = r ? r : jinja_eval_args(run, node->list, NULL, &args);
    run->line = node->line;
    return r ? r : jinja_eval_call(run, &callee, &args, ret);
}

static int unknown(struct jinja_run *run, const char *what, const struct jinja_string *name)
{
    return jinja_fail(run, "TemplateAssertionError", "No %s named '%.*s'.", what, (int)(name->n < 64 ? name->n : 64),
                      name->bytes);
}

int jinja_eval_filter(struct jinja_run *run, const struct jinja_node *node, const struct jinja_value *subject,
                      struct jinja_value *ret)
{
    struct jinja_value value;
    struct jinja_args args;
    int r = jinja_run_enter(run);

    if (r) {
        return r;
    }
    if (!node->a) {
        value = *subject;
    } else if (node->a->kind == JINJA_FILTER) {
        r = jinja_eval_filter(run, node->a, subject, &value);
    } else {
        r = jinja_eval(run, node->a, &value);
    }
    r = r ? r : jinja_eval_args(run, node->list, &value, &args);
    r = r ? r : jinja_run_count(run, 1);
    run->line = node->line;
    if (!r) {
        r = node->builtin ? jinja_builtin_call(run, node->builtin, &args, ret) : unknown(run, "filter", node->name);
    }
    jinja_run_leave(run);
    return r;
}

static int eval_test(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_value value;
    struct jinja_value answer;
    struct jinja_args args;
    int r = jinja_eval(run, node->a, &value);

    r = r ? r : jinja_eval_args(run, node->list, &value, &args);
    run->line = node->line;
    if (!r) {
        r = node->builtin ? jinja_builtin_call(run, node->builtin, &args, &answer) : unknown(run, "test", node->name);
    }
    if (!r) {
        *ret = jinja_bool(jinja_value_truth(&answer));
    }
    return r;
}

/* ---- the rest */

static int eval_name(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    const struct jinja_value *value = jinja_scope_lookup(run, node->name);

    if (value) {
        *ret = *value;
        return JINJA_OK;
    }
    if (node->builtin) {
        *ret = (struct jinja_value){ .kind = JINJA_BUILTIN, .builtin = node->builtin };
        return JINJA_OK;
    }
    return jinja_value_undefined(run, NULL, node->name, JINJA_WHY_NAME, ret);
}

static int eval_list(struct jinja_run *run, const struct jinja_node *node, enum jinja_flavour flavour,
                     struct jinja_value *ret)
{
    struct jinja_value value;
    struct jinja_value list;
    int r = jinja_list_new(run, 0, flavour, &list);

    for (const struct jinja_node *item = node->list; !r && item; item = item->next) {
        r = jinja_eval(run, item, &value);
        r = r ? r : jinja_list_push(run, list.list, &value);
    }
    *ret = list;
    return r;
}

static int eval_dict(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_value dict;
    struct jinja_value key;
    struct jinja_value value;
    int r = jinja_dict_new(run, &dict);

    for (const struct jinja_node *pair = node->list; !r && pair; pair = pair->next) {
        r = jinja_eval(run, pair->a, &key);
        r = r ? r : jinja_eval(run, pair->b, &value);
        r = r ? r : jinja_dict_put(run, dict.dict, &key, &value);
    }
    *ret = dict;
    return r;
}

static int eval_concat(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_value parts;
    size_t from;
    int r = eval_list(run, node, JINJA_FLAVOUR_LIST, &parts);

    from = run->out.n;
    for (size_t i = 0; !r && i < parts.list->n; i++) {
        r = jinja_show_str(run, &parts.list->items[i]);
    }
    return r ? r : jinja_out_take(run, from, ret);
}

static int eval_logic(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    int r = jinja_eval(run, node->a, ret);

    if (!r && jinja_value_truth(ret) == (node->kind == JINJA_AND)) {
        r = jinja_eval(run, node->b, ret);
    }
    return r;
}

static int eval_compare(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_value left;
    struct jinja_value right;
    bool is_so = true;
    int r = jinja_eval(run, node->a, &left);

    for (const struct jinja_node *operand = node->list; !r && is_so && operand; operand = operand->next) {
        r = jinja_eval(run, operand->a, &right);
        if (r) {
            return r;
        }
        if (operand->sign[0] == 'i' || operand->sign[0] == 'n') {
            r = jinja_compare_in(run, &left, &right, &is_so);
            is_so = is_so == (operand->sign[0] == 'i');
        } else {
            r = jinja_compare_relate(run, &left, operand->sign, &right, &is_so);
        }
        left = right;
    }
    *ret = jinja_bool(is_so);
    return r;
}

static int eval_cond(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_value condition;
    int r = jinja_eval(run, node->b, &condition);

    if (r) {
        return r;
    }
    if (jinja_value_truth(&condition)) {
        return jinja_eval(run, node->a, ret);
    }
    if (node->c) {
        return jinja_eval(run, node->c, ret);
    }
    return jinja_value_undefined(run, "the inline if-expression evaluated to false and no else section was defined.",
                                 NULL, JINJA_WHY_TEXT, ret);
}

static int eval_two(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_value a;
    struct jinja_value b;
    int r = jinja_eval(run, node->a, &a);

    r = r ? r : jinja_eval(run, node->b, &b);
    run->line = node->line;
    if (r) {
        return r;
    }
    return node->kind == JINJA_ITEM ? jinja_get_item(run, &a, &b, ret) : jinja_op_binary(run, node->kind, &a, &b, ret);
}

static int eval_one(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_value a;
    int r = jinja_eval(run, node->a, &a);

    run->line = node->line;
    if (r) {
        return r;
    }
    if (node->kind == JINJA_ATTR) {
        return jinja_get_attr(run, &a, node->name, ret);
    }
    if (node->kind == JINJA_NOT) {
        *ret = jinja_bool(!jinja_value_truth(&a));
        return JINJA_OK;
    }
    r = jinja_op_negate(run, &a, ret);
    return r || node->kind == JINJA_NEG ? r : jinja_op_negate(run, ret, ret);
}

static int eval(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    switch ((int)node->kind) {
    case JINJA_CONST:
        *ret = node->value;
        return JINJA_OK;
    case JINJA_NAME:
        return eval_name(run, node, ret);
    case JINJA_LIST_OF:
        return eval_list(run, node, JINJA_FLAVOUR_LIST, ret);
    case JINJA_TUPLE_OF:
        return eval_list(run, node, JINJA_FLAVOUR_TUPLE, ret);
    case JINJA_DICT_OF:
        return eval_dict(run, node, ret);
    case JINJA_ATTR:
    case JINJA_NOT:
    case JINJA_NEG:
    case JINJA_POS:
        return eval_one(run, node, ret);
    case JINJA_SLICE:
        return eval_slice(run, node, ret);
    case JINJA_CALL:
        return eval_call(run, node, ret);
    case JINJA_FILTER:
        return jinja_eval_filter(run, node, NULL, ret);
    case JINJA_TEST:
        return eval_test(run, node, ret);
    case JINJA_CONCAT:
        return eval_concat(run, node, ret);
    case JINJA_AND:
    case JINJA_OR:
        return eval_logic(run, node, ret);
    case JINJA_COMPARE:
        return eval_compare(run, node, ret);
    case JINJA_COND:
        return eval_cond(run, node, ret);
    }
    return eval_two(run, node, ret); /* the operators, and JINJA_ITEM */
}

int jinja_eval(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    int r = jinja_run_enter(run);

    r = r ? r : jinja_run_count(run, 1);
    r = r ? r : eval(run, node, ret);
    jinja_run_leave(run);
    return r;
}
