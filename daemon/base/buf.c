/*
 * Buf: a buffer doubles its size, after it has reused the room of consumed bytes
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define LEAST_BYTES 256           /* first allocation: a request or two */
#define KEPT_BYTES  (64u * 1024u) /* an empty buffer keeps no more: there are many idle connections */

void buf_init(struct buf *buf, enum mem_kind kind, size_t max)
{
    *buf = (struct buf){ .kind = kind, .max = max };
}

void buf_finish(struct buf *buf)
{
    mem_free(buf->bytes);
    buf_init(buf, buf->kind, buf->max);
}

static void move_to_front(struct buf *buf)
{
    memmove(buf->bytes, buf->bytes + buf->head, buf->n);
    buf->head = 0;
}

static int grow(struct buf *buf, size_t need)
{
    size_t cap = num_max(2 * buf->cap, LEAST_BYTES);
    uint8_t *bytes;

    while (cap < need) {
        cap *= 2;
    }
    cap = num_min(cap, buf->max);
    bytes = mem_alloc(buf->kind, cap);
    if (!bytes) {
        return err_new(-ENOMEM);
    }
    if (buf->n > 0) {
        memcpy(bytes, buf->bytes + buf->head, buf->n);
    }
    mem_free(buf->bytes);
    buf->bytes = bytes;
    buf->cap = cap;
    buf->head = 0;
    return 0;
}

int buf_reserve(struct buf *buf, size_t n, uint8_t **ret_room)
{
    int r;

    if (buf->n > buf->max || n > buf->max - buf->n) {
        return BUF_FULL;
    }
    if (!buf->bytes || n > buf->cap - buf->n) {
        r = grow(buf, buf->n + n);
        if (r) {
            return err_up(r);
        }
    } else if (n > buf->cap - buf->n - buf->head) {
        move_to_front(buf);
    }
    *ret_room = buf->bytes + buf->head + buf->n;
    return BUF_OK;
}

void buf_grew(struct buf *buf, size_t n)
{
    assert(n <= buf->cap - buf->head - buf->n);
    buf->n += n;
}

int buf_append(struct buf *buf, const void *bytes, size_t n)
{
    uint8_t *room;
    int r;

    if (n == 0) {
        return BUF_OK;
    }
    r = buf_reserve(buf, n, &room);
    if (r == BUF_FULL) {
        return BUF_FULL;
    }
    if (r) {
        return err_up(r);
    }
    memcpy(room, bytes, n);
    buf_grew(buf, n);
    return BUF_OK;
}

const uint8_t *buf_data(const struct buf *buf)
{
    return buf->bytes ? buf->bytes + buf->head : (const uint8_t *)"";
}

void buf_eat(struct buf *buf, size_t n)
{
    assert(n <= buf->n);
    buf->n -= n;
    buf->head += n;
    if (buf->n > 0) {
        return;
    }
    buf->head = 0;
    if (buf->cap > KEPT_BYTES) {
        buf_finish(buf);
    }
}
