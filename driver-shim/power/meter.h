/*
 * Meter: a source of power or energy over one or two files
 *
 * hwmon and powercap find meters; how their figures become mW and uJ is the same for both. Where a machine counts
 * energy only, power is its rise over time; where it has power only, energy is its sum over time.
 */
#ifndef SOTTO_POWER_METER_H
#define SOTTO_POWER_METER_H

#include "sense/source.h"
#include "sysfs/kobject.h"

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
    struct kobject kobject; /* with a class: files lie there, whatever its number */
    char folder[160];       /* without: they lie here */
    char files[2][40];      /* names; the second may be empty */
    uint64_t range_uj;      /* of a counter: where it runs round; 0: it doesn't */
};

extern const struct source_table meter_hwmon;
extern const struct source_table meter_powercap;

/* A source of @where, with name, id, rank, why and path empty. NULL: no memory. */
struct source *meter_create(const struct root *root, const struct meter_spec *where);

#endif
