/*
 * Sensor: the loop of sotto-sense
 *
 * One thread waits for clients, for readers that have something, and for the kernel's events; it never opens a file
 * itself. While nobody is connected nothing is read at all. A first client causes a scan; its inventory comes before
 * any reading.
 */
#ifndef SOTTO_SENSOR_SENSOR_H
#define SOTTO_SENSOR_SENSOR_H

#include "sensor/finder.h"
#include <sys/types.h>

struct sensor_config {
    int listen_fd;          /* a socket that listens; below 0: none */
    int client_fd;          /* a socket to one client, with whom the process ends; below 0: none */
    uid_t uid;              /* who may connect, beside root and ourselves */
    uint32_t least_ms;      /* never read faster than this, whatever is asked; 0: as asked */
    bool is_limited;        /* processes of others can't be looked at */
    bool listens_to_kernel; /* of this machine, not of a tree of files */
    const struct finder_table *finder;
    void *owner; /* of the finder's table */
};

/* Runs until SIGTERM, SIGINT, or the end of the one client. Gives the exit code of the process. @ret_is_free false: a
 * thread is inside a source and stays there, so nothing may be freed: end the process at once. */
int sensor_run(const struct sensor_config *config, bool *ret_is_free);

#endif
