/*
 * Machine input: from the state of the machine to what the governor asks
 *
 * Unknown is never idle and never cool. NONE is reported only where sotto-sense is there and has found no such thing,
 * or where the configuration wants no protection; a load that was never read and may be soon is EARLY; everything else
 * that is not read now is BLIND, with the time of the last reading.
 *
 * Graphics: where the load source in use tells clients apart, the sum of all but ours, on the device that draws (and
 * shows, if one does both); where it does not, its value as it stands. Heat: the zones that the configuration names,
 * else those that sotto-sense chose. A zone that never gave a value counts only if no other does: many boards have
 * zones for what is switched off. Clock: where the highest is not reported, the highest ever seen stands for it; it can
 * only be too low, which makes the load look larger.
 *
 * Throttle: of the cooling devices in use the one that is in deepest; its last state, if it can't be read any more.
 *
 * Pure.
 */
#ifndef SOTTO_MACHINE_MACHINE_INPUT_H
#define SOTTO_MACHINE_MACHINE_INPUT_H

#include "base/arena.h"
#include "machine/machine_state.h"
#include <sotto/v1/sotto.pb-c.h>

struct machine_view {
    uint64_t now_us;
    uint64_t since_us;  /* since when sotto-sense should be there: what was never read is blind since then */
    uint64_t period_us; /* of load, as asked for */
    bool is_wanted;     /* false: everything is NONE */
    bool is_alive;      /* the inventory is here, and it is not silent */
    const char *const *zones;
    size_t n_zones;
    bool (*is_ours)(void *owner, uint32_t minor, uint64_t client, uint32_t pid); /* or NULL */
    void *owner;
};

/* Fills graphics, zones, power, throttle and pressure; leaves the rest. */
void machine_input_fill(const struct machine_state *machine, const struct machine_view *view,
                        struct governor_input *input);

/* Returns the minor number of the device that the load is of; UINT32_MAX: none is known. */
uint32_t machine_input_minor(const struct machine_state *machine);

/* Fills devices and sensors of @report from @arena (machine_report.c). 0 or -ENOMEM, with what was filled until
 * then. */
int machine_report(const struct machine_state *machine, uint64_t now_us, bool alive, struct arena *arena,
                   Sotto__V1__StatusReport *report);

#endif
