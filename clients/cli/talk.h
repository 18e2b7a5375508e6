/*
 * Talk: the connection of a command, and Ctrl-C
 *
 * SIGINT is blocked but while waiting for the daemon or for the terminal, so none is lost between a look at the flag
 * and the waiting.
 */
#ifndef SOTTO_CLI_TALK_H
#define SOTTO_CLI_TALK_H

#include "cli.h"

struct talk {
    const struct cli *cli;
    struct sotto *sotto; /* owned */
};

/* Connects. CLI_OK, or CLI_FAILED (said). */
int talk_open(struct talk *talk, const struct cli *cli);
void talk_close(struct talk *talk);

/*
 * Dispatches until *done. CLI_OK; CLI_FAILED: the connection is over, which every open request was told (and said);
 * CLI_INTERRUPTED: Ctrl-C, once each time it is pressed.
 */
int talk_until(struct talk *talk, const bool *done);

/* The same for @ms. CLI_OK when they are over. */
int talk_for(struct talk *talk, uint32_t ms);

/* Waits until @fd can be read. False: Ctrl-C came. */
bool talk_wait_readable(int fd);

/* A request with one answer: give talk_on_reply() and the struct to a sotto_send_x(), then talk_finish(), which waits
 * and gives the exit code. */
struct reply {
    const struct cli *cli;
    void (*show)(const struct cli *cli, const struct sotto_event *event);
    bool done;
    int exit;
};
void talk_on_reply(void *owner, const struct sotto_event *event);
int talk_finish(struct talk *talk, struct reply *reply);

#endif
