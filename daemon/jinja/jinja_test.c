/*
 * Tests: what stands behind `is`.
 */
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_compare.h"
#include "jinja/jinja_node.h"
#include "jinja/jinja_op.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_text.h"

/* ---- kinds: a row's variant is the set of kinds that pass */

enum {
    UNDEFINED = 1 << JINJA_UNDEFINED,
    NONE = 1 << JINJA_NONE,
    BOOL = 1 << JINJA_BOOL,
    INT = 1 << JINJA_INT,
    FLOAT = 1 << JINJA_FLOAT,
    STRING = 1 << JINJA_STRING,
    LIST = 1 << JINJA_LIST,
    DICT = 1 << JINJA_DICT,
    MACRO = 1 << JINJA_MACRO,
    BUILTIN = 1 << JINJA_BUILTIN,
    METHOD = 1 << JINJA_METHOD,
    LOOP = 1 << JINJA_LOOP,
    ALL = (1 << JINJA_KIND_COUNT) - 1
};

static int test_kind(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    *ret = jinja_bool(1 << args->values[0].kind & args->variant);
    return JINJA_OK;
}

/* true and false. */
static int test_truth(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    *ret = jinja_bool(args->values[0].kind == JINJA_BOOL && args->values[0].truth == !!args->variant);
    return JINJA_OK;
}

/* True for what has a length and can be indexed; an undefined value has a length. */
static int test_sequence(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];

    *ret = jinja_bool(value->kind == JINJA_LIST ? value->list->flavour <= JINJA_FLAVOUR_RANGE
                                                : 1 << value->kind & (STRING | DICT | UNDEFINED));
    return JINJA_OK;
}

/* ---- numbers */

static int remainder_is(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *by,
                        int64_t wanted, struct jinja_value *ret)
{
    const struct jinja_value number = jinja_int(wanted);
    struct jinja_value rest;
    bool is_so = false;
    int r = jinja_op_binary(run, JINJA_MOD, value, by, &rest);

    r = r ? r : jinja_compare_equal(run, &rest, &number, &is_so);
    *ret = jinja_bool(is_so);
    return r;
}

/* even and odd. */
static int test_parity(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value two = jinja_int(2);

    return remainder_is(run, &args->values[0], &two, args->variant, ret);
}

static int test_divisibleby(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return remainder_is(run, &args->values[0], &args->values[1], 0, ret);
}

/* ---- comparisons */

enum { EQ, NE, LT, LE, GT, GE };

static int test_relation(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    static const char *const signs[] = { "==", "!=", "<", "<=", ">", ">=" };
    bool is_so = false;
    int r = jinja_compare_relate(run, &args->values[0], signs[args->variant], &args->values[1], &is_so);

    *ret = jinja_bool(is_so);
    return r;
}

static int test_in(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    bool is_so = false;
    int r = jinja_compare_in(run, &args->values[0], &args->values[1], &is_so);

    *ret = jinja_bool(is_so);
    return r;
}

/* Python's `is`: the same object. Constants of equal text are one object, as in Python. */
static int test_sameas(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *a = &args->values[0];
    const struct jinja_value *b = &args->values[1];
    bool is_so = false;
    int r = JINJA_OK;

    if (a->kind == b->kind && (a->kind == JINJA_LIST || a->kind == JINJA_DICT)) {
        is_so = a->object == b->object;
    } else if (a->kind == b->kind) {
        r = jinja_compare_equal(run, a, b, &is_so);
    }
    *ret = jinja_bool(is_so);
    return r;
}

/* ---- texts and names */

/* upper and lower. */
static int test_case(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    int r = jinja_args_text(run, &args->values[0], &text);

    return r ? r : jinja_text_is(run, text, (enum jinja_text_class)args->variant, ret);
}

static int test_filter(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *name = &args->values[0];

    *ret = jinja_bool(name->kind == JINJA_STRING && jinja_builtin_filter(run->jinja->library, name->string));
    return JINJA_OK;
}

static int test_test(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *name = &args->values[0];

    *ret = jinja_bool(name->kind == JINJA_STRING && jinja_builtin_test(run->jinja->library, name->string));
    return JINJA_OK;
}

const struct jinja_builtin jinja_tests[] = {
    { "!=", test_relation, NE, 2, { "a", "b" } },
    { "<", test_relation, LT, 2, { "a", "b" } },
    { "<=", test_relation, LE, 2, { "a", "b" } },
    { "==", test_relation, EQ, 2, { "a", "b" } },
    { ">", test_relation, GT, 2, { "a", "b" } },
    { ">=", test_relation, GE, 2, { "a", "b" } },
    { "boolean", test_kind, BOOL, 1, { "value" } },
    { "callable", test_kind, MACRO | BUILTIN | METHOD | LOOP | UNDEFINED, 1, { "value" } },
    { "defined", test_kind, ALL & ~UNDEFINED, 1, { "value" } },
    { "divisibleby", test_divisibleby, 0, 2, { "value", "num" } },
    { "eq", test_relation, EQ, 2, { "a", "b" } },
    { "equalto", test_relation, EQ, 2, { "a", "b" } },
    { "escaped", test_kind, 0, 1, { "value" } },
    { "even", test_parity, 0, 1, { "value" } },
    { "false", test_truth, false, 1, { "value" } },
    { "filter", test_filter, 0, 1, { "value" } },
    { "float", test_kind, FLOAT, 1, { "value" } },
    { "ge", test_relation, GE, 2, { "a", "b" } },
    { "greaterthan", test_relation, GT, 2, { "a", "b" } },
    { "gt", test_relation, GT, 2, { "a", "b" } },
    { "in", test_in, 0, 2, { "value", "seq" } },
    { "integer", test_kind, INT, 1, { "value" } },
    { "iterable", test_kind, STRING | DICT | UNDEFINED | LIST | LOOP, 1, { "value" } },
    { "le", test_relation, LE, 2, { "a", "b" } },
    { "lessthan", test_relation, LT, 2, { "a", "b" } },
    { "lower", test_case, JINJA_TEXT_LOWER, 1, { "value" } },
    { "lt", test_relation, LT, 2, { "a", "b" } },
    { "mapping", test_kind, DICT, 1, { "value" } },
    { "ne", test_relation, NE, 2, { "a", "b" } },
    { "none", test_kind, NONE, 1, { "value" } },
    { "number", test_kind, BOOL | INT | FLOAT, 1, { "value" } },
    { "odd", test_parity, 1, 1, { "value" } },
    { "sameas", test_sameas, 0, 2, { "value", "other" } },
    { "sequence", test_sequence, 0, 1, { "value" } },
    { "string", test_kind, STRING, 1, { "value" } },
    { "test", test_test, 0, 1, { "value" } },
    { "true", test_truth, true, 1, { "value" } },
    { "undefined", test_kind, UNDEFINED, 1, { "value" } },
    { "upper", test_case, JINJA_TEXT_UPPER, 1, { "value" } },
    { NULL },
};
