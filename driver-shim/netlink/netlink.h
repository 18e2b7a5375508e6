/*
 * Netlink: the kernel's thermal events, to wake early
 *
 * The zones are polled in any case: for one without an interrupt, the kernel notices a trip only when it polls.
 */
#ifndef SOTTO_NETLINK_NETLINK_H
#define SOTTO_NETLINK_NETLINK_H

#include "netlink/genl.h"

struct netlink {
    int fd; /* wait for POLLIN; non-blocking */
    struct genl_family family;
};

/*
 * Finds the family and joins its event group; @with_samples: also the temperatures', which wakes as often as the kernel
 * reads any zone. Blocks for no longer than the kernel takes to answer. -ENOENT: this kernel has no such family (no
 * error: zones are polled), or the fault of a socket call (-EAFNOSUPPORT, -EPERM in a sandbox).
 */
int netlink_open(struct netlink *ret_netlink, bool with_samples);
void netlink_close(struct netlink *netlink); /* NULL is allowed */

/*
 * Reads the pending events and calls @fn for each that the kernel sent. 0, or a fault after which the descriptor is to
 * be closed. When events were lost (the socket was full), @fn gets one of kind THERMAL_OTHER, so that everything is
 * read again.
 */
int netlink_read(struct netlink *netlink, thermal_event_fn fn, void *owner);

#endif
