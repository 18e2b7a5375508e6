/*
 * Genl: parser of the kernel's thermal family of generic netlink
 *
 * Pure and bounded: lengths are checked before they are used, unknown attributes are skipped, and a truncated message
 * ends the parsing but keeps the messages before it.
 */
#ifndef SOTTO_NETLINK_GENL_H
#define SOTTO_NETLINK_GENL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thermal_event_kind {
    THERMAL_OTHER, /* unknown: of a later kernel */
    THERMAL_ZONE_CREATED,
    THERMAL_ZONE_DELETED,
    THERMAL_ZONE_DISABLED,
    THERMAL_ZONE_ENABLED,
    THERMAL_TRIP_UP,   /* crossed, rising */
    THERMAL_TRIP_DOWN, /* crossed, falling, less its hysteresis */
    THERMAL_TRIP_CHANGED,
    THERMAL_TRIP_ADDED,
    THERMAL_TRIP_DELETED,
    THERMAL_COOLING_ADDED,
    THERMAL_COOLING_DELETED,
    THERMAL_COOLING_STATE,
    THERMAL_GOVERNOR_CHANGED,
    THERMAL_SAMPLED, /* from the sampling group */
    THERMAL_EVENT_KIND_COUNT,
};

/* Fields that a message lacks are -1, or INT32_MIN for a temperature. */
struct thermal_event {
    enum thermal_event_kind kind;
    int32_t zone;
    int32_t trip;
    int32_t cooling;
    int32_t state; /* of the cooling device */
    int32_t temp_mc;
    char name[32]; /* of a zone, cooling device or governor, as the kernel sends it; 0-terminated */
};

typedef void (*thermal_event_fn)(void *owner, const struct thermal_event *event);

/*
 * Calls @fn for each message of @family (type) in @bytes, a datagram; messages of other families are skipped. Returns
 * the number of calls. @is_sampling: the datagram is from the sampling group, where command numbers mean something
 * else.
 */
uint32_t genl_parse_events(const void *bytes, size_t n, uint16_t family, bool is_sampling, thermal_event_fn fn,
                           void *owner);

struct genl_family {
    uint16_t id;
    uint32_t event_group; /* 0: there is none */
    uint32_t sampling_group;
};

/*
 * Parses the answer to genl_request(). 0, the fault in the answer (-ENOENT: this kernel has no such family), or
 * -EPROTO.
 */
int genl_parse_family(const void *bytes, size_t n, struct genl_family *ret_family);

/* Writes the request for the thermal family. Returns its length; 64 bytes of @cap are enough. */
size_t genl_request(void *bytes, size_t cap);

/* Returns a name for traces: "trip-up". */
const char *thermal_event_name(enum thermal_event_kind kind);

#endif
