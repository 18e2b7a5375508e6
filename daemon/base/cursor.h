/*
 * Cursor: bounded reading of untrusted little-endian data
 *
 * The first failure sticks: later reads return zeros and change nothing, so a parser checks once at the end of a
 * group of fields. Nothing is copied; pointers into the bytes live as long as they do. No allocation, any thread.
 */
#ifndef SOTTO_BASE_CURSOR_H
#define SOTTO_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
    const uint8_t *bytes;
    size_t n;
    size_t at;
    bool failed;     /* a read went past the end */
    uint64_t wanted; /* with failed: how many bytes the read needed in all (saturates) */
};

void cursor_init(struct cursor *cursor, const void *bytes, size_t n);

uint8_t cursor_u8(struct cursor *cursor);
uint16_t cursor_u16(struct cursor *cursor);
uint32_t cursor_u32(struct cursor *cursor);
uint64_t cursor_u64(struct cursor *cursor);
float cursor_f32(struct cursor *cursor);
double cursor_f64(struct cursor *cursor);

/* Returns the next @n bytes, or NULL. */
const uint8_t *cursor_take(struct cursor *cursor, uint64_t n);

size_t cursor_left(const struct cursor *cursor);

#endif
