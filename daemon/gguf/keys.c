/*
 * Keys: names with typed values
 *
 * A value is never copied. Arrays of elements of fixed size are skipped by one multiplication that cannot wrap; arrays
 * of strings are walked. Arrays of arrays are refused: no writer makes them, and recursion into them would let a file
 * of a few kilobytes exhaust the stack.
 */
#include "base/err.h"
#include "base/num.h"
#include "gguf/parse.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Bytes of a name from the file that a diag shows. */
#define NAME_SHOWN 80

static int refuse_key(struct parse *parse, const struct gguf_key *key, const char *why)
{
    char name[NAME_SHOWN + 1];

    snprintf(name, sizeof(name), "%.*s", (int)num_min(key->name.n, NAME_SHOWN), key->name.bytes);
    diag_blame(parse->diag, name, "key %s: %s", name, why);
    return GGUF_REFUSED;
}

/* Skips the strings of an array. A number of them that the rest of the file cannot hold is refused at once. */
static int skip_strings(struct parse *parse, struct gguf_key *key)
{
    struct cursor *cursor = &parse->cursor;
    const size_t begin = cursor->at;

    if (key->n > (parse->gguf->file_bytes - begin) / sizeof(uint64_t)) {
        return refuse_key(parse, key, "claims more strings than the file has room for");
    }
    for (uint64_t i = 0; i < key->n && !cursor->failed; i++) {
        parse_text(parse);
    }
    if (cursor->failed) {
        return parse_short(parse, "string array of key", parse->gguf->n_keys);
    }
    key->n_value = cursor->at - begin;
    return GGUF_OK;
}

static int parse_array(struct parse *parse, struct gguf_key *key)
{
    struct cursor *cursor = &parse->cursor;
    const uint32_t elem = cursor_u32(cursor);
    uint64_t n_bytes;

    key->n = cursor_u64(cursor);
    if (cursor->failed) {
        return parse_short(parse, "array of key", parse->gguf->n_keys);
    }
    if (elem == GGUF_ARRAY) {
        return refuse_key(parse, key, "is an array of arrays, which no known model needs");
    }
    if (elem >= GGUF_TYPE_COUNT) {
        return refuse_key(parse, key, "is an array of an unknown type");
    }
    key->elem = (enum gguf_type)elem;
    key->value = cursor->bytes + cursor->at;
    if (elem == GGUF_STRING) {
        return skip_strings(parse, key);
    }
    if (!num_mul(key->n, gguf_type_bytes(key->elem), &n_bytes)) {
        return refuse_key(parse, key, "has a length that overflows");
    }
    cursor_take(cursor, n_bytes);
    if (cursor->failed) {
        return parse_short(parse, "array of key", parse->gguf->n_keys);
    }
    key->n_value = (size_t)n_bytes;
    return GGUF_OK;
}

static int parse_value(struct parse *parse, struct gguf_key *key)
{
    struct cursor *cursor = &parse->cursor;
    struct gguf_text text;

    if (key->type == GGUF_ARRAY) {
        return parse_array(parse, key);
    }
    key->n = 1;
    if (key->type == GGUF_STRING) {
        text = parse_text(parse);
        key->value = (const uint8_t *)text.bytes;
        key->n_value = text.n;
    } else {
        key->n_value = gguf_type_bytes(key->type);
        key->value = cursor_take(cursor, key->n_value);
    }
    return cursor->failed ? parse_short(parse, "value of key", parse->gguf->n_keys) : GGUF_OK;
}

static int parse_key(struct parse *parse, struct gguf_key *key)
{
    uint32_t type;

    key->name = parse_text(parse);
    type = cursor_u32(&parse->cursor);
    if (parse->cursor.failed) {
        return parse_short(parse, "key", parse->gguf->n_keys);
    }
    if (key->name.n == 0 || key->name.n > GGUF_KEY_NAME_MAX) {
        diag_set(parse->diag, "key %zu: its name has %zu bytes; the format allows 1 to %u", parse->gguf->n_keys,
                 key->name.n, GGUF_KEY_NAME_MAX);
        return GGUF_REFUSED;
    }
    if (type >= GGUF_TYPE_COUNT) {
        return refuse_key(parse, key, "has a type that the format does not define");
    }
    key->type = (enum gguf_type)type;
    return parse_value(parse, key);
}

/* Makes room for one more key. The array grows with the keys that were read, not with the number claimed. */
static int reserve_key(struct gguf *gguf, size_t *cap)
{
    struct gguf_key *keys;

    if (gguf->n_keys < *cap) {
        return 0;
    }
    keys = mem_realloc(MEM_FILE, gguf->keys, (*cap ? 2 * *cap : 32) * sizeof(*keys));
    if (!keys) {
        return err_new(-ENOMEM);
    }
    gguf->keys = keys;
    *cap = *cap ? 2 * *cap : 32;
    return 0;
}

/* Reads general.alignment, which the format defines as an unsigned number of 32 bits. */
static int check_alignment(struct parse *parse)
{
    const struct gguf_key *key = gguf_find_key(parse->gguf, "general.alignment");
    struct cursor cursor;
    uint32_t alignment;

    if (!key) {
        return GGUF_OK;
    }
    if (key->type != GGUF_U32) {
        return refuse_key(parse, key, "must be an unsigned number of 32 bits");
    }
    cursor_init(&cursor, key->value, key->n_value);
    alignment = cursor_u32(&cursor);
    if (alignment == 0 || alignment % 8 != 0 || alignment > GGUF_ALIGN_MAX) {
        diag_blame(parse->diag, "general.alignment",
                   "key general.alignment: %" PRIu32 " is not a multiple of 8 up to %u", alignment, GGUF_ALIGN_MAX);
        return GGUF_REFUSED;
    }
    parse->gguf->alignment = alignment;
    return GGUF_OK;
}

int parse_keys(struct parse *parse)
{
    struct gguf *gguf = parse->gguf;
    size_t cap = 0;
    int r;

    while (gguf->n_keys < parse->n_keys) {
        struct gguf_key *key;

        r = reserve_key(gguf, &cap);
        if (r) {
            return err_up(r);
        }
        key = &gguf->keys[gguf->n_keys];
        *key = (struct gguf_key){ .elem = GGUF_TYPE_COUNT };
        r = parse_key(parse, key);
        if (r) {
            return r;
        }
        r = map_put_bytes(&gguf->key_names, key->name.bytes, key->name.n, (union map_value){ .number = gguf->n_keys });
        if (r == MAP_EXISTS) {
            return refuse_key(parse, key, "is a duplicate");
        }
        if (r) {
            return err_up(r);
        }
        gguf->n_keys++;
    }
    return check_alignment(parse);
}
