/*
 * Sensor: the loop of sotto-sense
 *
 * One thread waits for peers, for finished readings, and for the kernel's events; it never opens a file itself. Without
 * peers nothing is read. The first peer causes a scan; its inventory is sent before any reading.
 */
#ifndef SOTTO_SENSOR_SENSOR_H
#define SOTTO_SENSOR_SENSOR_H

#include "sensor/finder.h"
#include <sys/types.h>

struct sensor_config {
    int listen_fd;          /* a listening socket; below 0: none */
    int client_fd;          /* a socket to one peer, with which the process ends; below 0: none */
    uid_t uid;              /* user that may connect, beside root and our own */
    uint32_t least_ms;      /* minimum period, whatever is requested; 0: none */
    bool is_limited;        /* other users' processes can't be looked at */
    bool listens_to_kernel; /* listens to the kernel's events: the root is this machine */
    const struct finder_table *finder;
    void *owner; /* argument of the finder's functions */
};

/*
 * Runs until SIGTERM, SIGINT, or the end of the only peer. Returns the process's exit code. *ret_is_free false: a
 * thread hangs inside a source, so nothing may be freed: end the process at once.
 */
int sensor_run(const struct sensor_config *config, bool *ret_is_free);

#endif
