/*
 * Nothing here knows a setting by name: the rows of config_keys.h say what is read, and the sentences follow from them.
 */
#include "config/config_reader.h"
#include "base/err.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COMPLAIN_MOST 20u /* sentences; nobody reads more at once */

/* ---- sentences */

void reading_complain(struct reading *reading, const struct where *where, const char *format, ...)
{
    struct diag diag = DIAG_INIT;
    char path[128];
    char what[224];
    unsigned line = where_line(where, reading->text);
    va_list words;

    if (reading->n_complaints++ >= COMPLAIN_MOST) {
        return;
    }
    va_start(words, format);
    vsnprintf(what, sizeof(what), format, words);
    va_end(words);
    where_path(where, path, sizeof(path));
    if (line) {
        diag_set(&diag, "%s:%u: %s%s%s", reading->file, line, path, *path ? ": " : "", what);
    } else {
        diag_set(&diag, "%s: %s%s%s", reading->file, path, *path ? ": " : "", what);
    }
    reading->say(reading->owner, diag.text);
}

/* A value as a person wrote it, cut. */
static const char *describe(const json_t *value, char *out, size_t cap)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        snprintf(out, cap, "an object");
        break;
    case JSON_ARRAY:
        snprintf(out, cap, "an array");
        break;
    case JSON_STRING:
        snprintf(out, cap, "the text \"%.40s\"", json_string_value(value));
        break;
    case JSON_INTEGER:
        snprintf(out, cap, "the number %" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        snprintf(out, cap, "the number %g", json_real_value(value));
        break;
    case JSON_TRUE:
        snprintf(out, cap, "true");
        break;
    case JSON_FALSE:
        snprintf(out, cap, "false");
        break;
    case JSON_NULL:
        snprintf(out, cap, "null");
        break;
    }
    return out;
}

void reading_complain_value(struct reading *reading, const struct where *where, const json_t *value,
                            const char *allowed)
{
    char is[80];

    reading_complain(reading, where, "%s is not allowed; allowed is %s", describe(value, is, sizeof(is)), allowed);
}

static void complain_unknown(struct reading *reading, const struct where *where, const struct config_list *list)
{
    const char *near = config_key_near(list, where->key);
    char known[192];
    size_t at = 0;

    if (near) {
        reading_complain(reading, where, "there is no such setting; did you mean \"%s\"?", near);
        return;
    }
    for (size_t i = 0; i < list->n && at < sizeof(known); i++) {
        at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "", list->keys[i].name);
    }
    reading_complain(reading, where, "there is no such setting; known are %s", known);
}

/* ---- parts */

static const struct config_key *find_key(const struct config_list *list, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->keys[i].name, name) == 0) {
            *ret_index = i;
            return &list->keys[i];
        }
    }
    return NULL;
}

int reading_part(struct reading *reading, const struct where *where, json_t *part, enum config_part which, void *target,
                 uint64_t *ret_present)
{
    const struct config_list *list = config_keys(which);
    uint64_t present = 0;
    const char *name;
    json_t *value;

    json_object_foreach(part, name, value)
    {
        const struct where here = { .up = where, .key = name };
        size_t i;
        const struct config_key *key = find_key(list, name, &i);
        char allowed[160];
        int r;

        if (!key) {
            complain_unknown(reading, &here, list);
            continue;
        }
        r = config_key_set(key, value, target, &reading->config->arena);
        if (r == CONFIG_KEY_BAD) {
            reading_complain_value(reading, &here, value, config_key_allowed(key, allowed, sizeof(allowed)));
        } else if (r) {
            return err_up(r);
        }
        present |= UINT64_C(1) << i;
    }
    *ret_present = present;
    return 0;
}

bool reading_was_given(enum config_part part, uint64_t present, const char *name)
{
    size_t i;

    return find_key(config_keys(part), name, &i) && (present & (UINT64_C(1) << i));
}
