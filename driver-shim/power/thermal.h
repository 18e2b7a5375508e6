/*
 * Thermal: zones of the chip, and the temperatures at which the kernel acts
 */
#ifndef SOTTO_POWER_THERMAL_H
#define SOTTO_POWER_THERMAL_H

#include "sysfs/root.h"

enum thermal_trip_kind {
    THERMAL_TRIP_ACTIVE,   /* a fan */
    THERMAL_TRIP_PASSIVE,  /* clocks are lowered */
    THERMAL_TRIP_HOT,      /* somebody is told */
    THERMAL_TRIP_CRITICAL, /* the machine is switched off */
    THERMAL_TRIP_UNKNOWN,
    THERMAL_TRIP_KIND_COUNT,
};

struct thermal_trip {
    enum thermal_trip_kind kind;
    bool is_limit;   /* it is set, and to something that a chip may reach */
    int32_t temp_mc; /* as the file has it */
    int32_t hyst_mc; /* below temp_mc by this much the trip is over; 0 where there is no such file */
};

#define THERMAL_TRIPS_MAX 32u

/* Trips of the zone with this number of today. @scale_permille: of the zone, by policy. Returns how many. */
uint32_t thermal_read_trips(const struct root *root, uint32_t zone, int32_t scale_permille, struct thermal_trip *trips,
                            uint32_t cap);

/* Pure. "passive", "active0", ... */
enum thermal_trip_kind thermal_trip_kind_of(const char *word);

#endif
