/*
 * Netlink: the kernel's thermal events, to wake early
 *
 * The zones are polled all the same: one without an interrupt notices a trip only when the kernel polls it.
 */
#ifndef SOTTO_NETLINK_NETLINK_H
#define SOTTO_NETLINK_NETLINK_H

#include "netlink/genl.h"

struct netlink {
    int fd; /* wait for POLLIN; non-blocking */
    struct genl_family family;
};

/*
 * Finds the family and joins its group of events; @with_samples: that of temperatures as well, which wakes as often
 * as the kernel looks at any zone. -ENOENT: this kernel has no such family (not an error: zones are polled), or the
 * fault of a socket call (-EAFNOSUPPORT, -EPERM in a sandbox). Answers come from the kernel itself, at once.
 */
int netlink_open(struct netlink *ret_netlink, bool with_samples);
void netlink_close(struct netlink *netlink); /* NULL is allowed */

/*
 * Reads what has come, and calls @fn for each event. Only what the kernel sent counts. Returns 0, or a fault after
 * which the descriptor is to be closed; when events were lost (the socket was full) one of kind THERMAL_OTHER is
 * told, so that everything is read anew.
 */
int netlink_read(struct netlink *netlink, thermal_event_fn fn, void *owner);

#endif
