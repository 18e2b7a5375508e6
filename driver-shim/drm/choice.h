/*
 * Choice: which device computes, and why that one
 *
 * By policy: a path that the configuration names; else the device that drives the display, since that is the one
 * that apps share; else the first render node. On chips whose display is a device of its own (it shows pictures,
 * and draws none) that is the first GPU beside it. Each device gets a sentence.
 *
 * Pure.
 */
#ifndef SOTTO_DRM_CHOICE_H
#define SOTTO_DRM_CHOICE_H

#include "drm/device.h"

struct choice_policy {
    const char *node;    /* "/dev/dri/renderD128": this or none; NULL: by itself */
    bool allow_software; /* devices made of nothing serve as well: for tests */
    bool needs_gpu;      /* without one, start-up fails: "GPU required" */
};

enum choice_outcome {
    CHOICE_OK,
    CHOICE_NONE,    /* no device can serve: the CPU computes; @diag says why */
    CHOICE_REFUSED, /* policy names or requires one that can't serve: start-up fails with @diag */
};

struct choice {
    uint32_t chosen;            /* index of the device, with CHOICE_OK */
    char why[DEVICES_MAX][160]; /* of each device */
};

int choice_make(const struct device *devices, uint32_t n, const struct choice_policy *policy, struct choice *ret_choice,
                struct diag *diag);

#endif
