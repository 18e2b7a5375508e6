/*
 * Sensors: what sottod is told about the machine, and how late
 *
 * - Load: each client of the device is read every 50 ms while it draws, every 250 ms while it does not. A new one is
 *   found by a walk over all processes every 2 s.
 * - Temperature: the die's, delayed, in whole steps.
 * - Power: a mean over the time since the last reading.
 *
 * Any of these may stop, freeze or become nonsense for a while (MISHAP_*).
 */
#ifndef SOTTO_SIM_SENSORS_H
#define SOTTO_SIM_SENSORS_H

#include "govern/governor.h"
#include "plant/gpu.h"
#include "plant/thermal.h"

#define SENSORS_BUSY_NS TIMELINE_MS * 50
#define SENSORS_REST_NS TIMELINE_MS * 250
#define SENSORS_WALK_NS TIMELINE_S * 2

/* Past temperatures that are kept, in ticks, for the delay. */
#define SENSORS_PAST    128u
#define SENSORS_TICK_NS (20 * TIMELINE_MS)

struct sensors_client {
    bool known; /* found by a walk */
    uint64_t at_ns;
    double busy_ns; /* as read then */
    uint32_t permille;
};

struct sensors {
    struct timeline *timeline;
    const struct scenario *scenario;
    struct gpu *gpu;
    const struct thermal *thermal;
    struct rng rng;
    struct sensors_client clients[GPU_CLIENT_COUNT];
    struct timeline_event sample; /* every 50 ms: reads what is due, and reports to sottod */
    uint64_t walk_ns;             /* the next walk */

    double past_mc[SENSORS_PAST]; /* one each SENSORS_TICK_NS */
    uint64_t n_ticks;
    int32_t temp_mc; /* as last read */
    uint64_t temp_us;
    uint64_t temp_due_ns;

    double sum_mw; /* of the ticks since the meter was last read */
    uint64_t n_summed;
    double mw;
    uint64_t meter_us;
    bool is_gone[MISHAP_COUNT];
    void (*told)(void *owner); /* may be NULL */
    void *owner;
};

void sensors_init(struct sensors *sensors, struct timeline *timeline, const struct scenario *scenario, struct gpu *gpu,
                  const struct thermal *thermal);
void sensors_finish(struct sensors *sensors);

/* Every SENSORS_TICK_NS, after thermal_advance(): @mw is the power of the chip since the last call. */
void sensors_tick(struct sensors *sensors, double mw);

/* Starts or ends a mishap of a sensor. */
void sensors_mishap(struct sensors *sensors, enum mishap mishap, bool begins);

/* Fills in what sensors know of @input and leaves the rest. */
void sensors_fill(struct sensors *sensors, struct governor_input *input);

#endif
