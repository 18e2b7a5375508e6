/*
 * Kernel events: the kernel's notifications about temperatures and devices
 *
 * Either socket may be missing (another kernel, a sandbox): then changes are found by polling.
 */
#ifndef SOTTO_SENSOR_KERNEL_EVENTS_H
#define SOTTO_SENSOR_KERNEL_EVENTS_H

#include "netlink/netlink.h"

struct kernel_events {
    struct netlink thermal; /* fd below 0: none */
    int uevent_fd;
};

struct kernel_events_sink {
    /* A thermal event; @changes_sources: zones, trips or cooling devices came, went or changed. */
    void (*on_thermal)(void *owner, bool changes_sources);
    /* A device came, went or changed. */
    void (*on_device)(void *owner);
};

void kernel_events_open(struct kernel_events *events, bool listens_to_kernel);
void kernel_events_close(struct kernel_events *events);

/* Reads the pending events of both sockets. */
void kernel_events_read(struct kernel_events *events, const struct kernel_events_sink *sink, void *owner);

#endif
