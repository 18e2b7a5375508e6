/*
 * Notify: state for the service manager, and sockets from it (sd_notify(3), sd_listen_fds(3))
 *
 * READY means that the socket answers and the configuration is valid. Clients see models loading, so a start is short
 * and its limit is never extended. The caller that knows whether work progresses feeds the watchdog. Without a service
 * manager, or without libsystemd at build time, every function does nothing.
 */
#ifndef SOTTO_APP_NOTIFY_H
#define SOTTO_APP_NOTIFY_H

#include "base/diag.h"
#include <stdint.h>

#define NOTIFY_SOCKETS_MOST 4

void notify_ready(void);
void notify_status(const char *status);
void notify_reloading(void);

/* Announces the end; the process ends within @bound_us, which extends the manager's own limit. */
void notify_stopping(uint64_t bound_us);

/* Returns the interval of the watchdog, or 0 if there is none. */
uint64_t notify_watchdog_us(void);
void notify_alive(void);

enum notify_sockets_outcome {
    NOTIFY_SOCKETS_OK,
    NOTIFY_SOCKETS_REFUSED, /* one is of the wrong kind: @diag says which */
};

/* Gives the listening sockets that were passed in; with *ret_n 0 the caller binds its own. Call it once, before
 * children are started, which must not inherit them. Returns a notify_sockets_outcome. */
int notify_sockets(int fds[NOTIFY_SOCKETS_MOST], int *ret_n, struct diag *diag);

#endif
