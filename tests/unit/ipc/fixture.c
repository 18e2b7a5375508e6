#include "fixture.h"
#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define PATIENCE_US 60000000u
#define TURNS_LEAST 20u

static uint64_t wire_before;

static void grant(void *owner, const struct peer *peer, struct grant *ret_grant)
{
    const struct fixture *fixture = owner;

    *ret_grant = fixture->grant;
    ret_grant->uid = peer->uid;
}

static int reload(void *owner, Sotto__V1__Reloaded *ret_reloaded, struct diag *diag)
{
    const struct fixture *fixture = owner;

    if (fixture->reload) {
        diag_set(diag, "the configuration is wrong");
        return fixture->reload;
    }
    ret_reloaded->config_generation = 2;
    return 0;
}

static void describe(void *owner, const struct grant *grant_of, Sotto__V1__StatusReport *report)
{
    (void)owner;
    (void)grant_of;
    report->config_generation = 1;
}

static const struct ipc_ops ops = { .grant = grant, .reload = reload, .describe = describe };

void fixture_open(struct fixture *fixture)
{
    const struct ipc_limits limits = {
        .n_conns = LIMIT_CONNS,
        .n_conns_a_uid = LIMIT_CONNS_A_UID,
        .wire_bytes_a_uid = LIMIT_WIRE_A_UID,
        .hello_ms = 60000, /* the deadlines are far, as a busy machine may let the test wait */
        .half_frame_ms = 60000,
        .stall_ms = 60000,
        .closing_ms = 500,
    };
    struct diag diag = DIAG_INIT;
    struct mem_account account;

    mem_read(MEM_WIRE, &account);
    wire_before = account.bytes;
    signal(SIGPIPE, SIG_IGN);
    memset(fixture, 0, sizeof(*fixture));
    fixture->grant = (struct grant){
        .class_ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE,
        .n_streams = LIMIT_STREAMS,
        .n_answer = DEFAULT_ANSWER_TOKENS,
        .admin = true,
        .special = true,
    };
    snprintf(fixture->dir, sizeof(fixture->dir), "/tmp/sotto-ipc-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fixture->dir));
    snprintf(fixture->path, sizeof(fixture->path), "%s/s", fixture->dir);
    uv_loop_init(&fixture->loop);
    fake_hub_init(&fixture->hub);
    ck_assert_int_eq(ipc_create(&fixture->ipc, &fixture->loop, &fixture->hub, &limits, &ops, fixture), 0);
    ck_assert_msg(listener_open(fixture->ipc, fixture->path, (gid_t)-1, &diag) == 0, "%s", diag.text);
}

static void on_closed(void *owner)
{
    struct fixture *fixture = owner;

    fixture->is_closed = true;
}

void fixture_close(struct fixture *fixture)
{
    struct mem_account account;
    char lock[128];

    ipc_close(fixture->ipc, on_closed);
    fixture_until(fixture, &fixture->is_closed);
    fixture_iterate(fixture);
    ipc_destroy(fixture->ipc);
    fake_hub_finish(&fixture->hub);
    ck_assert_int_eq(uv_loop_close(&fixture->loop), 0);
    mem_read(MEM_WIRE, &account);
    ck_assert_uint_eq(account.bytes, wire_before);
    ck_assert_int_ne(access(fixture->path, F_OK), 0);
    snprintf(lock, sizeof(lock), "%s.lock", fixture->path);
    unlink(lock);
    rmdir(fixture->dir);
}

void fixture_iterate(struct fixture *fixture)
{
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    fake_hub_iterate(&fixture->hub);
}

void fixture_run(struct fixture *fixture, unsigned ms)
{
    uint64_t until_us = clock_mono_us() + ms * 1000u;

    for (unsigned i = 0; i < TURNS_LEAST || clock_mono_us() < until_us; i++) {
        fixture_iterate(fixture);
        usleep(200);
    }
}

void fixture_until(struct fixture *fixture, const bool *is_true)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;

    while (!*is_true) {
        ck_assert_msg(clock_mono_us() < until_us, "a minute has passed and it is still not so");
        fixture_iterate(fixture);
        usleep(200);
    }
}

/* ---- clients */

void client_connect(struct fixture *fixture, struct client *client)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memset(client, 0, sizeof(*client));
    buf_init(&client->in, MEM_MISC, 64u << 20);
    wire_init(&client->wire, MEM_MISC);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(client->fd, 0);
    memcpy(address.sun_path, fixture->path, strlen(fixture->path) + 1);
    ck_assert_int_eq(connect(client->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
}

void client_connect_as(struct fixture *fixture, struct client *client, uid_t uid)
{
    ck_assert_int_eq(chmod(fixture->dir, 0711), 0);
    ck_assert_int_eq(chmod(fixture->path, 0777), 0);
    ck_assert_int_eq(seteuid(uid), 0);
    client_connect(fixture, client);
    ck_assert_int_eq(seteuid(0), 0);
}

void client_close(struct client *client)
{
    buf_finish(&client->in);
    wire_finish(&client->wire);
    fd_closep(&client->fd);
}

bool client_send_bytes(struct fixture *fixture, struct client *client, const void *bytes, size_t n)
{
    const char *at = bytes;
    uint64_t until_us = clock_mono_us() + PATIENCE_US;

    while (n) {
        ssize_t sent = send(client->fd, at, n, MSG_NOSIGNAL);

        if (sent > 0) {
            at += sent;
            n -= (size_t)sent;
        } else if (errno != EAGAIN) {
            return false;
        }
        fixture_iterate(fixture);
        ck_assert_uint_lt(clock_mono_us(), until_us);
    }
    return true;
}

void client_send(struct fixture *fixture, struct client *client, uint32_t label, Sotto__V1__ClientFrame__BodyCase body,
                 const void *message)
{
    Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;
    struct buf bytes;

    frame.stream = label;
    frame.body_case = body;
    frame.hello = wire_message(message); /* all bodies share this pointer */
    buf_init(&bytes, MEM_MISC, 64u << 20);
    ck_assert_int_eq(wire_pack(&frame.base, &bytes), BUF_OK);
    client_send_bytes(fixture, client, buf_data(&bytes), bytes.n);
    buf_finish(&bytes);
}

void client_hello(struct fixture *fixture, struct client *client)
{
    Sotto__V1__Hello hello = SOTTO__V1__HELLO__INIT;

    hello.version_min = 1;
    hello.version_max = 1;
    hello.client = wire_str("test");
    client_send(fixture, client, 0, SOTTO__V1__CLIENT_FRAME__BODY_HELLO, &hello);
    client_expect(fixture, client, HAS(WELCOME), 0);
}

void client_generate(struct fixture *fixture, struct client *client, uint32_t label)
{
    Sotto__V1__Generate generate = SOTTO__V1__GENERATE__INIT;

    generate.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    client_send(fixture, client, label, SOTTO__V1__CLIENT_FRAME__BODY_GENERATE, &generate);
}

void client_cancel(struct fixture *fixture, struct client *client, uint32_t label)
{
    Sotto__V1__Cancel cancel = SOTTO__V1__CANCEL__INIT;

    client_send(fixture, client, label, SOTTO__V1__CLIENT_FRAME__BODY_CANCEL, &cancel);
}

static bool read_some(struct client *client)
{
    uint8_t *room;
    ssize_t n;

    ck_assert_int_eq(buf_reserve(&client->in, 65536, &room), BUF_OK);
    n = recv(client->fd, room, 65536, 0);
    if (n > 0) {
        buf_grew(&client->in, (size_t)n);
    }
    return n > 0 || (n < 0 && errno == EAGAIN);
}

const Sotto__V1__ServerFrame *client_next(struct fixture *fixture, struct client *client)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;

    buf_eat(&client->in, client->n_eat);
    client->n_eat = 0;
    for (;;) {
        ProtobufCMessage *message;
        struct frame frame;
        size_t used;

        if (frame_take(buf_data(&client->in), client->in.n, LIMIT_FRAME, &frame, &used) == FRAME_OK) {
            ck_assert_int_eq(wire_unpack(&client->wire, &sotto__v1__server_frame__descriptor, &frame, &message),
                             WIRE_OK);
            client->n_eat = used;
            return (const Sotto__V1__ServerFrame *)message;
        }
        fixture_iterate(fixture);
        if (!read_some(client)) {
            return NULL;
        }
        ck_assert_msg(clock_mono_us() < until_us, "no frame came");
    }
}

const Sotto__V1__ServerFrame *client_expect(struct fixture *fixture, struct client *client,
                                            Sotto__V1__ServerFrame__BodyCase body, uint32_t stream)
{
    const Sotto__V1__ServerFrame *frame = client_next(fixture, client);

    ck_assert_msg(frame, "the connection has ended");
    ck_assert_msg(frame->body_case == body, "body %d came: %s", frame->body_case,
                  frame->body_case == HAS(ERROR) ? frame->error->message : "");
    ck_assert_uint_eq(frame->stream, stream);
    return frame;
}

const Sotto__V1__Error *client_expect_error(struct fixture *fixture, struct client *client, uint32_t stream,
                                            Sotto__V1__Code code, bool fatal)
{
    const Sotto__V1__Error *error = client_expect(fixture, client, HAS(ERROR), stream)->error;

    ck_assert_msg(error->code == code, "code %d: %s", error->code, error->message);
    ck_assert_int_eq(error->fatal, fatal);
    ck_assert_uint_gt(strlen(error->message), 0);
    return error;
}

void client_expect_end(struct fixture *fixture, struct client *client)
{
    ck_assert_ptr_null(client_next(fixture, client));
}

void client_expect_silence(struct fixture *fixture, struct client *client, unsigned ms)
{
    char byte;

    ck_assert_uint_eq(client->in.n - client->n_eat, 0);
    fixture_run(fixture, ms);
    ck_assert_int_eq(recv(client->fd, &byte, 1, MSG_PEEK), -1);
    ck_assert_int_eq(errno, EAGAIN);
}
