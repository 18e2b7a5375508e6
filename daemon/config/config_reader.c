/*
 * Config reader: knows no setting by name; the rows of config_keys.h define what is read and what is reported
 */
#include "config/config_reader.h"
#include "base/err.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COMPLAIN_MOST 20u /* more sentences would not be read */

/* ---- sentences */

void config_complain(struct config_reader *reader, const struct config_path *where, const char *format, ...)
{
    struct diag diag = DIAG_INIT;
    char path[128];
    char what[224];
    unsigned line = config_path_line(where, reader->text);
    va_list words;

    if (reader->n_complaints++ >= COMPLAIN_MOST) {
        return;
    }
    va_start(words, format);
    vsnprintf(what, sizeof(what), format, words);
    va_end(words);
    config_path_text(where, path, sizeof(path));
    if (line) {
        diag_set(&diag, "%s:%u: %s%s%s", reader->file, line, path, *path ? ": " : "", what);
    } else {
        diag_set(&diag, "%s: %s%s%s", reader->file, path, *path ? ": " : "", what);
    }
    reader->say(reader->owner, diag.text);
}

/* Describes a value as it was written, cut if it is long. */
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

void config_complain_value(struct config_reader *reader, const struct config_path *where, const json_t *value,
                           const char *expected)
{
    char is[80];

    config_complain(reader, where, "%s is not allowed; expected %s", describe(value, is, sizeof(is)), expected);
}

static void complain_unknown(struct config_reader *reader, const struct config_path *where,
                             const struct config_list *list)
{
    const char *near = config_key_near(list, where->key);
    char known[192];
    size_t at = 0;

    if (near) {
        config_complain(reader, where, "unknown setting; did you mean \"%s\"?", near);
        return;
    }
    for (size_t i = 0; i < list->n && at < sizeof(known); i++) {
        at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "", list->keys[i].name);
    }
    config_complain(reader, where, "unknown setting; known are %s", known);
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

int config_read_part(struct config_reader *reader, const struct config_path *where, json_t *part,
                     enum config_part which, void *target, uint64_t *ret_present)
{
    const struct config_list *list = config_keys(which);
    uint64_t present = 0;
    const char *name;
    json_t *value;

    json_object_foreach(part, name, value)
    {
        const struct config_path here = { .up = where, .key = name };
        size_t i;
        const struct config_key *key = find_key(list, name, &i);
        char allowed[160];
        int r;

        if (!key) {
            complain_unknown(reader, &here, list);
            continue;
        }
        r = config_key_set(key, value, target, &reader->config->arena);
        if (r == CONFIG_KEY_BAD) {
            config_complain_value(reader, &here, value, config_key_allowed(key, allowed, sizeof(allowed)));
        } else if (r) {
            return err_up(r);
        }
        present |= UINT64_C(1) << i;
    }
    *ret_present = present;
    return 0;
}

bool config_is_given(enum config_part part, uint64_t present, const char *name)
{
    size_t i;

    return find_key(config_keys(part), name, &i) && (present & (UINT64_C(1) << i));
}
