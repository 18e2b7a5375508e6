/*
 * Words for states and quantities.
 */
#include "sense/reading.h"
#include <assert.h>

static const char *const states[] = {
    [READING_OK] = "ok",
    [READING_STALE] = "stale",
    [READING_ABSENT] = "absent",
    [READING_IMPLAUSIBLE] = "implausible",
    [READING_FORBIDDEN] = "forbidden",
};

static const struct {
    const char *name;
    const char *unit;
} quantities[] = {
    [READING_GRAPHICS_LOAD] = { "graphics-load", "permille" },
    [READING_COMPUTE_LOAD] = { "compute-load", "permille" },
    [READING_TEMPERATURE] = { "temperature", "m°C" },
    [READING_POWER] = { "power", "mW" },
    [READING_ENERGY] = { "energy", "uJ" },
    [READING_CLOCK] = { "clock", "kHz" },
    [READING_MEMORY_PRESSURE] = { "memory-pressure", "permille" },
    [READING_MEMORY_AVAILABLE] = { "memory-available", "kB" },
    [READING_THROTTLE] = { "throttle", "state" },
};

const char *reading_state_name(enum reading_state state)
{
    assert(state < READING_STATE_COUNT);
    return states[state];
}

const char *reading_quantity_name(enum reading_quantity quantity)
{
    assert(quantity < READING_QUANTITY_COUNT);
    return quantities[quantity].name;
}

const char *reading_unit_name(enum reading_quantity quantity)
{
    assert(quantity < READING_QUANTITY_COUNT);
    return quantities[quantity].unit;
}
