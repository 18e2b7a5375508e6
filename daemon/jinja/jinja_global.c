/*
 * Functions that every template has: those of Jinja that chat templates use, and the two that transformers adds.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_run.h"
#include <string.h>

/* As Jinja's sandbox. */
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

/* dict() and namespace(): from a mapping and keywords. */
static int global_dict(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    int r = jinja_dict_new(run, ret);

    for (size_t i = 0; !r && i < args->n; i++) {
        const struct jinja_value *from = &args->values[i];

        if (from->kind != JINJA_DICT) {
            return jinja_fail(run, "TypeError", "'%s' object is no mapping", jinja_value_type(from));
        }
        for (size_t k = 0; !r && k < from->dict->n; k++) {
            r = jinja_dict_put(run, ret->dict, &from->dict->pairs[k].key, &from->dict->pairs[k].value);
        }
    }
    for (size_t i = 0; !r && args->named && i < args->named->n; i++) {
        r = jinja_dict_put(run, ret->dict, &args->named->pairs[i].key, &args->named->pairs[i].value);
    }
    return r;
}

static int global_namespace(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    int r = global_dict(run, args, ret);

    ret->kind = r ? JINJA_NONE : JINJA_NAMESPACE;
    return r;
}

static int global_raise(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret)
{
    const struct jinja_string *text;
    int r = jinja_args_text(run, &args->values[0], &text);

    return r ? r : jinja_fail(run, "TemplateError", "%.*s", (int)(text->n < 1024 ? text->n : 1024), text->bytes);
}

/* The result of one strftime() that a template may ask for. */
#define TIME_BYTES 512u

/* strftime() by the name of a plain function: compilers warn of patterns that they cannot read. */
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
    /* One character before, so that an empty result is told from a failure. */
    pattern[0] = ' ';
    memcpy(pattern + 1, format->bytes, format->n);
    pattern[format->n + 1] = 0;
    if (write_time(text, sizeof(text), pattern, &run->now) == 0) {
        return jinja_fail(run, "ValueError", "a time is too long");
    }
    return jinja_string_new(run, text + 1, strlen(text + 1), format->marks ? JINJA_FOREIGN : format->mark, ret);
}

static const struct jinja_builtin rows[] = {
    { "dict", global_dict, 0, true, { NULL } },
    { "namespace", global_namespace, 0, true, { NULL } },
    { "raise_exception", global_raise, 1, false, { "message" } },
    { "range", global_range, 1, false, { "start", "stop", "step" } },
    { "strftime_now", global_strftime, 1, false, { "format" } },
};

const struct jinja_builtins jinja_globals = { rows, COUNTOF(rows) };
