/* Names of states and quantities, and the mapping from faults to states. */
#include "sense/reading.h"
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void reading_set(struct reading *ret_reading, int64_t value, uint64_t at_us)
{
    *ret_reading = (struct reading){ .state = READING_OK, .value = value, .at_us = at_us };
}

void reading_not(struct reading *ret_reading, enum reading_state state, uint64_t at_us, const char *format, ...)
{
    va_list args;

    assert(state != READING_OK);
    *ret_reading = (struct reading){ .state = state, .at_us = at_us };
    va_start(args, format);
    vsnprintf(ret_reading->why, sizeof(ret_reading->why), format, args);
    va_end(args);
}

void reading_early(struct reading *ret_reading, const char *why)
{
    *ret_reading = (struct reading){ .state = READING_STALE };
    snprintf(ret_reading->why, sizeof(ret_reading->why), "%s", why);
}

static enum reading_state state_of(int fault)
{
    switch (-fault) {
    case EACCES:
    case EPERM:
        return READING_FORBIDDEN;
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
    case ENODATA:
    case EINVAL:     /* a thermal zone without a sensor */
    case EOPNOTSUPP: /* pressure files of a kernel started with psi=0 */
    case ENOTCONN:
        return READING_ABSENT;
    case EPROTO:
    case EFBIG:
    case ERANGE:
        return READING_IMPLAUSIBLE;
    default:
        return READING_STALE;
    }
}

void reading_fail(struct reading *ret_reading, int fault, const struct reading *last)
{
    static const char *const words[] = {
        [READING_OK] = "",
        [READING_STALE] = "can't be read now",
        [READING_ABSENT] = "has no data",
        [READING_IMPLAUSIBLE] = "holds no value",
        [READING_FORBIDDEN] = "may not be read",
    };
    enum reading_state state = state_of(fault);
    const char *reason = strerrordesc_np(-fault);

    *ret_reading = (struct reading){ .state = state };
    if (last && (state == READING_STALE || state == READING_IMPLAUSIBLE)) {
        ret_reading->value = last->value;
        ret_reading->at_us = last->at_us;
        ret_reading->blind_permille = last->blind_permille;
    }
    if (state == READING_IMPLAUSIBLE) {
        snprintf(ret_reading->why, sizeof(ret_reading->why), "%s", words[state]);
    } else {
        snprintf(ret_reading->why, sizeof(ret_reading->why), "%s: %s", words[state], reason ? reason : "unknown error");
    }
}
