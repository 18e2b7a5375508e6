/*
 * Reading: one value of the machine, and how far it may be trusted
 *
 * Unknown is a state of its own, never a value: a load that can't be read is not idle, a temperature that can't be read
 * is not cool. Every reading carries its time and, if it is not OK, the reason in words.
 */
#ifndef SOTTO_SENSE_READING_H
#define SOTTO_SENSE_READING_H

#include <stddef.h>
#include <stdint.h>

enum reading_state {
    READING_OK,
    READING_STALE,       /* too old: the source hangs, or is unavailable for now; the value is the last one */
    READING_ABSENT,      /* there is no such source (any more), or it has no data (ENODATA) */
    READING_IMPLAUSIBLE, /* can't be true, or is a jump not yet confirmed; the value is the last good one */
    READING_FORBIDDEN,   /* EACCES, EPERM: it exists and may not be read */
    READING_STATE_COUNT,
};

enum reading_quantity {
    READING_GRAPHICS_LOAD,    /* permille of the 3D side of the device: all clients, sotto included */
    READING_COMPUTE_LOAD,     /* permille of its compute side */
    READING_TEMPERATURE,      /* millidegree Celsius */
    READING_POWER,            /* mW */
    READING_ENERGY,           /* uJ since the first reading: counters that wrap are unrolled */
    READING_CLOCK,            /* kHz, of the device */
    READING_MEMORY_PRESSURE,  /* permille, PSI "some" of ten seconds */
    READING_MEMORY_AVAILABLE, /* kB: available, not free; the least of machine and control groups */
    READING_THROTTLE,         /* state of a cooling device of the GPU; above 0 the kernel throttles already */
    READING_QUANTITY_COUNT,
};

struct reading {
    enum reading_state state;
    int64_t value;           /* valid in OK, STALE and IMPLAUSIBLE */
    uint64_t at_us;          /* monotonic clock, when the value was read */
    uint32_t blind_permille; /* of a load: the share of clients that could not be read */
    char why[96];            /* for people; empty when OK */
};

const char *reading_state_name(enum reading_state state);          /* "ok" */
const char *reading_quantity_name(enum reading_quantity quantity); /* "temperature" */
const char *reading_unit_name(enum reading_quantity quantity);     /* "m°C" */

/* Sets an OK reading. */
void reading_set(struct reading *ret_reading, int64_t value, uint64_t at_us);

/* Sets a reading without a value, in @state (not OK), with the reason in @format. */
void reading_not(struct reading *ret_reading, enum reading_state state, uint64_t at_us, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * Sets the reading of a source that measures between two reads and had only the first: STALE with time 0, older than
 * any other.
 */
void reading_early(struct reading *ret_reading, const char *why);

/*
 * Sets the reading of a read that failed with @fault (-errno):
 *   -EACCES, -EPERM                                    FORBIDDEN
 *   -ENOENT, -ENOTDIR, -ENODEV, -ENXIO, -ENODATA, -EINVAL, -EOPNOTSUPP, -ENOTCONN   ABSENT
 *   -EPROTO, -EFBIG, -ERANGE                           IMPLAUSIBLE: something was read that is no value
 *   all others (-EAGAIN, -EBUSY, -EIO, -ETIMEDOUT, ...) STALE: the source exists and can't be read now
 * Where the state has a value, it is value and time of @last, the last good reading; NULL: none yet, and both are 0.
 */
void reading_fail(struct reading *ret_reading, int fault, const struct reading *last);

#endif
