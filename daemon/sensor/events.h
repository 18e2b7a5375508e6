/*
 * Events: the kernel's notifications about temperatures and devices
 *
 * Either socket may be missing (another kernel, a sandbox): then changes are found by polling.
 */
#ifndef SOTTO_SENSOR_EVENTS_H
#define SOTTO_SENSOR_EVENTS_H

#include "netlink/netlink.h"

struct events {
    struct netlink thermal; /* fd below 0: none */
    int uevent_fd;
};

struct events_sink {
    /* A thermal event; @changes_sources: zones, trips or cooling devices came, went or changed. */
    void (*on_thermal)(void *owner, bool changes_sources);
    /* A device came, went or changed. */
    void (*on_device)(void *owner);
};

void events_open(struct events *events, bool listens_to_kernel);
void events_close(struct events *events);

/* Reads the pending events of both sockets. */
void events_read(struct events *events, const struct events_sink *sink, void *owner);

#endif
