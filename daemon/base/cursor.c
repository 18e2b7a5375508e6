/*
 * Cursor: bytes are joined by shifts, so that neither alignment nor the host's byte order matters
 */
#include "base/cursor.h"
#include "base/num.h"
#include <string.h>

void cursor_init(struct cursor *cursor, const void *bytes, size_t n)
{
    *cursor = (struct cursor){ .bytes = bytes, .n = n };
}

size_t cursor_left(const struct cursor *cursor)
{
    return cursor->failed ? 0 : cursor->n - cursor->at;
}

const uint8_t *cursor_take(struct cursor *cursor, uint64_t n)
{
    const uint8_t *taken;

    if (cursor->failed) {
        return NULL;
    }
    if (n > cursor->n - cursor->at) {
        cursor->failed = true;
        cursor->wanted = num_saturate(cursor->at, n, UINT64_MAX);
        return NULL;
    }
    taken = cursor->bytes + cursor->at;
    cursor->at += n;
    return taken;
}

static uint64_t take_number(struct cursor *cursor, unsigned n)
{
    const uint8_t *bytes = cursor_take(cursor, n);
    uint64_t number = 0;

    for (unsigned i = 0; bytes && i < n; i++) {
        number |= (uint64_t)bytes[i] << 8 * i;
    }
    return number;
}

uint8_t cursor_u8(struct cursor *cursor)
{
    return (uint8_t)take_number(cursor, 1);
}

uint16_t cursor_u16(struct cursor *cursor)
{
    return (uint16_t)take_number(cursor, 2);
}

uint32_t cursor_u32(struct cursor *cursor)
{
    return (uint32_t)take_number(cursor, 4);
}

uint64_t cursor_u64(struct cursor *cursor)
{
    return take_number(cursor, 8);
}

float cursor_f32(struct cursor *cursor)
{
    uint32_t bits = cursor_u32(cursor);
    float number;

    memcpy(&number, &bits, sizeof(number));
    return number;
}

double cursor_f64(struct cursor *cursor)
{
    uint64_t bits = cursor_u64(cursor);
    double number;

    memcpy(&number, &bits, sizeof(number));
    return number;
}
