/*
 * Connection: the connection of a command, and Ctrl-C
 *
 * SIGINT is blocked except while waiting for the daemon or the terminal, so none is lost between a look at the flag
 * and the waiting.
 */
#ifndef SOTTO_CLI_CONNECTION_H
#define SOTTO_CLI_CONNECTION_H

#include "cli.h"

struct connection {
    const struct cli *cli;
    struct sotto *sotto; /* owned */
};

/* Connects. CLI_OK, or CLI_FAILED (printed). */
int connection_open(struct connection *connection, const struct cli *cli);
void connection_close(struct connection *connection);

/* Dispatches until *done. CLI_OK; CLI_FAILED: the connection is lost, and every open request has got an error
 * (printed); CLI_INTERRUPTED: Ctrl-C, once each time it is pressed. */
int connection_until(struct connection *connection, const bool *done);

/* Dispatches for @ms. CLI_OK when they have passed, else as connection_until(). */
int connection_for(struct connection *connection, uint32_t ms);

/* Waits until @fd can be read. Returns false at Ctrl-C. */
bool connection_wait_readable(int fd);

/* A request with one answer. */
struct reply {
    const struct cli *cli;
    const void *options; /* of the command */
    bool done;
    int exit;
};

/* The callback of such a request: shows the answer by the command's row. @owner is the struct reply. */
void connection_on_reply(void *owner, const struct sotto_event *event);

/* Connects and does what the command's row says: its talk, or its one request. Returns the exit code. */
int connection_run(struct cli *cli, void *options);

#endif
