/*
 * One wait serves the socket and the signal together.
 */
#include "connection.h"
#include "base/clock.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t was_interrupted; /* a signal handler can reach nothing else */
static sigset_t mask_while_waiting;

static void on_interrupt(int signal)
{
    (void)signal;
    was_interrupted = 1;
}

static bool take_interrupt(void)
{
    bool was = was_interrupted;

    was_interrupted = 0;
    return was;
}

static void catch_interrupts(void)
{
    const struct sigaction action = { .sa_handler = on_interrupt };
    sigset_t interrupt;

    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &mask_while_waiting);
    sigdelset(&mask_while_waiting, SIGINT);
    sigaction(SIGINT, &action, NULL);
}

int connection_open(struct connection *connection, const struct cli *cli)
{
    struct sotto_error error;

    *connection = (struct connection){ .cli = cli };
    if (sotto_open(&connection->sotto, cli->socket, "sotto-cli/" SOTTO_VERSION, &error)) {
        return cli_fail(&error);
    }
    catch_interrupts();
    return CLI_OK;
}

void connection_close(struct connection *connection)
{
    sotto_close(connection->sotto);
    connection->sotto = NULL;
}

/* Waits for @events. 0, or CLI_INTERRUPTED. @most NULL: without a limit. */
static int wait_for(int fd, short events, const struct timespec *most)
{
    struct pollfd poller = { .fd = fd, .events = events };

    ppoll(&poller, 1, most, &mask_while_waiting);
    return take_interrupt() ? CLI_INTERRUPTED : 0;
}

bool connection_wait_readable(int fd)
{
    return wait_for(fd, POLLIN, NULL) == 0;
}

int connection_for(struct connection *connection, uint32_t ms)
{
    uint64_t end_us = clock_mono_us() + ms * UINT64_C(1000);
    uint64_t now_us;

    while ((now_us = clock_mono_us()) < end_us) {
        const struct timespec left = { .tv_sec = (time_t)((end_us - now_us) / 1000000),
                                       .tv_nsec = (long)((end_us - now_us) % 1000000 * 1000) };
        struct sotto_error error;

        if (wait_for(sotto_fd(connection->sotto), sotto_events(connection->sotto), &left)) {
            return CLI_INTERRUPTED;
        }
        if (sotto_dispatch(connection->sotto, &error)) {
            return cli_fail(&error);
        }
    }
    return CLI_OK;
}

int connection_until(struct connection *connection, const bool *done)
{
    while (!*done) {
        if (wait_for(sotto_fd(connection->sotto), sotto_events(connection->sotto), NULL)) {
            return CLI_INTERRUPTED;
        }
        if (sotto_dispatch(connection->sotto, NULL)) {
            return *done ? CLI_OK : CLI_FAILED;
        }
    }
    return CLI_OK;
}

void connection_on_reply(void *owner, const struct sotto_event *event)
{
    struct reply *reply = owner;

    if (event->kind == SOTTO_EVENT_ERROR) {
        reply->exit = cli_fail(event->error);
    } else {
        reply->cli->command->show(reply, event);
    }
    reply->done = event->last;
}

static int ask(struct connection *connection, const void *options)
{
    struct reply reply = { .cli = connection->cli, .options = options };
    struct sotto_error error;
    int r;

    if (connection->cli->command->send(connection->sotto, &reply, &error)) {
        return cli_fail(&error);
    }
    r = connection_until(connection, &reply.done);
    if (r == CLI_INTERRUPTED) {
        return r;
    }
    return reply.exit ? reply.exit : cli_flush();
}

int connection_run(struct cli *cli, void *options)
{
    struct connection connection;
    int r = connection_open(&connection, cli);

    if (r == CLI_OK) {
        r = cli->command->talk ? cli->command->talk(&connection, options) : ask(&connection, options);
        connection_close(&connection);
    }
    return r;
}
