/*
 * Checkup: the facts of a machine, and advice to its owner
 *
 * They are gathered for `sotto doctor`. Gathering reads the machine; advice follows from the gathered facts alone.
 */
#ifndef SOTTO_TOOL_CHECKUP_H
#define SOTTO_TOOL_CHECKUP_H

#include "drm/choice.h"
#include "kern/cores.h"
#include "memory/memory.h"
#include "tool/probe.h"
#include <sys/utsname.h>

#define CHECKUP_ADVICE_MAX 16u

struct checkup {
    bool is_machine; /* not a recorded one: limits, processor and kernel are known */
    struct utsname kernel;
    struct cores cores;     /* of an engine that no policy gives others */
    const char *kernels;    /* set of CPU kernels: "avx2", "scalar" */
    uint64_t memlock_bytes; /* UINT64_MAX: no limit */
    bool has_systemd;
    bool has_memory;
    struct memory memory;

    struct device devices[DEVICES_MAX];
    uint32_t n_devices;
    struct choice choice;
    int chosen;            /* index, or below 0 */
    struct diag no_choice; /* why none was chosen */
    struct probe probe;

    char advice[CHECKUP_ADVICE_MAX][DIAG_BYTES];
    uint32_t n_advice;
};

/* Gathers facts below @root ("/": this machine). Returns false if @diag says why it can't. Call checkup_close() in both
 * cases. */
bool checkup_open(struct checkup *checkup, const char *root, struct diag *diag);

/* Closes the probe; returns as probe_close(). */
bool checkup_close(struct checkup *checkup);

/* Returns the advice about a processor of @machine (as uname names it: "x86_64") with the extensions @cpu (kern/cpu.h),
 * or NULL if there is nothing to change. Pure. */
const char *checkup_processor(const char *machine, uint32_t cpu);

/* Returns the gauge in use for @quantity, or NULL. */
const struct channel *checkup_deciding(const struct checkup *checkup, enum reading_quantity quantity);

/* Returns the temperature in use with the lowest default target, and that target; NULL if there is none. */
const struct channel *checkup_coolest(const struct checkup *checkup, int32_t *ret_target_mc);

#endif
