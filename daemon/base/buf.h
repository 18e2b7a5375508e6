/*
 * Buf: bytes that grow up to a ceiling
 *
 * Bytes are appended at the end and eaten at the front; eating is cheap, the rest moves only when room is needed.
 * Used for what was read and not yet understood, and for what is to be written. One thread at a time.
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
    BUF_FULL, /* would pass the ceiling; nothing was changed */
};

void buf_init(struct buf *buf, enum mem_kind kind, size_t max);
void buf_finish(struct buf *buf); /* frees; the buffer is empty and usable again */

/* Makes room for @n more bytes behind the live ones and gives their place; commit with buf_grew().
 * BUF_FULL, or -ENOMEM. */
int buf_reserve(struct buf *buf, size_t n, uint8_t **ret_room);
void buf_grew(struct buf *buf, size_t n);

/* Appends a copy. BUF_FULL, or -ENOMEM. */
int buf_append(struct buf *buf, const void *bytes, size_t n);

/* The live bytes. Never NULL, so that none of them may be compared or copied as well. */
const uint8_t *buf_data(const struct buf *buf);

/* Forgets the first @n live bytes; a buffer that becomes empty gives its memory back above 64 KiB. */
void buf_eat(struct buf *buf, size_t n);

#endif
