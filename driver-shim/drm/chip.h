/*
 * Chip: facts about GPUs that can't be queried, as a table
 *
 * A row describes a family, by driver, device-tree compatible or PowerVR core. Quirks have numbers, so that a log line,
 * an issue and a row can refer to the same thing. A chip that is in no row is unknown, never assumed to be like another
 * one, and gets the most careful treatment.
 */
#ifndef SOTTO_DRM_CHIP_H
#define SOTTO_DRM_CHIP_H

#include "drm/pvr.h"
#include <stdbool.h>
#include <stdint.h>

enum chip_quirk {
    CHIP_NO_LOAD,        /* Q1: the driver reports no load: no fdinfo, no devfreq */
    CHIP_LOAD_SWITCHED,  /* Q2: load counters stay zero until a profiling switch is set */
    CHIP_ONE_ENGINE,     /* Q3: one engine for all: graphics and compute can't be told apart */
    CHIP_BARRIER_ALONE,  /* Q4: a compute kernel with a barrier keeps graphics out while it runs */
    CHIP_NO_OVERLAP,     /* Q5: compute and graphics alternate, they never overlap */
    CHIP_NO_PRIORITY,    /* Q6: no low priority: short submissions are the only way to yield */
    CHIP_NO_SYNCOBJ,     /* Q7: no sync objects */
    CHIP_BINARY_SYNCOBJ, /* Q8: no timeline sync objects */
    CHIP_EXPERIMENTAL,   /* Q9: the kernel driver accepts it only with exp_hw_support=1 */
    CHIP_NO_COMPUTE,     /* Q10: it can't compute */
    CHIP_SOFTWARE,       /* Q11: not a GPU but a virtual device, for tests */
    CHIP_DISPLAY_ONLY,   /* Q12: a display without a GPU */
    CHIP_QUIRK_COUNT,
};

struct chip {
    const char *name;       /* "TI AM62 (AXE-1-16M)" */
    const char *driver;     /* as of drmGetVersion(), or NULL: any */
    const char *compatible; /* in the device tree, or NULL: any */
    uint16_t core[4];       /* PowerVR B, V, N, C; all 0: any */
    uint32_t hang_ms;       /* time after which the kernel declares a job hung; 0: unknown */
    uint32_t quirks;        /* bits: 1 << enum chip_quirk */
};

/* Properties of a device; NULL and 0: unknown. */
struct chip_signs {
    const char *driver;
    const char *compatible; /* all of them, most specific first, separated by blanks */
    const struct pvr_core *core;
};

/* Returns the most specific row that fits, or NULL. */
const struct chip *chip_find(const struct chip_signs *signs);

bool chip_has(const struct chip *chip, enum chip_quirk quirk); /* NULL @chip: false */

/* Returns a sentence for people: "Q4: a compute kernel with a barrier keeps graphics out while it runs". */
const char *chip_quirk_text(enum chip_quirk quirk);

#endif
