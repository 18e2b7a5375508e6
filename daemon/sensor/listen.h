/*
 * Door: the socket at which sotto-sense is found
 */
#ifndef SOTTO_SENSOR_LISTEN_H
#define SOTTO_SENSOR_LISTEN_H

#include "base/diag.h"

/* The socket that the service manager passes in, who says so by the @pid that it means and a number @n of sockets. -1:
 * none. False: more than one, or one that does not listen. */
bool listen_passed_in(long pid, long n, int *ret_fd, struct diag *diag);

/* Makes a socket at @path for its owner alone; one that a dead process left is taken away first. */
bool listen_open(const char *path, int *ret_fd, struct diag *diag);

#endif
