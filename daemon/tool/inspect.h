/*
 * Inspect: the two forms in which a survey is shown
 */
#ifndef SOTTO_TOOL_INSPECT_H
#define SOTTO_TOOL_INSPECT_H

#include "tool/survey.h"
#include "tool/tool.h"

void inspect_text(const struct tool_file *file, const struct survey *survey, FILE *out);

/* A new object; NULL: no memory. */
json_t *inspect_json(const struct tool_file *file, const struct survey *survey);

/* ---- values of keys: key.c ---- */

/* "u32", "string"; of an array that of its elements. */
const char *inspect_type_name(enum gguf_type type);

/* Prints the value on a line: a text's first characters, an array's first elements. */
void inspect_put_value(const struct gguf_key *key, FILE *out);

/* The value; of a long array NULL without an error. */
json_t *inspect_value(const struct gguf_key *key);

#endif
