/*
 * Json: reading values of JSON files
 *
 * The files are untrusted: texts may contain a zero, a key that stands twice is refused, and a value of another
 * kind than expected is an error that names the key.
 */
#ifndef SOTTO_IMPORT_JSON_H
#define SOTTO_IMPORT_JSON_H

#include "base/diag.h"
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the object in @text, owned by the caller, or NULL with a reason in @diag, which begins with @path. */
json_t *json_parse(const char *text, size_t n, const char *path, struct diag *diag);

/* Returns the object in the file, or NULL with a reason in @diag. *ret_absent (may be NULL): there is no such file. */
json_t *json_parse_file(const char *path, size_t max_bytes, bool *ret_absent, struct diag *diag);

void json_freep(json_t **json);

/* Returns whether @json is a whole number of 0 or more, and reads it. */
bool json_count(const json_t *json, uint64_t *ret);

enum json_outcome {
    JSON_GOT,
    JSON_NONE,  /* absent or null; *ret is untouched */
    JSON_WRONG, /* of another kind or out of range: @diag says which key */
};

/* Read members of @object; a NULL @object has none. An outcome of enum json_outcome. */
int json_get_u32(const json_t *object, const char *key, uint32_t *ret, struct diag *diag);
int json_get_f32(const json_t *object, const char *key, float *ret, struct diag *diag);
int json_get_bool(const json_t *object, const char *key, bool *ret, struct diag *diag);
/* *ret ends with a zero and lives as long as @object. */
int json_get_text(const json_t *object, const char *key, const char **ret, struct diag *diag);

/* True if the text under @key is @text. */
bool json_says(const json_t *object, const char *key, const char *text);

#endif
