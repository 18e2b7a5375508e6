#include "fixture.h"

struct governor governor;
struct governor_input in;

const struct governor_limits *const device = &governor.limits[PROCESSOR_GPU];
const struct governor_limits *const cores = &governor.limits[PROCESSOR_CPU];

void fixture_begin(const struct governor_policy *policy)
{
    governor_init(&governor, policy);
    thermostat_keep(&governor.heat.thermostat, 20.0, 10.0); /* a chip that is known to be cool may begin at once */
    in = (struct governor_input){ .now_us = 1000000 };
}

void fixture_setup(void)
{
    const struct governor_policy none = { 0 };

    fixture_begin(&none);
}

bool fixture_tick(uint32_t n)
{
    bool changed = false;

    for (uint32_t i = 0; i < n; i++) {
        in.now_us += FIXTURE_TICK_US;
        if (in.graphics.sight == GOVERNOR_SEEN) {
            in.graphics.at_us = in.now_us;
        }
        if (in.power.sight == GOVERNOR_SEEN) {
            in.power.at_us = in.now_us;
        }
        for (uint32_t z = 0; z < in.n_zones; z++) {
            if (in.zones[z].sight == GOVERNOR_SEEN) {
                in.zones[z].at_us = in.now_us;
            }
        }
        changed |= governor_tick(&governor, &in);
    }
    return changed;
}

void fixture_draw(uint32_t busy_permille)
{
    in.graphics.sight = GOVERNOR_SEEN;
    in.graphics.busy_permille = busy_permille;
}

void fixture_heat(uint32_t i, int32_t temp_mc, int32_t passive_mc, int32_t critical_mc)
{
    in.zones[i] = (struct governor_zone){
        .sight = GOVERNOR_SEEN, .temp_mc = temp_mc, .passive_mc = passive_mc, .critical_mc = critical_mc
    };
    in.n_zones = i + 1 > in.n_zones ? i + 1 : in.n_zones;
}
