/*
 * Heat: from zones to one bound
 *
 * Chooses the zone that decides (the one nearest to its own target, or farthest above), has the thermostat hold it,
 * and bounds what comes of that by the kernel's trip points and by what it takes away of the clock already. A zone that
 * can't be read, or says what can't be, keeps its last value for a grace time and then counts as hot: half of what the
 * thermostat last held is all that is left. So does one that is stuck.
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

/* Grids that sensors may have, coarsest first. */
#define HEAT_GRIDS 4u

struct heat_zone {
    int32_t temp_mc;           /* last good value */
    uint64_t seen_us;          /* when it was read; before the first one: since the zone is known */
    uint64_t known_us;         /* since when the zone is known; 0: it is not */
    uint32_t n_seen;           /* good values, as far as counted */
    uint32_t n_on[HEAT_GRIDS]; /* how many of the last ones stood on that grid */
    struct stuck stuck;
};

struct heat {
    struct thermostat thermostat;
    struct heat_zone zones[HEAT_ZONES_MAX];
    uint32_t zone; /* that decides */
    bool has_zone;
    bool is_near_critical; /* with hysteresis */
    bool is_at_critical;
};

void heat_init(struct heat *heat);

/* Where @zone is held, by policy and its trip points. */
int32_t heat_target_mc(const struct governor_policy *policy, const struct governor_zone *zone);

/*
 * What heat leaves us. @elapsed_s: since the last tick; @used: share of time that our work took since then.
 */
void heat_tick(struct heat *heat, const struct governor_policy *policy, const struct governor_input *input,
               double elapsed_s, double used, struct governor_bound *ret_bound);

#endif
