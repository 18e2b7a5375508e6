/*
 * Listen: the socket on which sotto-sense accepts peers
 */
#ifndef SOTTO_SENSOR_LISTEN_H
#define SOTTO_SENSOR_LISTEN_H

#include "base/diag.h"

/*
 * Takes the socket that the service manager passes in, which names the process @pid and a number @n of sockets. -1:
 * none. False: there is more than one, or it does not listen.
 */
bool listen_passed_in(long pid, long n, int *ret_fd, struct diag *diag);

/* Makes a listening socket at @path for its owner only; replaces a socket that a dead process left. */
bool listen_open(const char *path, int *ret_fd, struct diag *diag);

#endif
