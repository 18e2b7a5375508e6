/*
 * Talk: one wait for the socket and the signal together
 */
#include "talk.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t was_interrupted; /* a handler has nowhere else to put it */
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

int talk_open(struct talk *talk, const struct cli *cli)
{
    struct sotto_error error;

    *talk = (struct talk){ .cli = cli };
    if (sotto_open(&talk->sotto, cli->socket, "sotto-cli/" SOTTO_VERSION, &error)) {
        return cli_fail(cli, &error);
    }
    catch_interrupts();
    return CLI_OK;
}

void talk_close(struct talk *talk)
{
    sotto_close(talk->sotto);
    talk->sotto = NULL;
}

/* 0, or CLI_INTERRUPTED. @most NULL: for ever. */
static int wait_for(int fd, short events, const struct timespec *most)
{
    struct pollfd poller = { .fd = fd, .events = events };

    ppoll(&poller, 1, most, &mask_while_waiting);
    return take_interrupt() ? CLI_INTERRUPTED : 0;
}

bool talk_wait_readable(int fd)
{
    return wait_for(fd, POLLIN, NULL) == 0;
}

int talk_for(struct talk *talk, uint32_t ms)
{
    uint64_t end_us = clock_mono_us() + ms * UINT64_C(1000);
    uint64_t now_us;

    while ((now_us = clock_mono_us()) < end_us) {
        const struct timespec left = { .tv_sec = (time_t)((end_us - now_us) / 1000000),
                                       .tv_nsec = (long)((end_us - now_us) % 1000000 * 1000) };
        struct sotto_error error;

        if (wait_for(sotto_fd(talk->sotto), sotto_events(talk->sotto), &left)) {
            return CLI_INTERRUPTED;
        }
        if (sotto_dispatch(talk->sotto, &error)) {
            return cli_fail(talk->cli, &error);
        }
    }
    return CLI_OK;
}

int talk_until(struct talk *talk, const bool *done)
{
    while (!*done) {
        if (wait_for(sotto_fd(talk->sotto), sotto_events(talk->sotto), NULL)) {
            return CLI_INTERRUPTED;
        }
        if (sotto_dispatch(talk->sotto, NULL)) {
            return *done ? CLI_OK : CLI_FAILED;
        }
    }
    return CLI_OK;
}

void talk_on_reply(void *owner, const struct sotto_event *event)
{
    struct reply *reply = owner;

    if (event->kind == SOTTO_EVENT_ERROR) {
        reply->exit = cli_fail(reply->cli, event->error);
    } else {
        reply->show(reply->cli, event);
    }
    reply->done = event->last;
}

int talk_finish(struct talk *talk, struct reply *reply)
{
    int r = talk_until(talk, &reply->done);

    if (r == CLI_INTERRUPTED) {
        return r;
    }
    return reply->exit ? reply->exit : cli_flush(reply->cli);
}
