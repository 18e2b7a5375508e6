/*
 * Inspect value: reads values of keys from the bytes of the file, which the parser has checked
 */
#include "base/cursor.h"
#include "tool/inspect.h"
#include <inttypes.h>

#define TEXT_MAX       70 /* characters of a text that are shown */
#define ELEMS_MAX      6  /* elements of an array that are shown */
#define JSON_ELEMS_MAX 32 /* longer arrays have only a length in JSON: vocabularies have a quarter million elements */

const char *inspect_type_name(enum gguf_type type)
{
    static const char *const names[GGUF_TYPE_COUNT] = {
        [GGUF_U8] = "u8",   [GGUF_I8] = "i8",   [GGUF_U16] = "u16",   [GGUF_I16] = "i16",       [GGUF_U32] = "u32",
        [GGUF_I32] = "i32", [GGUF_F32] = "f32", [GGUF_BOOL] = "bool", [GGUF_STRING] = "string", [GGUF_ARRAY] = "array",
        [GGUF_U64] = "u64", [GGUF_I64] = "i64", [GGUF_F64] = "f64",
    };

    return names[type];
}

/* A value in one of five forms. */
struct scalar {
    enum { SCALAR_WHOLE, SCALAR_NEGATIVE, SCALAR_REAL, SCALAR_TRUTH, SCALAR_TEXT } is;
    uint64_t whole;
    int64_t negative;
    double real;
    struct gguf_text text;
};

static struct scalar of_signed(int64_t value)
{
    return value < 0 ? (struct scalar){ .is = SCALAR_NEGATIVE, .negative = value }
                     : (struct scalar){ .is = SCALAR_WHOLE, .whole = (uint64_t)value };
}

static struct scalar of_unsigned(uint64_t value)
{
    return (struct scalar){ .is = SCALAR_WHOLE, .whole = value };
}

static struct scalar of_real(double value)
{
    return (struct scalar){ .is = SCALAR_REAL, .real = value };
}

/* Reads the next element of type @type at @cursor; a text has its length before it. */
static struct scalar next_scalar(struct cursor *cursor, enum gguf_type type)
{
    struct scalar scalar = { .is = SCALAR_TEXT };

    switch (type) {
    case GGUF_U8:
        return of_unsigned(cursor_u8(cursor));
    case GGUF_I8:
        return of_signed((int8_t)cursor_u8(cursor));
    case GGUF_U16:
        return of_unsigned(cursor_u16(cursor));
    case GGUF_I16:
        return of_signed((int16_t)cursor_u16(cursor));
    case GGUF_U32:
        return of_unsigned(cursor_u32(cursor));
    case GGUF_I32:
        return of_signed((int32_t)cursor_u32(cursor));
    case GGUF_U64:
        return of_unsigned(cursor_u64(cursor));
    case GGUF_I64:
        return of_signed((int64_t)cursor_u64(cursor));
    case GGUF_F32:
        return of_real((double)cursor_f32(cursor));
    case GGUF_F64:
        return of_real(cursor_f64(cursor));
    case GGUF_BOOL:
        return (struct scalar){ .is = SCALAR_TRUTH, .whole = cursor_u8(cursor) };
    case GGUF_STRING:
        scalar.text.n = cursor_u64(cursor);
        scalar.text.bytes = (const char *)cursor_take(cursor, scalar.text.n);
        break;
    case GGUF_ARRAY: /* never inside an array */
    case GGUF_TYPE_COUNT:
        break;
    }
    return scalar;
}

static struct scalar only_scalar(const struct gguf_key *key)
{
    struct cursor cursor;

    if (key->type == GGUF_STRING) {
        return (struct scalar){ .is = SCALAR_TEXT, .text = { (const char *)key->value, key->n_value } };
    }
    cursor_init(&cursor, key->value, key->n_value);
    return next_scalar(&cursor, key->type);
}

static void put_text(struct gguf_text text, FILE *out)
{
    size_t n = text.n;

    if (n > TEXT_MAX) {
        for (n = TEXT_MAX; n > TEXT_MAX - 4 && ((uint8_t)text.bytes[n] & 0xC0) == 0x80;) {
            n--;
        }
    }
    putc('"', out);
    tool_put_text(out, text.bytes, n);
    fputs(n < text.n ? "..." : "\"", out);
    if (n < text.n) {
        fprintf(out, " (%zu bytes)", text.n);
    }
}

static void put_scalar(const struct scalar *scalar, FILE *out)
{
    switch (scalar->is) {
    case SCALAR_WHOLE:
        fprintf(out, "%" PRIu64, scalar->whole);
        break;
    case SCALAR_NEGATIVE:
        fprintf(out, "%" PRId64, scalar->negative);
        break;
    case SCALAR_REAL:
        fprintf(out, "%.9g", scalar->real);
        break;
    case SCALAR_TRUTH:
        fputs(scalar->whole ? "true" : "false", out);
        break;
    case SCALAR_TEXT:
        put_text(scalar->text, out);
        break;
    }
}

void inspect_put_value(const struct gguf_key *key, FILE *out)
{
    struct cursor cursor;
    struct scalar scalar;

    if (key->type != GGUF_ARRAY) {
        scalar = only_scalar(key);
        put_scalar(&scalar, out);
        return;
    }
    cursor_init(&cursor, key->value, key->n_value);
    fprintf(out, "[%" PRIu64 "]", key->n);
    for (uint64_t i = 0; i < key->n && i < ELEMS_MAX; i++) {
        scalar = next_scalar(&cursor, key->elem);
        fputs(i ? ", " : " ", out);
        put_scalar(&scalar, out);
    }
    fputs(key->n > ELEMS_MAX ? ", ..." : "", out);
}

static json_t *json_of(const struct scalar *scalar)
{
    switch (scalar->is) {
    case SCALAR_WHOLE:
        return tool_number(scalar->whole);
    case SCALAR_NEGATIVE:
        return json_integer(scalar->negative);
    case SCALAR_REAL:
        return json_real(scalar->real); /* NULL for NaN and infinities, which JSON lacks */
    case SCALAR_TRUTH:
        return json_boolean(scalar->whole);
    case SCALAR_TEXT:
        return tool_text(scalar->text.bytes, scalar->text.n);
    }
    return NULL;
}

json_t *inspect_value(const struct gguf_key *key)
{
    struct cursor cursor;
    struct scalar scalar;
    json_t *array;

    if (key->type != GGUF_ARRAY) {
        scalar = only_scalar(key);
        return json_of(&scalar);
    }
    if (key->n > JSON_ELEMS_MAX) {
        return NULL;
    }
    array = json_array();
    cursor_init(&cursor, key->value, key->n_value);
    for (uint64_t i = 0; i < key->n; i++) {
        scalar = next_scalar(&cursor, key->elem);
        json_array_append_new(array, json_of(&scalar));
    }
    return array;
}
