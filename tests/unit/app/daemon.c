/*
 * Daemon: the child is started as by the service manager and always reaped; its log is a file in the folder
 */
#include "daemon.h"
#include "base/clock.h"
#include "proto/wire.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define LIMIT_FRAME_BYTES (4u << 20)

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    return address;
}

void daemon_setup(struct daemon *daemon)
{
    char path[96];
    struct sockaddr_un address;

    memset(daemon, 0, sizeof(*daemon));
    daemon->passed = -1;
    snprintf(daemon->dir, sizeof(daemon->dir), "/tmp/sottod-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(daemon->dir));
    snprintf(daemon->socket, sizeof(daemon->socket), "%s/s", daemon->dir);
    snprintf(daemon->config, sizeof(daemon->config), "%s/sotto.json", daemon->dir);
    snprintf(daemon->log, sizeof(daemon->log), "%s/log", daemon->dir);
    snprintf(path, sizeof(path), "%s/notify", daemon->dir);
    address = address_of(path);
    daemon->manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(daemon->manager, (struct sockaddr *)&address, sizeof(address)), 0);
    daemon_write_config(daemon, "{}");
}

void daemon_teardown(struct daemon *daemon)
{
    char command[128];

    if (daemon->pid) {
        kill(daemon->pid, SIGKILL);
        waitpid(daemon->pid, NULL, 0);
    }
    close(daemon->manager);
    fd_closep(&daemon->passed);
    snprintf(command, sizeof(command), "rm -r %s", daemon->dir);
    ck_assert_int_eq(system(command), 0);
}

void daemon_write_config(const struct daemon *daemon, const char *text)
{
    FILE *file = fopen(daemon->config, "w");

    fputs(text, file);
    fclose(file);
}

/* Sets what the service manager would set; runs in the child. */
static void set_up_child(const struct daemon *daemon)
{
    char text[128];
    struct rlimit limit = { daemon->n_files, daemon->n_files };
    int log = open(daemon->log, O_CREAT | O_WRONLY | O_APPEND, 0600);

    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    snprintf(text, sizeof(text), "%s/notify", daemon->dir);
    setenv("NOTIFY_SOCKET", text, 1);
    snprintf(text, sizeof(text), "%d", (int)getpid());
    if (daemon->watchdog_us) {
        setenv("WATCHDOG_USEC", daemon->watchdog_us, 1);
        setenv("WATCHDOG_PID", text, 1);
    }
    if (daemon->passed >= 0) {
        dup2(daemon->passed, 3);
        setenv("LISTEN_PID", text, 1);
        setenv("LISTEN_FDS", "1", 1);
    }
    if (daemon->n_files) {
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void daemon_start(struct daemon *daemon, const char *const *more)
{
    const char *argv[10] = { SOTTOD_PATH, "--config", daemon->config, "--engine", ENGINE_PATH };
    size_t n = 5;

    if (daemon->passed < 0) {
        argv[n++] = "--socket";
        argv[n++] = daemon->socket;
    }
    for (size_t i = 0; more && more[i] && n < COUNTOF(argv) - 1; i++) {
        argv[n++] = more[i];
    }
    daemon->pid = fork();
    ck_assert_int_ge(daemon->pid, 0);
    if (daemon->pid == 0) {
        set_up_child(daemon);
        execv(SOTTOD_PATH, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
}

/* Returns whether a message to the manager that comes within 20 ms contains @text. */
static bool has_message(const struct daemon *daemon, const char *text)
{
    struct pollfd look = { .fd = daemon->manager, .events = POLLIN };
    char message[512];
    ssize_t n = 0;

    if (poll(&look, 1, 20) > 0) {
        n = recv(daemon->manager, message, sizeof(message) - 1, 0);
    }
    message[n > 0 ? n : 0] = '\0';
    return strstr(message, text) != NULL;
}

void daemon_wait_message(struct daemon *daemon, const char *text)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;

    while (!has_message(daemon, text)) {
        ck_assert_msg(clock_mono_us() < until_us, "no message \"%s\" came", text);
    }
}

static bool has_ended(struct daemon *daemon, int *ret_status)
{
    if (waitpid(daemon->pid, ret_status, WNOHANG) != daemon->pid) {
        return false;
    }
    daemon->pid = 0;
    return true;
}

bool daemon_wait_ready(struct daemon *daemon)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;
    int status;

    while (!has_message(daemon, "READY=1")) {
        if (has_ended(daemon, &status)) {
            return false;
        }
        ck_assert_uint_lt(clock_mono_us(), until_us);
    }
    return true;
}

int daemon_wait_end(struct daemon *daemon)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;
    int status;

    while (!has_ended(daemon, &status)) {
        ck_assert_msg(clock_mono_us() < until_us, "it does not end");
        usleep(2000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void daemon_wait_log(const struct daemon *daemon, const char *text)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;
    static char log[1 << 16];

    for (;;) {
        FILE *file = fopen(daemon->log, "r");
        size_t n = file ? fread(log, 1, sizeof(log) - 1, file) : 0;

        log[n] = '\0';
        if (file) {
            fclose(file);
        }
        if (strstr(log, text)) {
            return;
        }
        ck_assert_msg(clock_mono_us() < until_us, "the log has no \"%s\":\n%s", text, log);
        usleep(5000);
    }
}

/* ---- the client */

bool client_try_open(struct client *client, const char *path)
{
    struct sockaddr_un address = address_of(path);

    memset(client, 0, sizeof(*client));
    buf_init(&client->in, MEM_MISC, 16u << 20);
    wire_init(&client->wire, MEM_MISC);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(client->fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

/* Connects and says Hello. Returns the answer. */
static const Sotto__V1__ServerFrame *greet(struct client *client, const char *path)
{
    Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;
    Sotto__V1__Hello hello = SOTTO__V1__HELLO__INIT;

    ck_assert(client_try_open(client, path));
    hello.version_min = 1;
    hello.version_max = 1;
    frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_HELLO;
    frame.hello = &hello;
    client_send(client, &frame);
    return client_next(client);
}

void client_open(struct client *client, const char *path)
{
    const Sotto__V1__ServerFrame *answer = greet(client, path);

    ck_assert_ptr_nonnull(answer);
    ck_assert_int_eq(answer->body_case, SOTTO__V1__SERVER_FRAME__BODY_WELCOME);
}

void client_wait_open(struct client *client, const char *path)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;
    const Sotto__V1__ServerFrame *answer;

    while (!(answer = greet(client, path)) || answer->body_case != SOTTO__V1__SERVER_FRAME__BODY_WELCOME) {
        ck_assert_msg(clock_mono_us() < until_us, "the connection is still refused");
        client_close(client);
        usleep(5000);
    }
}

void client_close(struct client *client)
{
    buf_finish(&client->in);
    wire_finish(&client->wire);
    fd_closep(&client->fd);
}

void client_send(struct client *client, const Sotto__V1__ClientFrame *frame)
{
    struct buf bytes;

    buf_init(&bytes, MEM_MISC, 16u << 20);
    ck_assert_int_eq(wire_pack(&frame->base, &bytes), BUF_OK);
    ck_assert_int_eq(send(client->fd, buf_data(&bytes), bytes.n, MSG_NOSIGNAL), (ssize_t)bytes.n);
    buf_finish(&bytes);
}

void client_generate(struct client *client, uint32_t label, const char *text, uint32_t n_tokens)
{
    Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;
    Sotto__V1__Generate generate = SOTTO__V1__GENERATE__INIT;

    generate.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    generate.text.data = wire_message(text);
    generate.text.len = strlen(text);
    generate.ignore_end = true;
    generate.opt_max_tokens_case = SOTTO__V1__GENERATE__OPT_MAX_TOKENS_MAX_TOKENS;
    generate.max_tokens = n_tokens;
    frame.stream = label;
    frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_GENERATE;
    frame.generate = &generate;
    client_send(client, &frame);
}

void client_request(struct client *client, uint32_t label, Sotto__V1__ClientFrame__BodyCase body)
{
    static Sotto__V1__Status status = SOTTO__V1__STATUS__INIT;
    static Sotto__V1__Reload reload = SOTTO__V1__RELOAD__INIT;
    Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;

    frame.stream = label;
    frame.body_case = body;
    if (body == SOTTO__V1__CLIENT_FRAME__BODY_RELOAD) {
        frame.reload = &reload;
    } else {
        frame.status = &status;
    }
    client_send(client, &frame);
}

static bool read_more(struct client *client)
{
    struct pollfd look = { .fd = client->fd, .events = POLLIN };
    uint8_t *room;
    ssize_t n;

    ck_assert_msg(poll(&look, 1, (int)(PATIENCE_US / 1000)) > 0, "nothing came for a minute");
    ck_assert_int_eq(buf_reserve(&client->in, 65536, &room), BUF_OK);
    n = recv(client->fd, room, 65536, 0);
    if (n > 0) {
        buf_grew(&client->in, (size_t)n);
    }
    return n > 0;
}

const Sotto__V1__ServerFrame *client_next(struct client *client)
{
    struct frame frame;
    ProtobufCMessage *message;

    buf_eat(&client->in, client->n_eat);
    client->n_eat = 0;
    while (frame_take(buf_data(&client->in), client->in.n, LIMIT_FRAME_BYTES, &frame, &client->n_eat) != FRAME_OK) {
        client->n_eat = 0;
        if (!read_more(client)) {
            return NULL;
        }
    }
    ck_assert_int_eq(wire_unpack(&client->wire, &sotto__v1__server_frame__descriptor, &frame, &message), WIRE_OK);
    return (const Sotto__V1__ServerFrame *)message;
}

static bool is_last(const Sotto__V1__ServerFrame *frame)
{
    return frame->body_case != SOTTO__V1__SERVER_FRAME__BODY_ACCEPTED &&
           frame->body_case != SOTTO__V1__SERVER_FRAME__BODY_DELTA &&
           frame->body_case != SOTTO__V1__SERVER_FRAME__BODY_NOTICE &&
           frame->body_case != SOTTO__V1__SERVER_FRAME__BODY_LOAD_PROGRESS;
}

const Sotto__V1__ServerFrame *client_last(struct client *client, uint32_t label)
{
    const Sotto__V1__ServerFrame *frame;

    do {
        frame = client_next(client);
        ck_assert_msg(frame, "the connection has ended");
    } while (frame->stream != label || !is_last(frame));
    return frame;
}
