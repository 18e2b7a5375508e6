/*
 * Filters of numbers. The subject is the first argument of each.
 */
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_fail.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No number of 64 bits is longer. */
#define NUMBER_BYTES 64u

/* Copies @string without the blanks around it and the underscores in it, ended by a zero, and returns its length. A
 * text longer than any number is cut. */
static size_t number_text(const struct jinja_string *string, char text[NUMBER_BYTES + 1])
{
    size_t from;
    size_t n;
    size_t n_out = 0;

    jinja_char_strip(string, NULL, JINJA_LEFT | JINJA_RIGHT, &from, &n);
    for (size_t i = 0; i < n && n < NUMBER_BYTES; i++) {
        const char c = string->bytes[from + i];

        if (c == '_' && i > 0 && i + 1 < n) {
            continue;
        }
        text[n_out++] = c;
    }
    text[n_out] = 0;
    return n_out;
}

/* Reads what float() reads: unlike strtod() no hexadecimal digits. */
static bool read_real(const char *text, size_t n, double *ret)
{
    char *end;

    if (n == 0 || strpbrk(text, "xXpP(")) {
        return false;
    }
    *ret = strtod(text, &end);
    return (size_t)(end - text) == n;
}

static int filter_int(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];
    double real = 0;
    bool is_real = value->kind == JINJA_FLOAT;
    int64_t base;
    int r = jinja_args_int(run, &args->values[2], 10, &base);

    *ret = jinja_is_given(&args->values[1]) ? args->values[1] : jinja_int(0);
    if (r || jinja_is_int(value)) {
        *ret = r ? *ret : jinja_int(jinja_int_of(value));
        ret->foreign = value->foreign;
        return r;
    }
    real = is_real ? value->real : 0;
    if (value->kind == JINJA_STRING && (base == 0 || (base >= 2 && base <= 36))) {
        char text[NUMBER_BYTES + 1];
        const size_t n = number_text(value->string, text);
        char *end;
        long long number;

        errno = 0;
        number = strtoll(text + (base == 2 && n > 2 && (text[1] | 0x20) == 'b' ? 2 : 0), &end, (int)base);
        if (n > 0 && (size_t)(end - text) == n && errno == 0) {
            *ret = jinja_int(number);
            ret->foreign = jinja_string_mark(value->string, 0) == JINJA_FOREIGN;
            return JINJA_OK;
        }
        is_real = read_real(text, n, &real);
    }
    if (is_real && fabs(real) < 9.2e18) {
        *ret = jinja_int((int64_t)real);
        ret->foreign = value->kind == JINJA_FLOAT ? value->foreign : true;
    }
    return JINJA_OK;
}

static int filter_float(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];

    (void)run;
    *ret = jinja_is_given(&args->values[1]) ? args->values[1] : jinja_float(0);
    if (jinja_is_number(value)) {
        *ret = jinja_float(jinja_real_of(value));
        ret->foreign = value->foreign;
    } else if (value->kind == JINJA_STRING) {
        char text[NUMBER_BYTES + 1];
        const size_t n = number_text(value->string, text);
        double real;

        if (read_real(text, n, &real)) {
            *ret = jinja_float(real);
            ret->foreign = true;
        }
    }
    return JINJA_OK;
}

static int want_number(struct jinja_run *run, const struct jinja_value *value)
{
    if (value->kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, value);
    }
    if (!jinja_is_number(value)) {
        return jinja_fail(run, "TypeError", "must be a number, not %s", jinja_value_type(value));
    }
    return JINJA_OK;
}

static int filter_abs(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];
    int r = want_number(run, value);

    if (r) {
        return r;
    }
    if (value->kind == JINJA_FLOAT) {
        *ret = jinja_float(fabs(value->real));
    } else if (jinja_int_of(value) == INT64_MIN) {
        return jinja_fail(run, "OverflowError", "an integer does not fit into 64 bits");
    } else {
        *ret = jinja_int(llabs(jinja_int_of(value)));
    }
    ret->foreign = value->foreign;
    return JINJA_OK;
}

/* Rounds as Python does: the decimal digits of the exact value, like printf(). */
static double round_to(double real, int64_t precision)
{
    char text[400];

    if (precision < 0) {
        const double scale = pow(10, (double)-precision);

        return nearbyint(real / scale) * scale;
    }
    if (fabs(real) > 1e300 || precision > 40) {
        return real;
    }
    snprintf(text, sizeof(text), "%.*f", (int)precision, real);
    return strtod(text, NULL);
}

static int filter_round(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];
    const struct jinja_string *method;
    int64_t precision;
    double scale;
    int r = want_number(run, value);

    r = r ? r : jinja_args_int(run, &args->values[1], 0, &precision);
    r = r ? r : jinja_args_string(run, &args->values[2], &method);
    if (r) {
        return r;
    }
    if (method && !jinja_string_is(method, "common") && !jinja_string_is(method, "ceil") &&
        !jinja_string_is(method, "floor")) {
        return jinja_fail(run, "FilterArgumentError", "method must be common, ceil or floor");
    }
    scale = pow(10, (double)precision);
    if (!method || jinja_string_is(method, "common")) {
        *ret = value->kind == JINJA_FLOAT ? jinja_float(round_to(value->real, precision)) : *value;
    } else if (jinja_string_is(method, "ceil")) {
        *ret = jinja_float(ceil(jinja_real_of(value) * scale) / scale);
    } else {
        *ret = jinja_float(floor(jinja_real_of(value) * scale) / scale);
    }
    ret->foreign = value->foreign;
    return JINJA_OK;
}

const struct jinja_builtin jinja_filters_number[] = {
    { "abs", filter_abs, 0, 1, { "x" } },
    { "float", filter_float, 0, 1, { "value", "default" } },
    { "int", filter_int, 0, 1, { "value", "default", "base" } },
    { "round", filter_round, 0, 1, { "value", "precision", "method" } },
    { NULL },
};
