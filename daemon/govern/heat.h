/*
 * Heat: from zones to one bound
 *
 * It chooses the zone that decides, which is the one nearest to its own target or farthest above, and lets the
 * thermostat hold it. Then it limits the result by the kernel's trip points and by how far the kernel throttles
 * already. A zone that can't be read, or reports what can't be true, keeps its last value for a grace time and then
 * counts as hot: half of what the thermostat last held is left. A stuck zone counts as hot as well.
 *
 * Below the trip points realtime alone always has a share: what warms the chip by a degree and a half.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_HEAT_H
#define SOTTO_GOVERN_HEAT_H

#include "govern/stuck.h"
#include "govern/thermostat.h"

#define HEAT_ZONES_MAX 16u

struct governor_bound;
struct governor_input;
struct governor_policy;
struct governor_zone;

/* Grids that sensors may have, the coarsest first. */
#define HEAT_GRIDS 4u

struct heat_zone {
    int32_t temp_mc;           /* last good value */
    uint64_t seen_us;          /* when that was; before the first one, when the zone became known */
    uint64_t known_us;         /* when the zone became known; 0: not yet */
    uint32_t n_seen;           /* good values, counted up to GRID_VALUES */
    uint32_t n_on[HEAT_GRIDS]; /* how many values in a row were on that grid */
    struct stuck stuck;
};

struct heat {
    struct thermostat thermostat;
    struct heat_zone zones[HEAT_ZONES_MAX];
    uint32_t zone; /* index of the zone that decides */
    bool has_zone;
    bool is_near_critical; /* with hysteresis */
    bool is_at_critical;
};

void heat_init(struct heat *heat);

/* Returns the target of @zone, from policy and its trip points. */
int32_t heat_target_mc(const struct governor_policy *policy, const struct governor_zone *zone);

/*
 * Fills in the bound that heat sets. @elapsed_s is the time since the last tick, @used the share of it that our work
 * took.
 */
void heat_tick(struct heat *heat, const struct governor_policy *policy, const struct governor_input *input,
               double elapsed_s, double used, struct governor_bound *ret_bound);

#endif
