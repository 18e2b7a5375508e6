/*
 * Thermal: zones of the chip, and the temperatures at which the kernel acts
 */
#ifndef SOTTO_POWER_THERMAL_H
#define SOTTO_POWER_THERMAL_H

#include "sysfs/root.h"

enum thermal_trip_kind {
    THERMAL_TRIP_ACTIVE,   /* a fan */
    THERMAL_TRIP_PASSIVE,  /* clocks are lowered */
    THERMAL_TRIP_HOT,      /* user space is notified */
    THERMAL_TRIP_CRITICAL, /* the machine is switched off */
    THERMAL_TRIP_UNKNOWN,
    THERMAL_TRIP_KIND_COUNT,
};

struct thermal_trip {
    enum thermal_trip_kind kind;
    bool is_limit;   /* it is set, to a temperature that a chip may reach */
    int32_t temp_mc; /* as the file has it */
    int32_t hyst_mc; /* the trip ends this much below temp_mc; 0 where there is no such file */
};

#define THERMAL_TRIPS_MAX 32u

/* Reads the trips of the zone with this number. @scale_permille: the zone's multiplier. Returns their count. */
uint32_t thermal_read_trips(const struct root *root, uint32_t zone, int32_t scale_permille, struct thermal_trip *trips,
                            uint32_t cap);

/* Parses "passive", "active0", ...; pure. */
enum thermal_trip_kind thermal_trip_kind_of(const char *word);

#endif
