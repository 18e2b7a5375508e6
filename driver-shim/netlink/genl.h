/*
 * Genl: what the kernel's thermal family says, from bytes
 *
 * Pure and bounded: lengths from the bytes are checked before they are used, what is not understood is stepped
 * over, and what is cut short ends the reading of that message, not of the ones before it.
 */
#ifndef SOTTO_NETLINK_GENL_H
#define SOTTO_NETLINK_GENL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thermal_event_kind {
    THERMAL_OTHER, /* a kind of a later kernel */
    THERMAL_ZONE_CREATED,
    THERMAL_ZONE_DELETED,
    THERMAL_ZONE_DISABLED,
    THERMAL_ZONE_ENABLED,
    THERMAL_TRIP_UP,   /* passed, rising */
    THERMAL_TRIP_DOWN, /* passed, falling, less its hysteresis */
    THERMAL_TRIP_CHANGED,
    THERMAL_TRIP_ADDED,
    THERMAL_TRIP_DELETED,
    THERMAL_COOLING_ADDED,
    THERMAL_COOLING_DELETED,
    THERMAL_COOLING_STATE,
    THERMAL_GOVERNOR_CHANGED,
    THERMAL_SAMPLED, /* of the group sampling */
    THERMAL_EVENT_KIND_COUNT,
};

/* What a message doesn't say is -1, or INT32_MIN for a temperature. */
struct thermal_event {
    enum thermal_event_kind kind;
    int32_t zone;
    int32_t trip;
    int32_t cooling;
    int32_t state; /* of the cooling device */
    int32_t temp_mc;
    char name[32]; /* of a zone, cooling device or governor; as the kernel says it, with a zero at its end */
};

typedef void (*thermal_event_fn)(void *owner, const struct thermal_event *event);

/* Calls @fn for each message of @family (type) in @bytes, a datagram. Those of other families are passed over.
 * Returns how many there were. @is_sampling: it came for the group of samples, where numbers mean something else. */
uint32_t genl_parse_events(const void *bytes, size_t n, uint16_t family, bool is_sampling, thermal_event_fn fn,
                           void *owner);

struct genl_family {
    uint16_t id;
    uint32_t event_group; /* 0: there is none */
    uint32_t sampling_group;
};

/* Reads the answer to genl_request(). 0, the fault in the answer (-ENOENT: this kernel has no such family), or -EPROTO.
 * */
int genl_parse_family(const void *bytes, size_t n, struct genl_family *ret_family);

/* The question for the family thermal. Returns its length; @cap of 64 is enough. */
size_t genl_request(void *bytes, size_t cap);

/* Word for traces: "trip-up". */
const char *thermal_event_name(enum thermal_event_kind kind);

#endif
