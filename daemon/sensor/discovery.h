/*
 * Discovery: the finder's functions for the real sources below a root
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
    const char *heat[DISCOVERY_ZONES_MAX + 128]; /* the command line's zones, then the default ones; NULL-terminated */
    const char *device;                          /* the requested one, or NULL */
    char node[24];                               /* its node as of the last scan; the finder's thread */
    struct list sources;                         /* the inventory's; none is removed before the end */
    struct list loads;                           /* of GPUs; none is removed before the end */
};

/* Settings of the command line; its texts must outlive the discovery. */
struct discovery_setup {
    const char *const *zones; /* patterns put in front of the defaults */
    size_t n_zones;
    const char *const *scales; /* "PATTERN=FACTOR" */
    size_t n_scales;
    const char *device; /* "renderD129", or a path to such a node; NULL: as inventory_ours() finds it */
};

/* Opens @path as the root. False: @diag says what is wrong. */
bool discovery_open(struct discovery *discovery, const char *path, const struct discovery_setup *setup,
                    struct diag *diag);

/* Closes the root; after the finder's clear, or if the finder was never opened. */
void discovery_close(struct discovery *discovery);

extern const struct finder_table discovery_table;

#endif
