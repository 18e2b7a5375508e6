/*
 * str(), repr() and json.dumps(). Recursion is bounded as all else, since a namespace may hold itself.
 */
#include "jinja/jinja_show.h"
#include "base/utf8.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_node.h"
#include "jinja/jinja_run.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers */

/* Lays out @digits (no point in them) times 10^(exponent - n + 1), as Python does. */
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

size_t jinja_real_text(double real, char *text)
{
    char spelt[JINJA_REAL_BYTES];
    char digits[20] = { 0 };
    int n = 0;
    size_t at = 0;

    if (isnan(real) || isinf(real)) {
        return (size_t)snprintf(text, JINJA_REAL_BYTES, "%s", isnan(real) ? "nan" : real < 0 ? "-inf" : "inf");
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

static int write_number(struct jinja_run *run, const struct jinja_value *value, bool python)
{
    const enum jinja_mark mark = value->foreign ? JINJA_FOREIGN : JINJA_SCAFFOLD;
    char text[JINJA_REAL_BYTES];
    size_t n;

    if (value->kind == JINJA_BOOL) {
        return jinja_out_text(run, python ? (value->truth ? "True" : "False") : (value->truth ? "true" : "false"),
                              mark);
    }
    if (value->kind == JINJA_INT) {
        n = (size_t)snprintf(text, sizeof(text), "%" PRId64, value->number);
    } else if (!python && !isfinite(value->real)) {
        n = (size_t)snprintf(text, sizeof(text), "%s",
                             isnan(value->real) ? "NaN"
                             : value->real < 0  ? "-Infinity"
                                                : "Infinity");
    } else {
        n = jinja_real_text(value->real, text);
    }
    return jinja_out_write(run, text, n, mark);
}

/* ---- repr() */

/* How a character is written in repr(), or 0 where it stands for itself. */
static size_t escape_repr(uint32_t point, uint8_t byte, char quote, char *text)
{
    if (point == (uint8_t)quote || point == '\\') {
        return (size_t)snprintf(text, 12, "\\%c", (char)point);
    }
    if (point == '\n' || point == '\r' || point == '\t') {
        return (size_t)snprintf(text, 12, "\\%c", point == '\n' ? 'n' : point == '\r' ? 'r' : 't');
    }
    if (point != JINJA_CHAR_BAD && jinja_char_is_printable(point)) {
        return 0;
    }
    point = point == JINJA_CHAR_BAD ? byte : point;
    return (size_t)snprintf(text, 12, point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x", point);
}

static int repr_string(struct jinja_run *run, const struct jinja_string *string)
{
    const bool has_single = memchr(string->bytes, '\'', string->n) != NULL;
    const bool has_double = memchr(string->bytes, '"', string->n) != NULL;
    const char quote = has_single && !has_double ? '"' : '\'';
    int r = jinja_out_write(run, &quote, 1, JINJA_FOREIGN);

    for (size_t at = 0; !r && at < string->n;) {
        char text[12];
        size_t n;
        const uint32_t point = jinja_char_at(string, at, &n);
        const size_t n_text = escape_repr(point, (uint8_t)string->bytes[at], quote, text);

        r = n_text ? jinja_out_write(run, text, n_text, jinja_string_mark(string, at))
                   : jinja_out_part(run, string, at, n);
        at += n;
    }
    r = r ? r : jinja_run_count(run, string->n / 16);
    return r ? r : jinja_out_write(run, &quote, 1, JINJA_FOREIGN);
}

static int repr_list(struct jinja_run *run, const struct jinja_list *list)
{
    static const struct {
        const char *open;
        const char *close;
    } brackets[JINJA_FLAVOUR_COUNT] = {
        [JINJA_FLAVOUR_LIST] = { "[", "]" },
        [JINJA_FLAVOUR_TUPLE] = { "(", ")" },
        [JINJA_FLAVOUR_RANGE] = { "range(", ")" },
        [JINJA_FLAVOUR_KEYS] = { "dict_keys([", "])" },
        [JINJA_FLAVOUR_VALUES] = { "dict_values([", "])" },
        [JINJA_FLAVOUR_ITEMS] = { "dict_items([", "])" },
        [JINJA_FLAVOUR_GENERATOR] = { "[", "]" }, /* Python would show an address */
    };
    int r = jinja_out_text(run, brackets[list->flavour].open, JINJA_FOREIGN);

    if (list->flavour == JINJA_FLAVOUR_RANGE) {
        const int64_t first = list->n ? list->items[0].number : 0;
        const int64_t step = list->n > 1 ? list->items[1].number - first : 1;
        char text[80];

        snprintf(text, sizeof(text), "%" PRId64 ", %" PRId64, first, first + (int64_t)list->n * step);
        r = r ? r : jinja_out_text(run, text, JINJA_FOREIGN);
        if (!r && step != 1) {
            snprintf(text, sizeof(text), ", %" PRId64, step);
            r = jinja_out_text(run, text, JINJA_FOREIGN);
        }
        return r ? r : jinja_out_text(run, ")", JINJA_FOREIGN);
    }
    for (size_t i = 0; !r && i < list->n; i++) {
        r = i > 0 ? jinja_out_text(run, ", ", JINJA_FOREIGN) : JINJA_OK;
        r = r ? r : jinja_show_repr(run, &list->items[i]);
    }
    if (!r && list->flavour == JINJA_FLAVOUR_TUPLE && list->n == 1) {
        r = jinja_out_text(run, ",", JINJA_FOREIGN);
    }
    return r ? r : jinja_out_text(run, brackets[list->flavour].close, JINJA_FOREIGN);
}

static int repr_dict(struct jinja_run *run, const struct jinja_dict *dict)
{
    int r = jinja_out_text(run, "{", JINJA_FOREIGN);

    for (size_t i = 0; !r && i < dict->n; i++) {
        r = i > 0 ? jinja_out_text(run, ", ", JINJA_FOREIGN) : JINJA_OK;
        r = r ? r : jinja_show_repr(run, &dict->pairs[i].key);
        r = r ? r : jinja_out_text(run, ": ", JINJA_FOREIGN);
        r = r ? r : jinja_show_repr(run, &dict->pairs[i].value);
    }
    return r ? r : jinja_out_text(run, "}", JINJA_FOREIGN);
}

static int repr_namespace(struct jinja_run *run, const struct jinja_dict *dict)
{
    int r = jinja_out_text(run, "<Namespace ", JINJA_FOREIGN);

    r = r ? r : repr_dict(run, dict);
    return r ? r : jinja_out_text(run, ">", JINJA_FOREIGN);
}

static int repr(struct jinja_run *run, const struct jinja_value *value)
{
    switch (value->kind) {
    case JINJA_UNDEFINED:
        return jinja_out_text(run, "Undefined", JINJA_SCAFFOLD);
    case JINJA_NONE:
        return jinja_out_text(run, "None", JINJA_SCAFFOLD);
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_FLOAT:
        return write_number(run, value, true);
    case JINJA_STRING:
        return repr_string(run, value->string);
    case JINJA_LIST:
        return repr_list(run, value->list);
    case JINJA_DICT:
        return repr_dict(run, value->dict);
    case JINJA_NAMESPACE:
        return repr_namespace(run, value->dict);
    case JINJA_MACRO:
    case JINJA_BUILTIN:
    case JINJA_METHOD:
    case JINJA_LOOP:
    case JINJA_KIND_COUNT:
        break;
    }
    /* Python would show an address. */
    return jinja_out_text(run, value->kind == JINJA_MACRO ? "<Macro>" : "<function>", JINJA_SCAFFOLD);
}

int jinja_show_repr(struct jinja_run *run, const struct jinja_value *value)
{
    int r = jinja_run_enter(run);

    r = r ? r : jinja_run_count(run, 1);
    r = r ? r : repr(run, value);
    jinja_run_leave(run);
    return r;
}

int jinja_show_str(struct jinja_run *run, const struct jinja_value *value)
{
    if (value->kind == JINJA_STRING) {
        return jinja_out_string(run, value->string);
    }
    return value->kind == JINJA_UNDEFINED ? JINJA_OK : jinja_show_repr(run, value);
}

/* ---- json.dumps() */

struct json_run {
    struct jinja_run *run;
    const struct jinja_json *how;
    uint32_t level;
};

static int json_value(struct json_run *json, const struct jinja_value *value);

static size_t json_unit(uint32_t unit, char *text)
{
    return (size_t)snprintf(text, 16, "\\u%04x", unit);
}

/* How a character is written in a JSON string, or 0 where it stands for itself. */
static size_t escape_json(uint32_t point, bool ascii, char *text)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *place = point > 0 && point < 0x80 ? strchr(plain, (int)point) : NULL;

    if (place) {
        return (size_t)snprintf(text, 16, "\\%c", letters[place - plain]);
    }
    if (point < 0x20) {
        return json_unit(point, text);
    }
    if (!ascii || point < 0x80 || point == JINJA_CHAR_BAD) {
        return 0;
    }
    if (point < 0x10000) {
        return json_unit(point, text);
    }
    point -= 0x10000;
    return json_unit(0xd800 + (point >> 10), text) + json_unit(0xdc00 + (point & 0x3ff), text + 6);
}

static int json_string(struct json_run *json, const struct jinja_string *string)
{
    struct jinja_run *run = json->run;
    size_t from = 0;
    int r = jinja_out_text(run, "\"", JINJA_FOREIGN);

    for (size_t at = 0; !r && at < string->n;) {
        char text[16];
        size_t n;
        const size_t n_text = escape_json(jinja_char_at(string, at, &n), json->how->ascii, text);

        if (n_text > 0) {
            r = jinja_out_part(run, string, from, at - from);
            r = r ? r : jinja_out_write(run, text, n_text, jinja_string_mark(string, at));
            from = at + n;
        }
        at += n;
    }
    r = r ? r : jinja_out_part(run, string, from, string->n - from);
    r = r ? r : jinja_run_count(run, string->n / 16);
    return r ? r : jinja_out_text(run, "\"", JINJA_FOREIGN);
}

/* What stands before an element: the comma, and with an indent a new line. */
static int json_gap(struct json_run *json, bool comma)
{
    struct jinja_run *run = json->run;
    const struct jinja_json *how = json->how;
    int r = JINJA_OK;

    if (comma) {
        r = how->comma ? jinja_out_string(run, how->comma)
                       : jinja_out_text(run, how->indent ? "," : ", ", JINJA_FOREIGN);
    }
    if (!how->indent) {
        return r;
    }
    r = r ? r : jinja_out_text(run, "\n", JINJA_FOREIGN);
    for (uint32_t i = 0; !r && i < json->level; i++) {
        r = jinja_out_write(run, how->indent->bytes, how->indent->n, JINJA_FOREIGN);
    }
    return r;
}

static int json_list(struct json_run *json, const struct jinja_list *list)
{
    int r;

    if (list->n == 0) {
        return jinja_out_text(json->run, "[]", JINJA_FOREIGN);
    }
    r = jinja_out_text(json->run, "[", JINJA_FOREIGN);
    json->level++;
    for (size_t i = 0; !r && i < list->n; i++) {
        r = json_gap(json, i > 0);
        r = r ? r : json_value(json, &list->items[i]);
    }
    json->level--;
    r = r ? r : json_gap(json, false);
    return r ? r : jinja_out_text(json->run, "]", JINJA_FOREIGN);
}

static int json_key(struct json_run *json, const struct jinja_value *key)
{
    int r;

    if (key->kind == JINJA_STRING) {
        return json_string(json, key->string);
    }
    if (key->kind != JINJA_NONE && !jinja_is_number(key)) {
        return jinja_fail(json->run, "TypeError", "keys must be str, int, float, bool or None, not %s",
                          jinja_value_type(key));
    }
    r = jinja_out_text(json->run, "\"", JINJA_FOREIGN);
    r = r ? r : json_value(json, key);
    return r ? r : jinja_out_text(json->run, "\"", JINJA_FOREIGN);
}

static int json_dict(struct json_run *json, const struct jinja_dict *dict)
{
    struct jinja_run *run = json->run;
    int r;

    if (dict->n == 0) {
        return jinja_out_text(run, "{}", JINJA_FOREIGN);
    }
    r = jinja_out_text(run, "{", JINJA_FOREIGN);
    json->level++;
    for (size_t i = 0; !r && i < dict->n; i++) {
        r = json_gap(json, i > 0);
        r = r ? r : json_key(json, &dict->pairs[i].key);
        if (!r) {
            r = json->how->colon ? jinja_out_string(run, json->how->colon) : jinja_out_text(run, ": ", JINJA_FOREIGN);
        }
        r = r ? r : json_value(json, &dict->pairs[i].value);
    }
    json->level--;
    r = r ? r : json_gap(json, false);
    return r ? r : jinja_out_text(run, "}", JINJA_FOREIGN);
}

/* The same pairs by the order of their keys. */
static int json_sorted(struct json_run *json, const struct jinja_dict *dict)
{
    struct jinja_value pairs;
    struct jinja_value sorted;
    int r = jinja_sorted_items(json->run, dict, &pairs);

    r = r ? r : jinja_dict_new(json->run, &sorted);
    for (size_t i = 0; !r && i < pairs.list->n; i++) {
        const struct jinja_list *pair = pairs.list->items[i].list;

        r = jinja_dict_put(json->run, sorted.dict, &pair->items[0], &pair->items[1]);
    }
    return r ? r : json_dict(json, sorted.dict);
}

static int json_value(struct json_run *json, const struct jinja_value *value)
{
    struct jinja_run *run = json->run;
    int r = jinja_run_enter(run);

    r = r ? r : jinja_run_count(run, 1);
    if (r) {
        return r;
    }
    if (value->kind == JINJA_STRING) {
        r = json_string(json, value->string);
    } else if (value->kind == JINJA_NONE) {
        r = jinja_out_text(run, "null", JINJA_SCAFFOLD);
    } else if (jinja_is_number(value)) {
        r = write_number(run, value, false);
    } else if (value->kind == JINJA_DICT) {
        r = json->how->sort ? json_sorted(json, value->dict) : json_dict(json, value->dict);
    } else if (value->kind == JINJA_LIST && value->list->flavour <= JINJA_FLAVOUR_TUPLE) {
        r = json_list(json, value->list);
    } else {
        r = jinja_fail(run, "TypeError", "Object of type %s is not JSON serializable", jinja_value_type(value));
    }
    jinja_run_leave(run);
    return r;
}

int jinja_show_json(struct jinja_run *run, const struct jinja_value *value, const struct jinja_json *how)
{
    struct json_run json = { .run = run, .how = how };

    return json_value(&json, value);
}
