/*
 * Filters of texts and numbers. The subject is the first argument of each.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_format.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"
#include "jinja/jinja_text.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int in_case(struct jinja_run *run, const struct jinja_args *args, enum jinja_case how, struct jinja_value *ret)
{
    const struct jinja_string *text;
    int r = jinja_args_text(run, &args->values[0], &text);

    return r ? r : jinja_text_case(run, text, how, ret);
}

static int filter_upper(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return in_case(run, args, JINJA_CASE_UPPER, ret);
}

static int filter_lower(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return in_case(run, args, JINJA_CASE_LOWER, ret);
}

static int filter_title(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return in_case(run, args, JINJA_CASE_TITLE_FILTER, ret);
}

static int filter_capitalize(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return in_case(run, args, JINJA_CASE_CAPITAL, ret);
}

static int filter_string(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    int r = jinja_args_text(run, &args->values[0], &text);

    if (!r) {
        *ret = (struct jinja_value){ .kind = JINJA_STRING, .string = text };
    }
    return r;
}

static int filter_trim(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    const struct jinja_string *set;
    int r = jinja_args_text(run, &args->values[0], &text);

    r = r ? r : jinja_args_string(run, &args->values[1], &set);
    return r ? r : jinja_text_strip(run, text, set, true, true, ret);
}

static int filter_replace(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text[3];
    int64_t max;
    int r = jinja_args_int(run, &args->values[3], -1, &max);

    for (int i = 0; !r && i < 3; i++) {
        r = jinja_args_text(run, &args->values[i], &text[i]);
    }
    return r ? r : jinja_text_replace(run, text[0], text[1], text[2], max, ret);
}

static int filter_center(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    int64_t width;
    int r = jinja_args_text(run, &args->values[0], &text);

    r = r ? r : jinja_args_int(run, &args->values[1], 80, &width);
    return r ? r : jinja_text_pad(run, text, width, NULL, 500, ret);
}

static int write_indent(struct jinja_run *run, const struct jinja_value *width)
{
    int64_t n;
    int r;

    if (width->kind == JINJA_STRING) {
        return jinja_out_string(run, width->string);
    }
    r = jinja_args_int(run, width, 4, &n);
    for (int64_t i = 0; !r && i < n; i++) {
        r = jinja_out_text(run, " ", JINJA_SCAFFOLD);
        r = r ? r : jinja_run_count(run, 1);
    }
    return r;
}

static int filter_indent(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const bool first = jinja_value_truth(&args->values[2]);
    const bool blank = jinja_value_truth(&args->values[3]);
    const struct jinja_string *text;
    struct jinja_value lines;
    size_t from;
    int r = jinja_args_text(run, &args->values[0], &text);

    from = run->out.n;
    /* One more newline, so that a last empty line is a line. */
    r = r ? r : jinja_out_string(run, text);
    r = r ? r : jinja_out_text(run, "\n", JINJA_SCAFFOLD);
    r = r ? r : jinja_out_take(run, from, &lines);
    r = r ? r : jinja_text_lines(run, lines.string, false, &lines);
    for (size_t i = 0; !r && i < lines.list->n; i++) {
        const struct jinja_string *line = lines.list->items[i].string;

        r = i > 0 ? jinja_out_text(run, "\n", JINJA_SCAFFOLD) : JINJA_OK;
        if (!r && (i == 0 ? first : blank || line->n > 0)) {
            r = write_indent(run, &args->values[1]);
        }
        r = r ? r : jinja_out_string(run, line);
    }
    return r ? r : jinja_out_take(run, from, ret);
}

static int filter_truncate(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    const struct jinja_string *end;
    const struct jinja_string blank = { .bytes = " ", .n = 1 };
    struct jinja_value cut;
    int64_t length;
    int64_t leeway;
    int64_t at;
    size_t n;
    const size_t from = run->out.n;
    int r = jinja_args_text(run, &args->values[0], &text);

    r = r ? r : jinja_args_int(run, &args->values[1], 255, &length);
    r = r ? r : jinja_args_string(run, &args->values[3], &end);
    r = r ? r : jinja_args_int(run, &args->values[4], 5, &leeway);
    if (r) {
        return r;
    }
    end = end ? end : &(const struct jinja_string){ .bytes = "...", .n = 3 };
    if ((int64_t)jinja_char_count(text) <= length + leeway) {
        *ret = (struct jinja_value){ .kind = JINJA_STRING, .string = text };
        return JINJA_OK;
    }
    length -= (int64_t)jinja_char_count(end);
    n = jinja_char_offset(text, length > 0 ? (size_t)length : 0);
    r = jinja_string_cut(run, text, 0, n, &cut);
    at = -1;
    if (!r && !jinja_value_truth(&args->values[2])) {
        r = jinja_text_find_last(run, cut.string, &blank, &at);
    }
    r = r ? r : jinja_out_part(run, text, 0, at >= 0 ? (size_t)at : n);
    r = r ? r : jinja_out_string(run, end);
    return r ? r : jinja_out_take(run, from, ret);
}

static int filter_escape(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    static const char signs[] = "&<>'\"";
    static const char *const names[] = { "&amp;", "&lt;", "&gt;", "&#39;", "&#34;" };
    const struct jinja_string *text;
    size_t from;
    int r = jinja_args_text(run, &args->values[0], &text);

    from = run->out.n;
    for (size_t i = 0; !r && i < text->n; i++) {
        const char *sign = text->bytes[i] ? strchr(signs, text->bytes[i]) : NULL;

        r = sign ? jinja_out_text(run, names[sign - signs], jinja_string_mark(text, i))
                 : jinja_out_part(run, text, i, 1);
    }
    r = r ? r : jinja_run_count(run, text->n / 16);
    return r ? r : jinja_out_take(run, from, ret);
}

static int filter_wordcount(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    bool in_word = false;
    int64_t count = 0;
    int r = jinja_args_text(run, &args->values[0], &text);

    for (size_t at = 0; !r && at < text->n;) {
        size_t n;
        const uint32_t point = jinja_char_at(text, at, &n);
        const bool is_word = jinja_char_is_letter(point) || jinja_char_is_digit(point) || point == '_';

        count += is_word && !in_word;
        in_word = is_word;
        at += n;
    }
    *ret = jinja_int(count);
    return r ? r : jinja_run_count(run, text->n / 16);
}

static int filter_length(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];
    int64_t n = 0;

    if (value->kind == JINJA_STRING) {
        n = (int64_t)jinja_char_count(value->string);
        *ret = jinja_int(n);
        return jinja_run_count(run, value->string->n / 64);
    }
    if (value->kind == JINJA_DICT) {
        n = (int64_t)value->dict->n;
    } else if (value->kind == JINJA_LIST && value->list->flavour != JINJA_FLAVOUR_GENERATOR) {
        n = (int64_t)value->list->n;
    } else if (value->kind != JINJA_UNDEFINED) {
        return jinja_fail(run, "TypeError", "object of type '%s' has no len()", jinja_value_type(value));
    }
    *ret = jinja_int(n);
    return JINJA_OK;
}

static int filter_default(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *value = &args->values[0];

    if (value->kind != JINJA_UNDEFINED && (!jinja_value_truth(&args->values[2]) || jinja_value_truth(value))) {
        *ret = *value;
        return JINJA_OK;
    }
    if (jinja_is_given(&args->values[1])) {
        *ret = args->values[1];
        return JINJA_OK;
    }
    return jinja_string_word(run, "", ret);
}

static int filter_safe(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return filter_string(run, args, ret);
}

/* ---- numbers */

/* No number of 64 bits needs more. */
#define NUMBER_BYTES 64u

/* A text without blanks around it and with a zero behind, if it is short enough for a number; *ret_n 0 if not. */
static void number_text(const struct jinja_string *string, char text[NUMBER_BYTES], size_t *ret_n)
{
    size_t from;
    size_t n;
    size_t n_out = 0;

    jinja_char_strip(string, NULL, true, true, &from, &n);
    for (size_t i = 0; i < n && n < 64; i++) {
        const char c = string->bytes[from + i];

        if (c == '_' && i > 0 && i + 1 < n) {
            continue;
        }
        text[n_out++] = c;
    }
    text[n_out] = 0;
    *ret_n = n_out;
}

/* What float() reads: no hexadecimal digits, which strtod() would take. */
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
        char text[NUMBER_BYTES];
        size_t n;
        char *end;
        long long number;

        number_text(value->string, text, &n);
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
        char text[NUMBER_BYTES];
        double real;
        size_t n;

        number_text(value->string, text, &n);
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
        return jinja_fail(run, "TypeError", "type %s has no number", jinja_value_type(value));
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

/* Python rounds the decimal digits of what the number exactly is, as printf() does. */
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

/* ---- formats */

/* separators=(",", ":") */
static int read_separators(struct jinja_run *run, const struct jinja_value *value, struct jinja_json *how)
{
    if (value->kind == JINJA_NONE || !jinja_is_given(value)) {
        return JINJA_OK;
    }
    if (value->kind != JINJA_LIST || value->list->n != 2 || value->list->items[0].kind != JINJA_STRING ||
        value->list->items[1].kind != JINJA_STRING) {
        return jinja_fail(run, "TypeError", "separators must be two strings");
    }
    how->comma = value->list->items[0].string;
    how->colon = value->list->items[1].string;
    return JINJA_OK;
}

/* Indents up to this many blanks are cut from one text. */
#define INDENT_MAX 64

static int filter_tojson(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    static const char blanks[INDENT_MAX + 1] = "                                                                ";
    const struct jinja_value *indent = &args->values[2];
    struct jinja_json how = { .ascii = jinja_value_truth(&args->values[1]),
                              .sort = jinja_value_truth(&args->values[4]) };
    struct jinja_string some = { .bytes = blanks };
    const size_t from = run->out.n;
    int r = read_separators(run, &args->values[3], &how);

    if (!r && indent->kind == JINJA_STRING) {
        how.indent = indent->string;
    } else if (!r && indent->kind != JINJA_NONE && jinja_is_given(indent)) {
        int64_t n;

        r = jinja_args_int(run, indent, 0, &n);
        if (!r && n > INDENT_MAX) {
            r = jinja_fail(run, "ValueError", "an indent of more than %d blanks", INDENT_MAX);
        }
        some.n = r || n < 0 ? 0 : (size_t)n;
        how.indent = &some;
    }
    r = r ? r : jinja_show_json(run, &args->values[0], &how);
    return r ? r : jinja_out_take(run, from, ret);
}

static int filter_format(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *format;
    struct jinja_value with;
    int r;

    if (args->n == 0) {
        return jinja_fail(run, "TypeError", "format() lacks its text");
    }
    r = jinja_args_text(run, &args->values[0], &format);
    if (!r && args->named && args->n == 1) {
        with = (struct jinja_value){ .kind = JINJA_DICT, .dict = args->named };
        return jinja_format_percent(run, format, &with, ret);
    }
    r = r ? r : jinja_list_new(run, args->n, JINJA_FLAVOUR_TUPLE, &with);
    for (size_t i = 1; !r && i < args->n; i++) {
        r = jinja_list_push(run, with.list, &args->values[i]);
    }
    return r ? r : jinja_format_percent(run, format, &with, ret);
}

static const struct jinja_builtin rows[] = {
    { "abs", filter_abs, 1, false, { "x" } },
    { "capitalize", filter_capitalize, 1, false, { "s" } },
    { "center", filter_center, 1, false, { "value", "width" } },
    { "count", filter_length, 1, false, { "obj" } },
    { "d", filter_default, 0, false, { "value", "default_value", "boolean" } },
    { "default", filter_default, 0, false, { "value", "default_value", "boolean" } },
    { "e", filter_escape, 1, false, { "s" } },
    { "escape", filter_escape, 1, false, { "s" } },
    { "float", filter_float, 1, false, { "value", "default" } },
    { "forceescape", filter_escape, 1, false, { "value" } },
    { "format", filter_format, 0, true, { "value" } },
    { "indent", filter_indent, 1, false, { "s", "width", "first", "blank" } },
    { "int", filter_int, 1, false, { "value", "default", "base" } },
    { "length", filter_length, 1, false, { "obj" } },
    { "lower", filter_lower, 1, false, { "s" } },
    { "replace", filter_replace, 3, false, { "s", "old", "new", "count" } },
    { "round", filter_round, 1, false, { "value", "precision", "method" } },
    { "safe", filter_safe, 1, false, { "value" } },
    { "string", filter_string, 1, false, { "object" } },
    { "title", filter_title, 1, false, { "s" } },
    { "tojson", filter_tojson, 1, false, { "x", "ensure_ascii", "indent", "separators", "sort_keys" } },
    { "trim", filter_trim, 1, false, { "value", "chars" } },
    { "truncate", filter_truncate, 1, false, { "s", "length", "killwords", "end", "leeway" } },
    { "upper", filter_upper, 1, false, { "s" } },
    { "wordcount", filter_wordcount, 1, false, { "s" } },
};

const struct jinja_builtins jinja_filters_text = { rows, COUNTOF(rows) };
