/*
 * Events: what the kernel tells by itself, of heat and of devices
 *
 * Both sockets may be missing (another kernel, a sandbox): then what they would tell is found by looking.
 */
#ifndef SOTTO_SENSOR_EVENTS_H
#define SOTTO_SENSOR_EVENTS_H

#include "netlink/netlink.h"

struct events {
    struct netlink thermal; /* fd below 0: none */
    int uevent_fd;
};

struct events_sink {
    /* Something about heat; @changes_sources: zones, trips or cooling devices came, went or changed. */
    void (*on_thermal)(void *owner, bool changes_sources);
    /* A device came, went or changed. */
    void (*on_device)(void *owner);
};

void events_open(struct events *events, bool listens_to_kernel);
void events_close(struct events *events);

int events_thermal_fd(const struct events *events);
int events_uevent_fd(const struct events *events);

/* Reads what has come on either. */
void events_read(struct events *events, const struct events_sink *sink, void *owner);

#endif
