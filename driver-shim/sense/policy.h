/*
 * Policy: which of a machine's sensors are meant
 *
 * Zones and meters are chosen by what they are called, never by their number: patterns of the shell (fnmatch, case
 * does not matter), the first that matches gives the rank. The defaults fit the boards that we know; a
 * configuration may put its own in front of them.
 */
#ifndef SOTTO_SENSE_POLICY_H
#define SOTTO_SENSE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Patterns that end with NULL. */
struct policy_list {
    const char *const *patterns; /* lives as long as the policy */
};

/* Some kernels of vendors give whole degrees, or tenths. What is read of a source whose name matches is multiplied.
 * */
struct policy_scale {
    const char *pattern; /* of a zone's type, or "chip/label" of hwmon */
    int32_t permille;    /* 1000000: whole degrees into thousandths */
};

#define POLICY_SCALES_MAX 16u

/* As daemon_pid: this process, or nobody, so that the machine's memory alone counts. */
#define POLICY_OWN_PROCESS 0u
#define POLICY_NO_PROCESS  UINT32_MAX

struct sensor_policy {
    struct policy_list heat;     /* types of zones, and "chip" or "chip/label" of hwmon; "gpu*" first */
    struct policy_list no_heat;  /* passed over: voltages, currents, states of charge, parts of what is there whole */
    struct policy_list power;    /* "chip" or "chip/label" of hwmon, names of powercap zones */
    struct policy_list throttle; /* types of cooling devices */
    struct policy_scale scales[POLICY_SCALES_MAX];
    uint32_t n_scales;
    const char *node;            /* "renderD129", "card1": the device that is ours; NULL: by the rule of the house */
    int64_t low_mc;              /* temperatures below are implausible */
    int64_t high_mc;             /* and above */
    _Atomic uint32_t daemon_pid; /* whose control groups bound the memory; may change at any time */
};

/* The defaults; memory is bounded by the groups of this process. */
void policy_init(struct sensor_policy *policy);

/* How many patterns come before the first that @word matches; UINT32_MAX: none matches. */
uint32_t policy_rank(const struct policy_list *list, const char *word);

/* 1000 if no pattern matches. */
int32_t policy_scale_permille(const struct sensor_policy *policy, const char *word);

/* True if @word matches @pattern as a shell would, whatever the case. */
bool policy_matches(const char *pattern, const char *word);

#endif
