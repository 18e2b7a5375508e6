/*
 * Floats are read from 10000 as from 10000.0, since writers differ.
 */
#include "import/json.h"
#include "base/clean.h"
#include "base/file.h"
#include <math.h>

json_t *json_parse(const char *text, size_t n, const char *path, struct diag *diag)
{
    json_error_t error;
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);

    if (!json) {
        diag_set(diag, "%s: invalid JSON at line %d, column %d: %s", path, error.line, error.column, error.text);
        return NULL;
    }
    if (!json_is_object(json)) {
        diag_set(diag, "%s: must be a JSON object", path);
        json_decref(json);
        return NULL;
    }
    return json;
}

json_t *json_parse_file(const char *path, size_t max_bytes, bool *ret_absent, struct diag *diag)
{
    cleanup(mem_freep) char *text = NULL;
    size_t n;
    const int r = file_read(path, MEM_FILE, max_bytes, &text, &n, diag);

    if (ret_absent) {
        *ret_absent = r == FILE_ABSENT;
    }
    if (r) {
        diag_set(diag, "%s: can't be read", path);
        return NULL;
    }
    return json_parse(text, n, path, diag);
}

void json_freep(json_t **json)
{
    json_decref(*json);
    *json = NULL;
}

bool json_count(const json_t *json, uint64_t *ret)
{
    if (!json_is_integer(json) || json_integer_value(json) < 0) {
        return false;
    }
    *ret = (uint64_t)json_integer_value(json);
    return true;
}

static const json_t *find(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return value && !json_is_null(value) ? value : NULL;
}

static int refuse(const char *key, const char *what, struct diag *diag)
{
    diag_blame(diag, key, "\"%s\" must be %s", key, what);
    return JSON_WRONG;
}

int json_get_u32(const json_t *object, const char *key, uint32_t *ret, struct diag *diag)
{
    const json_t *value = find(object, key);
    uint64_t n;

    if (!value) {
        return JSON_NONE;
    }
    if (!json_count(value, &n) || n > UINT32_MAX) {
        return refuse(key, "a whole number from 0 to 4294967295", diag);
    }
    *ret = (uint32_t)n;
    return JSON_GOT;
}

int json_get_f32(const json_t *object, const char *key, float *ret, struct diag *diag)
{
    const json_t *value = find(object, key);

    if (!value) {
        return JSON_NONE;
    }
    if (!json_is_number(value) || !isfinite((float)json_number_value(value))) {
        return refuse(key, "a finite number", diag);
    }
    *ret = (float)json_number_value(value);
    return JSON_GOT;
}

int json_get_bool(const json_t *object, const char *key, bool *ret, struct diag *diag)
{
    const json_t *value = find(object, key);

    if (!value) {
        return JSON_NONE;
    }
    if (!json_is_boolean(value)) {
        return refuse(key, "true or false", diag);
    }
    *ret = json_is_true(value);
    return JSON_GOT;
}

int json_get_text(const json_t *object, const char *key, const char **ret, struct diag *diag)
{
    const json_t *value = find(object, key);

    if (!value) {
        return JSON_NONE;
    }
    if (!json_is_string(value)) {
        return refuse(key, "a text", diag);
    }
    *ret = json_string_value(value);
    return JSON_GOT;
}

bool json_says(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value && strcmp(value, text) == 0;
}
