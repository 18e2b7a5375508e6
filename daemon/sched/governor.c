/*
 * Nothing is bounded until an input says so.
 */
#include "sched/governor.h"
#include "base/num.h"
#include <assert.h>

static const char *const mode_names[] = {
    [GOVERNOR_FULL] = "full", [GOVERNOR_SHARED] = "shared", [GOVERNOR_THIN] = "thin",
    [GOVERNOR_CPU] = "cpu",   [GOVERNOR_PAUSED] = "paused",
};

static const char *const cause_names[] = {
    [GOVERNOR_FREE] = "free",
    [GOVERNOR_GRAPHICS] = "graphics",
    [GOVERNOR_HINT] = "hint",
    [GOVERNOR_HEAT] = "heat",
    [GOVERNOR_TRIP] = "trip",
    [GOVERNOR_POWER] = "power",
    [GOVERNOR_PRESSURE] = "pressure",
    [GOVERNOR_SLEEP] = "sleep",
    [GOVERNOR_BLIND_GRAPHICS] = "blind-graphics",
    [GOVERNOR_BLIND_HEAT] = "blind-heat",
};

void governor_init(struct governor *governor, const struct governor_policy *policy)
{
    *governor = (struct governor){ .policy = *policy };
    for (size_t i = 0; i < GOVERNOR_PLACE_COUNT; i++) {
        governor->limits[i] = (struct governor_limits){ .duty_permille = 1000, .kv_permille = 1000 };
    }
}

void governor_configure(struct governor *governor, const struct governor_policy *policy)
{
    governor->policy = *policy;
}

bool governor_tick(struct governor *governor, const struct governor_input *input)
{
    (void)governor;
    (void)input;
    return false;
}

const char *governor_mode_name(enum governor_mode mode)
{
    assert(mode < GOVERNOR_MODE_COUNT);
    return mode_names[mode];
}

const char *governor_cause_name(enum governor_cause cause)
{
    assert(cause < GOVERNOR_CAUSE_COUNT);
    return cause_names[cause];
}
