/*
 * Pvr status: the vendor PowerVR driver's own figures (debugfs pvr/status)
 *
 * Graphics is the busiest of its 3D data masters (2D or TDM, GEOM.., 3D, RAY), compute is CDM. Columns are guests (VM0,
 * VM1, ...) which share the device: they are added up. Older drivers print one figure for everything. "-" is not a
 * number: nothing ran for long enough, or the driver has no figure. The figures cover the time since the same reader's
 * last read, so there is one reader with a steady period.
 */
#ifndef SOTTO_LOAD_PVR_STATUS_H
#define SOTTO_LOAD_PVR_STATUS_H

#include "load/load_source.h"

#define PVR_DEVICES_MAX 8u

enum pvr_health {
    PVR_HEALTH_UNKNOWN,
    PVR_HEALTH_OK,
    PVR_HEALTH_BAD, /* not responding, dead, fault: see pvr_device::health_words */
};

struct pvr_device {
    uint32_t index; /* "Device ID: index:minor" */
    uint32_t minor;
    enum pvr_health health;
    char health_words[48];
    bool has_total;
    uint32_t total_permille; /* GPU Utilisation */
    bool has_sides;          /* a row of a data master has a number */
    bool has_rows;           /* there are rows at all: this driver reports 3D and compute apart */
    uint32_t graphics_permille;
    uint32_t compute_permille;
};

struct pvr_status {
    bool is_driver_ok;
    uint32_t n_devices;
    struct pvr_device devices[PVR_DEVICES_MAX];
};

/* Parses the file; pure. False: there is no device line in it. */
bool pvr_status_parse(struct pvr_status *ret_status, const char *bytes, size_t n);

/* Returns the device of @minor, else the only one, else NULL. */
const struct pvr_device *pvr_status_device(const struct pvr_status *status, uint32_t minor);

/* Opens both sources of @device. 0 or -ENOMEM. */
int pvr_status_open(struct source **ret_graphics, struct source **ret_compute, const struct root *root,
                    const struct gpu *device);

#endif
