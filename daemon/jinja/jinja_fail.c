#include "jinja/jinja_fail.h"
#include "base/err.h"
#include "jinja/jinja_run.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    char owner[64];

    if (!why) {
        return jinja_fail(run, "UndefinedError", "an argument is missing");
    }
    if (why->owner && strcmp(why->owner, "NoneType") == 0) {
        snprintf(owner, sizeof(owner), "None");
    } else {
        snprintf(owner, sizeof(owner), "%s object", why->owner ? why->owner : "");
    }
    switch (why->why) {
    case JINJA_WHY_ELEMENT:
        return jinja_fail(run, "UndefinedError", "%s has no element %.*s", owner, n, name);
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
        return jinja_fail(run, "UndefinedError", "'%s' has no attribute '%.*s'", owner, n, name);
    }
    return jinja_fail(run, "UndefinedError", "'%.*s' is undefined", n, name);
}

int jinja_fail_full(struct jinja_run *run)
{
    if (!run->arena.exceeded) {
        return err_new(-ENOMEM);
    }
    run->is_over = true;
    return jinja_fail(run, "MemoryError", "the template holds more than %zu bytes", run->limits.memory_bytes);
}
