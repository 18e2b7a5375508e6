/*
 * Sums and comparisons. Integers have 64 bits: what would not fit is refused.
 */
#include "jinja/jinja_op.h"
#include "base/utf8.h"
#include "jinja/jinja_format.h"
#include "jinja/jinja_run.h"
#include <math.h>
#include <string.h>

static const char *sign_of(enum jinja_node_kind op)
{
    switch ((int)op) {
    case JINJA_ADD:
        return "+";
    case JINJA_SUB:
        return "-";
    case JINJA_MUL:
        return "*";
    case JINJA_DIV:
        return "/";
    case JINJA_FLOOR_DIV:
        return "//";
    case JINJA_MOD:
        return "%";
    }
    return "** or pow()";
}

static int too_large(struct jinja_run *run)
{
    return jinja_fail(run, "OverflowError", "an integer does not fit into 64 bits");
}

/* @b not 0. Towards minus infinity, as Python rounds. */
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
        if (b == -1) { /* the one quotient that does not fit */
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

    for (size_t i = 0; !r && i < a->n + b->n; i++) {
        r = jinja_list_push(run, ret->list, i < a->n ? &a->items[i] : &b->items[i - a->n]);
    }
    return r;
}

static int add_strings(struct jinja_run *run, const struct jinja_string *a, const struct jinja_string *b,
                       struct jinja_value *ret)
{
    const size_t from = run->out.n;
    int r = jinja_out_string(run, a);

    r = r ? r : jinja_out_string(run, b);
    return r ? r : jinja_out_take(run, from, ret);
}

/* Lists and tuples, which can be added and multiplied. */
static bool is_sequence(const struct jinja_value *value)
{
    return value->kind == JINJA_LIST &&
           (value->list->flavour == JINJA_FLAVOUR_LIST || value->list->flavour == JINJA_FLAVOUR_TUPLE);
}

static int refuse_pair(struct jinja_run *run, enum jinja_node_kind op, const struct jinja_value *a,
                       const struct jinja_value *b)
{
    if (op == JINJA_ADD && (a->kind == JINJA_STRING || is_sequence(a))) {
        return jinja_fail(run, "TypeError", "can only concatenate %s (not \"%s\") to %s", jinja_value_type(a),
                          jinja_value_type(b), jinja_value_type(a));
    }
    if (op == JINJA_MUL && (a->kind == JINJA_STRING || is_sequence(a))) {
        return jinja_fail(run, "TypeError", "can't multiply sequence by non-int of type '%s'", jinja_value_type(b));
    }
    return jinja_fail(run, "TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", sign_of(op),
                      jinja_value_type(a), jinja_value_type(b));
}

static int repeat(struct jinja_run *run, const struct jinja_value *what, int64_t times, struct jinja_value *ret)
{
    const size_t from = run->out.n;
    int r = JINJA_OK;

    if (is_sequence(what)) {
        r = jinja_list_new(run, 0, what->list->flavour, ret);
        for (int64_t i = 0; !r && what->list->n > 0 && i < times; i++) {
            for (size_t k = 0; !r && k < what->list->n; k++) {
                r = jinja_list_push(run, ret->list, &what->list->items[k]);
            }
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
    if (op == JINJA_ADD && is_sequence(a) && is_sequence(b) && a->list->flavour == b->list->flavour) {
        return add_lists(run, a->list, b->list, ret);
    }
    if (op == JINJA_MUL && (a->kind == JINJA_STRING || is_sequence(a)) && jinja_is_int(b)) {
        return repeat(run, a, jinja_int_of(b), ret);
    }
    if (op == JINJA_MUL && (b->kind == JINJA_STRING || is_sequence(b)) && jinja_is_int(a)) {
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

/* ---- comparisons */

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

/* Of one kind that is no number. */
static int equal_alike(struct jinja_run *run, const struct jinja_value *a, const struct jinja_value *b, bool *ret)
{
    switch (a->kind) {
    case JINJA_STRING:
        *ret = jinja_string_equal(a->string, b->string);
        return jinja_run_count(run, a->string->n / 64);
    case JINJA_LIST:
        return equal_lists(run, a->list, b->list, ret);
    case JINJA_DICT:
        return equal_dicts(run, a->dict, b->dict, ret);
    case JINJA_NAMESPACE:
        *ret = a->dict == b->dict;
        break;
    case JINJA_MACRO:
        *ret = a->macro == b->macro;
        break;
    case JINJA_BUILTIN:
        *ret = a->builtin == b->builtin;
        break;
    case JINJA_METHOD:
        *ret = a->method == b->method;
        break;
    case JINJA_LOOP:
        *ret = a->loop == b->loop;
        break;
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        *ret = true;
        break;
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_FLOAT:
    case JINJA_KIND_COUNT:
        break;
    }
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
        const int order = memcmp(a->string->bytes, b->string->bytes, n); /* in UTF-8 that of the characters */

        *ret = order ? order : (a->string->n > b->string->n) - (a->string->n < b->string->n);
        return jinja_run_count(run, n / 64);
    }
    if (is_sequence(a) && is_sequence(b) && a->list->flavour == b->list->flavour) {
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
