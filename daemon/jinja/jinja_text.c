#include "jinja/jinja_text.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include <string.h>

/* True if @point becomes upper case, where @before stands before it. */
static bool is_upper(enum jinja_case how, uint32_t before, bool is_first, uint32_t point)
{
    switch (how) {
    case JINJA_CASE_UPPER:
        return true;
    case JINJA_CASE_LOWER:
        return false;
    case JINJA_CASE_SWAP:
        return jinja_char_is_lower(point);
    case JINJA_CASE_CAPITAL:
        return is_first;
    case JINJA_CASE_TITLE:
        return is_first || !(jinja_char_is_upper(before) || jinja_char_is_lower(before));
    case JINJA_CASE_TITLE_FILTER:
        return is_first || jinja_char_is_space(before) || (before < 0x80 && before && strchr("-({[<", (int)before));
    }
    return false;
}

static size_t write_case(uint32_t point, enum jinja_case how, bool upper, uint8_t *out)
{
    if (!upper) {
        return jinja_char_lower(point, out);
    }
    return how == JINJA_CASE_CAPITAL || how == JINJA_CASE_TITLE ? jinja_char_title(point, out)
                                                                : jinja_char_upper(point, out);
}

int jinja_text_case(struct jinja_run *run, const struct jinja_string *string, enum jinja_case how,
                    struct jinja_value *ret)
{
    const size_t from = run->out.n;
    uint32_t before = 0;
    int r = jinja_run_count(run, string->n / 16);

    for (size_t at = 0; !r && at < string->n;) {
        uint8_t out[JINJA_CHAR_CASED_MAX];
        size_t n;
        const uint32_t point = jinja_char_at(string, at, &n);

        if (point == JINJA_CHAR_BAD) {
            r = jinja_out_part(run, string, at, n);
        } else {
            const size_t n_out = write_case(point, how, is_upper(how, before, at == 0, point), out);

            r = jinja_out_write(run, out, n_out, jinja_string_mark(string, at));
        }
        before = point;
        at += n;
    }
    return r ? r : jinja_out_take(run, from, ret);
}

static bool is_class(enum jinja_text_class wanted, uint32_t point)
{
    switch (wanted) {
    case JINJA_TEXT_ALPHA:
        return jinja_char_is_letter(point);
    case JINJA_TEXT_ALNUM:
        return jinja_char_is_letter(point) || jinja_char_is_digit(point);
    case JINJA_TEXT_DIGIT:
        return jinja_char_is_digit(point);
    case JINJA_TEXT_SPACE:
        return jinja_char_is_space(point);
    case JINJA_TEXT_PRINTABLE:
        return jinja_char_is_printable(point);
    case JINJA_TEXT_ASCII:
        return point < 0x80;
    case JINJA_TEXT_UPPER:
        return !jinja_char_is_lower(point);
    case JINJA_TEXT_LOWER:
        return !jinja_char_is_upper(point);
    }
    return false;
}

int jinja_text_is(struct jinja_run *run, const struct jinja_string *string, enum jinja_text_class wanted,
                  struct jinja_value *ret)
{
    bool is_so = true;
    bool has_letter = false; /* of the case that is wanted */

    for (size_t at = 0; is_so && at < string->n;) {
        size_t n;
        const uint32_t point = jinja_char_at(string, at, &n);

        is_so = is_class(wanted, point);
        has_letter = has_letter || (wanted == JINJA_TEXT_UPPER && jinja_char_is_upper(point)) ||
                     (wanted == JINJA_TEXT_LOWER && jinja_char_is_lower(point));
        at += n;
    }
    if (wanted == JINJA_TEXT_UPPER || wanted == JINJA_TEXT_LOWER) {
        is_so = is_so && has_letter;
    } else if (string->n == 0) {
        is_so = wanted == JINJA_TEXT_PRINTABLE || wanted == JINJA_TEXT_ASCII;
    }
    *ret = jinja_bool(is_so);
    return jinja_run_count(run, string->n / 16);
}

int64_t jinja_text_find(const struct jinja_string *string, const struct jinja_string *what, size_t from)
{
    const char *found;

    if (from > string->n) {
        return -1;
    }
    if (what->n == 0) {
        return (int64_t)from;
    }
    found = memmem(string->bytes + from, string->n - from, what->bytes, what->n);
    return found ? found - string->bytes : -1;
}

int jinja_text_find_last(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *what,
                         int64_t *ret)
{
    int r = jinja_run_count(run, string->n / 64);

    *ret = -1;
    if (what->n > string->n) {
        return r;
    }
    for (size_t at = string->n - what->n + 1; !r && at-- > 0;) {
        if (what->n > 0 && string->bytes[at] != what->bytes[0]) {
            continue;
        }
        if (memcmp(string->bytes + at, what->bytes, what->n) == 0) {
            *ret = (int64_t)at;
            break;
        }
        r = jinja_run_count(run, 1 + what->n / 64);
    }
    return r;
}

/* Writes "abc".replace("", "-"): @new_text before each character and at the end. */
static int replace_empty(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *new_text,
                         int64_t max)
{
    int r = JINJA_OK;

    for (size_t at = 0; !r && at <= string->n;) {
        const size_t n = at < string->n ? jinja_char_bytes(string, at) : 0;

        r = max != 0 ? jinja_out_string(run, new_text) : JINJA_OK;
        r = r ? r : jinja_out_part(run, string, at, n);
        r = r ? r : jinja_run_count(run, 1);
        max -= max > 0;
        at += n ? n : 1;
    }
    return r;
}

int jinja_text_replace(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *old,
                       const struct jinja_string *new_text, int64_t max, struct jinja_value *ret)
{
    const size_t begin = run->out.n;
    size_t from = 0;
    int r = jinja_run_count(run, string->n / 64);

    if (!r && old->n == 0) {
        r = replace_empty(run, string, new_text, max);
        return r ? r : jinja_out_take(run, begin, ret);
    }
    while (!r && max != 0) {
        const int64_t at = jinja_text_find(string, old, from);

        if (at < 0) {
            break;
        }
        r = jinja_out_part(run, string, from, (size_t)at - from);
        r = r ? r : jinja_out_string(run, new_text);
        r = r ? r : jinja_run_count(run, 1);
        from = (size_t)at + old->n;
        max -= max > 0;
    }
    r = r ? r : jinja_out_part(run, string, from, string->n - from);
    return r ? r : jinja_out_take(run, begin, ret);
}

static bool ends_line(uint32_t point)
{
    return (point >= 0x0a && point <= 0x0d) || (point >= 0x1c && point <= 0x1e) || point == 0x85 || point == 0x2028 ||
           point == 0x2029;
}

int jinja_text_lines(struct jinja_run *run, const struct jinja_string *string, bool keep_ends, struct jinja_value *ret)
{
    size_t from = 0;
    int r = jinja_list_new(run, 0, JINJA_FLAVOUR_LIST, ret);

    for (size_t at = 0; !r && at < string->n;) {
        size_t n;
        const bool is_end = ends_line(jinja_char_at(string, at, &n));
        const size_t end = at;

        at += n;
        if (!is_end) {
            continue;
        }
        at += string->bytes[end] == '\r' && at < string->n && string->bytes[at] == '\n';
        r = jinja_list_push_cut(run, ret->list, string, from, (keep_ends ? at : end) - from);
        from = at;
    }
    if (!r && from < string->n) {
        r = jinja_list_push_cut(run, ret->list, string, from, string->n - from);
    }
    return r ? r : jinja_run_count(run, string->n / 16);
}

static int write_fill(struct jinja_run *run, const struct jinja_string *fill, int64_t n)
{
    static const struct jinja_string blank = { .bytes = " ", .n = 1 };
    int r = JINJA_OK;

    for (int64_t i = 0; !r && i < n; i++) {
        r = jinja_out_string(run, fill ? fill : &blank);
        r = r ? r : jinja_run_count(run, 1);
    }
    return r;
}

int jinja_text_pad(struct jinja_run *run, const struct jinja_string *string, int64_t width,
                   const struct jinja_string *fill, enum jinja_pad where, struct jinja_value *ret)
{
    const size_t from = run->out.n;
    const int64_t n = (int64_t)jinja_char_count(string);
    const int64_t missing = width > n ? width - n : 0;
    /* str.center() puts the odd one left where the width is odd. */
    const int64_t n_left = where == JINJA_PAD_BOTH   ? missing / 2 + (missing & width & 1)
                           : where == JINJA_PAD_LEFT ? missing
                                                     : 0;
    int r = write_fill(run, fill, n_left);

    r = r ? r : jinja_out_string(run, string);
    r = r ? r : write_fill(run, fill, missing - n_left);
    return r ? r : jinja_out_take(run, from, ret);
}

int jinja_text_strip(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *set,
                     int sides, struct jinja_value *ret)
{
    size_t from;
    size_t n;
    int r = jinja_run_count(run, string->n / 64 * (set ? set->n + 1 : 1));

    if (r) {
        return r;
    }
    jinja_char_strip(string, set, sides, &from, &n);
    return jinja_string_cut(run, string, from, n, ret);
}
