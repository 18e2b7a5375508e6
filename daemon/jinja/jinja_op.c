/*
 * Arithmetic. Integers have 64 bits; a result that does not fit is refused.
 */
#include "jinja/jinja_op.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_format.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include <math.h>
#include <string.h>

static const char *const signs[] = {
    [JINJA_ADD] = "+",        [JINJA_SUB] = "-", [JINJA_MUL] = "*",           [JINJA_DIV] = "/",
    [JINJA_FLOOR_DIV] = "//", [JINJA_MOD] = "%", [JINJA_POW] = "** or pow()",
};

static int too_large(struct jinja_run *run)
{
    return jinja_fail(run, "OverflowError", "an integer does not fit into 64 bits");
}

/* Divides by @b, which is not 0, and rounds towards minus infinity, as Python does. */
static int64_t floor_div(int64_t a, int64_t b)
{
    const int64_t q = a / b;

    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static int pow_int(struct jinja_run *run, int64_t base, int64_t exponent, int64_t *ret)
{
    int64_t power = 1;

    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(power, base, &power)) {
            return too_large(run);
        }
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) {
            return too_large(run);
        }
    }
    *ret = power;
    return JINJA_OK;
}

static int binary_int(struct jinja_run *run, enum jinja_node_kind op, int64_t a, int64_t b, int64_t *ret)
{
    bool wraps = false;

    switch ((int)op) {
    case JINJA_ADD:
        wraps = __builtin_add_overflow(a, b, ret);
        break;
    case JINJA_SUB:
        wraps = __builtin_sub_overflow(a, b, ret);
        break;
    case JINJA_MUL:
        wraps = __builtin_mul_overflow(a, b, ret);
        break;
    case JINJA_POW:
        return pow_int(run, a, b, ret);
    case JINJA_FLOOR_DIV:
    case JINJA_MOD:
        if (b == 0) {
            return jinja_fail(run, "ZeroDivisionError",
                              op == JINJA_MOD ? "integer modulo by zero" : "integer division or modulo by zero");
        }
        if (b == -1) { /* INT64_MIN / -1 does not fit */
            wraps = op == JINJA_FLOOR_DIV && __builtin_sub_overflow(0, a, ret);
            *ret = op == JINJA_MOD ? 0 : *ret;
            break;
        }
        *ret = op == JINJA_MOD ? a - b * floor_div(a, b) : floor_div(a, b);
        break;
    }
    return wraps ? too_large(run) : JINJA_OK;
}

static int binary_real(struct jinja_run *run, enum jinja_node_kind op, double a, double b, double *ret)
{
    if (b == 0 && (op == JINJA_DIV || op == JINJA_FLOOR_DIV || op == JINJA_MOD)) {
        return jinja_fail(run, "ZeroDivisionError", "%s",
                          op == JINJA_DIV ? "division by zero" : "float floor division by zero");
    }
    switch ((int)op) {
    case JINJA_ADD:
        *ret = a + b;
        break;
    case JINJA_SUB:
        *ret = a - b;
        break;
    case JINJA_MUL:
        *ret = a * b;
        break;
    case JINJA_DIV:
        *ret = a / b;
        break;
    case JINJA_FLOOR_DIV:
        *ret = floor(a / b);
        break;
    case JINJA_MOD:
        *ret = fmod(a, b);
        *ret += *ret != 0 && (*ret < 0) != (b < 0) ? b : 0;
        break;
    case JINJA_POW:
        *ret = pow(a, b);
        break;
    }
    return JINJA_OK;
}

static int binary_number(struct jinja_run *run, enum jinja_node_kind op, const struct jinja_value *a,
                         const struct jinja_value *b, struct jinja_value *ret)
{
    struct jinja_value value;
    int r;

    if (jinja_is_int(a) && jinja_is_int(b) && op != JINJA_DIV && !(op == JINJA_POW && jinja_int_of(b) < 0)) {
        value = jinja_int(0);
        r = binary_int(run, op, jinja_int_of(a), jinja_int_of(b), &value.number);
    } else {
        value = jinja_float(0);
        r = binary_real(run, op, jinja_real_of(a), jinja_real_of(b), &value.real);
    }
    value.foreign = a->foreign || b->foreign;
    if (!r) {
        *ret = value;
    }
    return r;
}

static int add_lists(struct jinja_run *run, const struct jinja_list *a, const struct jinja_list *b,
                     struct jinja_value *ret)
{
    int r = jinja_list_new(run, a->n + b->n, a->flavour, ret);

    r = r ? r : jinja_list_extend(run, ret->list, a->items, a->n);
    return r ? r : jinja_list_extend(run, ret->list, b->items, b->n);
}

static int add_strings(struct jinja_run *run, const struct jinja_string *a, const struct jinja_string *b,
                       struct jinja_value *ret)
{
    const size_t from = run->out.n;
    int r = jinja_out_string(run, a);

    r = r ? r : jinja_out_string(run, b);
    return r ? r : jinja_out_take(run, from, ret);
}

static int refuse_pair(struct jinja_run *run, enum jinja_node_kind op, const struct jinja_value *a,
                       const struct jinja_value *b)
{
    if (op == JINJA_ADD && (a->kind == JINJA_STRING || jinja_is_sequence(a))) {
        return jinja_fail(run, "TypeError", "can only concatenate %s (not \"%s\") to %s", jinja_value_type(a),
                          jinja_value_type(b), jinja_value_type(a));
    }
    if (op == JINJA_MUL && (a->kind == JINJA_STRING || jinja_is_sequence(a))) {
        return jinja_fail(run, "TypeError", "can't multiply sequence by non-int of type '%s'", jinja_value_type(b));
    }
    return jinja_fail(run, "TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", signs[op],
                      jinja_value_type(a), jinja_value_type(b));
}

static int repeat(struct jinja_run *run, const struct jinja_value *what, int64_t times, struct jinja_value *ret)
{
    const size_t from = run->out.n;
    int r = JINJA_OK;

    if (jinja_is_sequence(what)) {
        r = jinja_list_new(run, 0, what->list->flavour, ret);
        for (int64_t i = 0; !r && what->list->n > 0 && i < times; i++) {
            r = jinja_list_extend(run, ret->list, what->list->items, what->list->n);
        }
        return r;
    }
    for (int64_t i = 0; !r && what->string->n > 0 && i < times; i++) {
        r = jinja_out_string(run, what->string);
        r = r ? r : jinja_run_count(run, 1);
    }
    return r ? r : jinja_out_take(run, from, ret);
}

int jinja_op_binary(struct jinja_run *run, enum jinja_node_kind op, const struct jinja_value *a,
                    const struct jinja_value *b, struct jinja_value *ret)
{
    if (op == JINJA_MOD && a->kind == JINJA_STRING) {
        return jinja_format_percent(run, a->string, b, ret);
    }
    if (a->kind == JINJA_UNDEFINED || b->kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, a->kind == JINJA_UNDEFINED ? a : b);
    }
    if (jinja_is_number(a) && jinja_is_number(b)) {
        return binary_number(run, op, a, b, ret);
    }
    if (op == JINJA_ADD && a->kind == JINJA_STRING && b->kind == JINJA_STRING) {
        return add_strings(run, a->string, b->string, ret);
    }
    if (op == JINJA_ADD && jinja_is_sequence(a) && jinja_is_sequence(b) && a->list->flavour == b->list->flavour) {
        return add_lists(run, a->list, b->list, ret);
    }
    if (op == JINJA_MUL && (a->kind == JINJA_STRING || jinja_is_sequence(a)) && jinja_is_int(b)) {
        return repeat(run, a, jinja_int_of(b), ret);
    }
    if (op == JINJA_MUL && (b->kind == JINJA_STRING || jinja_is_sequence(b)) && jinja_is_int(a)) {
        return repeat(run, b, jinja_int_of(a), ret);
    }
    return refuse_pair(run, op, a, b);
}

int jinja_op_negate(struct jinja_run *run, const struct jinja_value *a, struct jinja_value *ret)
{
    if (a->kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, a);
    }
    if (!jinja_is_number(a)) {
        return jinja_fail(run, "TypeError", "bad operand type for unary -: '%s'", jinja_value_type(a));
    }
    if (a->kind == JINJA_FLOAT) {
        *ret = jinja_float(-a->real);
    } else if (jinja_int_of(a) == INT64_MIN) {
        return too_large(run);
    } else {
        *ret = jinja_int(-jinja_int_of(a));
    }
    ret->foreign = a->foreign;
    return JINJA_OK;
}
