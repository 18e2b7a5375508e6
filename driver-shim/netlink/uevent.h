/*
 * Uevent: devices that come, go and change, as the kernel announces them
 *
 * A message is "ACTION@PATH" and KEY=VALUE texts, separated by zeros. Only the subsystems drm, thermal, hwmon, powercap
 * and devfreq matter here; a DRM device that lost its GPU sends WEDGED= with the ways to recover it.
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
    int32_t minor;   /* -1: none */
    bool is_hotplug; /* HOTPLUG=1: a screen was plugged or unplugged */
    bool is_wedged;
    char wedged[64]; /* ways to recover: "rebind,bus-reset"; "none" */
};

enum uevent_outcome {
    UEVENT_OK,
    UEVENT_OTHER, /* well-formed, of another subsystem or an unknown action */
    UEVENT_BAD,   /* not a message of the kernel */
};

/* Parses one datagram; pure and bounded. A value that is too long makes the message BAD rather than wrong. */
enum uevent_outcome uevent_parse(const void *bytes, size_t n, struct uevent *ret_uevent);

/* Opens a non-blocking socket for the kernel's messages; wait for POLLIN. 0, or the fault of a socket call. */
int uevent_open(int *ret_fd);

typedef void (*uevent_fn)(void *owner, const struct uevent *uevent);

/*
 * Reads the pending messages and calls @fn for each of our subsystems; only the kernel's own messages count. *ret_lost:
 * some were lost, so everything must be looked at again. 0, or a fault after which the descriptor is to be closed.
 */
int uevent_read(int fd, uevent_fn fn, void *owner, bool *ret_lost);

const char *uevent_subsystem_name(enum uevent_subsystem subsystem); /* "drm" */

#endif
