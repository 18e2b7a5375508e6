/*
 * Reading: one value of the machine, and how far it may be trusted
 *
 * Unknown is a state of its own, never a value: a load that can't be read is not idle, a temperature that can't be
 * read is not cool. Every reading says when it was taken and, if it is not OK, why in words.
 */
#ifndef SOTTO_SENSE_READING_H
#define SOTTO_SENSE_READING_H

#include <stddef.h>
#include <stdint.h>

enum reading_state {
    READING_OK,
    READING_STALE,       /* too old: the source hangs, or is gone for the moment; value is the last */
    READING_ABSENT,      /* there is no such thing (any more), or it has nothing to say (ENODATA) */
    READING_IMPLAUSIBLE, /* it can't be true, or is a single jump not yet confirmed; value is the last good one */
    READING_FORBIDDEN,   /* EACCES, EPERM: it is there and may not be read */
    READING_STATE_COUNT,
};

enum reading_quantity {
    READING_GRAPHICS_LOAD,    /* permille of the 3D side of the device: all clients, ours too */
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
    int64_t value;           /* of OK, STALE and IMPLAUSIBLE */
    uint64_t at_us;          /* monotonic clock, when the value was read */
    uint32_t blind_permille; /* of a load: the share that could not be seen */
    char why[96];            /* for people; empty when OK */
};

const char *reading_state_name(enum reading_state state);          /* "ok" */
const char *reading_quantity_name(enum reading_quantity quantity); /* "temperature" */
const char *reading_unit_name(enum reading_quantity quantity);     /* "m°C" */

/* A good value. */
void reading_set(struct reading *ret_reading, int64_t value, uint64_t at_us);

/* No value, in @state (not OK), for the reason in @format. */
void reading_not(struct reading *ret_reading, enum reading_state state, uint64_t at_us, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The source is there and works, and tells what happens between two looks, of which this was the first: STALE, of time
 * 0, which is before any other. */
void reading_early(struct reading *ret_reading, const char *why);

/*
 * What became of a reading that failed with @fault (-errno) and gave no value:
 *   -EACCES, -EPERM                                    FORBIDDEN
 *   -ENOENT, -ENOTDIR, -ENODEV, -ENXIO, -ENODATA, -EINVAL, -EOPNOTSUPP, -ENOTCONN   ABSENT
 *   -EPROTO, -EFBIG, -ERANGE                           IMPLAUSIBLE: something was read that is no value
 *   all others (-EAGAIN, -EBUSY, -EIO, -ETIMEDOUT, ...) STALE: there is one, and it can't be read now
 * @last: the last good reading, whose value and time stand in for it where the state has a value; NULL: none yet, the
 * value is 0 and its time 0, which is before any other.
 */
void reading_fail(struct reading *ret_reading, int fault, const struct reading *last);

#endif
