/*
 * Functions that every template can call: those of Jinja which chat templates use, and the two that transformers adds.
 */
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_run.h"
#include <string.h>

/* The ceiling of Jinja's sandbox. */
#define RANGE_MAX 100000u

static int global_range(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    int64_t part[3] = { 0, 0, 1 };
    uint64_t n = 0;
    int r = JINJA_OK;

    for (size_t i = 0; !r && i < 3 && jinja_is_given(&args->values[i]); i++) {
        if (args->values[i].kind == JINJA_NONE) {
            return jinja_fail(run, "TypeError", "'NoneType' object cannot be interpreted as an integer");
        }
        r = jinja_args_int(run, &args->values[i], 0, &part[i]);
    }
    if (!jinja_is_given(&args->values[1])) {
        part[1] = part[0];
        part[0] = 0;
    }
    if (!r && part[2] == 0) {
        r = jinja_fail(run, "ValueError", "range() arg 3 must not be zero");
    }
    if (!r && part[2] > 0 && part[1] > part[0]) {
        n = ((uint64_t)part[1] - (uint64_t)part[0] - 1) / (uint64_t)part[2] + 1;
    } else if (!r && part[2] < 0 && part[1] < part[0]) {
        n = ((uint64_t)part[0] - (uint64_t)part[1] - 1) / (0 - (uint64_t)part[2]) + 1;
    }
    if (n > RANGE_MAX) {
        return jinja_fail(run, "OverflowError", "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%u).",
                          RANGE_MAX);
    }
    r = r ? r : jinja_list_new(run, n, JINJA_FLAVOUR_RANGE, ret);
    for (uint64_t i = 0; !r && i < n; i++) {
        const struct jinja_value item = jinja_int((int64_t)((uint64_t)part[0] + i * (uint64_t)part[2]));

        r = jinja_list_push(run, ret->list, &item);
    }
    return r;
}

/* dict() and namespace(), the kinds of their results: built from mappings and keywords. */
static int global_dict(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    int r = jinja_dict_new(run, ret);

    for (size_t i = 0; !r && i < args->n; i++) {
        const struct jinja_value *from = &args->values[i];

        if (from->kind != JINJA_DICT) {
            return jinja_fail(run, "TypeError", "'%s' object is not a mapping", jinja_value_type(from));
        }
        r = jinja_dict_update(run, ret->dict, from->dict);
    }
    if (!r && args->named) {
        r = jinja_dict_update(run, ret->dict, args->named);
    }
    if (!r) {
        ret->kind = (enum jinja_kind)args->variant;
    }
    return r;
}

static int global_raise(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    int r = jinja_args_text(run, &args->values[0], &text);

    return r ? r : jinja_fail(run, "TemplateError", "%.*s", (int)(text->n < 1024 ? text->n : 1024), text->bytes);
}

/* Ceiling of one pattern and of its result. */
#define TIME_BYTES 512u

/* strftime() behind a pointer, since compilers warn of patterns that are not constant. */
static size_t (*const write_time)(char *, size_t, const char *, const struct tm *) = strftime;

static int global_strftime(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *format;
    char pattern[TIME_BYTES];
    char text[TIME_BYTES];
    int r = jinja_args_text(run, &args->values[0], &format);

    if (r) {
        return r;
    }
    if (!run->has_now) {
        return jinja_fail(run, "TemplateError", "no time is given");
    }
    if (format->n >= sizeof(pattern) - 1 || memchr(format->bytes, 0, format->n)) {
        return jinja_fail(run, "ValueError", "the format of a time is too long");
    }
    /* strftime() returns 0 for an empty result as for a failure, so a blank goes in front. */
    pattern[0] = ' ';
    memcpy(pattern + 1, format->bytes, format->n);
    pattern[format->n + 1] = 0;
    if (write_time(text, sizeof(text), pattern, &run->now) == 0) {
        return jinja_fail(run, "ValueError", "a time is too long");
    }
    return jinja_string_new(run, text + 1, strlen(text + 1), format->marks ? JINJA_FOREIGN : format->mark, ret);
}

const struct jinja_builtin jinja_globals[] = {
    { "dict", global_dict, JINJA_DICT, 0, { NULL } },
    { "namespace", global_dict, JINJA_NAMESPACE, 0, { NULL } },
    { "raise_exception", global_raise, 0, 1, { "message" } },
    { "range", global_range, 0, 1, { "start", "stop", "step" } },
    { "strftime_now", global_strftime, 0, 1, { "format" } },
    { NULL },
};
