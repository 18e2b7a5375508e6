/*
 * Uevent: devices that come, go and change, as the kernel tells it
 *
 * "ACTION@PATH" and KEY=VALUE texts with zeros between. Those of the subsystems drm, thermal, hwmon, powercap and
 * devfreq matter here; a DRM device that lost its GPU says WEDGED= with the ways to get it back.
 */
#ifndef SOTTO_NETLINK_UEVENT_H
#define SOTTO_NETLINK_UEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uevent_subsystem {
    UEVENT_DRM,
    UEVENT_THERMAL,
    UEVENT_HWMON,
    UEVENT_POWERCAP,
    UEVENT_DEVFREQ,
    UEVENT_SUBSYSTEM_COUNT,
};

enum uevent_action {
    UEVENT_ADD,
    UEVENT_REMOVE,
    UEVENT_CHANGE,
    UEVENT_BIND,
    UEVENT_UNBIND,
    UEVENT_MOVE,
    UEVENT_ONLINE,
    UEVENT_OFFLINE,
    UEVENT_ACTION_COUNT,
};

struct uevent {
    enum uevent_subsystem subsystem;
    enum uevent_action action;
    char path[256];  /* below /sys */
    char name[64];   /* DEVNAME, "dri/renderD128"; or empty */
    int32_t minor;   /* -1: it says none */
    bool is_hotplug; /* of a screen: HOTPLUG=1 */
    bool is_wedged;
    char wedged[64]; /* ways out, as "rebind,bus-reset"; "none" */
};

enum uevent_outcome {
    UEVENT_OK,
    UEVENT_OTHER, /* well-formed, and of no subsystem of ours or no action that we know */
    UEVENT_BAD,   /* no message of the kernel's */
};

/* Pure, bounded: reads one datagram. A value that is too long makes the message BAD rather than wrong. */
enum uevent_outcome uevent_parse(const void *bytes, size_t n, struct uevent *ret_uevent);

/* A socket for the kernel's messages, non-blocking; wait for POLLIN. 0, or the fault of a socket call. */
int uevent_open(int *ret_fd);

typedef void (*uevent_fn)(void *owner, const struct uevent *uevent);

/* Reads what has come, and calls @fn for each message of ours that the kernel sent (nobody else is believed).
 * *ret_lost: some were lost, so look at everything anew. 0, or a fault after which the descriptor is to be closed. */
int uevent_read(int fd, uevent_fn fn, void *owner, bool *ret_lost);

const char *uevent_subsystem_name(enum uevent_subsystem subsystem); /* "drm" */

#endif
