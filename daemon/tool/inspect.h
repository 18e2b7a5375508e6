/*
 * Inspect: a survey as text and as JSON
 */
#ifndef SOTTO_TOOL_INSPECT_H
#define SOTTO_TOOL_INSPECT_H

#include "tool/survey.h"
#include "tool/tool.h"

void inspect_text(const struct model_file *file, const struct survey *survey, FILE *out);

/* Returns a new object; NULL: no memory. */
json_t *inspect_json(const struct model_file *file, const struct survey *survey);

/* ---- values of keys: inspect_value.c ---- */

/* Returns "u32", "string" and so on. */
const char *inspect_type_name(enum gguf_type type);

/* Prints the value on one line: the first characters of a text, the first elements of an array. */
void inspect_put_value(const struct gguf_key *key, FILE *out);

/* Returns the value; NULL for a long array, too. */
json_t *inspect_value(const struct gguf_key *key);

#endif
