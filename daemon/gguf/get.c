/*
 * Queries of a parsed head, and values by name
 *
 * Writers differ in widths (a count may be u32, i32 or u64), so integers of any kind are accepted where the value fits.
 * Nothing else is converted: a number in a string is a mistake of the file.
 */
#include "base/num.h"
#include "gguf/parse.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

uint32_t gguf_version(const struct gguf *gguf)
{
    return gguf->version;
}

uint64_t gguf_file_bytes(const struct gguf *gguf)
{
    return gguf->file_bytes;
}

uint64_t gguf_head_bytes(const struct gguf *gguf)
{
    return gguf->data_at;
}

size_t gguf_n_keys(const struct gguf *gguf)
{
    return gguf->n_keys;
}

const struct gguf_key *gguf_key_at(const struct gguf *gguf, size_t i)
{
    return &gguf->keys[i];
}

size_t gguf_n_tensors(const struct gguf *gguf)
{
    return gguf->n_tensors;
}

const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, size_t i)
{
    return &gguf->tensors[i];
}

const struct gguf_key *gguf_find_key(const struct gguf *gguf, const char *name)
{
    const union map_value *value = map_find_bytes(&gguf->key_names, name, strlen(name));

    return value ? &gguf->keys[value->number] : NULL;
}

const struct gguf_tensor *gguf_find_tensor(const struct gguf *gguf, const char *name)
{
    const union map_value *value = map_find_bytes(&gguf->tensor_names, name, strlen(name));

    return value ? &gguf->tensors[value->number] : NULL;
}

/* Returns the type of a value in words, for a diag. */
static const char *type_word(const struct gguf_key *key)
{
    static const char *const words[GGUF_TYPE_COUNT] = {
        [GGUF_U8] = "an 8-bit number",  [GGUF_I8] = "an 8-bit number",  [GGUF_U16] = "a 16-bit number",
        [GGUF_I16] = "a 16-bit number", [GGUF_U32] = "a 32-bit number", [GGUF_I32] = "a 32-bit number",
        [GGUF_F32] = "a 32-bit float",  [GGUF_BOOL] = "a truth value",  [GGUF_STRING] = "a text",
        [GGUF_ARRAY] = "an array",      [GGUF_U64] = "a 64-bit number", [GGUF_I64] = "a 64-bit number",
        [GGUF_F64] = "a 64-bit float",
    };

    return words[key->type];
}

static int refuse_type(const struct gguf_key *key, const char *name, const char *wanted, struct diag *diag)
{
    diag_blame(diag, name, "key %s: is %s, but must be %s", name, type_word(key), wanted);
    return GGUF_WRONG;
}

/* Reads the value of an integer key as its sign and its two's complement. False: it is no integer. */
static bool read_integer(const struct gguf_key *key, bool *ret_negative, uint64_t *ret)
{
    static const bool is_signed[GGUF_TYPE_COUNT] = {
        [GGUF_I8] = true, [GGUF_I16] = true, [GGUF_I32] = true, [GGUF_I64] = true
    };
    static const bool is_integer[GGUF_TYPE_COUNT] = {
        [GGUF_U8] = true,  [GGUF_I8] = true,  [GGUF_U16] = true, [GGUF_I16] = true,
        [GGUF_U32] = true, [GGUF_I32] = true, [GGUF_U64] = true, [GGUF_I64] = true,
    };
    uint64_t value = 0;

    if (!is_integer[key->type]) {
        return false;
    }
    for (size_t i = key->n_value; i > 0; i--) {
        value = value << 8 | key->value[i - 1];
    }
    *ret_negative = is_signed[key->type] && (key->value[key->n_value - 1] & 0x80) != 0;
    *ret = value;
    return true;
}

static int get_integer(const struct gguf *gguf, const char *name, uint64_t max, uint64_t *ret, struct diag *diag)
{
    const struct gguf_key *key = gguf_find_key(gguf, name);
    bool negative;
    uint64_t value;

    if (!key) {
        return GGUF_NONE;
    }
    if (!read_integer(key, &negative, &value)) {
        return refuse_type(key, name, "a whole number", diag);
    }
    if (negative || value > max) {
        diag_blame(diag, name, "key %s: is out of range; 0 to %" PRIu64 " are possible", name, max);
        return GGUF_WRONG;
    }
    *ret = value;
    return GGUF_GOT;
}

int gguf_get_u64(const struct gguf *gguf, const char *name, uint64_t *ret, struct diag *diag)
{
    return get_integer(gguf, name, UINT64_MAX, ret, diag);
}

int gguf_get_u32(const struct gguf *gguf, const char *name, uint32_t *ret, struct diag *diag)
{
    uint64_t value;
    const int r = get_integer(gguf, name, UINT32_MAX, &value, diag);

    if (r == GGUF_GOT) {
        *ret = (uint32_t)value;
    }
    return r;
}

int gguf_get_f32(const struct gguf *gguf, const char *name, float *ret, struct diag *diag)
{
    const struct gguf_key *key = gguf_find_key(gguf, name);
    struct cursor cursor;
    float value;

    if (!key) {
        return GGUF_NONE;
    }
    cursor_init(&cursor, key->value, key->n_value);
    if (key->type == GGUF_F32) {
        value = cursor_f32(&cursor);
    } else if (key->type == GGUF_F64) {
        value = (float)cursor_f64(&cursor);
    } else {
        return refuse_type(key, name, "a float", diag);
    }
    if (!isfinite(value)) {
        diag_blame(diag, name, "key %s: is not a finite number", name);
        return GGUF_WRONG;
    }
    *ret = value;
    return GGUF_GOT;
}

int gguf_get_bool(const struct gguf *gguf, const char *name, bool *ret, struct diag *diag)
{
    const struct gguf_key *key = gguf_find_key(gguf, name);

    if (!key) {
        return GGUF_NONE;
    }
    if (key->type != GGUF_BOOL) {
        return refuse_type(key, name, "a truth value", diag);
    }
    if (key->value[0] > 1) {
        diag_blame(diag, name, "key %s: is %u, but a truth value is 0 or 1", name, (unsigned)key->value[0]);
        return GGUF_WRONG;
    }
    *ret = key->value[0] == 1;
    return GGUF_GOT;
}

int gguf_get_text(const struct gguf *gguf, const char *name, struct gguf_text *ret, struct diag *diag)
{
    const struct gguf_key *key = gguf_find_key(gguf, name);

    if (!key) {
        return GGUF_NONE;
    }
    if (key->type != GGUF_STRING) {
        return refuse_type(key, name, "a text", diag);
    }
    *ret = (struct gguf_text){ .bytes = (const char *)key->value, .n = key->n_value };
    return GGUF_GOT;
}

bool gguf_next_text(const struct gguf_key *key, size_t *at, struct gguf_text *ret)
{
    struct cursor cursor;
    uint64_t n;

    if (*at >= key->n_value) {
        return false;
    }
    /* The parser has checked the lengths; the cursor is a second bound. */
    cursor_init(&cursor, key->value, key->n_value);
    cursor.at = *at;
    n = cursor_u64(&cursor);
    ret->bytes = (const char *)cursor_take(&cursor, n);
    ret->n = ret->bytes ? (size_t)n : 0;
    *at = cursor.at;
    return !cursor.failed;
}
