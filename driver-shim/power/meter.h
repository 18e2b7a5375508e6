/*
 * Meter: a source of power or energy over one or two files
 *
 * hwmon and powercap find meters; the conversion of their figures into mW and uJ is the same for both. Where a machine
 * counts energy only, power is its slope over time; where it has power only, energy is its integral.
 */
#ifndef SOTTO_POWER_METER_H
#define SOTTO_POWER_METER_H

#include "sense/source.h"
#include "sysfs/kobject.h"

/*
 * Energy is in microjoules since the first reading. A counter of the machine wraps at some point (powercap says where)
 * or restarts at 0 (a driver that was reloaded); unrolled it only rises. Where there is only a power meter, its power
 * is integrated over time. Where there is neither there is no figure: energy is never invented.
 */

struct energy_counter {
    uint64_t range_uj; /* the largest value before it wraps to 0; 0: it never wraps, a smaller value is a restart */
    uint64_t raw_uj;   /* as last read */
    uint64_t total_uj;
    bool has_raw;
};

void energy_counter_init(struct energy_counter *counter, uint64_t range_uj);

/* Takes a count and returns the total: 0 the first time. The counter must wrap at most once between two readings. */
uint64_t energy_count(struct energy_counter *counter, uint64_t raw_uj);

struct energy_integral {
    uint64_t total_nj;
    uint64_t at_us; /* of the last power */
    int64_t mw;
    bool has_last;
};

/* Nothing is added over longer gaps, since the power in between is unknown. */
#define ENERGY_GAP_US 5000000u

/*
 * Adds the mean of this and the last power over the time between (mW times us are nJ). Negative power (charging) counts
 * as 0. Returns the total in uJ.
 */
uint64_t energy_integrate(struct energy_integral *integral, int64_t mw, uint64_t at_us);

enum meter_kind {
    METER_POWER,           /* files[0]: uW */
    METER_POWER_OF_PAIR,   /* files[0]: mV, files[1]: mA */
    METER_POWER_OF_ENERGY, /* files[0]: uJ */
    METER_ENERGY,          /* files[0]: uJ */
    METER_ENERGY_OF_POWER, /* files[0]: uW */
    METER_ENERGY_OF_PAIR,  /* files[0]: mV, files[1]: mA */
    METER_KIND_COUNT,
};

struct meter_spec {
    const struct source_table *table; /* meter_hwmon or meter_powercap */
    enum meter_kind kind;
    struct kobject kobject; /* if it has a class: the object with the files, whatever its number */
    char folder[160];       /* else their folder */
    char files[2][40];      /* names; the second may be empty */
    uint64_t range_uj;      /* of a counter: its largest value; 0: it does not wrap */
};

extern const struct source_table meter_hwmon;
extern const struct source_table meter_powercap;

/* Makes a source of @where, with name, id, rank, why and path empty. NULL: no memory. */
struct source *meter_create(const struct root *root, const struct meter_spec *where);

#endif
