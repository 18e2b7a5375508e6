/*
 * Buf: bytes that grow up to a ceiling
 *
 * Bytes are appended at the end and consumed at the front. Consuming is cheap; the rest moves only when room is needed.
 * Buffers hold input that is not yet parsed, and output that is not yet written. One thread at a time.
 */
#ifndef SOTTO_BASE_BUF_H
#define SOTTO_BASE_BUF_H

#include "base/mem.h"

struct buf {
    uint8_t *bytes; /* owned; the live ones are bytes[head .. head + n] */
    size_t head;
    size_t n;
    size_t cap;
    size_t max; /* never more live bytes than this */
    enum mem_kind kind;
};

enum buf_outcome {
    BUF_OK,
    BUF_FULL, /* it would exceed the ceiling; nothing was changed */
};

void buf_init(struct buf *buf, enum mem_kind kind, size_t max);
void buf_finish(struct buf *buf); /* frees the bytes; the buffer is empty and may be used again */

/* Makes room for @n more bytes after the live ones and gives its address; buf_grew() then commits them.
 * Returns BUF_OK, BUF_FULL, or -ENOMEM. */
int buf_reserve(struct buf *buf, size_t n, uint8_t **ret_room);
void buf_grew(struct buf *buf, size_t n);

/* Appends a copy. Returns BUF_OK, BUF_FULL, or -ENOMEM. */
int buf_append(struct buf *buf, const void *bytes, size_t n);

/* Returns the live bytes: never NULL, so that zero bytes may be compared or copied, too. */
const uint8_t *buf_data(const struct buf *buf);

/* Removes the first @n live bytes. A buffer that becomes empty frees its memory if that is above 64 KiB. */
void buf_eat(struct buf *buf, size_t n);

#endif
