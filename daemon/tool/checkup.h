/*
 * Checkup: what is known of a machine, and what its owner may want to change
 *
 * Gathered for doctor's page. Pure apart from gathering: advice follows from what stands in the structure.
 */
#ifndef SOTTO_TOOL_CHECKUP_H
#define SOTTO_TOOL_CHECKUP_H

#include "drm/choice.h"
#include "memory/memory.h"
#include "tool/probe.h"
#include <sys/utsname.h>

#define CHECKUP_ADVICE_MAX 16u

struct checkup {
    bool is_machine; /* not a recorded one: limits, processor and kernel are this one's */
    struct utsname kernel;
    uint32_t n_cores;       /* that a process of ours may use */
    const char *kernels;    /* set of CPU kernels: "avx2", "scalar" */
    uint64_t memlock_bytes; /* UINT64_MAX: no limit */
    bool has_systemd;
    bool has_memory;
    struct memory memory;

    struct device devices[DEVICES_MAX];
    uint32_t n_devices;
    struct choice choice;
    int chosen;            /* index, or below 0 */
    struct diag no_choice; /* why none */
    struct probe probe;

    char advice[CHECKUP_ADVICE_MAX][DIAG_BYTES];
    uint32_t n_advice;
};

/* Gathers all below @root. False: @diag says why nothing can be told. checkup_close() in either case. */
bool checkup_open(struct checkup *checkup, const char *root, struct diag *diag);

/* As probe_close(). */
bool checkup_close(struct checkup *checkup);

/* The gauge that decides for @quantity, or NULL. */
const struct channel *checkup_deciding(const struct checkup *checkup, enum reading_quantity quantity);

/* The temperature in use that is held lowest where the configuration says nothing, and at what; NULL: there is none. */
const struct channel *checkup_coolest(const struct checkup *checkup, int32_t *ret_target_mc);

#endif
