#include "engine/link.h"

#include "base/clean.h"
#include "base/err.h"
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* The longest order may arrive whole behind another one that still waits. */
#define LINK_BUFFER (2 * ((size_t)LIMIT_TO_ENGINE + FRAME_HEAD_BYTES))

/* Bytes that one read asks for, and that the buffer may keep resident while nothing waits. */
#define LINK_READ ((size_t)64 << 10)

/* Wire types of protobuf that the fields of an order can begin with. */
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* Reserved in the out-buffer, so that messages within a step (Withdrawn, a log line) allocate nothing. */
#define LINK_OUT_READY 4096

static int keep_ready(struct link *link)
{
    uint8_t *free_bytes;

    return buf_reserve(&link->out, LINK_OUT_READY, &free_bytes);
}

int link_open(struct link *link, int fd)
{
    int r;

    *link = (struct link){ .fd = fd };
    link->buffer = mmap(NULL, LINK_BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (link->buffer == MAP_FAILED) {
        link->buffer = NULL;
        return err_new(-errno);
    }
    wire_init(&link->wire, MEM_WIRE);
    buf_init(&link->out, MEM_WIRE, LIMIT_FROM_ENGINE + FRAME_HEAD_BYTES);
    pthread_mutex_init(&link->lock, NULL);
    r = keep_ready(link);
    if (r) {
        link_close(link);
        return err_up(r);
    }
    return 0;
}

void link_close(struct link *link)
{
    if (!link->buffer) {
        return;
    }
    munmap(link->buffer, LINK_BUFFER);
    mem_charge(MEM_WIRE, -(int64_t)link->touched);
    wire_finish(&link->wire);
    buf_finish(&link->out);
    pthread_mutex_destroy(&link->lock);
    link->buffer = NULL;
}

/* Moves the waiting bytes to the front of the buffer when there is little space behind them. */
static void compact(struct link *link)
{
    if (link->head > 0 && LINK_BUFFER - link->head - link->n < LINK_READ) {
        memmove(link->buffer, link->buffer + link->head, link->n);
        link->head = 0;
    }
}

/* Reads once. LINK_NONE: there is nothing, or the buffer is full. */
static int fill(struct link *link)
{
    size_t n_free;
    ssize_t n;

    compact(link);
    n_free = LINK_BUFFER - link->head - link->n;
    if (n_free == 0) {
        return LINK_NONE;
    }
    do {
        n = recv(link->fd, link->buffer + link->head + link->n, n_free < LINK_READ ? n_free : LINK_READ, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);

    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return LINK_NONE;
    }
    if (n <= 0) {
        return LINK_END;
    }
    link->n += (size_t)n;
    if (link->head + link->n > link->touched) {
        mem_charge(MEM_WIRE, (int64_t)(link->head + link->n - link->touched));
        link->touched = link->head + link->n;
    }
    return LINK_OK;
}

/* Removes @n bytes, and gives back the pages of a long order once nothing waits behind it. */
static void eat(struct link *link, size_t n)
{
    link->head += n;
    link->n -= n;
    link->seen = link->seen > n ? link->seen - n : 0;
    if (link->n > 0) {
        return;
    }
    link->head = 0;
    if (link->touched > LINK_READ) {
        madvise(link->buffer, LINK_BUFFER, MADV_DONTNEED);
        mem_charge(MEM_WIRE, -(int64_t)link->touched);
        link->touched = 0;
    }
}

/* Looks for a whole frame @at bytes behind the head. */
static int find_frame(const struct link *link, size_t at, struct frame *ret_frame, size_t *ret_used, struct diag *diag)
{
    int r = frame_take(link->buffer + link->head + at, link->n - at, LIMIT_TO_ENGINE, ret_frame, ret_used);

    if (r == FRAME_TOO_LARGE) {
        diag_set(diag, "an order of %zu bytes came; at most %u are allowed", ret_frame->n, LIMIT_TO_ENGINE);
        return LINK_BAD;
    }
    return r == FRAME_OK ? LINK_OK : LINK_NONE;
}

int link_take(struct link *link, Sotto__Engine__ToEngine **ret_order, struct diag *diag)
{
    ProtobufCMessage *message;
    struct frame frame;
    size_t used;
    int r;

    for (;;) {
        r = find_frame(link, 0, &frame, &used, diag);
        if (r != LINK_NONE) {
            break;
        }
        r = fill(link);
        if (r == LINK_END) {
            return LINK_END;
        }
        if (r == LINK_NONE) {
            poll(&(struct pollfd){ .fd = link->fd, .events = POLLIN }, 1, -1);
        }
    }
    if (r != LINK_OK) {
        return r;
    }

    r = wire_unpack(&link->wire, &sotto__engine__to_engine__descriptor, &frame, &message);
    if (r < 0) {
        return err_up(r);
    }
    if (r != WIRE_OK) {
        diag_set(diag, "an order of %zu bytes is %s", frame.n,
                 r == WIRE_TOO_MUCH ? "larger than its frame allows once unpacked" : "not one of this build's schema");
        return LINK_BAD;
    }
    eat(link, used);
    *ret_order = (Sotto__Engine__ToEngine *)message;
    return LINK_OK;
}

void link_rewind(struct link *link)
{
    link->seen = 0;
}

/* Reads a base-128 number at *at. Returns false if it passes the end or 64 bits. */
static bool read_varint(const uint8_t *bytes, size_t n, size_t *at, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && *at < n; shift += 7) {
        uint8_t byte = bytes[(*at)++];

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = value;
            return true;
        }
    }
    return false;
}

/*
 * Reads the leading numbers of an order without unpacking it, which would allocate. Returns false if the frame is not
 * one of the schema.
 */
static bool read_peeked(const struct frame *frame, struct peeked_order *ret)
{
    uint64_t tag;
    uint64_t n_body;
    size_t at = 0;

    if (!read_varint(frame->body, frame->n, &at, &tag) || (tag & 7) != WIRE_BYTES ||
        !read_varint(frame->body, frame->n, &at, &n_body) || n_body > frame->n - at) {
        return false;
    }
    ret->kind = (Sotto__Engine__ToEngine__BodyCase)(tag >> 3);
    memset(ret->field, 0, sizeof(ret->field));
    while (at < frame->n) {
        if (!read_varint(frame->body, frame->n, &at, &tag)) {
            return false;
        }
        if ((tag & 7) != WIRE_VARINT || tag >> 3 >= COUNTOF(ret->field)) {
            return true;
        }
        if (!read_varint(frame->body, frame->n, &at, &ret->field[tag >> 3])) {
            return false;
        }
    }
    return true;
}

int link_peek(struct link *link, struct peeked_order *ret_peeked, struct diag *diag)
{
    struct frame frame;
    size_t used;
    int r;

    r = find_frame(link, link->seen, &frame, &used, diag);
    if (r == LINK_NONE) {
        r = fill(link);
        if (r != LINK_OK) {
            return r;
        }
        r = find_frame(link, link->seen, &frame, &used, diag);
    }
    if (r != LINK_OK) {
        return r;
    }

    if (!read_peeked(&frame, ret_peeked)) {
        diag_set(diag, "an order of %zu bytes is not one of this build's schema", frame.n);
        return LINK_BAD;
    }
    ret_peeked->at = link->seen;
    ret_peeked->n = used;
    link->seen += used;
    return LINK_OK;
}

void link_drop(struct link *link, const struct peeked_order *peeked)
{
    uint8_t *frame = link->buffer + link->head + peeked->at;

    memmove(frame, frame + peeked->n, link->n - peeked->at - peeked->n);
    link->n -= peeked->n;
    link->seen -= peeked->n;
}

/* Writes all of @bytes and waits while the socket is full, whether or not it blocks. */
static int write_all(int fd, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        ssize_t r = send(fd, bytes, n, MSG_NOSIGNAL);

        if (r > 0) {
            bytes += r;
            n -= (size_t)r;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd ready = { .fd = fd, .events = POLLOUT };

            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return errno == EPIPE || errno == ECONNRESET ? LINK_END : err_new(-errno);
        }
    }
    return LINK_OK;
}

int link_send(struct link *link, const Sotto__Engine__FromEngine *message)
{
    int r;

    pthread_mutex_lock(&link->lock);
    r = wire_pack(&message->base, &link->out);
    if (r == BUF_FULL) {
        r = err_new(-EMSGSIZE);
    }
    r = r ? r : write_all(link->fd, buf_data(&link->out), link->out.n);
    buf_eat(&link->out, link->out.n);
    r = r ? r : keep_ready(link);
    pthread_mutex_unlock(&link->lock);
    return r;
}
