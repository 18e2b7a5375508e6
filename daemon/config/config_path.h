/*
 * Where: a place in the configuration, as a path for people and as a line of the file
 *
 * The JSON library knows lines of syntax errors only. A place is a chain of keys and indices from the root; its path
 * reads "models.tiny.context" or "policy[2].uid", its line is found by walking the text once more.
 */
#ifndef SOTTO_CONFIG_CONFIG_PATH_H
#define SOTTO_CONFIG_CONFIG_PATH_H

#include <stdbool.h>
#include <stddef.h>

struct where {
    const struct where *up; /* NULL: the root, which has no name */
    const char *key;
    size_t index; /* with @indexed, in place of @key */
    bool indexed;
};

/* Writes the path into @out (@cap bytes, ended by a zero); the root's is empty. Returns @out. */
const char *where_path(const struct where *where, char *out, size_t cap);

/* Line (1 is the first) of the value at @where in @text, which is one valid JSON value ended by a zero; 0: not found
 * (a key spelled with escapes). */
unsigned where_line(const struct where *where, const char *text);

#endif
