/*
 * Policy: which of a machine's sensors are used
 *
 * Zones and meters are chosen by name, never by number, with shell patterns (fnmatch, ignoring case); the index of the
 * first one that matches is the rank. The defaults fit the boards that we know; a configuration may put its own
 * patterns in front.
 */
#ifndef SOTTO_SENSE_POLICY_H
#define SOTTO_SENSE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shell patterns, terminated by NULL. */
struct policy_list {
    const char *const *patterns; /* outlives the policy */
};

/* Some vendor kernels give whole degrees, or tenths: values of a source with a matching name are multiplied. */
struct policy_scale {
    const char *pattern; /* matches a zone's type, or "chip/label" of hwmon */
    int32_t permille;    /* 1000000: whole degrees into thousandths */
};

#define POLICY_SCALES_MAX 16u

/* Values of daemon_pid. With no process, the machine's memory alone counts. */
#define POLICY_OWN_PROCESS 0u
#define POLICY_NO_PROCESS  UINT32_MAX

struct sensor_policy {
    struct policy_list heat; /* types of zones, "chip" or "chip/label" of hwmon; "gpu*" first */
    /* passed over: voltages, currents, states of charge, parts of a package that is listed whole */
    struct policy_list no_heat;
    struct policy_list power;    /* "chip" or "chip/label" of hwmon, names of powercap zones */
    struct policy_list throttle; /* types of cooling devices */
    struct policy_scale scales[POLICY_SCALES_MAX];
    uint32_t n_scales;
    const char *node;            /* "renderD129", "card1": the GPU that counts; NULL: as inventory_ours() finds it */
    int64_t low_mc;              /* temperatures below this are implausible */
    int64_t high_mc;             /* temperatures above this are implausible */
    _Atomic uint32_t daemon_pid; /* the process in the control groups that bound the memory; may change at any time */
};

/* Sets the defaults; memory is bounded by the groups of this process. */
void policy_init(struct sensor_policy *policy);

/* Returns the index of the first pattern that matches @word; UINT32_MAX: none does. */
uint32_t policy_rank(const struct policy_list *list, const char *word);

/* Returns the multiplier for @word; 1000 if no pattern matches. */
int32_t policy_scale_permille(const struct sensor_policy *policy, const char *word);

/* Returns true if @word matches the shell pattern @pattern, ignoring case. */
bool policy_matches(const char *pattern, const char *word);

#endif
