/*
 * Tests: what stands behind `is`.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_op.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_text.h"
#include <string.h>

static int say(bool is_so, struct jinja_value *ret)
{
    *ret = jinja_bool(is_so);
    return JINJA_OK;
}

static int test_defined(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind != JINJA_UNDEFINED, ret);
}

static int test_undefined(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind == JINJA_UNDEFINED, ret);
}

static int test_none(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind == JINJA_NONE, ret);
}

static int test_boolean(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind == JINJA_BOOL, ret);
}

static int test_true(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind == JINJA_BOOL && args->values[0].truth, ret);
}

static int test_false(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind == JINJA_BOOL && !args->values[0].truth, ret);
}

static int test_integer(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind == JINJA_INT, ret);
}

static int test_float(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind == JINJA_FLOAT, ret);
}

static int test_number(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(jinja_is_number(&args->values[0]), ret);
}

static int test_string(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind == JINJA_STRING, ret);
}

static int test_mapping(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(args->values[0].kind == JINJA_DICT, ret);
}

/* Has a length and can be indexed; so has what is undefined, by its length alone. */
static int test_sequence(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];

    return say(value->kind == JINJA_STRING || value->kind == JINJA_DICT || value->kind == JINJA_UNDEFINED ||
                   (value->kind == JINJA_LIST && value->list->flavour <= JINJA_FLAVOUR_RANGE),
               ret);
}

static int test_iterable(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];

    return say(value->kind == JINJA_STRING || value->kind == JINJA_DICT || value->kind == JINJA_UNDEFINED ||
                   value->kind == JINJA_LIST || value->kind == JINJA_LOOP,
               ret);
}

static int test_callable(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const enum jinja_kind kind = args->values[0].kind;

    return say(kind == JINJA_MACRO || kind == JINJA_BUILTIN || kind == JINJA_METHOD || kind == JINJA_LOOP ||
                   kind == JINJA_UNDEFINED,
               ret);
}

static int test_escaped(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return say(false, ret);
}

static int remainder_is(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *by,
                        int64_t wanted, struct jinja_value *ret)
{
    const struct jinja_value number = jinja_int(wanted);
    struct jinja_value rest;
    bool is_so = false;
    int r = jinja_op_binary(run, JINJA_MOD, value, by, &rest);

    r = r ? r : jinja_compare_equal(run, &rest, &number, &is_so);
    return r ? r : say(is_so, ret);
}

static int test_even(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value two = jinja_int(2);

    return remainder_is(run, &args->values[0], &two, 0, ret);
}

static int test_odd(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value two = jinja_int(2);

    return remainder_is(run, &args->values[0], &two, 1, ret);
}

static int test_divisibleby(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return remainder_is(run, &args->values[0], &args->values[1], 0, ret);
}

static int relate(struct jinja_run *run, const struct jinja_args *args, const char *sign, struct jinja_value *ret)
{
    bool is_so = false;
    int r = jinja_compare_relate(run, &args->values[0], sign, &args->values[1], &is_so);

    return r ? r : say(is_so, ret);
}

static int test_eq(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return relate(run, args, "==", ret);
}

static int test_ne(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return relate(run, args, "!=", ret);
}

static int test_lt(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return relate(run, args, "<", ret);
}

static int test_le(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return relate(run, args, "<=", ret);
}

static int test_gt(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return relate(run, args, ">", ret);
}

static int test_ge(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return relate(run, args, ">=", ret);
}

static int test_in(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    bool is_so = false;
    int r = jinja_compare_in(run, &args->values[0], &args->values[1], &is_so);

    return r ? r : say(is_so, ret);
}

/* Python's `is`: the same object. Constants of equal text are one here, as they are there. */
static int test_sameas(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *a = &args->values[0];
    const struct jinja_value *b = &args->values[1];
    bool is_so = false;
    int r;

    if (a->kind != b->kind) {
        return say(false, ret);
    }
    if (a->kind == JINJA_LIST || a->kind == JINJA_DICT) {
        return say(a->kind == JINJA_LIST ? a->list == b->list : a->dict == b->dict, ret);
    }
    r = jinja_compare_equal(run, a, b, &is_so);
    return r ? r : say(is_so, ret);
}

static int is_in_case(struct jinja_run *run, const struct jinja_args *args, const char *method, struct jinja_value *ret)
{
    const struct jinja_string name = { .bytes = method, .n = strlen(method) };
    struct jinja_value self = { .kind = JINJA_STRING };
    int r = jinja_args_text(run, &args->values[0], &self.string);

    return r ? r
             : jinja_builtin_call(run, jinja_builtin_method(&self, &name),
                                  &(struct jinja_args){ .values = &self, .n = 1 }, ret);
}

static int test_lower(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return is_in_case(run, args, "islower", ret);
}

static int test_upper(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return is_in_case(run, args, "isupper", ret);
}

static int test_filter(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *name = &args->values[0];

    return say(name->kind == JINJA_STRING && jinja_builtin_filter(name->string), ret);
}

static int test_test(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *name = &args->values[0];

    return say(name->kind == JINJA_STRING && jinja_builtin_test(name->string), ret);
}

static const struct jinja_builtin rows[] = {
    { "!=", test_ne, 2, false, { "a", "b" } },
    { "<", test_lt, 2, false, { "a", "b" } },
    { "<=", test_le, 2, false, { "a", "b" } },
    { "==", test_eq, 2, false, { "a", "b" } },
    { ">", test_gt, 2, false, { "a", "b" } },
    { ">=", test_ge, 2, false, { "a", "b" } },
    { "boolean", test_boolean, 1, false, { "value" } },
    { "callable", test_callable, 1, false, { "value" } },
    { "defined", test_defined, 1, false, { "value" } },
    { "divisibleby", test_divisibleby, 2, false, { "value", "num" } },
    { "eq", test_eq, 2, false, { "a", "b" } },
    { "equalto", test_eq, 2, false, { "a", "b" } },
    { "escaped", test_escaped, 1, false, { "value" } },
    { "even", test_even, 1, false, { "value" } },
    { "false", test_false, 1, false, { "value" } },
    { "filter", test_filter, 1, false, { "value" } },
    { "float", test_float, 1, false, { "value" } },
    { "ge", test_ge, 2, false, { "a", "b" } },
    { "greaterthan", test_gt, 2, false, { "a", "b" } },
    { "gt", test_gt, 2, false, { "a", "b" } },
    { "in", test_in, 2, false, { "value", "seq" } },
    { "integer", test_integer, 1, false, { "value" } },
    { "iterable", test_iterable, 1, false, { "value" } },
    { "le", test_le, 2, false, { "a", "b" } },
    { "lessthan", test_lt, 2, false, { "a", "b" } },
    { "lower", test_lower, 1, false, { "value" } },
    { "lt", test_lt, 2, false, { "a", "b" } },
    { "mapping", test_mapping, 1, false, { "value" } },
    { "ne", test_ne, 2, false, { "a", "b" } },
    { "none", test_none, 1, false, { "value" } },
    { "number", test_number, 1, false, { "value" } },
    { "odd", test_odd, 1, false, { "value" } },
    { "sameas", test_sameas, 2, false, { "value", "other" } },
    { "sequence", test_sequence, 1, false, { "value" } },
    { "string", test_string, 1, false, { "value" } },
    { "test", test_test, 1, false, { "value" } },
    { "true", test_true, 1, false, { "value" } },
    { "undefined", test_undefined, 1, false, { "value" } },
    { "upper", test_upper, 1, false, { "value" } },
};

const struct jinja_builtins jinja_tests = { rows, COUNTOF(rows) };
