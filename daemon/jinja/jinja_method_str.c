/*
 * Methods of strings. The string itself is the first argument of each.
 */
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_format.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_text.h"
#include <string.h>

static const struct jinja_string *self_of(const struct jinja_args *args)
{
    return args->values[0].string;
}

/* A string that must be given. */
static int need(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string **ret)
{
    int r = jinja_args_string(run, value, ret);

    if (!r && !*ret) {
        r = jinja_fail(run, "TypeError", "must be str, not %s", jinja_value_type(value));
    }
    return r;
}

/* strip, lstrip and rstrip. */
static int str_strip(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *set;
    int r = jinja_args_string(run, &args->values[1], &set);

    return r ? r : jinja_text_strip(run, self_of(args), set, args->variant, ret);
}

/* upper, lower and the like. */
static int str_case(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_text_case(run, self_of(args), (enum jinja_case)args->variant, ret);
}

/* isupper, isalpha and the like. */
static int str_is(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_text_is(run, self_of(args), (enum jinja_text_class)args->variant, ret);
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

enum { FORWARDS, BACKWARDS };

struct split {
    const struct jinja_string *string;
    const struct jinja_string *by; /* NULL: runs of blanks */
    int64_t max;                   /* cuts still allowed; below 0: all */
};

static int split_at(struct jinja_run *run, struct split *split, struct jinja_list *list)
{
    size_t from = 0;
    int r = JINJA_OK;

    while (!r && split->max != 0) {
        const int64_t at = jinja_text_find(split->string, split->by, from);

        if (at < 0) {
            break;
        }
        r = jinja_list_push_cut(run, list, split->string, from, (size_t)at - from);
        from = (size_t)at + split->by->n;
        split->max -= split->max > 0;
    }
    return r ? r : jinja_list_push_cut(run, list, split->string, from, split->string->n - from);
}

/* Returns the first place from @at on where a blank stands (@blank) or does not, or the end. */
static size_t skip_until(const struct jinja_string *string, size_t at, bool blank)
{
    size_t n;

    while (at < string->n && jinja_char_is_space(jinja_char_at(string, at, &n)) != blank) {
        at += n;
    }
    return at;
}

static int split_blanks(struct jinja_run *run, struct split *split, struct jinja_list *list)
{
    const struct jinja_string *string = split->string;
    size_t from = skip_until(string, 0, false);
    int r = JINJA_OK;

    while (!r && from < string->n) {
        /* The last piece keeps the blanks at its end. */
        const size_t to = split->max == 0 ? string->n : skip_until(string, from, true);

        r = jinja_list_push_cut(run, list, string, from, to - from);
        from = skip_until(string, to, false);
        split->max -= split->max > 0;
    }
    return r;
}

/* split and rsplit. From the right all cuts are made first; pieces beyond the maximum are joined again, which is one
 * cut since they lie side by side. */
static int str_split(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    struct split split = { .string = self_of(args) };
    const struct jinja_string *last;
    int64_t max;
    size_t n_joined;
    int r = jinja_args_string(run, &args->values[1], &split.by);

    r = r ? r : jinja_args_int(run, &args->values[2], -1, &max);
    if (!r && split.by && split.by->n == 0) {
        r = jinja_fail(run, "ValueError", "empty separator");
    }
    r = r ? r : jinja_run_count(run, split.string->n / 16);
    r = r ? r : jinja_list_new(run, 0, JINJA_FLAVOUR_LIST, ret);
    if (r) {
        return r;
    }
    split.max = args->variant == FORWARDS ? max : -1;
    r = split.by ? split_at(run, &split, ret->list) : split_blanks(run, &split, ret->list);
    if (r || args->variant == FORWARDS || max < 0 || (int64_t)ret->list->n <= max + 1) {
        return r;
    }
    n_joined = ret->list->n - (size_t)max;
    last = ret->list->items[n_joined - 1].string;
    r = jinja_string_cut(run, split.string, 0, (size_t)(last->bytes + last->n - split.string->bytes),
                         &ret->list->items[0]);
    memmove(ret->list->items + 1, ret->list->items + n_joined, (size_t)max * sizeof(*ret->list->items));
    ret->list->n = (size_t)max + 1;
    return r;
}

static int str_splitlines(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return jinja_text_lines(run, self_of(args), jinja_value_truth(&args->values[1]), ret);
}

/* partition and rpartition: what stands before the separator, the separator, what stands behind it. */
static int str_partition(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *self = self_of(args);
    const struct jinja_string *by;
    int64_t at;
    size_t from;
    size_t n;
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
    r = args->variant == BACKWARDS ? jinja_text_find_last(run, self, by, &at) : JINJA_OK;
    from = at >= 0 ? (size_t)at : args->variant == BACKWARDS ? 0 : self->n;
    n = at >= 0 ? by->n : 0;
    r = r ? r : jinja_list_push_cut(run, ret->list, self, 0, from);
    r = r ? r : jinja_list_push_cut(run, ret->list, self, from, n);
    return r ? r : jinja_list_push_cut(run, ret->list, self, from + n, self->n - from - n);
}

/* ---- searching */

enum { AT_START, AT_END };

static bool has_edge(const struct jinja_string *string, const struct jinja_string *edge, int side)
{
    return edge->n <= string->n &&
           memcmp(string->bytes + (side == AT_END ? string->n - edge->n : 0), edge->bytes, edge->n) == 0;
}

/* startswith and endswith, of a text or of one in a tuple. */
static int str_has_edge(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_value *edges = &args->values[1];
    const struct jinja_value *items = jinja_is_tuple(edges) ? edges->list->items : edges;
    const size_t n = jinja_is_tuple(edges) ? edges->list->n : 1;
    const struct jinja_string *edge;
    int r = JINJA_OK;

    *ret = jinja_bool(false);
    if (!jinja_is_tuple(edges) && edges->kind != JINJA_STRING && edges->kind != JINJA_UNDEFINED) {
        return jinja_fail(run, "TypeError", "%s first arg must be str or a tuple of str, not %s",
                          args->variant == AT_END ? "endswith" : "startswith", jinja_value_type(edges));
    }
    for (size_t i = 0; !r && !ret->truth && i < n; i++) {
        r = need(run, &items[i], &edge);
        *ret = jinja_bool(!r && has_edge(self_of(args), edge, args->variant));
    }
    return r;
}

/* removeprefix and removesuffix. */
static int str_remove_edge(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *self = self_of(args);
    const struct jinja_string *edge;
    int r = need(run, &args->values[1], &edge);

    if (r) {
        return r;
    }
    if (!has_edge(self, edge, args->variant)) {
        *ret = args->values[0];
        return JINJA_OK;
    }
    return jinja_string_cut(run, self, args->variant == AT_END ? 0 : edge->n, self->n - edge->n, ret);
}

enum { LAST = 1, MUST = 2 };

/* find, rfind, index and rindex: the number of the character where the text begins, or -1 (LAST: of the last one; MUST:
 * not finding it fails). */
static int str_find(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *self = self_of(args);
    const struct jinja_string *what;
    int64_t start;
    int64_t at;
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
    at = jinja_text_find(self, what, from);
    r = args->variant & LAST ? jinja_text_find_last(run, self, what, &at) : JINJA_OK;
    if (r) {
        return r;
    }
    if (at < (int64_t)from) {
        *ret = jinja_int(-1);
        return args->variant & MUST ? jinja_fail(run, "ValueError", "substring not found") : JINJA_OK;
    }
    *ret = jinja_int((int64_t)jinja_char_count(&(struct jinja_string){ .bytes = self->bytes, .n = (size_t)at }));
    return JINJA_OK;
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

/* ljust, rjust and center. */
static int str_pad(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *fill;
    int64_t width;
    int r = jinja_args_int(run, &args->values[1], 0, &width);

    r = r ? r : jinja_args_string(run, &args->values[2], &fill);
    if (!r && fill && jinja_char_count(fill) != 1) {
        r = jinja_fail(run, "TypeError", "The fill character must be exactly one character long");
    }
    return r ? r : jinja_text_pad(run, self_of(args), width, fill, (enum jinja_pad)args->variant, ret);
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
    r = r ? r : jinja_text_pad(run, rest.string, width - has_sign, &zero, JINJA_PAD_LEFT, &rest);
    r = r ? r : jinja_out_part(run, self, 0, has_sign);
    r = r ? r : jinja_out_string(run, rest.string);
    return r ? r : jinja_out_take(run, from, ret);
}

static int str_format(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_args with = { .values = args->values + 1, .n = args->n - 1, .named = args->named };

    return jinja_format_braces(run, self_of(args), &with, ret);
}

const struct jinja_builtin jinja_methods_str[] = {
    { "capitalize", str_case, JINJA_CASE_CAPITAL, 1, { "self" } },
    { "casefold", str_case, JINJA_CASE_LOWER, 1, { "self" } },
    { "center", str_pad, JINJA_PAD_BOTH, 2, { "self", "width", "fillchar" } },
    { "count", str_count, 0, 2, { "self", "sub" } },
    { "endswith", str_has_edge, AT_END, 2, { "self", "suffix" } },
    { "find", str_find, 0, 2, { "self", "sub", "start" } },
    { "format", str_format, 0, 0, { NULL } },
    { "index", str_find, MUST, 2, { "self", "sub", "start" } },
    { "isalnum", str_is, JINJA_TEXT_ALNUM, 1, { "self" } },
    { "isalpha", str_is, JINJA_TEXT_ALPHA, 1, { "self" } },
    { "isascii", str_is, JINJA_TEXT_ASCII, 1, { "self" } },
    { "isdecimal", str_is, JINJA_TEXT_DIGIT, 1, { "self" } },
    { "isdigit", str_is, JINJA_TEXT_DIGIT, 1, { "self" } },
    { "islower", str_is, JINJA_TEXT_LOWER, 1, { "self" } },
    { "isnumeric", str_is, JINJA_TEXT_DIGIT, 1, { "self" } },
    { "isprintable", str_is, JINJA_TEXT_PRINTABLE, 1, { "self" } },
    { "isspace", str_is, JINJA_TEXT_SPACE, 1, { "self" } },
    { "isupper", str_is, JINJA_TEXT_UPPER, 1, { "self" } },
    { "join", str_join, 0, 2, { "self", "iterable" } },
    { "ljust", str_pad, JINJA_PAD_RIGHT, 2, { "self", "width", "fillchar" } },
    { "lower", str_case, JINJA_CASE_LOWER, 1, { "self" } },
    { "lstrip", str_strip, JINJA_LEFT, 1, { "self", "chars" } },
    { "partition", str_partition, FORWARDS, 2, { "self", "sep" } },
    { "removeprefix", str_remove_edge, AT_START, 2, { "self", "prefix" } },
    { "removesuffix", str_remove_edge, AT_END, 2, { "self", "suffix" } },
    { "replace", str_replace, 0, 3, { "self", "old", "new", "count" } },
    { "rfind", str_find, LAST, 2, { "self", "sub", "start" } },
    { "rindex", str_find, LAST | MUST, 2, { "self", "sub", "start" } },
    { "rjust", str_pad, JINJA_PAD_LEFT, 2, { "self", "width", "fillchar" } },
    { "rpartition", str_partition, BACKWARDS, 2, { "self", "sep" } },
    { "rsplit", str_split, BACKWARDS, 1, { "self", "sep", "maxsplit" } },
    { "rstrip", str_strip, JINJA_RIGHT, 1, { "self", "chars" } },
    { "split", str_split, FORWARDS, 1, { "self", "sep", "maxsplit" } },
    { "splitlines", str_splitlines, 0, 1, { "self", "keepends" } },
    { "startswith", str_has_edge, AT_START, 2, { "self", "prefix" } },
    { "strip", str_strip, JINJA_LEFT | JINJA_RIGHT, 1, { "self", "chars" } },
    { "swapcase", str_case, JINJA_CASE_SWAP, 1, { "self" } },
    { "title", str_case, JINJA_CASE_TITLE, 1, { "self" } },
    { "upper", str_case, JINJA_CASE_UPPER, 1, { "self" } },
    { "zfill", str_zfill, 0, 2, { "self", "width" } },
    { NULL },
};
