#include "maker.h"
#include <check.h>
#include <string.h>

#define FILE_BYTES_MAX (16u << 20)

void maker_init(struct maker *maker, uint32_t version)
{
    *maker = (struct maker){ .n_keys = 0 };
    buf_init(&maker->buf, MEM_MISC, FILE_BYTES_MAX);
    maker_bytes(maker, "GGUF", 4);
    maker_u32(maker, version);
    maker_u64(maker, 0);
    maker_u64(maker, 0);
}

void maker_finish(struct maker *maker)
{
    buf_finish(&maker->buf);
}

void maker_bytes(struct maker *maker, const void *bytes, size_t n)
{
    ck_assert_int_eq(buf_append(&maker->buf, bytes, n), BUF_OK);
}

void maker_u32(struct maker *maker, uint32_t value)
{
    const uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24) };

    maker_bytes(maker, bytes, sizeof(bytes));
}

void maker_u64(struct maker *maker, uint64_t value)
{
    maker_u32(maker, (uint32_t)value);
    maker_u32(maker, (uint32_t)(value >> 32));
}

void maker_text(struct maker *maker, const char *text)
{
    maker_u64(maker, strlen(text));
    maker_bytes(maker, text, strlen(text));
}

void maker_key(struct maker *maker, const char *name, uint32_t type)
{
    maker_text(maker, name);
    maker_u32(maker, type);
    maker->n_keys++;
}

void maker_key_u32(struct maker *maker, const char *name, uint32_t value)
{
    maker_key(maker, name, GGUF_U32);
    maker_u32(maker, value);
}

void maker_key_bool(struct maker *maker, const char *name, bool value)
{
    maker_key(maker, name, GGUF_BOOL);
    maker_bytes(maker, value ? "\1" : "\0", 1);
}

void maker_key_text(struct maker *maker, const char *name, const char *text)
{
    maker_key(maker, name, GGUF_STRING);
    maker_text(maker, text);
}

void maker_key_array(struct maker *maker, const char *name, uint32_t elem, uint64_t n)
{
    maker_key(maker, name, GGUF_ARRAY);
    maker_u32(maker, elem);
    maker_u64(maker, n);
}

void maker_tensor(struct maker *maker, const char *name, uint32_t n_dims, const uint64_t *dims, uint32_t type,
                  uint64_t offset)
{
    maker_text(maker, name);
    maker_u32(maker, n_dims);
    for (uint32_t i = 0; i < n_dims && i < 8; i++) {
        maker_u64(maker, dims[i]);
    }
    maker_u32(maker, type);
    maker_u64(maker, offset);
    maker->n_tensors++;
}

void maker_data(struct maker *maker, size_t align, size_t n)
{
    const size_t n_total = (align - maker->buf.n % align) % align + n;

    for (size_t i = 0; i < n_total; i++) {
        maker_bytes(maker, "\0", 1);
    }
}

const uint8_t *maker_file(struct maker *maker, size_t *ret_n)
{
    uint8_t *bytes = maker->buf.bytes + maker->buf.head;

    for (size_t i = 0; i < 8; i++) {
        bytes[8 + i] = (uint8_t)(maker->n_tensors >> 8 * i);
        bytes[16 + i] = (uint8_t)(maker->n_keys >> 8 * i);
    }
    *ret_n = maker->buf.n;
    return bytes;
}

int maker_parse(struct maker *maker, struct gguf **ret_gguf, struct diag *diag)
{
    uint64_t wanted;
    size_t n;
    const uint8_t *bytes = maker_file(maker, &n);

    return gguf_parse(ret_gguf, bytes, n, n, &wanted, diag);
}
