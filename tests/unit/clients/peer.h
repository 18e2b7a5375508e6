/*
 * Peer: the daemon's end of a socketpair, played by the test
 *
 * Reads whole frames of the library, writes frames or any bytes. Everything waits, so a test that hangs is one whose
 * library did not send.
 */
#ifndef SOTTO_TESTS_PEER_H
#define SOTTO_TESTS_PEER_H

#include "clients/sotto.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include "unit.h"
#include <sotto/v1/sotto.pb-c.h>
#include <string.h>
#include <sys/socket.h>

struct peer {
    struct sotto *sotto;
    int fd; /* the daemon's end; -1 after peer_leave() */
    struct wire wire;
    struct buf body;
};

static inline void peer_send_bytes(const struct peer *peer, const void *bytes, size_t n)
{
    ck_assert_int_eq(send(peer->fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

static inline void peer_send(const struct peer *peer, const Sotto__V1__ServerFrame *frame)
{
    struct buf buf;

    buf_init(&buf, MEM_MISC, 1u << 24);
    ck_assert_int_eq(wire_pack(&frame->base, &buf), BUF_OK);
    peer_send_bytes(peer, buf_data(&buf), buf.n);
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

/* The next frame of the library; lives until the next call. */
static inline const Sotto__V1__ClientFrame *peer_read(struct peer *peer)
{
    uint8_t head[FRAME_HEAD_BYTES];
    struct frame frame;
    uint8_t *room;
    size_t used;
    ProtobufCMessage *message;

    read_all(peer->fd, head, sizeof(head));
    ck_assert_int_ne(frame_take(head, sizeof(head), LIMIT_FRAME, &frame, &used), FRAME_TOO_LARGE);
    buf_finish(&peer->body);
    buf_init(&peer->body, MEM_MISC, LIMIT_FRAME);
    ck_assert_int_eq(buf_reserve(&peer->body, used, &room), BUF_OK);
    read_all(peer->fd, room, used - FRAME_HEAD_BYTES);
    frame.body = room;
    frame.n = used - FRAME_HEAD_BYTES;
    ck_assert_int_eq(wire_unpack(&peer->wire, &sotto__v1__client_frame__descriptor, &frame, &message), WIRE_OK);
    return (const Sotto__V1__ClientFrame *)message;
}

static inline void peer_meet(struct peer *peer)
{
    int ends[2];
    struct sotto_error error;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    *peer = (struct peer){ .fd = ends[1] };
    wire_init(&peer->wire, MEM_MISC);
    buf_init(&peer->body, MEM_MISC, LIMIT_FRAME);
    ck_assert_int_eq(sotto_open_fd(&peer->sotto, ends[0], "test/1", &error), SOTTO_OK);
    ck_assert_int_eq(peer_read(peer)->body_case, SOTTO__V1__CLIENT_FRAME__BODY_HELLO);
}

static inline void peer_welcome(const struct peer *peer)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;
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
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_WELCOME;
    frame.welcome = &welcome;
    peer_send(peer, &frame);
}

static inline void peer_delta(const struct peer *peer, uint32_t stream, uint32_t first, const char *text)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;
    Sotto__V1__Delta delta = SOTTO__V1__DELTA__INIT;
    uint32_t ids[] = { 100 + first };

    delta.first = first;
    delta.n_tokens = 1;
    delta.tokens = ids;
    delta.text.data = (uint8_t *)text;
    delta.text.len = strlen(text);
    frame.stream = stream;
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DELTA;
    frame.delta = &delta;
    peer_send(peer, &frame);
}

static inline void peer_done(const struct peer *peer, uint32_t stream)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;
    Sotto__V1__Done done = SOTTO__V1__DONE__INIT;
    Sotto__V1__Usage usage = SOTTO__V1__USAGE__INIT;

    usage.prompt_tokens = 7;
    usage.generated_tokens = 3;
    usage.ttft_us = 1000;
    usage.total_us = 5000;
    done.reason = SOTTO__V1__FINISH_REASON__FINISH_LENGTH;
    done.usage = &usage;
    frame.stream = stream;
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_DONE;
    frame.done = &done;
    peer_send(peer, &frame);
}

static inline void peer_error(const struct peer *peer, uint32_t stream, uint32_t about, bool fatal)
{
    Sotto__V1__ServerFrame frame = SOTTO__V1__SERVER_FRAME__INIT;
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;

    error.code = SOTTO__V1__CODE__CODE_NOT_FOUND;
    error.message = (char[]){ "there is no such model" };
    error.field = (char[]){ "generate.model" };
    error.about_stream = about;
    error.fatal = fatal;
    error.retry_after_ms = 250;
    frame.stream = stream;
    frame.body_case = SOTTO__V1__SERVER_FRAME__BODY_ERROR;
    frame.error = &error;
    peer_send(peer, &frame);
}

static inline void peer_leave(struct peer *peer)
{
    close(peer->fd);
    peer->fd = -1;
}

static inline void peer_part(struct peer *peer)
{
    if (peer->fd >= 0) {
        peer_leave(peer);
    }
    sotto_close(peer->sotto);
    wire_finish(&peer->wire);
    buf_finish(&peer->body);
}

#endif
