/*
 * Judges what trip points and heat leave, from both sides: at a passive trip nothing runs; below it realtime has its
 * share however warm the chip is; and when the chip has cooled, all others work again. Only in worlds in which nothing
 * but heat bounds our work and no sensor fails.
 */
#include "base/num.h"
#include "monitor.h"

/* A reading comes with the next sample of all sensors, and a tick of the governor. */
#define TAKEN_NS (200 * TIMELINE_MS)
/* Realtime has half a percent at least, and as much more as warms the chip by less than a degree and a half. */
#define VOICE_LEAST 5u
/* A chip that is so far below its target for so long has room for all. A sensor's grid and the aim take 1.5 degrees. */
#define COOL_MC 2000
#define COOL_NS (30 * TIMELINE_S)

/* Returns for how long @holds has been true; @since_ns is when that began, 0 while it is not. */
static uint64_t holds_ns(uint64_t *since_ns, bool holds, uint64_t now_ns)
{
    if (!holds) {
        *since_ns = 0;
        return 0;
    }
    *since_ns = *since_ns > 0 ? *since_ns : now_ns;
    return now_ns - *since_ns;
}

void monitor_trip(struct monitor *monitor)
{
    const struct scenario *scenario = monitor->scenario;
    const struct governor_limits *limits = server_limits(monitor->server);
    struct monitor_trip *trip = &monitor->trip;
    uint64_t now_ns = monitor->timeline->now_ns;
    int32_t temp_mc = monitor->sensors->temp_mc;
    bool is_live = monitor->server->n_live > 0;
    bool is_tripped = temp_mc >= scenario->heat.passive_mc;
    bool is_cool = temp_mc <= scenario->heat.target_mc - COOL_MC;

    if (!scenario->sense.has_heat || scenario->screen.hz > 0 || scenario->n_mishaps > 0) {
        return;
    }
    if (holds_ns(&trip->tripped_ns, is_live && is_tripped, now_ns) >= TAKEN_NS) {
        tally_add(&monitor->tallies, INVARIANT_TRIP, limits->duty_permille, limits->duty_permille > 0,
                  monitor_now_s(monitor));
    }
    if (holds_ns(&trip->voice_ns, monitor->n_realtime > 0 && !is_tripped, now_ns) >= TAKEN_NS) {
        tally_add(&monitor->tallies, INVARIANT_VOICE, limits->duty_permille, limits->duty_permille < VOICE_LEAST,
                  monitor_now_s(monitor));
    }
    if (holds_ns(&trip->cool_ns, is_live && is_cool, now_ns) >= COOL_NS) {
        bool is_open = limits->duty_permille > 0 && limits->class_gate < PRIORITY_REALTIME;

        tally_add(&monitor->tallies, INVARIANT_COOLED, limits->duty_permille, !is_open, monitor_now_s(monitor));
    }
}
