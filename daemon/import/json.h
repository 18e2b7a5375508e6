/*
 * Json: the reading of JSON that this room does over and over
 *
 * All JSON here is a stranger's: texts may hold a zero, a key that stands twice is refused, and a value of another kind
 * than expected is an error with a name, never a silent zero.
 */
#ifndef SOTTO_IMPORT_JSON_H
#define SOTTO_IMPORT_JSON_H

#include "base/diag.h"
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* The object in @text, or NULL with the reason in @diag, which begins with @path. The caller owns it. */
json_t *json_parse(const char *text, size_t n, const char *path, struct diag *diag);

/* The object in the file, or NULL. *ret_absent (may be NULL): it is not there; @diag says so as well. */
json_t *json_parse_file(const char *path, size_t max_bytes, bool *ret_absent, struct diag *diag);

void json_freep(json_t **json);

/* False: @json is no whole number of 0 or more. */
bool json_count(const json_t *json, uint64_t *ret);

enum json_outcome {
    JSON_GOT,
    JSON_NONE,  /* absent or null; *ret is untouched */
    JSON_WRONG, /* of another kind or out of range: @diag says which key */
};

/* Members of @object; a NULL @object has none. */
int json_get_u32(const json_t *object, const char *key, uint32_t *ret, struct diag *diag);
int json_get_f32(const json_t *object, const char *key, float *ret, struct diag *diag);
int json_get_bool(const json_t *object, const char *key, bool *ret, struct diag *diag);
/* Ended by a zero; lives as long as @object. */
int json_get_text(const json_t *object, const char *key, const char **ret, struct diag *diag);

/* True if the text under @key is @text. */
bool json_says(const json_t *object, const char *key, const char *text);

#endif
