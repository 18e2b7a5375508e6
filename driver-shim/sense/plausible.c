/* Each value is compared with the range and the last good value. */
#include "sense/plausible.h"
#include "sense/source.h"
#include "sysfs/label.h"
#include <errno.h>

/* Values that look like whole degrees of a chip: -40 to 150. */
#define DEGREES_LOW  (-40)
#define DEGREES_HIGH 150

#define POWER_MAX_MW 2000000

void plausible_init_temperature(struct plausible *plausible, int64_t low_mc, int64_t high_mc, int32_t scale)
{
    *plausible = (struct plausible){
        .low = low_mc,
        .high = high_mc,
        .jump = PLAUSIBLE_JUMP_MC,
        .scale = scale,
        .suspects_degrees = scale == 1000, /* with a multiplier, the unit is known */
    };
}

void plausible_init_power(struct plausible *plausible)
{
    *plausible = (struct plausible){ .low = -POWER_MAX_MW, .high = POWER_MAX_MW, .scale = 1000 };
}

/* Fills in the last good value and a state that says why it is not a new one. */
static void fill_last(const struct plausible *plausible, struct reading *ret_reading)
{
    *ret_reading = (struct reading){ .state = READING_IMPLAUSIBLE };
    if (plausible->has_last) {
        ret_reading->value = plausible->last.value;
        ret_reading->at_us = plausible->last.at_us;
    }
}

static bool is_near(const struct plausible *plausible, int64_t a, int64_t b)
{
    return a - b <= plausible->jump && b - a <= plausible->jump;
}

/* Multiplies by the scale. False: the product does not fit. */
static bool scale_value(const struct plausible *plausible, int64_t value, int64_t *ret_value)
{
    int64_t scaled;

    if (plausible->scale == 1000) {
        *ret_value = value;
        return true;
    }
    if (__builtin_mul_overflow(value, (int64_t)plausible->scale, &scaled)) {
        return false;
    }
    *ret_value = scaled / 1000;
    return true;
}

static bool looks_like_degrees(const struct plausible *plausible, int64_t value)
{
    if (!plausible->suspects_degrees || value < DEGREES_LOW || value > DEGREES_HIGH) {
        return false;
    }
    return !(plausible->has_last && is_near(plausible, value, plausible->last.value));
}

static void take(struct plausible *plausible, int64_t value, uint64_t at_us, struct reading *ret_reading)
{
    int64_t scaled = 0;

    if (!scale_value(plausible, value, &scaled) || scaled < plausible->low || scaled > plausible->high) {
        plausible->has_aside = false;
        fill_last(plausible, ret_reading);
        label_set(ret_reading->why, "%lld can't be true", (long long)value);
        return;
    }
    if (looks_like_degrees(plausible, scaled)) {
        plausible->has_aside = false;
        fill_last(plausible, ret_reading);
        label_set(ret_reading->why, "%lld looks like whole degrees: set a multiplier for this zone", (long long)value);
        return;
    }
    if (plausible->jump && plausible->has_last && !is_near(plausible, scaled, plausible->last.value) &&
        !(plausible->has_aside && is_near(plausible, scaled, plausible->aside))) {
        plausible->has_aside = true;
        plausible->aside = scaled;
        fill_last(plausible, ret_reading);
        label_set(ret_reading->why, "jumped to %lld: believed if the next agrees", (long long)scaled);
        return;
    }
    plausible->has_aside = false;
    plausible->has_last = true;
    reading_set(&plausible->last, scaled, at_us);
    *ret_reading = plausible->last;
}

void plausible_give(struct plausible *plausible, int fault, int64_t value, uint64_t at_us, struct reading *ret_reading)
{
    if (!fault) {
        take(plausible, value, at_us, ret_reading);
        return;
    }
    plausible->has_aside = false;
    reading_fail(ret_reading, fault, plausible->has_last ? &plausible->last : NULL);
}
