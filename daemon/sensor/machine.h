/*
 * Machine: the real sources below a root, as driver-shim/sense finds them
 */
#ifndef SOTTO_SENSOR_MACHINE_H
#define SOTTO_SENSOR_MACHINE_H

#include "base/diag.h"
#include "sense/policy.h"
#include "sensor/finder.h"

#define MACHINE_ZONES_MAX 32u

struct machine {
    struct root root;
    struct inventory_policy policy;
    const char
        *heat[MACHINE_ZONES_MAX + 128]; /* zones of the command line, then the usual ones; ends with NULL */
    struct list sources;                /* of the inventory; none is taken out before the end */
    struct list loads;                  /* of devices; never taken out before the end */
};

/*
 * Opens @path as the root. @zones and @scales ("PATTERN=FACTOR") are put in front of what is usual and must live as
 * long. False: @diag says what is wrong.
 */
bool machine_open(struct machine *machine, const char *path, const char *const *zones, size_t n_zones,
                  const char *const *scales, size_t n_scales, struct diag *diag);

/* After the finder's clear, or with it never begun. */
void machine_close(struct machine *machine);

extern const struct finder_table machine_table;

#endif
