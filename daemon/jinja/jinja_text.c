#include "jinja/jinja_text.h"
#include "base/utf8.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_run.h"
#include <string.h>

/* Whether a character becomes large, by what stands before it. */
static bool is_large(enum jinja_case how, uint32_t before, bool is_first, uint32_t point)
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

static size_t write_case(uint32_t point, enum jinja_case how, bool large, uint8_t *out)
{
    if (!large) {
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
            const size_t n_out = write_case(point, how, is_large(how, before, at == 0, point), out);

            r = jinja_out_write(run, out, n_out, jinja_string_mark(string, at));
        }
        before = point;
        at += n;
    }
    return r ? r : jinja_out_take(run, from, ret);
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

/* "abc".replace("", "-") puts one before each character and one behind. */
static int replace_nothing(struct jinja_run *run, const struct jinja_string *string,
                           const struct jinja_string *new_text, int64_t max)
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
        r = replace_nothing(run, string, new_text, max);
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
    struct jinja_value line;
    size_t from = 0;
    int r = jinja_list_new(run, 0, JINJA_FLAVOUR_LIST, ret);

    for (size_t at = 0; !r && at < string->n;) {
        size_t n;
        size_t behind;

        if (!ends_line(jinja_char_at(string, at, &n))) {
            at += n;
            continue;
        }
        behind = at + n;
        if (string->bytes[at] == '\r' && behind < string->n && string->bytes[behind] == '\n') {
            behind++;
        }
        r = jinja_string_cut(run, string, from, (keep_ends ? behind : at) - from, &line);
        r = r ? r : jinja_list_push(run, ret->list, &line);
        from = behind;
        at = behind;
    }
    if (!r && from < string->n) {
        r = jinja_string_cut(run, string, from, string->n - from, &line);
        r = r ? r : jinja_list_push(run, ret->list, &line);
    }
    return r ? r : jinja_run_count(run, string->n / 16);
}

static int write_fill(struct jinja_run *run, const struct jinja_string *fill, int64_t n)
{
    int r = JINJA_OK;

    for (int64_t i = 0; !r && i < n; i++) {
        r = fill ? jinja_out_string(run, fill) : jinja_out_text(run, " ", JINJA_SCAFFOLD);
        r = r ? r : jinja_run_count(run, 1);
    }
    return r;
}

int jinja_text_pad(struct jinja_run *run, const struct jinja_string *string, int64_t width,
                   const struct jinja_string *fill, int left, struct jinja_value *ret)
{
    const size_t from = run->out.n;
    const int64_t n = (int64_t)jinja_char_count(string);
    const int64_t missing = width > n ? width - n : 0;
    /* str.center() puts the odd one left where the width is odd. */
    const int64_t n_left = left == 500 ? missing / 2 + (missing & width & 1) : left == 1000 ? missing : 0;
    int r = write_fill(run, fill, n_left);

    r = r ? r : jinja_out_string(run, string);
    r = r ? r : write_fill(run, fill, missing - n_left);
    return r ? r : jinja_out_take(run, from, ret);
}

int jinja_text_strip(struct jinja_run *run, const struct jinja_string *string, const struct jinja_string *set,
                     bool left, bool right, struct jinja_value *ret)
{
    size_t from;
    size_t n;
    int r = jinja_run_count(run, string->n / 64 * (set ? set->n + 1 : 1));

    if (r) {
        return r;
    }
    jinja_char_strip(string, set, left, right, &from, &n);
    return jinja_string_cut(run, string, from, n, ret);
}
