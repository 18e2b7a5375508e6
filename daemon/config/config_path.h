/*
 * Config path: the place of a value in the configuration, as text for people and as a line of the file
 *
 * The JSON library knows the lines of syntax errors only. A path is a chain of keys and indices from the root; as text
 * it reads "models.tiny.context" or "policy[2].uid". Its line is found by scanning the file again.
 */
#ifndef SOTTO_CONFIG_CONFIG_PATH_H
#define SOTTO_CONFIG_CONFIG_PATH_H

#include <stdbool.h>
#include <stddef.h>

struct config_path {
    const struct config_path *up; /* NULL: the root, which has no name */
    const char *key;
    size_t index; /* with @indexed, in place of @key */
    bool indexed;
};

/* Makes the path of key @name below @parent, which lives as long as the block around it. */
#define CONFIG_AT(parent, name) (&(const struct config_path){ .up = (parent), .key = (name) })

/* Writes the path to @out (@cap bytes, ended by a zero); that of the root is empty. Returns @out. */
const char *config_path_text(const struct config_path *where, char *out, size_t cap);

/* Returns the line (from 1) of the value at @where in @text, which is one valid JSON value ended by a zero; 0 if it is
 * not found, as a key written with escapes is not. */
unsigned config_path_line(const struct config_path *where, const char *text);

#endif
