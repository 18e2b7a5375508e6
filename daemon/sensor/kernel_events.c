#include "sensor/kernel_events.h"
#include "base/log.h"
#include "netlink/uevent.h"
#include <string.h>
#include <unistd.h>

struct receiver {
    const struct kernel_events_sink *sink;
    void *owner;
};

void kernel_events_open(struct kernel_events *events, bool listens_to_kernel)
{
    events->thermal.fd = -1;
    events->uevent_fd = -1;
    if (!listens_to_kernel) {
        return;
    }
    if (netlink_open(&events->thermal, false)) {
        events->thermal.fd = -1;
        log_debug("sensor", "this kernel sends no thermal events: zones are polled");
    }
    if (uevent_open(&events->uevent_fd)) {
        events->uevent_fd = -1;
        log_debug("sensor", "no device events: devices are scanned once a minute");
    }
}

void kernel_events_close(struct kernel_events *events)
{
    if (events->thermal.fd >= 0) {
        netlink_close(&events->thermal);
        events->thermal.fd = -1;
    }
    if (events->uevent_fd >= 0) {
        close(events->uevent_fd);
        events->uevent_fd = -1;
    }
}

static void on_thermal(void *owner, const struct thermal_event *event)
{
    const struct receiver *receiver = owner;

    switch (event->kind) {
    case THERMAL_ZONE_CREATED:
    case THERMAL_ZONE_DELETED:
    case THERMAL_ZONE_DISABLED:
    case THERMAL_ZONE_ENABLED:
    case THERMAL_TRIP_CHANGED:
    case THERMAL_TRIP_ADDED:
    case THERMAL_TRIP_DELETED:
    case THERMAL_COOLING_ADDED:
    case THERMAL_COOLING_DELETED:
        receiver->sink->on_thermal(receiver->owner, true);
        break;
    case THERMAL_OTHER:
    case THERMAL_TRIP_UP:
    case THERMAL_TRIP_DOWN:
    case THERMAL_COOLING_STATE:
        receiver->sink->on_thermal(receiver->owner, false);
        break;
    case THERMAL_GOVERNOR_CHANGED:
    case THERMAL_SAMPLED:
    case THERMAL_EVENT_KIND_COUNT:
        break;
    }
}

static void on_uevent(void *owner, const struct uevent *uevent)
{
    const struct receiver *receiver = owner;

    receiver->sink->on_device(receiver->owner);
}

void kernel_events_read(struct kernel_events *events, const struct kernel_events_sink *sink, void *owner)
{
    struct receiver receiver = { .sink = sink, .owner = owner };
    bool lost = false;

    if (events->thermal.fd >= 0 && netlink_read(&events->thermal, on_thermal, &receiver)) {
        netlink_close(&events->thermal);
        events->thermal.fd = -1;
    }
    if (events->uevent_fd < 0) {
        return;
    }
    if (uevent_read(events->uevent_fd, on_uevent, &receiver, &lost)) {
        close(events->uevent_fd);
        events->uevent_fd = -1;
    } else if (lost) {
        sink->on_device(owner);
    }
}
