/*
 * Both kinds of formats are read into one struct spec.
 */
#include "jinja/jinja_format.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_get.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"
#include "jinja/jinja_text.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Larger numbers in a format are read as this one, for which no run has enough steps. */
#define COUNT_MAX (1 << 30)

/* Digits behind the point, more than a double can tell apart. */
#define DIGITS_MAX 50

struct spec {
    char kind;  /* s d x X o f e g, or 0: as str() */
    char align; /* < > ^, or 0 */
    char fill;
    char sign; /* + or blank, or 0 */
    bool zero;
    int width;
    int precision; /* below 0: none */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads the digits at *at; *ret is untouched where there are none. */
static void read_digits(const struct jinja_string *format, size_t *at, int *ret)
{
    for (bool first = true; *at < format->n && is_digit(format->bytes[*at]); ++*at, first = false) {
        const int64_t number = (first ? 0 : (int64_t)*ret) * 10 + (format->bytes[*at] - '0');

        *ret = number > COUNT_MAX ? COUNT_MAX : (int)number;
    }
}

/* Reads width and precision: "8.2". */
static void read_size(const struct jinja_string *format, size_t *at, struct spec *spec)
{
    read_digits(format, at, &spec->width);
    if (*at < format->n && format->bytes[*at] == '.') {
        ++*at;
        spec->precision = 0;
        read_digits(format, at, &spec->precision);
    }
}

static const char *sign_of(const struct spec *spec, bool is_negative)
{
    return is_negative ? "-" : spec->sign == '+' ? "+" : spec->sign == ' ' ? " " : "";
}

static int write_integer(struct jinja_run *run, const struct spec *spec, const struct jinja_value *value,
                         enum jinja_mark mark)
{
    int64_t number = value->kind == JINJA_FLOAT ? 0 : jinja_int_of(value);
    uint64_t size;
    char text[80];
    int n;

    if (value->kind == JINJA_FLOAT && value->real > -9e18 && value->real < 9e18) {
        number = (int64_t)value->real;
    }
    size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    n = snprintf(text, sizeof(text), "%s", sign_of(spec, number < 0));
    snprintf(text + n, sizeof(text) - (size_t)n,
             spec->kind == 'x'   ? "%" PRIx64
             : spec->kind == 'X' ? "%" PRIX64
             : spec->kind == 'o' ? "%" PRIo64
                                 : "%" PRIu64,
             size);
    return jinja_out_text(run, text, mark);
}

static int write_real(struct jinja_run *run, const struct spec *spec, const struct jinja_value *value,
                      enum jinja_mark mark)
{
    const int precision = spec->precision < 0 ? 6 : spec->precision;
    const double real = jinja_real_of(value);
    char text[420]; /* 309 digits, the point, DIGITS_MAX more, and a sign */
    int n;

    if (precision > DIGITS_MAX) {
        return jinja_fail(run, "ValueError", "precision %d of a number is above %d", precision, DIGITS_MAX);
    }
    n = snprintf(text, sizeof(text), "%s", real < 0 ? "" : sign_of(spec, false));
    snprintf(text + n, sizeof(text) - (size_t)n,
             spec->kind == 'e'   ? "%.*e"
             : spec->kind == 'g' ? "%.*g"
                                 : "%.*f",
             precision, real);
    return jinja_out_text(run, text, mark);
}

static int write_plain(struct jinja_run *run, const struct spec *spec, const struct jinja_value *value)
{
    const struct jinja_string *text;
    int r;

    if (spec->kind == 'r') {
        return jinja_show_repr(run, value);
    }
    r = jinja_args_text(run, value, &text);
    if (r || spec->precision < 0) {
        return r ? r : jinja_out_string(run, text);
    }
    return jinja_out_part(run, text, 0, jinja_char_offset(text, (size_t)spec->precision));
}

static int refuse(struct jinja_run *run, const char *what)
{
    return jinja_fail(run, "ValueError", "unsupported format: %s", what);
}

/* True if the format has a precision that is neither the length of a text nor the digits of a float. */
static bool has_odd_precision(const struct spec *spec, const struct jinja_value *value)
{
    if (spec->precision < 0) {
        return false;
    }
    return spec->kind ? !strchr("fegs", spec->kind) : jinja_is_number(value);
}

/* Writes @value as @spec says, with its width. */
static int write_spec(struct jinja_run *run, const struct spec *spec, const struct jinja_value *value)
{
    const bool is_number = spec->kind && strchr("dxXofeg", spec->kind);
    const enum jinja_mark mark = value->foreign ? JINJA_FOREIGN : JINJA_SCAFFOLD;
    const char fill_byte = spec->zero && is_number ? '0' : spec->fill ? spec->fill : ' ';
    const struct jinja_string fill = { .bytes = &fill_byte, .n = 1 };
    const char align = spec->align ? spec->align : is_number || jinja_is_number(value) ? '>' : '<';
    const enum jinja_pad pad = align == '<' ? JINJA_PAD_RIGHT : align == '^' ? JINJA_PAD_BOTH : JINJA_PAD_LEFT;
    const size_t from = run->out.n;
    size_t n_sign = 0;
    struct jinja_value text;
    struct jinja_value sign;
    int r;

    if (is_number && !jinja_is_number(value)) {
        return value->kind == JINJA_UNDEFINED
                   ? jinja_fail_undefined(run, value)
                   : jinja_fail(run, "TypeError", "%%%c format: a real number is required, not %s", spec->kind,
                                jinja_value_type(value));
    }
    if (has_odd_precision(spec, value)) {
        return refuse(run, "expected a precision with %f %e %g %s only");
    }
    if (!is_number) {
        r = write_plain(run, spec, value);
    } else {
        r = strchr("feg", spec->kind) ? write_real(run, spec, value, mark) : write_integer(run, spec, value, mark);
    }
    r = r ? r : jinja_out_take(run, from, &text);
    if (r || spec->width == 0) {
        return r ? r : jinja_out_string(run, text.string);
    }
    if (fill_byte == '0' && text.string->n > 0 && strchr("+- ", text.string->bytes[0])) {
        n_sign = 1;
    }
    r = jinja_string_cut(run, text.string, 0, n_sign, &sign);
    r = r ? r : jinja_string_cut(run, text.string, n_sign, text.string->n - n_sign, &text);
    r = r ? r : jinja_out_string(run, sign.string);
    r = r ? r : jinja_text_pad(run, text.string, spec->width - (int)n_sign, &fill, pad, &text);
    return r ? r : jinja_out_string(run, text.string);
}

/* ---- "%-5.2f" % value */

struct values {
    const struct jinja_value *with;
    size_t at; /* of a tuple */
};

static int next_value(struct jinja_run *run, struct values *values, struct jinja_value *ret)
{
    const struct jinja_value *with = values->with;
    const bool is_tuple = jinja_is_tuple(with);
    const size_t n = is_tuple ? with->list->n : 1;

    if (values->at >= n) {
        return jinja_fail(run, "TypeError", "not enough arguments for format string");
    }
    *ret = is_tuple ? with->list->items[values->at] : *with;
    values->at++;
    return JINJA_OK;
}

/* Reads "(name)" behind a %; *ret: the value of that key. */
static int named_value(struct jinja_run *run, const struct jinja_string *format, size_t *at, struct values *values,
                       struct jinja_value *ret)
{
    const size_t from = *at + 1;
    struct jinja_value *found = NULL;
    struct jinja_value key;
    int r;

    while (*at < format->n && format->bytes[*at] != ')') {
        ++*at;
    }
    if (*at == format->n) {
        return jinja_fail(run, "ValueError", "incomplete format key");
    }
    r = jinja_string_cut(run, format, from, *at - from, &key);
    ++*at;
    if (!r && values->with->kind != JINJA_DICT) {
        r = jinja_fail(run, "TypeError", "format requires a mapping");
    }
    r = r ? r : jinja_dict_find(run, values->with->dict, &key, &found);
    if (!r && !found) {
        r = jinja_fail(run, "KeyError", "the format names a missing key");
    }
    if (!r) {
        *ret = *found;
        values->at = 1;
    }
    return r;
}

/* Writes the conversion behind the % at *at - 1. */
static int percent(struct jinja_run *run, const struct jinja_string *format, size_t *at, struct values *values)
{
    struct spec spec = { .precision = -1 };
    struct jinja_value value;
    bool has_value = false;
    int r = JINJA_OK;

    if (*at < format->n && format->bytes[*at] == '(') {
        has_value = true;
        r = named_value(run, format, at, values, &value);
    }
    for (; *at < format->n && format->bytes[*at] && strchr("-+ 0", format->bytes[*at]); ++*at) {
        const char flag = format->bytes[*at];

        spec.align = flag == '-' ? '<' : spec.align;
        spec.zero = spec.zero || flag == '0';
        spec.sign = flag == '+' || flag == ' ' ? flag : spec.sign;
    }
    read_size(format, at, &spec);
    if (r || *at == format->n) {
        return r ? r : jinja_fail(run, "ValueError", "incomplete format");
    }
    spec.kind = format->bytes[(*at)++];
    if (spec.kind == '%') {
        return jinja_out_part(run, format, *at - 1, 1);
    }
    if (!spec.kind || !strchr("sdirxXofFegu", spec.kind)) {
        return refuse(run, "expected one of %s %d %i %r %x %X %o %f %e %g");
    }
    spec.kind = spec.kind == 'i' || spec.kind == 'u' ? 'd' : spec.kind == 'F' ? 'f' : spec.kind;
    spec.align = spec.align ? spec.align : '>';
    spec.zero = spec.zero && spec.align != '<';
    r = has_value ? JINJA_OK : next_value(run, values, &value);
    return r ? r : write_spec(run, &spec, &value);
}

int jinja_format_percent(struct jinja_run *run, const struct jinja_string *format, const struct jinja_value *with,
                         struct jinja_value *ret)
{
    const bool is_tuple = jinja_is_tuple(with);
    struct values values = { .with = with };
    const size_t from = run->out.n;
    size_t at = 0;
    int r = JINJA_OK;

    while (!r && at < format->n) {
        const char *sign = memchr(format->bytes + at, '%', format->n - at);
        const size_t to = sign ? (size_t)(sign - format->bytes) : format->n;

        r = jinja_out_part(run, format, at, to - at);
        at = to + 1;
        if (!r && sign) {
            r = percent(run, format, &at, &values);
        }
        r = r ? r : jinja_run_count(run, 1);
    }
    if (!r && values.at < (is_tuple ? with->list->n : with->kind != JINJA_DICT && with->kind != JINJA_LIST)) {
        r = jinja_fail(run, "TypeError", "not all arguments converted during string formatting");
    }
    return r ? r : jinja_out_take(run, from, ret);
}

/* ---- "{0.name:>5}".format(value) */

/* Reads the part of a field behind the colon: ">8.2f". */
static int read_spec(struct jinja_run *run, const struct jinja_string *format, struct spec *ret)
{
    size_t at = 0;

    *ret = (struct spec){ .precision = -1 };
    if (format->n > 1 && strchr("<>^", format->bytes[1]) && format->bytes[1]) {
        ret->fill = format->bytes[0];
        ret->align = format->bytes[1];
        at = 2;
    } else if (format->n > 0 && format->bytes[0] && strchr("<>^", format->bytes[0])) {
        ret->align = format->bytes[0];
        at = 1;
    }
    if (at < format->n && (format->bytes[at] == '+' || format->bytes[at] == ' ')) {
        ret->sign = format->bytes[at++];
    }
    if (at < format->n && format->bytes[at] == '0') {
        ret->zero = true;
        at++;
    }
    read_size(format, &at, ret);
    if (at < format->n && format->bytes[at] && strchr("sdxXofeg", format->bytes[at])) {
        ret->kind = format->bytes[at++];
    }
    return at == format->n ? JINJA_OK : refuse(run, "unknown specification behind the colon of {}");
}

/* *ret: the argument that a field names by number or keyword, or the next one, and then its attributes. */
static int field_value(struct jinja_run *run, const struct jinja_string *field, const struct jinja_args *with,
                       size_t *next, struct jinja_value *ret)
{
    size_t at = 0;
    size_t number = 0;
    struct jinja_value name;
    int r;

    while (at < field->n && field->bytes[at] != '.') {
        number = number * 10 + (size_t)(uint8_t)(field->bytes[at] - '0');
        number = number > COUNT_MAX || !is_digit(field->bytes[at]) ? SIZE_MAX / 16 : number;
        at++;
    }
    number = at == 0 ? (*next)++ : number;
    if (number < with->n) {
        *ret = with->values[number];
    } else {
        const struct jinja_value *named = with->named ? jinja_dict_get(with->named, field->bytes, at) : NULL;

        if (!named) {
            return jinja_fail(run, "IndexError", "the format names a missing argument");
        }
        *ret = *named;
    }
    if (at == field->n) {
        return JINJA_OK;
    }
    r = jinja_string_cut(run, field, at + 1, field->n - at - 1, &name);
    return r ? r : jinja_get_path(run, ret, &name, ret);
}

/* Writes one "{...}" with @field between its braces. */
static int write_field(struct jinja_run *run, const struct jinja_string *field, const struct jinja_args *with,
                       size_t *next)
{
    const char *colon = memchr(field->bytes, ':', field->n);
    const size_t n_name = colon ? (size_t)(colon - field->bytes) : field->n;
    struct jinja_value name;
    struct jinja_value rest;
    struct jinja_value value;
    struct spec spec = { .precision = -1 };
    int r = jinja_string_cut(run, field, 0, n_name, &name);

    if (memchr(field->bytes, '!', n_name) || memchr(field->bytes, '[', n_name)) {
        return refuse(run, "conversions and items in {}");
    }
    r = r ? r : field_value(run, name.string, with, next, &value);
    if (!r && colon) {
        r = jinja_string_cut(run, field, n_name + 1, field->n - n_name - 1, &rest);
        r = r ? r : read_spec(run, rest.string, &spec);
    }
    return r ? r : write_spec(run, &spec, &value);
}

int jinja_format_braces(struct jinja_run *run, const struct jinja_string *format, const struct jinja_args *with,
                        struct jinja_value *ret)
{
    const size_t from = run->out.n;
    size_t next = 0;
    int r = JINJA_OK;

    for (size_t at = 0; !r && at < format->n; at++) {
        const char c = format->bytes[at];
        const char *end;
        struct jinja_value field;

        if (c != '{' && c != '}') {
            r = jinja_out_part(run, format, at, 1);
            continue;
        }
        if (at + 1 < format->n && format->bytes[at + 1] == c) {
            r = jinja_out_part(run, format, at++, 1);
            continue;
        }
        end = c == '{' ? memchr(format->bytes + at, '}', format->n - at) : NULL;
        if (!end) {
            return jinja_fail(run, "ValueError", "Single '%c' encountered in format string", c);
        }
        r = jinja_string_cut(run, format, at + 1, (size_t)(end - format->bytes) - at - 1, &field);
        r = r ? r : write_field(run, field.string, with, &next);
        at = (size_t)(end - format->bytes);
    }
    r = r ? r : jinja_run_count(run, format->n / 16);
    return r ? r : jinja_out_take(run, from, ret);
}
