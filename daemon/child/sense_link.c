#include "child/sense_link.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/log.h"
#include "proto/wire.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES (64u << 10)
#define OUT_MAX    4096u

/* A hundred samples a second is the fastest rate; events come on top. */
#define FRAMES_A_SECOND 400u

struct sense_link {
    uv_pipe_t pipe;
    uv_process_t process;
    uv_connect_t connect;
    uv_write_t write;
    uint8_t order[64]; /* in flight: @is_writing */
    const struct sense_link_sink *sink;
    void *owner;
    struct wire wire;
    struct buf in;
    struct buf out;
    uint32_t uid;
    uint32_t n_frames; /* in this second */
    uint32_t period_ms;
    uint32_t sent_ms; /* period that was sent; 0: none yet */
    uint32_t n_open;  /* handles that are not closed yet */
    bool was_spawned;
    bool has_process;
    bool is_connected;
    bool is_writing;
    bool is_dropped;
    bool is_closing;
    bool has_hung_up; /* its end of the socket is closed: the process has ended, or is about to */
    bool was_open;
    char why[DIAG_BYTES];
};

/* ---- the end */

static void on_closed(uv_handle_t *handle)
{
    struct sense_link *link = handle->data;

    if (--link->n_open > 0) {
        return;
    }
    link->sink->on_end(link->owner, link->was_open, link->why);
    wire_finish(&link->wire);
    buf_finish(&link->in);
    buf_finish(&link->out);
    mem_free(link);
}

static void close_handles(struct sense_link *link)
{
    if (link->is_closing) {
        return;
    }
    link->is_closing = true;
    link->n_open = link->was_spawned ? 2 : 1;
    if (link->was_spawned) {
        uv_close((uv_handle_t *)&link->process, on_closed);
    }
    uv_close((uv_handle_t *)&link->pipe, on_closed);
}

void sense_link_drop(struct sense_link *link, const char *why)
{
    if (!link->is_dropped) {
        link->is_dropped = true;
        snprintf(link->why, sizeof(link->why), "%s", why);
        uv_read_stop((uv_stream_t *)&link->pipe);
    }
    if (link->has_process) {
        uv_process_kill(&link->process, SIGKILL); /* the rest follows when the process is reaped */
    } else {
        close_handles(link);
    }
}

void sense_link_abandon(struct sense_link *link)
{
    sense_link_drop(link, "the daemon ends");
    close_handles(link);
}

static void on_exit(uv_process_t *process, int64_t status, int signal)
{
    struct sense_link *link = process->data;
    char why[96];

    link->has_process = false;
    link->is_dropped = link->is_dropped && !(link->has_hung_up && signal != SIGKILL); /* the exit status tells more */
    if (signal) {
        snprintf(why, sizeof(why), "sotto-sense ended by signal %d (%s)", signal, strsignal(signal));
    } else {
        snprintf(why, sizeof(why), "sotto-sense ended with exit code %" PRId64, status);
    }
    sense_link_drop(link, why);
}

/* ---- writing: one small order, the newest */

static void send_rate(struct sense_link *link);

static void on_written(uv_write_t *write, int status)
{
    struct sense_link *link = write->data;

    link->is_writing = false;
    if (status == 0) {
        send_rate(link); /* another period may have been asked for meanwhile */
    }
}

static void send_rate(struct sense_link *link)
{
    Sotto__Sense__ToSense order = SOTTO__SENSE__TO_SENSE__INIT;
    Sotto__Sense__Rate rate = SOTTO__SENSE__RATE__INIT;
    uv_buf_t bytes;

    if (!link->is_connected || link->is_writing || link->is_dropped || link->period_ms == link->sent_ms) {
        return;
    }
    rate.period_ms = link->period_ms;
    order.body_case = SOTTO__SENSE__TO_SENSE__BODY_RATE;
    order.rate = &rate;
    if (wire_pack(&order.base, &link->out) || link->out.n > sizeof(link->order)) {
        buf_eat(&link->out, link->out.n);
        return; /* no memory: it is asked again with the next rate */
    }
    bytes = uv_buf_init((char *)link->order, (unsigned)link->out.n);
    memcpy(link->order, buf_data(&link->out), link->out.n);
    buf_eat(&link->out, link->out.n);
    link->write.data = link;
    if (uv_write(&link->write, (uv_stream_t *)&link->pipe, &bytes, 1, on_written) == 0) {
        link->is_writing = true;
        link->sent_ms = link->period_ms;
    }
}

void sense_link_rate(struct sense_link *link, uint32_t period_ms)
{
    link->period_ms = period_ms;
    send_rate(link);
}

/* ---- reading */

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret_bytes)
{
    struct sense_link *link = handle->data;
    uint8_t *room;

    (void)wanted;
    if (buf_reserve(&link->in, READ_BYTES, &room)) {
        *ret_bytes = uv_buf_init(NULL, 0);
        return;
    }
    *ret_bytes = uv_buf_init((char *)room, READ_BYTES);
}

/* Takes whole frames off the front of what was read. */
static void take_frames(struct sense_link *link)
{
    while (link->in.n > 0 && !link->is_dropped) {
        ProtobufCMessage *message;
        struct frame frame;
        size_t used;
        int r = frame_take(buf_data(&link->in), link->in.n, SENSE_FROM_MAX, &frame, &used);

        if (r == FRAME_MORE) {
            return;
        }
        if (++link->n_frames > FRAMES_A_SECOND) {
            sense_link_drop(link, "sotto-sense sends more than it was asked for");
            return;
        }
        if (r == FRAME_OK) {
            r = wire_unpack(&link->wire, &sotto__sense__from_sense__descriptor, &frame, &message);
        }
        if (r) {
            sense_link_drop(link, "sotto-sense sends bytes that are no message");
            return;
        }
        link->was_open = true;
        link->sink->on_message(link->owner, (const Sotto__Sense__FromSense *)message);
        buf_eat(&link->in, used);
    }
}

static void on_bytes(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes)
{
    struct sense_link *link = pipe->data;

    (void)bytes;
    if (n < 0) {
        link->has_hung_up = n == UV_EOF || n == UV_ECONNRESET;
        sense_link_drop(link, n == UV_ENOBUFS ? "there was no memory for what sotto-sense says"
                                              : "sotto-sense has closed its end");
        return;
    }
    buf_grew(&link->in, (size_t)n);
    take_frames(link);
}

static void begin_reading(struct sense_link *link)
{
    link->is_connected = true;
    uv_read_start((uv_stream_t *)&link->pipe, on_room, on_bytes);
    send_rate(link);
}

/* ---- the start */

static struct sense_link *create(uv_loop_t *loop, const struct sense_link_sink *sink, void *owner)
{
    struct sense_link *link = mem_calloc(MEM_MISC, 1, sizeof(*link));

    if (!link) {
        return NULL;
    }
    link->sink = sink;
    link->owner = owner;
    wire_init(&link->wire, MEM_MISC);
    buf_init(&link->in, MEM_MISC, SENSE_FROM_MAX + FRAME_HEAD_BYTES + READ_BYTES);
    buf_init(&link->out, MEM_MISC, OUT_MAX);
    uv_pipe_init(loop, &link->pipe, 0);
    link->pipe.data = link;
    link->process.data = link;
    return link;
}

static int spawn(struct sense_link *link, uv_loop_t *loop, const char *const *argv, int child_end)
{
    char *args[SENSE_ARGS_MAX + 1] = { NULL };
    uv_stdio_container_t stdio[4] = {
        { .flags = UV_IGNORE },
        { .flags = UV_IGNORE },
        { .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
        { .flags = UV_INHERIT_FD, .data.fd = child_end },
    };
    uv_process_options_t options = {
        .exit_cb = on_exit,
        .file = argv[0],
        .args = args,
        .stdio_count = COUNTOF(stdio),
        .stdio = stdio,
    };

    for (size_t i = 0; argv[i] && i < SENSE_ARGS_MAX; i++) {
        memcpy(&args[i], &argv[i], sizeof(args[i])); /* libuv's parameter is not const; it leaves them alone */
    }
    link->was_spawned = true;
    return uv_spawn(loop, &link->process, &options);
}

int sense_link_start(struct sense_link **ret_link, uv_loop_t *loop, const char *const *argv,
                     const struct sense_link_sink *sink, void *owner)
{
    struct sense_link *link = create(loop, sink, owner);
    char why[DIAG_BYTES];
    int ends[2];
    int r;

    if (!link) {
        return err_new(-ENOMEM);
    }
    *ret_link = link;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        sense_link_drop(link, "no socketpair for sotto-sense");
        return 0;
    }
    r = spawn(link, loop, argv, ends[1]);
    close(ends[1]);
    link->has_process = r == 0;
    r = r ? r : uv_pipe_open(&link->pipe, ends[0]);
    if (r) {
        close(ends[0]);
        snprintf(why, sizeof(why), "%.200s could not be started: %s", argv[0], uv_strerror(r));
        sense_link_drop(link, why);
        return 0;
    }
    begin_reading(link);
    return 0;
}

/* Returns whether the process that listens (with socket activation: that made the socket) runs as root, as our own
 * user, or as the user that policy names. */
static bool is_trusted(const struct sense_link *link, uint32_t *ret_uid)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);
    uv_os_fd_t fd;

    *ret_uid = UINT32_MAX;
    if (uv_fileno((const uv_handle_t *)&link->pipe, &fd) || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n)) {
        return false;
    }
    *ret_uid = peer.uid;
    return peer.uid == 0 || peer.uid == geteuid() || (link->uid != UINT32_MAX && peer.uid == link->uid);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct sense_link *link = connect->data;
    char why[128];
    uint32_t uid;

    if (link->is_dropped) {
        return;
    }
    if (status < 0) {
        snprintf(why, sizeof(why), "the socket of sotto-sense: %s", uv_strerror(status));
        sense_link_drop(link, why);
        return;
    }
    if (!is_trusted(link, &uid)) {
        snprintf(why, sizeof(why), "the socket of sotto-sense belongs to user %" PRIu32 ", who is not believed", uid);
        sense_link_drop(link, why);
        return;
    }
    begin_reading(link);
}

int sense_link_connect(struct sense_link **ret_link, uv_loop_t *loop, const char *path, uint32_t uid,
                       const struct sense_link_sink *sink, void *owner)
{
    struct sense_link *link = create(loop, sink, owner);

    if (!link) {
        return err_new(-ENOMEM);
    }
    link->uid = uid;
    link->connect.data = link;
    uv_pipe_connect(&link->connect, &link->pipe, path, on_connected);
    *ret_link = link;
    return 0;
}

void sense_link_tick(struct sense_link *link)
{
    link->n_frames = 0;
}
