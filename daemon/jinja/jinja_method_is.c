/*
 * Methods of strings that ask what their characters are.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_run.h"

typedef bool (*char_fn)(uint32_t point);

static int all_are(struct jinja_run *run, const struct jinja_args *args, char_fn is, struct jinja_value *ret)
{
    const struct jinja_string *self = args->values[0].string;
    bool is_so = self->n > 0;

    for (size_t at = 0; is_so && at < self->n;) {
        size_t n;

        is_so = is(jinja_char_at(self, at, &n));
        at += n;
    }
    *ret = jinja_bool(is_so);
    return jinja_run_count(run, self->n / 16);
}

/* At least one letter of the case that is asked for, none of the other. */
static int case_is(struct jinja_run *run, const struct jinja_args *args, bool upper, struct jinja_value *ret)
{
    const struct jinja_string *self = args->values[0].string;
    bool has_one = false;
    bool has_other = false;

    for (size_t at = 0; !has_other && at < self->n;) {
        size_t n;
        const uint32_t point = jinja_char_at(self, at, &n);

        has_one = has_one || (upper ? jinja_char_is_upper(point) : jinja_char_is_lower(point));
        has_other = upper ? jinja_char_is_lower(point) : jinja_char_is_upper(point);
        at += n;
    }
    *ret = jinja_bool(has_one && !has_other);
    return jinja_run_count(run, self->n / 16);
}

static bool is_alnum(uint32_t point)
{
    return jinja_char_is_letter(point) || jinja_char_is_digit(point);
}

static bool is_ascii(uint32_t point)
{
    return point < 0x80;
}

static int str_isalpha(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return all_are(run, args, jinja_char_is_letter, ret);
}

static int str_isalnum(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return all_are(run, args, is_alnum, ret);
}

static int str_isdigit(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return all_are(run, args, jinja_char_is_digit, ret);
}

static int str_isspace(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return all_are(run, args, jinja_char_is_space, ret);
}

static int str_isprintable(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    int r = all_are(run, args, jinja_char_is_printable, ret);

    ret->truth = ret->truth || args->values[0].string->n == 0;
    return r;
}

static int str_isascii(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    int r = all_are(run, args, is_ascii, ret);

    ret->truth = ret->truth || args->values[0].string->n == 0;
    return r;
}

static int str_isupper(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return case_is(run, args, true, ret);
}

static int str_islower(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    return case_is(run, args, false, ret);
}

static const struct jinja_builtin rows[] = {
    { "isalnum", str_isalnum, 1, false, { "self" } },   { "isalpha", str_isalpha, 1, false, { "self" } },
    { "isascii", str_isascii, 1, false, { "self" } },   { "isdecimal", str_isdigit, 1, false, { "self" } },
    { "isdigit", str_isdigit, 1, false, { "self" } },   { "islower", str_islower, 1, false, { "self" } },
    { "isnumeric", str_isdigit, 1, false, { "self" } }, { "isprintable", str_isprintable, 1, false, { "self" } },
    { "isspace", str_isspace, 1, false, { "self" } },   { "isupper", str_isupper, 1, false, { "self" } },
};

const struct jinja_builtins jinja_methods_str_is = { rows, COUNTOF(rows) };
