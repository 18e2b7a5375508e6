/*
 * Config path: the scanner relies on the JSON library having accepted the text
 *
 * So it needs to know strings, brackets and commas only.
 */
#include "config/config_path.h"
#include <stdio.h>
#include <string.h>

static size_t write_path(const struct config_path *where, char *out, size_t cap)
{
    size_t at;
    int n;

    if (!where || !where->up) {
        return 0;
    }
    at = write_path(where->up, out, cap);
    if (where->indexed) {
        n = snprintf(out + at, cap - at, "[%zu]", where->index);
    } else {
        n = snprintf(out + at, cap - at, "%s%s", at ? "." : "", where->key);
    }
    return n < 0 || (size_t)n >= cap - at ? cap - 1 : at + (size_t)n;
}

const char *config_path_text(const struct config_path *where, char *out, size_t cap)
{
    out[write_path(where, out, cap)] = '\0';
    return out;
}

static const char *skip_blank(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Returns the end of the string that begins at @at. */
static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1]) {
            at++;
        }
    }
    return *at ? at + 1 : at;
}

static const char *skip_value(const char *at)
{
    size_t depth = 0;

    while (*at) {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        if (*at == '{' || *at == '[') {
            depth++;
        } else if (*at == '}' || *at == ']') {
            if (!depth) {
                return at;
            }
            depth--;
        } else if (*at == ',' && !depth) {
            return at;
        }
        at++;
    }
    return at;
}

/* Returns the value of @key in the object at @at, or NULL. */
static const char *find_key(const char *at, const char *key)
{
    size_t n = strlen(key);

    while (*at == '{' || *at == ',') {
        const char *name = skip_blank(at + 1);
        const char *end;

        if (*name != '"') {
            return NULL;
        }
        end = skip_string(name);
        at = skip_blank(end);
        if (*at != ':') {
            return NULL;
        }
        at = skip_blank(at + 1);
        if ((size_t)(end - name) == n + 2 && memcmp(name + 1, key, n) == 0) {
            return at;
        }
        at = skip_value(at);
    }
    return NULL;
}

static const char *find_index(const char *at, size_t index)
{
    if (*at != '[') {
        return NULL;
    }
    for (at = skip_blank(at + 1); index; index--) {
        at = skip_value(at);
        if (*at != ',') {
            return NULL;
        }
        at = skip_blank(at + 1);
    }
    return at;
}

static const char *find(const struct config_path *where, const char *text)
{
    const char *at;

    if (!where || !where->up) {
        return skip_blank(text);
    }
    at = find(where->up, text);
    if (!at) {
        return NULL;
    }
    return where->indexed ? find_index(at, where->index) : find_key(at, where->key);
}

unsigned config_path_line(const struct config_path *where, const char *text)
{
    const char *at = find(where, text);
    unsigned line = 1;

    if (!at) {
        return 0;
    }
    for (const char *c = text; c < at; c++) {
        line += *c == '\n';
    }
    return line;
}
