/*
 * str(), repr() and json.dumps(). The depth is limited by jinja_run_enter(), since a namespace may contain itself.
 */
#include "jinja/jinja_show.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_sort.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers */

#define REAL_BYTES 40

/* Writes the number @digits * 10^(@exponent - @n + 1) with its point or exponent where Python puts it. */
static size_t lay_out(const char *digits, int n, int exponent, char *text)
{
    size_t at = 0;

    if (exponent < -4 || exponent >= 16) {
        text[at++] = digits[0];
        if (n > 1) {
            text[at++] = '.';
            memcpy(text + at, digits + 1, (size_t)n - 1);
            at += (size_t)n - 1;
        }
        return at + (size_t)snprintf(text + at, 8, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    }
    if (exponent < 0) {
        at += (size_t)snprintf(text, 8, "0.%.*s", -exponent - 1, "000");
        memcpy(text + at, digits, (size_t)n);
        return at + (size_t)n;
    }
    for (int i = 0; i < n || i <= exponent; i++) {
        text[at++] = i < n ? digits[i] : '0';
        if (i == exponent) {
            text[at++] = '.';
        }
    }
    if (n <= exponent + 1) {
        text[at++] = '0';
    }
    return at;
}

/* Writes the shortest digits that read back as @real, as repr() does. @text has REAL_BYTES. */
static size_t real_text(double real, char *text)
{
    char spelt[REAL_BYTES];
    char digits[20] = { 0 };
    int n = 0;
    size_t at = 0;

    if (isnan(real) || isinf(real)) {
        return (size_t)snprintf(text, REAL_BYTES, "%s", isnan(real) ? "nan" : real < 0 ? "-inf" : "inf");
    }
    for (int precision = 0; precision <= 16; precision++) {
        snprintf(spelt, sizeof(spelt), "%.*e", precision, real);
        if (strtod(spelt, NULL) == real) {
            break;
        }
    }
    if (spelt[0] == '-') {
        text[at++] = '-';
    }
    for (const char *from = spelt; *from && *from != 'e'; from++) {
        if (*from >= '0' && *from <= '9') {
            digits[n++] = *from;
        }
    }
    return at + lay_out(digits, n, (int)strtol(strchr(spelt, 'e') + 1, NULL, 10), text + at);
}

/* How a value is written: as repr() or str() does where @json is NULL, else as json.dumps(). */
struct writer {
    struct jinja_run *run;
    const struct jinja_json *json;
    uint32_t level;
};

static int write_value(struct writer *writer, const struct jinja_value *value);

/* Punctuation counts as foreign. */
static int put(struct writer *writer, const char *text)
{
    return jinja_out_text(writer->run, text, JINJA_FOREIGN);
}

static int write_number(struct writer *writer, const struct jinja_value *value)
{
    const bool is_json = writer->json != NULL;
    char text[REAL_BYTES];
    size_t n;

    if (value->kind == JINJA_BOOL) {
        n = (size_t)snprintf(text, sizeof(text), "%s", value->truth ? "True" : "False");
        text[0] = is_json ? (char)(text[0] | 0x20) : text[0];
    } else if (value->kind == JINJA_INT) {
        n = (size_t)snprintf(text, sizeof(text), "%" PRId64, value->number);
    } else if (is_json && isnan(value->real)) {
        n = (size_t)snprintf(text, sizeof(text), "NaN");
    } else if (is_json && isinf(value->real)) {
        n = (size_t)snprintf(text, sizeof(text), "%sInfinity", value->real < 0 ? "-" : "");
    } else {
        n = real_text(value->real, text);
    }
    return jinja_out_write(writer->run, text, n, value->foreign ? JINJA_FOREIGN : JINJA_SCAFFOLD);
}

/* ---- strings */

#define ESCAPE_BYTES 16

/* Writes the escape of a character in repr() to @text and returns its bytes; 0: the character is written as it is. */
static size_t escape_repr(uint32_t point, uint8_t byte, char quote, char *text)
{
    if (point == (uint8_t)quote || point == '\\') {
        return (size_t)snprintf(text, ESCAPE_BYTES, "\\%c", (char)point);
    }
    if (point == '\n' || point == '\r' || point == '\t') {
        return (size_t)snprintf(text, ESCAPE_BYTES, "\\%c", point == '\n' ? 'n' : point == '\r' ? 'r' : 't');
    }
    if (point != JINJA_CHAR_BAD && jinja_char_is_printable(point)) {
        return 0;
    }
    point = point == JINJA_CHAR_BAD ? byte : point;
    return (size_t)snprintf(text, ESCAPE_BYTES,
                            point < 0x100     ? "\\x%02x"
                            : point < 0x10000 ? "\\u%04x"
                                              : "\\U%08x",
                            point);
}

/* Writes the escape of a character in JSON to @text and returns its bytes; 0: the character is written as it is. */
static size_t escape_json(uint32_t point, bool ascii, char *text)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *known = point > 0 && point < 0x80 ? strchr(plain, (int)point) : NULL;

    if (known) {
        return (size_t)snprintf(text, ESCAPE_BYTES, "\\%c", letters[known - plain]);
    }
    if (point >= 0x20 && (!ascii || point < 0x80 || point == JINJA_CHAR_BAD)) {
        return 0;
    }
    if (point < 0x10000) {
        return (size_t)snprintf(text, ESCAPE_BYTES, "\\u%04x", point);
    }
    point -= 0x10000;
    return (size_t)snprintf(text, ESCAPE_BYTES, "\\u%04x\\u%04x", 0xd800 + (point >> 10), 0xdc00 + (point & 0x3ff));
}

static int write_string(struct writer *writer, const struct jinja_string *string)
{
    struct jinja_run *run = writer->run;
    const bool is_json = writer->json != NULL;
    const bool has_single = memchr(string->bytes, '\'', string->n) != NULL;
    const bool has_double = memchr(string->bytes, '"', string->n) != NULL;
    const char *quote = is_json || (has_single && !has_double) ? "\"" : "'";
    size_t from = 0;
    int r = put(writer, quote);

    for (size_t at = 0; !r && at < string->n;) {
        char text[ESCAPE_BYTES];
        size_t n;
        const uint32_t point = jinja_char_at(string, at, &n);
        const size_t n_text = is_json ? escape_json(point, writer->json->ascii, text)
                                      : escape_repr(point, (uint8_t)string->bytes[at], *quote, text);

        if (n_text > 0) {
            r = jinja_out_part(run, string, from, at - from);
            r = r ? r : jinja_out_write(run, text, n_text, jinja_string_mark(string, at));
            from = at + n;
        }
        at += n;
    }
    r = r ? r : jinja_out_part(run, string, from, string->n - from);
    r = r ? r : jinja_run_count(run, string->n / 16);
    return r ? r : put(writer, quote);
}

/* ---- containers */

/* Writes the comma before an element, and in JSON with an indent a new line. */
static int write_gap(struct writer *writer, bool comma)
{
    const struct jinja_json *json = writer->json;
    int r = JINJA_OK;

    if (comma && json && json->comma) {
        r = jinja_out_string(writer->run, json->comma);
    } else if (comma) {
        r = put(writer, json && json->indent ? "," : ", ");
    }
    if (!json || !json->indent) {
        return r;
    }
    r = r ? r : put(writer, "\n");
    for (uint32_t i = 0; !r && i < writer->level; i++) {
        r = jinja_out_write(writer->run, json->indent->bytes, json->indent->n, JINJA_FOREIGN);
    }
    return r;
}

static int write_range(struct writer *writer, const struct jinja_list *list)
{
    const int64_t first = list->n ? list->items[0].number : 0;
    const int64_t step = list->n > 1 ? list->items[1].number - first : 1;
    char text[96];
    int n = snprintf(text, sizeof(text), "range(%" PRId64 ", %" PRId64, first, first + (int64_t)list->n * step);

    if (step != 1) {
        n += snprintf(text + n, sizeof(text) - (size_t)n, ", %" PRId64, step);
    }
    text[n] = ')';
    return jinja_out_write(writer->run, text, (size_t)n + 1, JINJA_FOREIGN);
}

static int write_list(struct writer *writer, const struct jinja_value *value)
{
    const struct jinja_list *list = value->list;
    const bool is_tuple = !writer->json && jinja_is_tuple(value);
    /* Python would show the address of a generator. */
    const bool is_plain = writer->json || jinja_is_sequence(value) || list->flavour == JINJA_FLAVOUR_GENERATOR;
    int r;

    if (!is_plain && list->flavour == JINJA_FLAVOUR_RANGE) {
        return write_range(writer, list);
    }
    r = is_plain ? JINJA_OK : put(writer, jinja_value_name(value));
    r = r ? r : put(writer, is_tuple ? "(" : is_plain ? "[" : "([");
    writer->level++;
    for (size_t i = 0; !r && i < list->n; i++) {
        r = write_gap(writer, i > 0);
        r = r ? r : write_value(writer, &list->items[i]);
    }
    writer->level--;
    if (!r && list->n > 0) {
        r = is_tuple && list->n == 1 ? put(writer, ",") : write_gap(writer, false);
    }
    return r ? r : put(writer, is_tuple ? ")" : is_plain ? "]" : "])");
}

/* Writes a key of JSON, which is always a string. */
static int write_key(struct writer *writer, const struct jinja_value *key)
{
    int r;

    if (!writer->json || key->kind == JINJA_STRING) {
        return write_value(writer, key);
    }
    if (key->kind != JINJA_NONE && !jinja_is_number(key)) {
        return jinja_fail(writer->run, "TypeError", "keys must be str, int, float, bool or None, not %s",
                          jinja_value_type(key));
    }
    r = put(writer, "\"");
    r = r ? r : write_value(writer, key);
    return r ? r : put(writer, "\"");
}

/* *ret: a copy of @dict with its pairs sorted by their keys. */
static int sort_dict(struct jinja_run *run, const struct jinja_dict *dict, struct jinja_dict *ret)
{
    *ret = (struct jinja_dict){ .n = dict->n, .pairs = jinja_run_alloc(run, dict->n * sizeof(*ret->pairs)) };
    if (!ret->pairs) {
        return jinja_fail_full(run);
    }
    for (size_t i = 0; i < dict->n; i++) {
        ret->pairs[i] = dict->pairs[i];
    }
    return jinja_sort_pairs(run, ret->pairs, ret->n, false);
}

static int write_dict(struct writer *writer, const struct jinja_dict *dict)
{
    struct jinja_dict sorted;
    int r = JINJA_OK;

    if (writer->json && writer->json->sort) {
        r = sort_dict(writer->run, dict, &sorted);
        dict = &sorted;
    }
    r = r ? r : put(writer, "{");
    writer->level++;
    for (size_t i = 0; !r && i < dict->n; i++) {
        r = write_gap(writer, i > 0);
        r = r ? r : write_key(writer, &dict->pairs[i].key);
        if (!r) {
            r = writer->json && writer->json->colon ? jinja_out_string(writer->run, writer->json->colon)
                                                    : put(writer, ": ");
        }
        r = r ? r : write_value(writer, &dict->pairs[i].value);
    }
    writer->level--;
    if (!r && dict->n > 0) {
        r = write_gap(writer, false);
    }
    return r ? r : put(writer, "}");
}

/* ---- values */

/* Writes what JSON does not have. */
static int write_other(struct writer *writer, const struct jinja_value *value)
{
    int r;

    if (writer->json) {
        return jinja_fail(writer->run, "TypeError", "Object of type %s is not JSON serializable",
                          jinja_value_type(value));
    }
    if (value->kind == JINJA_NAMESPACE) {
        r = put(writer, "<Namespace ");
        r = r ? r : write_dict(writer, value->dict);
        return r ? r : put(writer, ">");
    }
    return jinja_out_text(writer->run,
                          value->kind == JINJA_UNDEFINED ? "Undefined"
                          : value->kind == JINJA_MACRO   ? "<Macro>" /* Python would show an address */
                                                         : "<function>",
                          JINJA_SCAFFOLD);
}

static int write_value(struct writer *writer, const struct jinja_value *value)
{
    struct jinja_run *run = writer->run;
    int r = jinja_run_enter(run);

    r = r ? r : jinja_run_count(run, 1);
    if (r) {
        return r;
    }
    if (value->kind == JINJA_STRING) {
        r = write_string(writer, value->string);
    } else if (value->kind == JINJA_NONE) {
        r = jinja_out_text(run, writer->json ? "null" : "None", JINJA_SCAFFOLD);
    } else if (jinja_is_number(value)) {
        r = write_number(writer, value);
    } else if (value->kind == JINJA_DICT) {
        r = write_dict(writer, value->dict);
    } else if (value->kind == JINJA_LIST && (!writer->json || jinja_is_sequence(value))) {
        r = write_list(writer, value);
    } else {
        r = write_other(writer, value);
    }
    jinja_run_leave(run);
    return r;
}

int jinja_show_repr(struct jinja_run *run, const struct jinja_value *value)
{
    return write_value(&(struct writer){ .run = run }, value);
}

int jinja_show_str(struct jinja_run *run, const struct jinja_value *value)
{
    if (value->kind == JINJA_STRING) {
        return jinja_out_string(run, value->string);
    }
    return value->kind == JINJA_UNDEFINED ? JINJA_OK : jinja_show_repr(run, value);
}

int jinja_show_json(struct jinja_run *run, const struct jinja_value *value, const struct jinja_json *how)
{
    return write_value(&(struct writer){ .run = run, .json = how }, value);
}
