/*
 * Notify: what the service manager is told, and what it hands over
 *
 * READY means that the socket answers and the configuration is valid; loading a model is a state that clients see,
 * so a start is never long and its limit is never extended. The watchdog is fed by whoever knows that work goes on.
 * Without a service manager (or built without libsystemd) every call does nothing.
 */
#ifndef SOTTO_APP_NOTIFY_H
#define SOTTO_APP_NOTIFY_H

#include "base/diag.h"
#include <stdint.h>

#define NOTIFY_SOCKETS_MOST 4

void notify_ready(void);
void notify_status(const char *status);
void notify_reloading(void);

/* @bound_us: by then the process has ended, however short the manager's own patience. */
void notify_stopping(uint64_t bound_us);

/* How often the manager wants to hear that all is well, or 0: never. */
uint64_t notify_watchdog_us(void);
void notify_alive(void);

enum notify_sockets_outcome {
    NOTIFY_SOCKETS_OK,
    NOTIFY_SOCKETS_REFUSED, /* one of them is of a wrong kind: @diag says which */
};

/* The listening sockets that were passed in; *ret_n 0: none, bind your own. Call once, and before children are
 * started: they must not think the sockets theirs. */
int notify_sockets(int fds[NOTIFY_SOCKETS_MOST], int *ret_n, struct diag *diag);

#endif
