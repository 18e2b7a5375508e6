/*
 * Daemon: the real sottod as a child, with a service manager made of a datagram socket, and a client that waits
 *
 * Everything lies in a folder of its own, which is removed at the end.
 */
#ifndef SOTTO_TESTS_DAEMON_H
#define SOTTO_TESTS_DAEMON_H

#include "base/buf.h"
#include "base/clean.h"
#include "proto/wire.h"
#include "unit.h"
#include <sotto/v1/sotto.pb-c.h>
#include <sys/types.h>

struct daemon {
    char dir[64];
    char socket[96];
    char config[96];
    char log[96];
    int manager; /* what NOTIFY_SOCKET names */
    pid_t pid;   /* 0: not running */
    int passed;  /* a listening socket that is passed in, or -1 */
    const char *watchdog_us;
    unsigned n_files; /* limit of open files, or 0 */
};

struct talk {
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

/* Waits until the manager has heard READY=1, or until the daemon has ended: false. */
bool daemon_wait_ready(struct daemon *daemon);

/* The next thing that the manager hears, within @ms; empty: nothing. */
const char *daemon_heard(struct daemon *daemon, int ms);

/* Waits for the end within @ms and gives the exit code (or minus the signal). */
int daemon_wait_end(struct daemon *daemon, unsigned ms);

/* True if the log has @text within @ms. */
bool daemon_log_has(const struct daemon *daemon, const char *text, unsigned ms);

bool talk_try_open(struct talk *talk, const char *path);
void talk_open(struct talk *talk, const char *path); /* with Hello and Welcome */
void talk_close(struct talk *talk);
void talk_send(struct talk *talk, const Sotto__V1__ClientFrame *frame);
void talk_generate(struct talk *talk, uint32_t label, const char *text, uint32_t n_tokens);
void talk_ask(struct talk *talk, uint32_t label, Sotto__V1__ClientFrame__BodyCase body); /* an empty Reload or Status */

/* The next frame within 10 s, or NULL: the connection has ended. Valid until the next call. */
const Sotto__V1__ServerFrame *talk_next(struct talk *talk);

/* Reads up to the last answer of @label: Done, Error, or another that is none of a stream's others. */
const Sotto__V1__ServerFrame *talk_last(struct talk *talk, uint32_t label);

#endif
