/*
 * Choice: which device computes, and why
 *
 * By policy: the path that the configuration names; else the device that drives the display, since apps share it; else
 * the first render node. Where the display is a device of its own that draws nothing, that is the first GPU beside it.
 * Each device gets a sentence with the reason.
 *
 * Pure.
 */
#ifndef SOTTO_DRM_CHOICE_H
#define SOTTO_DRM_CHOICE_H

#include "drm/device.h"

struct choice_policy {
    const char *node;    /* "/dev/dri/renderD128": this one or none; NULL: any */
    bool allow_software; /* virtual devices serve as well: for tests */
    bool needs_gpu;      /* without a GPU, start-up fails: "GPU required" */
};

enum choice_outcome {
    CHOICE_OK,
    CHOICE_NONE,    /* no device can serve: the CPU computes; @diag says why */
    CHOICE_REFUSED, /* the policy names or requires one that can't serve: start-up fails with @diag */
};

struct choice {
    uint32_t chosen;            /* index of the device if CHOICE_OK */
    char why[DEVICES_MAX][160]; /* the reason, by device */
};

int choice_make(const struct device *devices, uint32_t n, const struct choice_policy *policy, struct choice *ret_choice,
                struct diag *diag);

#endif
