/*
 * Daemon: the real sottod as a child process, a datagram socket as its service manager, and a blocking client
 *
 * All files are in a temporary folder, which is removed at the end. Whatever is waited for has a minute to come: that
 * finds tests that hang, not machines that are busy.
 */
#ifndef SOTTO_TESTS_DAEMON_H
#define SOTTO_TESTS_DAEMON_H

#include "base/buf.h"
#include "base/clean.h"
#include "proto/wire.h"
#include "unit.h"
#include <sotto/v1/sotto.pb-c.h>
#include <sys/types.h>

#define PATIENCE_US 60000000u

struct daemon {
    char dir[64];
    char socket[96];
    char config[96];
    char log[96];
    int manager; /* the socket that NOTIFY_SOCKET names */
    pid_t pid;   /* 0: not running */
    int passed;  /* a listening socket that is passed in, or -1 */
    const char *watchdog_us;
    unsigned n_files; /* limit of open files, or 0 */
};

struct client {
    int fd;
    struct buf in;
    struct wire wire;
    size_t n_eat;
};

void daemon_setup(struct daemon *daemon);
void daemon_teardown(struct daemon *daemon);

void daemon_write_config(const struct daemon *daemon, const char *text);

/* Starts it with --socket (unless one is passed in), --config (if written) and further arguments,
 * up to a NULL (@more may be NULL). */
void daemon_start(struct daemon *daemon, const char *const *more);

/* Waits for READY=1 and returns true, or false if the daemon ends before. */
bool daemon_wait_ready(struct daemon *daemon);

/* Waits until @text is sent to the manager; other messages are dropped. */
void daemon_wait_message(struct daemon *daemon, const char *text);

/* Waits for the end and returns the exit code (or minus the signal). */
int daemon_wait_end(struct daemon *daemon);

/* Waits until the log contains @text. */
void daemon_wait_log(const struct daemon *daemon, const char *text);

bool client_try_open(struct client *client, const char *path);
void client_open(struct client *client, const char *path); /* with Hello and Welcome */

/* Like client_open(), again and again until the daemon is below its limit of connections. */
void client_wait_open(struct client *client, const char *path);
void client_close(struct client *client);
void client_send(struct client *client, const Sotto__V1__ClientFrame *frame);
void client_generate(struct client *client, uint32_t label, const char *text, uint32_t n_tokens);
void client_request(struct client *client, uint32_t label,
                    Sotto__V1__ClientFrame__BodyCase body); /* sends an empty Reload or Status */

/* Returns the next frame, valid until the next call; NULL if the connection has ended. */
const Sotto__V1__ServerFrame *client_next(struct client *client);

/* Reads up to the last answer of @label: Done, Error, or one that no other follows. */
const Sotto__V1__ServerFrame *client_last(struct client *client, uint32_t label);

#endif
