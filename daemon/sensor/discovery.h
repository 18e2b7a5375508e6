/*
 * Machine: the real sources below a root, as driver-shim/sense finds them
 */
#ifndef SOTTO_SENSOR_DISCOVERY_H
#define SOTTO_SENSOR_DISCOVERY_H

#include "base/diag.h"
#include "sense/policy.h"
#include "sensor/finder.h"

#define DISCOVERY_ZONES_MAX 32u

struct discovery {
    struct root root;
    struct sensor_policy policy;
    const char *heat[DISCOVERY_ZONES_MAX + 128]; /* zones of the command line, then the usual ones; ends with NULL */
    const char *device;                          /* that was asked for, or NULL */
    char node[24];                               /* the same as the last scan found it; the finder's thread */
    struct list sources;                         /* of the inventory; none is taken out before the end */
    struct list loads;                           /* of devices; never taken out before the end */
};

/* What the command line says; its texts live as long as the machine. */
struct discovery_setup {
    const char *const *zones; /* put in front of what is usual */
    size_t n_zones;
    const char *const *scales; /* "PATTERN=FACTOR" */
    size_t n_scales;
    const char *device; /* "renderD129", or a path to such a node; NULL: by the rule of the house */
};

/* Opens @path as the root. False: @diag says what is wrong. */
bool discovery_open(struct discovery *discovery, const char *path, const struct discovery_setup *setup,
                    struct diag *diag);

/* After the finder's clear, or with it never begun. */
void discovery_close(struct discovery *discovery);

extern const struct finder_table discovery_table;

#endif
