/*
 * The ceilings, the sentences, the output's end, and variables.
 */
#include "jinja/jinja_run.h"
#include "base/err.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Steps between two looks at the ceiling and the cancel flag. */
#define LOOK_EVERY 1024u

/* Bytes of text that cost a step. */
#define STEP_BYTES 64u

int jinja_fail(struct jinja_run *run, const char *kind, const char *format, ...)
{
    char text[DIAG_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    diag_set(run->diag, "%s: %s", kind, text);
    return JINJA_FAILED;
}

int jinja_fail_undefined(struct jinja_run *run, const struct jinja_value *value)
{
    const struct jinja_undefined *why = value->undefined;
    const int n = why && why->name ? (int)(why->name->n < 128 ? why->name->n : 128) : 0;
    const char *name = n ? why->name->bytes : "";

    if (!why) {
        return jinja_fail(run, "UndefinedError", "an argument is missing");
    }
    switch (why->why) {
    case JINJA_WHY_ELEMENT:
        return jinja_fail(run, "UndefinedError", "%s has no element %.*s", why->owner, n, name);
    case JINJA_WHY_UNSAFE:
        return jinja_fail(run, "SecurityError", "access to attribute '%.*s' of '%s' object is unsafe.", n, name,
                          why->owner);
    case JINJA_WHY_PARAMETER:
        return jinja_fail(run, "UndefinedError", "parameter '%.*s' was not provided", n, name);
    case JINJA_WHY_TEXT:
        return jinja_fail(run, "UndefinedError", "%s", why->owner);
    case JINJA_WHY_NAME:
        break;
    }
    if (why->owner) {
        return jinja_fail(run, "UndefinedError", "'%s' has no attribute '%.*s'", why->owner, n, name);
    }
    return jinja_fail(run, "UndefinedError", "'%.*s' is undefined", n, name);
}

int jinja_run_count(struct jinja_run *run, uint64_t n)
{
    run->steps += n;
    if (run->steps < run->look_at) {
        return JINJA_OK;
    }
    run->look_at = run->steps + LOOK_EVERY;
    if (run->cancel && atomic_load_explicit(run->cancel, memory_order_relaxed)) {
        return JINJA_CANCELLED;
    }
    if (run->steps > run->limits.steps) {
        return jinja_fail(run, "TimeoutError", "the template takes more than %llu steps",
                          (unsigned long long)run->limits.steps);
    }
    return JINJA_OK;
}

int jinja_run_enter(struct jinja_run *run)
{
    if (run->depth >= JINJA_DEPTH_MAX) {
        return jinja_fail(run, "RecursionError", "the template calls itself or nests too deeply");
    }
    run->depth++;
    return JINJA_OK;
}

void jinja_run_leave(struct jinja_run *run)
{
    run->depth--;
}

void *jinja_run_alloc(struct jinja_run *run, size_t size)
{
    return arena_alloc(&run->arena, size ? size : 1);
}

int jinja_fail_full(struct jinja_run *run)
{
    if (!run->arena.exceeded) {
        return err_new(-ENOMEM);
    }
    return jinja_fail(run, "MemoryError", "the template holds more than %zu bytes", run->limits.memory_bytes);
}

/* ---- the end of the output */

static int grow(struct jinja_out *out, size_t n)
{
    size_t cap = out->cap < 1024 ? 1024 : out->cap;
    uint8_t *bytes;
    uint8_t *marks;

    while (cap < out->n + n) {
        cap *= 2;
    }
    bytes = mem_realloc(MEM_WORDS, out->bytes, cap);
    if (!bytes) {
        return err_new(-ENOMEM);
    }
    out->bytes = bytes;
    marks = mem_realloc(MEM_WORDS, out->marks, cap);
    if (!marks) {
        return err_new(-ENOMEM);
    }
    out->marks = marks;
    out->cap = cap;
    return JINJA_OK;
}

/* Makes room for @n bytes, paid for. */
static int make_room(struct jinja_run *run, size_t n)
{
    struct jinja_out *out = &run->out;
    int r;

    if (n > out->max - out->n) {
        return jinja_fail(run, "MemoryError", "the template writes more than %zu bytes", out->max);
    }
    if (out->n + n > out->cap) {
        r = grow(out, n);
        if (r) {
            return r;
        }
    }
    return jinja_run_count(run, n / STEP_BYTES);
}

int jinja_out_write(struct jinja_run *run, const void *bytes, size_t n, enum jinja_mark mark)
{
    struct jinja_out *out = &run->out;
    int r = make_room(run, n);

    if (r || n == 0) {
        return r;
    }
    memcpy(out->bytes + out->n, bytes, n);
    memset(out->marks + out->n, mark, n);
    out->n += n;
    return JINJA_OK;
}

int jinja_out_text(struct jinja_run *run, const char *text, enum jinja_mark mark)
{
    return jinja_out_write(run, text, strlen(text), mark);
}

int jinja_out_part(struct jinja_run *run, const struct jinja_string *string, size_t from, size_t n)
{
    struct jinja_out *out = &run->out;
    int r;

    if (!string->marks) {
        return jinja_out_write(run, string->bytes + from, n, string->mark);
    }
    r = make_room(run, n);
    if (r || n == 0) {
        return r;
    }
    memcpy(out->bytes + out->n, string->bytes + from, n);
    memcpy(out->marks + out->n, string->marks + from, n);
    out->n += n;
    return JINJA_OK;
}

int jinja_out_string(struct jinja_run *run, const struct jinja_string *string)
{
    return jinja_out_part(run, string, 0, string->n);
}

int jinja_out_take(struct jinja_run *run, size_t from, struct jinja_value *ret)
{
    struct jinja_out *out = &run->out;
    const size_t n = out->n - from;
    const uint8_t *marks = n > 0 ? out->marks + from : NULL;
    struct jinja_string *string = jinja_run_alloc(run, sizeof(*string));
    char *bytes = jinja_run_alloc(run, n);
    bool is_mixed = false;

    if (!string || !bytes) {
        return jinja_fail_full(run);
    }
    *string = (struct jinja_string){ .bytes = bytes, .n = n };
    if (n > 0) {
        memcpy(bytes, out->bytes + from, n);
        string->mark = (enum jinja_mark)marks[0];
        is_mixed = memchr(marks, !marks[0], n) != NULL;
    }
    if (is_mixed) {
        uint8_t *copy = jinja_run_alloc(run, n);

        if (!copy) {
            return jinja_fail_full(run);
        }
        memcpy(copy, marks, n);
        string->marks = copy;
    }
    out->n = from;
    *ret = (struct jinja_value){ .kind = JINJA_STRING, .string = string };
    return JINJA_OK;
}

/* ---- variables */

int jinja_run_assign(struct jinja_run *run, const struct jinja_string *name, const struct jinja_value *value)
{
    struct jinja_var *var = run->scope->vars;

    while (var && var->name != name) {
        var = var->next;
    }
    if (!var) {
        var = jinja_run_alloc(run, sizeof(*var));
        if (!var) {
            return jinja_fail_full(run);
        }
        var->next = run->scope->vars;
        var->name = name;
        run->scope->vars = var;
    }
    var->value = *value;
    return JINJA_OK;
}

const struct jinja_value *jinja_run_lookup(const struct jinja_run *run, const struct jinja_string *name)
{
    for (const struct jinja_scope *scope = run->scope; scope; scope = scope->parent) {
        for (const struct jinja_var *var = scope->vars; var; var = var->next) {
            if (var->name == name) {
                return &var->value;
            }
        }
    }
    return jinja_dict_get(run->context, name->bytes, name->n);
}

int jinja_run_push_scope(struct jinja_run *run, struct jinja_scope *parent)
{
    struct jinja_scope *scope = jinja_run_alloc(run, sizeof(*scope));

    if (!scope) {
        return jinja_fail_full(run);
    }
    *scope = (struct jinja_scope){ .parent = parent };
    run->scope = scope;
    return JINJA_OK;
}
