/*
 * Filters of texts, and those of any value: length, default, tojson. The subject is the first argument of each.
 */
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_format.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"
#include "jinja/jinja_text.h"
#include <string.h>

/* upper, lower, title and capitalize. */
static int filter_case(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    int r = jinja_args_text(run, &args->values[0], &text);

    return r ? r : jinja_text_case(run, text, (enum jinja_case)args->variant, ret);
}

static int filter_string(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    int r = jinja_args_text(run, &args->values[0], &text);

    if (!r) {
        *ret = jinja_str(text);
    }
    return r;
}

static int filter_trim(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    const struct jinja_string *set;
    int r = jinja_args_text(run, &args->values[0], &text);

    r = r ? r : jinja_args_string(run, &args->values[1], &set);
    return r ? r : jinja_text_strip(run, text, set, JINJA_LEFT | JINJA_RIGHT, ret);
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
    return r ? r : jinja_text_pad(run, text, width, NULL, JINJA_PAD_BOTH, ret);
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
    /* One more newline, so that an empty last line counts as a line. */
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
        *ret = jinja_str(text);
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
    int r = JINJA_OK;

    if (value->kind == JINJA_STRING) {
        n = (int64_t)jinja_char_count(value->string);
        r = jinja_run_count(run, value->string->n / 64);
    } else if (value->kind == JINJA_DICT) {
        n = (int64_t)value->dict->n;
    } else if (value->kind == JINJA_LIST && value->list->flavour != JINJA_FLAVOUR_GENERATOR) {
        n = (int64_t)value->list->n;
    } else if (value->kind != JINJA_UNDEFINED) {
        return jinja_fail(run, "TypeError", "object of type '%s' has no len()", jinja_value_type(value));
    }
    *ret = jinja_int(n);
    return r;
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

/* Reads separators=(",", ":"). */
static int read_separators(struct jinja_run *run, const struct jinja_value *value, struct jinja_json *how)
{
    if (!jinja_is_set(value)) {
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

/* The widest indent that is given as a number; its blanks are cut from one constant. */
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
    } else if (!r && jinja_is_set(indent)) {
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
    int r = jinja_args_text(run, &args->values[0], &format);

    if (!r && args->named && args->n == 1) {
        with = (struct jinja_value){ .kind = JINJA_DICT, .dict = args->named };
        return jinja_format_percent(run, format, &with, ret);
    }
    r = r ? r : jinja_list_new(run, args->n, JINJA_FLAVOUR_TUPLE, &with);
    r = r ? r : jinja_list_extend(run, with.list, args->values + 1, args->n - 1);
    return r ? r : jinja_format_percent(run, format, &with, ret);
}

const struct jinja_builtin jinja_filters_text[] = {
    { "capitalize", filter_case, JINJA_CASE_CAPITAL, 1, { "s" } },
    { "center", filter_center, 0, 1, { "value", "width" } },
    { "count", filter_length, 0, 1, { "obj" } },
    { "d", filter_default, 0, 0, { "value", "default_value", "boolean" } },
    { "default", filter_default, 0, 0, { "value", "default_value", "boolean" } },
    { "e", filter_escape, 0, 1, { "s" } },
    { "escape", filter_escape, 0, 1, { "s" } },
    { "forceescape", filter_escape, 0, 1, { "value" } },
    { "format", filter_format, 0, 0, { NULL } },
    { "indent", filter_indent, 0, 1, { "s", "width", "first", "blank" } },
    { "length", filter_length, 0, 1, { "obj" } },
    { "lower", filter_case, JINJA_CASE_LOWER, 1, { "s" } },
    { "replace", filter_replace, 0, 3, { "s", "old", "new", "count" } },
    { "safe", filter_string, 0, 1, { "value" } },
    { "string", filter_string, 0, 1, { "object" } },
    { "title", filter_case, JINJA_CASE_TITLE_FILTER, 1, { "s" } },
    { "tojson", filter_tojson, 0, 1, { "x", "ensure_ascii", "indent", "separators", "sort_keys" } },
    { "trim", filter_trim, 0, 1, { "value", "chars" } },
    { "truncate", filter_truncate, 0, 1, { "s", "length", "killwords", "end", "leeway" } },
    { "upper", filter_case, JINJA_CASE_UPPER, 1, { "s" } },
    { "wordcount", filter_wordcount, 0, 1, { "s" } },
    { NULL },
};
