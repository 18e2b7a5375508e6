/*
 * Open: finds the daemon, opens and closes the connection
 */
#include "base/clean.h"
#include "clients/libsotto/handle.h"
#include "proto/limit.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Bound of requests that the daemon has not taken yet: a few of the largest. */
#define OUT_MAX (4 * (LIMIT_FRAME + FRAME_HEAD_BYTES))

/* Bound of the arrays and texts of one event. Unpacking has a tighter one; this only stops runaways. */
#define EVENT_MAX (64u << 20)

#define PATH_SYSTEM "/run/sotto/sotto.sock"

const char *sotto_version(void)
{
    return SOTTO_VERSION;
}

static enum sotto_code explain(struct sotto_error *error, const char *path, int fault)
{
    switch (fault) {
    case ENOENT:
    case ECONNREFUSED:
        return error_set(
            error, SOTTO_UNAVAILABLE,
            "no daemon listens at %s; start it as root with \"systemctl start sottod.socket\", or your own with "
            "\"sottod -f --socket /tmp/sotto.sock\" and set SOTTO_SOCKET=/tmp/sotto.sock",
            path);
    case EACCES:
    case EPERM:
        return error_set(error, SOTTO_PERMISSION_DENIED,
                         "this user may not open %s; add it to the group of that file (usually \"sotto\": \"usermod "
                         "-aG sotto USER\")",
                         path);
    case EAGAIN:
        error_set(error, SOTTO_UNAVAILABLE, "too many programs wait to connect to the daemon at %s; try again", path);
        if (error) {
            error->retry_after_ms = 100;
        }
        return SOTTO_UNAVAILABLE;
    default:
        return error_set(error, SOTTO_UNAVAILABLE, "can't connect to %s: %s", path, strerror(fault));
    }
}

/* Returns a descriptor above the standard ones, or -1. In a program that was started with standard output closed, the
 * socket would take its place, and what the program prints would go to the daemon. */
static int open_socket(void)
{
    cleanup(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || fd > STDERR_FILENO) {
        return fd_steal(&fd);
    }
    return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* Returns a descriptor, or -errno. */
static int connect_to(const char *path)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    cleanup(fd_closep) int fd = -1;

    if (strlen(path) >= sizeof(name.sun_path)) {
        return -ENAMETOOLONG;
    }
    memcpy(name.sun_path, path, strlen(path) + 1);
    fd = open_socket();
    if (fd < 0) {
        return -errno;
    }
    if (connect(fd, (const struct sockaddr *)&name, sizeof(name)) < 0) {
        return -errno;
    }
    return fd_steal(&fd);
}

/* Tries the user's own daemon before the system's, unless the environment names one. @path is the one tried last. */
static int connect_default(char *path, size_t cap)
{
    const char *named = secure_getenv("SOTTO_SOCKET");
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    int fd;

    if (named && *named) {
        return snprintf(path, cap, "%s", named) < (int)cap ? connect_to(path) : -ENAMETOOLONG;
    }
    if (runtime && *runtime && snprintf(path, cap, "%s/sotto.sock", runtime) < (int)cap) {
        fd = connect_to(path);
        if (fd != -ENOENT && fd != -ECONNREFUSED) {
            return fd;
        }
    }
    snprintf(path, cap, "%s", PATH_SYSTEM);
    return connect_to(path);
}

static struct sotto *create(int fd)
{
    struct sotto *sotto = mem_calloc(MEM_WIRE, 1, sizeof(*sotto));

    if (!sotto) {
        return NULL;
    }
    sotto->fd = fd;
    buf_init(&sotto->in, MEM_WIRE, OUT_MAX);
    buf_init(&sotto->out, MEM_WIRE, OUT_MAX);
    buf_init(&sotto->held, MEM_WIRE, OUT_MAX);
    wire_init(&sotto->wire, MEM_WIRE);
    arena_init(&sotto->scratch, MEM_WIRE, EVENT_MAX);
    arena_init(&sotto->greeting, MEM_WIRE, LIMIT_FRAME);
    map_init(&sotto->calls, MEM_WIRE);
    return sotto;
}

void handle_free(struct sotto *sotto)
{
    struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&sotto->calls, &at))) {
        call_close(sotto, entry->value.pointer);
    }
    map_finish(&sotto->calls);
    arena_finish(&sotto->greeting);
    arena_finish(&sotto->scratch);
    wire_finish(&sotto->wire);
    buf_finish(&sotto->held);
    buf_finish(&sotto->out);
    buf_finish(&sotto->in);
    fd_closep(&sotto->fd);
    mem_free(sotto);
}

void sotto_close(struct sotto *sotto)
{
    if (!sotto) {
        return;
    }
    if (sotto->dispatching) {
        sotto->doomed = true;
        return;
    }
    handle_free(sotto);
}

enum sotto_code sotto_open_fd(struct sotto **ret_sotto, int fd, const char *client, struct sotto_error *error)
{
    Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;
    Sotto__V1__Hello hello = SOTTO__V1__HELLO__INIT;
    struct sotto *sotto = create(fd);
    char name[LIMIT_NAME + 1];

    if (!sotto) {
        return error_no_memory(error);
    }
    snprintf(name, sizeof(name), "%s", client ? client : "libsotto/" SOTTO_VERSION);
    hello.version_min = PROTO_VERSION;
    hello.version_max = PROTO_VERSION;
    hello.client = name;
    frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_HELLO;
    frame.hello = &hello;
    if (wire_pack(&frame.base, &sotto->out)) {
        sotto->fd = -1; /* it stays the caller's */
        handle_free(sotto);
        return error_no_memory(error);
    }
    call_flush(sotto);
    *ret_sotto = sotto;
    return SOTTO_OK;
}

enum sotto_code sotto_open(struct sotto **ret_sotto, const char *path, const char *client, struct sotto_error *error)
{
    char found[sizeof(((struct sockaddr_un *)NULL)->sun_path)] = "";
    cleanup(fd_closep) int fd = path ? connect_to(path) : connect_default(found, sizeof(found));
    enum sotto_code code;

    if (fd == -ENAMETOOLONG) {
        return error_set(error, SOTTO_INVALID_ARGUMENT,
                         "the path of the socket is longer than the %zu bytes that the system allows: %s",
                         sizeof(found) - 1, path ? path : found);
    }
    if (fd < 0) {
        return explain(error, path ? path : found, -fd);
    }
    code = sotto_open_fd(ret_sotto, fd, client, error);
    if (code == SOTTO_OK) {
        fd_steal(&fd);
    }
    return code;
}

int sotto_fd(const struct sotto *sotto)
{
    return sotto->fd;
}

short sotto_events(const struct sotto *sotto)
{
    return (short)(POLLIN | (sotto->out.n && !sotto->mute ? POLLOUT : 0));
}

const struct sotto_welcome *sotto_welcome(const struct sotto *sotto)
{
    return sotto->welcome.version ? &sotto->welcome : NULL;
}
