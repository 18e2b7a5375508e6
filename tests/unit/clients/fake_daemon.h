/*
 * Fake daemon: the daemon's end of a socketpair
 *
 * It reads whole frames of the library and writes frames or any bytes. Everything waits, so a test hangs if the library
 * did not send.
 */
#ifndef SOTTO_TESTS_FAKE_DAEMON_H
#define SOTTO_TESTS_FAKE_DAEMON_H

#include "clients/sotto.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include "unit.h"
#include <sotto/v1/sotto.pb-c.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE_MS 60000 /* for what has been sent already */

struct fake_daemon {
    struct sotto *sotto;
    int fd; /* the daemon's end; -1 after daemon_hang_up() */
    struct wire wire;
    struct buf body;
};

static inline void daemon_send_bytes(const struct fake_daemon *sottod, const void *bytes, size_t n)
{
    ck_assert_int_eq(send(sottod->fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

/* Sends a frame with @message, which is of the kind @body. */
static inline void daemon_send(const struct fake_daemon *sottod, uint32_t stream, Sotto__V1__ServerFrame__BodyCase body,
                               const void *message)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;
    struct buf buf;

    frame.stream = stream;
    frame.body_case = body;
    frame.error = wire_message(message); /* all bodies share this pointer */
    buf_init(&buf, MEM_MISC, 1u << 24);
    ck_assert_int_eq(wire_pack(&frame.base, &buf), BUF_OK);
    daemon_send_bytes(sottod, buf_data(&buf), buf.n);
    buf_finish(&buf);
}

static inline void read_all(int fd, void *to, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = recv(fd, (char *)to + at, n - at, 0);

        ck_assert_int_gt(got, 0);
        at += (size_t)got;
    }
}

/* Returns the next frame of the library, valid until the next call. */
static inline const Sotto__V1__ClientFrame *daemon_read(struct fake_daemon *sottod)
{
    uint8_t head[FRAME_HEAD_BYTES];
    struct frame frame;
    uint8_t *room;
    size_t used;
    ProtobufCMessage *message;

    read_all(sottod->fd, head, sizeof(head));
    ck_assert_int_ne(frame_take(head, sizeof(head), LIMIT_FRAME, &frame, &used), FRAME_TOO_LARGE);
    buf_finish(&sottod->body);
    buf_init(&sottod->body, MEM_MISC, LIMIT_FRAME);
    ck_assert_int_eq(buf_reserve(&sottod->body, used, &room), BUF_OK);
    read_all(sottod->fd, room, used - FRAME_HEAD_BYTES);
    frame.body = room;
    frame.n = used - FRAME_HEAD_BYTES;
    ck_assert_int_eq(wire_unpack(&sottod->wire, &sotto__v1__client_frame__descriptor, &frame, &message), WIRE_OK);
    return (const Sotto__V1__ClientFrame *)message;
}

/* Connects the library and reads its Hello. */
static inline void daemon_open(struct fake_daemon *sottod)
{
    int ends[2];
    struct sotto_error error;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    *sottod = (struct fake_daemon){ .fd = ends[1] };
    wire_init(&sottod->wire, MEM_MISC);
    buf_init(&sottod->body, MEM_MISC, LIMIT_FRAME);
    ck_assert_int_eq(sotto_open_fd(&sottod->sotto, ends[0], "test/1", &error), SOTTO_OK);
    ck_assert_int_eq(daemon_read(sottod)->body_case, SOTTO__V1__CLIENT_FRAME__BODY_HELLO);
}

static inline void daemon_welcome(const struct fake_daemon *sottod)
{
    Sotto__V1__Welcome welcome = SOTTO__V1__WELCOME__INIT;
    Sotto__V1__Limits limits = SOTTO__V1__LIMITS__INIT;

    limits.frame_bytes = LIMIT_FRAME;
    limits.admin = true;
    welcome.version = PROTO_VERSION;
    welcome.server = (char[]){ "peer/1" };
    welcome.instance = (char[]){ "0123456789abcdef" };
    welcome.limits = &limits;
    welcome.n_capabilities = 1;
    welcome.capabilities = (char *[]){ (char[]){ "juggling" } };
    daemon_send(sottod, 0, SOTTO__V1__SERVER_FRAME__BODY_WELCOME, &welcome);
}

static inline void daemon_delta(const struct fake_daemon *sottod, uint32_t stream, uint32_t first, const char *text)
{
    Sotto__V1__Delta delta = SOTTO__V1__DELTA__INIT;
    uint32_t ids[] = { 100 + first };

    delta.first = first;
    delta.n_tokens = 1;
    delta.tokens = ids;
    delta.text.data = (uint8_t *)text;
    delta.text.len = strlen(text);
    daemon_send(sottod, stream, SOTTO__V1__SERVER_FRAME__BODY_DELTA, &delta);
}

static inline void daemon_done(const struct fake_daemon *sottod, uint32_t stream)
{
    Sotto__V1__Done done = SOTTO__V1__DONE__INIT;
    Sotto__V1__Usage usage = SOTTO__V1__USAGE__INIT;

    usage.prompt_tokens = 7;
    usage.generated_tokens = 3;
    usage.ttft_us = 1000;
    usage.total_us = 5000;
    done.reason = SOTTO__V1__FINISH_REASON__FINISH_LENGTH;
    done.usage = &usage;
    daemon_send(sottod, stream, SOTTO__V1__SERVER_FRAME__BODY_DONE, &done);
}

static inline void daemon_error(const struct fake_daemon *sottod, uint32_t stream, uint32_t about, bool fatal)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;

    error.code = SOTTO__V1__CODE__CODE_NOT_FOUND;
    error.message = (char[]){ "there is no such model" };
    error.field = (char[]){ "generate.model" };
    error.about_stream = about;
    error.fatal = fatal;
    error.retry_after_ms = 250;
    daemon_send(sottod, stream, SOTTO__V1__SERVER_FRAME__BODY_ERROR, &error);
}

/* Closes the daemon's end. */
static inline void daemon_hang_up(struct fake_daemon *sottod)
{
    close(sottod->fd);
    sottod->fd = -1;
}

static inline void daemon_close(struct fake_daemon *sottod)
{
    if (sottod->fd >= 0) {
        daemon_hang_up(sottod);
    }
    sotto_close(sottod->sotto);
    wire_finish(&sottod->wire);
    buf_finish(&sottod->body);
}

#endif
