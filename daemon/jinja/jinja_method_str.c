/*
 * Methods of strings. The string itself is the first argument of each.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_format.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"
#include "jinja/jinja_text.h"
#include <string.h>

static const struct jinja_string *self_of(const struct jinja_args *args)
{
    return args->values[0].string;
}

static int strip(struct jinja_run *run, const struct jinja_args *args, bool left, bool right, struct jinja_value *ret)
{
    const struct jinja_string *set;
    int r = jinja_args_string(run, &args->values[1], &set);

    return r ? r : jinja_text_strip(run, self_of(args), set, left, right, ret);
}

static int str_strip(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return strip(run, args, true, true, ret);
}

static int str_lstrip(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return strip(run, args, true, false, ret);
}

static int str_rstrip(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return strip(run, args, false, true, ret);
}

static int str_upper(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_text_case(run, self_of(args), JINJA_CASE_UPPER, ret);
}

static int str_lower(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_text_case(run, self_of(args), JINJA_CASE_LOWER, ret);
}

static int str_swapcase(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_text_case(run, self_of(args), JINJA_CASE_SWAP, ret);
}

static int str_title(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_text_case(run, self_of(args), JINJA_CASE_TITLE, ret);
}

static int str_capitalize(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_text_case(run, self_of(args), JINJA_CASE_CAPITAL, ret);
}

/* A string that must be there. */
static int need(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string **ret)
{
    int r = jinja_args_string(run, value, ret);

    if (!r && !*ret) {
        r = jinja_fail(run, "TypeError", "must be str, not %s", jinja_value_type(value));
    }
    return r;
}

static int str_replace(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *old;
    const struct jinja_string *new_text;
    int64_t max;
    int r = need(run, &args->values[1], &old);

    r = r ? r : need(run, &args->values[2], &new_text);
    r = r ? r : jinja_args_int(run, &args->values[3], -1, &max);
    return r ? r : jinja_text_replace(run, self_of(args), old, new_text, max, ret);
}

/* ---- splitting */

/* What of a string is split: pieces are cut from the left or from the right, and put in order. */
struct split {
    const struct jinja_string *string;
    const struct jinja_string *by; /* NULL: runs of blanks */
    int64_t max;                   /* cuts still allowed; below 0: all */
};

static int push_cut(struct jinja_run *run, struct jinja_list *list, const struct jinja_string *string, size_t from,
                    size_t to)
{
    struct jinja_value piece;
    int r = jinja_string_cut(run, string, from, to - from, &piece);

    return r ? r : jinja_list_push(run, list, &piece);
}

static int split_at(struct jinja_run *run, struct split *split, struct jinja_list *list)
{
    size_t from = 0;
    int r = JINJA_OK;

    while (!r && split->max != 0) {
        const int64_t at = jinja_text_find(split->string, split->by, from);

        if (at < 0) {
            break;
        }
        r = push_cut(run, list, split->string, from, (size_t)at);
        from = (size_t)at + split->by->n;
        split->max -= split->max > 0;
    }
    return r ? r : push_cut(run, list, split->string, from, split->string->n);
}

static int split_blanks(struct jinja_run *run, struct split *split, struct jinja_list *list)
{
    const struct jinja_string *string = split->string;
    size_t at = 0;
    size_t n;
    int r = JINJA_OK;

    while (!r) {
        size_t from;

        while (at < string->n && jinja_char_is_space(jinja_char_at(string, at, &n))) {
            at += n;
        }
        if (at == string->n) {
            break;
        }
        if (split->max == 0) {
            return push_cut(run, list, string, at, string->n); /* with the blanks at its end */
        }
        from = at;
        while (at < string->n && !jinja_char_is_space(jinja_char_at(string, at, &n))) {
            at += n;
        }
        r = push_cut(run, list, string, from, at);
        split->max -= split->max > 0;
    }
    return r;
}

static int read_split(struct jinja_run *run, const struct jinja_args *args, struct split *ret)
{
    int r = jinja_args_string(run, &args->values[1], &ret->by);

    ret->string = self_of(args);
    r = r ? r : jinja_args_int(run, &args->values[2], -1, &ret->max);
    if (!r && ret->by && ret->by->n == 0) {
        r = jinja_fail(run, "ValueError", "empty separator");
    }
    return r ? r : jinja_run_count(run, ret->string->n / 16);
}

static int str_split(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct split split;
    int r = read_split(run, args, &split);

    r = r ? r : jinja_list_new(run, 0, JINJA_FLAVOUR_LIST, ret);
    if (r) {
        return r;
    }
    return split.by ? split_at(run, &split, ret->list) : split_blanks(run, &split, ret->list);
}

/* All pieces from the left; those that would be cuts too many are joined again: they lie side by side. */
static int str_rsplit(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct split split;
    struct jinja_value all;
    int64_t max;
    int r = read_split(run, args, &split);

    max = r ? 0 : split.max;
    split.max = -1;
    r = r ? r : jinja_list_new(run, 0, JINJA_FLAVOUR_LIST, &all);
    if (!r) {
        r = split.by ? split_at(run, &split, all.list) : split_blanks(run, &split, all.list);
    }
    if (r || max < 0 || (int64_t)all.list->n <= max + 1) {
        *ret = all;
        return r;
    }
    r = jinja_list_new(run, 0, JINJA_FLAVOUR_LIST, ret);
    if (!r) {
        const struct jinja_string *last = all.list->items[all.list->n - 1 - (size_t)max].string;

        r = push_cut(run, ret->list, split.string, 0, (size_t)(last->bytes + last->n - split.string->bytes));
    }
    for (size_t i = all.list->n - (size_t)max; !r && i < all.list->n; i++) {
        r = jinja_list_push(run, ret->list, &all.list->items[i]);
    }
    return r;
}

static int str_splitlines(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_text_lines(run, self_of(args), jinja_value_truth(&args->values[1]), ret);
}

static int partition(struct jinja_run *run, const struct jinja_args *args, bool last, struct jinja_value *ret)
{
    const struct jinja_string *self = self_of(args);
    const struct jinja_string *by;
    int64_t at;
    int r = need(run, &args->values[1], &by);

    if (!r && by->n == 0) {
        r = jinja_fail(run, "ValueError", "empty separator");
    }
    r = r ? r : jinja_list_new(run, 3, JINJA_FLAVOUR_TUPLE, ret);
    r = r ? r : jinja_run_count(run, self->n / 64);
    if (r) {
        return r;
    }
    at = jinja_text_find(self, by, 0);
    r = last ? jinja_text_find_last(run, self, by, &at) : JINJA_OK;
    if (r) {
        return r;
    }
    if (at < 0) {
        const size_t end = last ? 0 : self->n;

        r = push_cut(run, ret->list, self, 0, end);
        r = r ? r : push_cut(run, ret->list, self, 0, 0);
        return r ? r : push_cut(run, ret->list, self, end, last ? self->n : end);
    }
    r = push_cut(run, ret->list, self, 0, (size_t)at);
    r = r ? r : push_cut(run, ret->list, self, (size_t)at, (size_t)at + by->n);
    return r ? r : push_cut(run, ret->list, self, (size_t)at + by->n, self->n);
}

static int str_partition(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return partition(run, args, false, ret);
}

static int str_rpartition(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return partition(run, args, true, ret);
}

/* ---- looking */

static bool has_edge(const struct jinja_string *string, const struct jinja_string *edge, bool at_end)
{
    return edge->n <= string->n &&
           memcmp(string->bytes + (at_end ? string->n - edge->n : 0), edge->bytes, edge->n) == 0;
}

static int is_edge(struct jinja_run *run, const struct jinja_args *args, bool at_end, struct jinja_value *ret)
{
    const struct jinja_value *edges = &args->values[1];
    const struct jinja_string *edge;
    int r = JINJA_OK;

    *ret = jinja_bool(false);
    if (edges->kind != JINJA_LIST || edges->list->flavour != JINJA_FLAVOUR_TUPLE) {
        if (edges->kind != JINJA_STRING && edges->kind != JINJA_UNDEFINED) {
            return jinja_fail(run, "TypeError", "%s first arg must be str or a tuple of str, not %s",
                              at_end ? "endswith" : "startswith", jinja_value_type(edges));
        }
        r = need(run, edges, &edge);
        *ret = jinja_bool(!r && has_edge(self_of(args), edge, at_end));
        return r;
    }
    for (size_t i = 0; !r && !ret->truth && i < edges->list->n; i++) {
        r = need(run, &edges->list->items[i], &edge);
        *ret = jinja_bool(!r && has_edge(self_of(args), edge, at_end));
    }
    return r;
}

static int str_startswith(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return is_edge(run, args, false, ret);
}

static int str_endswith(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return is_edge(run, args, true, ret);
}

static int without_edge(struct jinja_run *run, const struct jinja_args *args, bool at_end, struct jinja_value *ret)
{
    const struct jinja_string *self = self_of(args);
    const struct jinja_string *edge;
    int r = need(run, &args->values[1], &edge);

    if (r) {
        return r;
    }
    if (!has_edge(self, edge, at_end)) {
        *ret = args->values[0];
        return JINJA_OK;
    }
    return jinja_string_cut(run, self, at_end ? 0 : edge->n, self->n - edge->n, ret);
}

static int str_removeprefix(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return without_edge(run, args, false, ret);
}

static int str_removesuffix(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return without_edge(run, args, true, ret);
}

/* The number of the character where @what begins, or -1. */
static int find(struct jinja_run *run, const struct jinja_args *args, bool last, int64_t *ret)
{
    const struct jinja_string *self = self_of(args);
    const struct jinja_string *what;
    int64_t start;
    size_t from;
    int r = need(run, &args->values[1], &what);

    r = r ? r : jinja_args_int(run, &args->values[2], 0, &start);
    r = r ? r : jinja_run_count(run, self->n / 16);
    if (r) {
        return r;
    }
    if (start < 0) {
        start += (int64_t)jinja_char_count(self);
        start = start < 0 ? 0 : start;
    }
    from = jinja_char_offset(self, (size_t)start);
    *ret = jinja_text_find(self, what, from);
    r = last ? jinja_text_find_last(run, self, what, ret) : JINJA_OK;
    if (r) {
        return r;
    }
    *ret = *ret < (int64_t)from ? -1 : *ret;
    if (*ret > 0) {
        const struct jinja_string before = { .bytes = self->bytes, .n = (size_t)*ret };

        *ret = (int64_t)jinja_char_count(&before);
    }
    return JINJA_OK;
}

static int str_find(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    *ret = jinja_int(-1);
    return find(run, args, false, &ret->number);
}

static int str_rfind(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    *ret = jinja_int(-1);
    return find(run, args, true, &ret->number);
}

static int str_index(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    int r = str_find(run, args, ret);

    return r || ret->number >= 0 ? r : jinja_fail(run, "ValueError", "substring not found");
}

static int str_rindex(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    int r = str_rfind(run, args, ret);

    return r || ret->number >= 0 ? r : jinja_fail(run, "ValueError", "substring not found");
}

static int str_count(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *self = self_of(args);
    const struct jinja_string *what;
    int64_t at = 0;
    int r = need(run, &args->values[1], &what);

    *ret = jinja_int(0);
    r = r ? r : jinja_run_count(run, self->n / 16);
    if (!r && what->n == 0) {
        ret->number = (int64_t)jinja_char_count(self) + 1;
        return JINJA_OK;
    }
    while (!r && (at = jinja_text_find(self, what, (size_t)at)) >= 0) {
        ret->number++;
        at += (int64_t)what->n;
    }
    return r;
}

/* ---- building */

static int str_join(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const size_t from = run->out.n;
    struct jinja_list *list;
    int r = jinja_value_elements(run, &args->values[1], &list);

    for (size_t i = 0; !r && i < list->n; i++) {
        const struct jinja_value *item = &list->items[i];

        if (item->kind != JINJA_STRING) {
            return jinja_fail(run, "TypeError", "sequence item %zu: expected str instance, %s found", i,
                              jinja_value_type(item));
        }
        r = i > 0 ? jinja_out_string(run, self_of(args)) : JINJA_OK;
        r = r ? r : jinja_out_string(run, item->string);
        r = r ? r : jinja_run_count(run, 1);
    }
    return r ? r : jinja_out_take(run, from, ret);
}

static int pad(struct jinja_run *run, const struct jinja_args *args, int left, struct jinja_value *ret)
{
    const struct jinja_string *fill;
    int64_t width;
    int r = jinja_args_int(run, &args->values[1], 0, &width);

    r = r ? r : jinja_args_string(run, &args->values[2], &fill);
    if (!r && fill && jinja_char_count(fill) != 1) {
        r = jinja_fail(run, "TypeError", "The fill character must be exactly one character long");
    }
    return r ? r : jinja_text_pad(run, self_of(args), width, fill, left, ret);
}

static int str_ljust(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return pad(run, args, 0, ret);
}

static int str_rjust(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return pad(run, args, 1000, ret);
}

static int str_center(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return pad(run, args, 500, ret);
}

static int str_zfill(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string zero = { .bytes = "0", .n = 1 };
    const struct jinja_string *self = self_of(args);
    const bool has_sign = self->n > 0 && (self->bytes[0] == '-' || self->bytes[0] == '+');
    const size_t from = run->out.n;
    struct jinja_value rest;
    int64_t width;
    int r = jinja_args_int(run, &args->values[1], 0, &width);

    r = r ? r : jinja_string_cut(run, self, has_sign, self->n - has_sign, &rest);
    r = r ? r : jinja_text_pad(run, rest.string, width - has_sign, &zero, 1000, &rest);
    r = r ? r : jinja_out_part(run, self, 0, has_sign);
    r = r ? r : jinja_out_string(run, rest.string);
    return r ? r : jinja_out_take(run, from, ret);
}

static int str_format(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_args with = { .values = args->values + 1, .n = args->n - 1, .named = args->named };

    return jinja_format_braces(run, self_of(args), &with, ret);
}

static const struct jinja_builtin rows[] = {
    { "capitalize", str_capitalize, 1, false, { "self" } },
    { "casefold", str_lower, 1, false, { "self" } },
    { "center", str_center, 2, false, { "self", "width", "fillchar" } },
    { "count", str_count, 2, false, { "self", "sub" } },
    { "endswith", str_endswith, 2, false, { "self", "suffix" } },
    { "find", str_find, 2, false, { "self", "sub", "start" } },
    { "format", str_format, 1, true, { "self" } },
    { "index", str_index, 2, false, { "self", "sub", "start" } },
    { "join", str_join, 2, false, { "self", "iterable" } },
    { "ljust", str_ljust, 2, false, { "self", "width", "fillchar" } },
    { "lower", str_lower, 1, false, { "self" } },
    { "lstrip", str_lstrip, 1, false, { "self", "chars" } },
    { "partition", str_partition, 2, false, { "self", "sep" } },
    { "removeprefix", str_removeprefix, 2, false, { "self", "prefix" } },
    { "removesuffix", str_removesuffix, 2, false, { "self", "suffix" } },
    { "replace", str_replace, 3, false, { "self", "old", "new", "count" } },
    { "rfind", str_rfind, 2, false, { "self", "sub", "start" } },
    { "rindex", str_rindex, 2, false, { "self", "sub", "start" } },
    { "rjust", str_rjust, 2, false, { "self", "width", "fillchar" } },
    { "rpartition", str_rpartition, 2, false, { "self", "sep" } },
    { "rsplit", str_rsplit, 1, false, { "self", "sep", "maxsplit" } },
    { "rstrip", str_rstrip, 1, false, { "self", "chars" } },
    { "split", str_split, 1, false, { "self", "sep", "maxsplit" } },
    { "splitlines", str_splitlines, 1, false, { "self", "keepends" } },
    { "startswith", str_startswith, 2, false, { "self", "prefix" } },
    { "strip", str_strip, 1, false, { "self", "chars" } },
    { "swapcase", str_swapcase, 1, false, { "self" } },
    { "title", str_title, 1, false, { "self" } },
    { "upper", str_upper, 1, false, { "self" } },
    { "zfill", str_zfill, 2, false, { "self", "width" } },
};

const struct jinja_builtins jinja_methods_str = { rows, COUNTOF(rows) };
