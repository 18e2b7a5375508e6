/*
 * Default patterns, from public device trees and drivers
 *
 * GPU zones come first; then zones of the whole chip: the packages of desktops, the main domain of TI's chips
 * ("main0-thermal", "wkup0-thermal" of J7), Renesas' numbered sensors; then the cores, which share the silicon.
 */
#include "sense/policy.h"
#include <fnmatch.h>
#include <stddef.h>

static const char *const heat[] = {
    "amdgpu/junction", /* the hottest spot of the chip, before "edge" */
    "amdgpu/edge",
    "gpu*",
    "*gpu*",
    "g3d*",
    "nouveau*",
    "xe/pkg",
    "xe*",
    "i915*",
    "soc[-_]*",
    "*soc*thermal*",
    "*package*",
    "x86_pkg_temp",
    "coretemp/package*",
    "k10temp/tctl",
    "k10temp*",
    "zenpower*",
    "main[0-9]*",
    "center*",
    "sensor*thermal*",
    "cpu*",
    "*cpu*",
    "*core*",
    "mpu*",
    "wkup*",
    "ddr*",
    "acpitz*",
    NULL,
};

/* Voltages, currents and states of charge (Qualcomm's "bcl" and "soc"); parts of a package that is listed whole. */
static const char *const no_heat[] = {
    "*volt*", "*vbat*", "*ibat*",    "*current*",       "*_curr*",       "*bcl*", "vph*",
    "vdd*",   "soc",    "*bat*soc*", "coretemp/core *", "k10temp/tccd*", NULL,
};

/* Meters of a whole board, before the package, before rails. */
static const char *const power[] = {
    "*/*total*", "*/vdd_in*", "*/*sys*", "psys",     "amdgpu/ppt", "amdgpu*",  "package-*", "xe/pkg", "xe*",
    "i915*",     "*/*gpu*",   "*/*soc*", "*/*core*", "ina2*",      "ina3221*", "scmi*",     NULL,
};

static const char *const throttle[] = {
    "devfreq-*gpu*", "*gpu*", "devfreq-*.mali", "thermal-devfreq-*", "devfreq-*", NULL,
};

void policy_init(struct sensor_policy *policy)
{
    *policy = (struct sensor_policy){
        .heat = { heat },
        .no_heat = { no_heat },
        .power = { power },
        .throttle = { throttle },
        .low_mc = -40000, /* the automotive range starts here */
        .high_mc = 150000,
    };
}

bool policy_matches(const char *pattern, const char *word)
{
    return fnmatch(pattern, word, FNM_CASEFOLD | FNM_NOESCAPE) == 0;
}

uint32_t policy_rank(const struct policy_list *list, const char *word)
{
    for (uint32_t i = 0; list->patterns[i]; i++) {
        if (policy_matches(list->patterns[i], word)) {
            return i;
        }
    }
    return UINT32_MAX;
}

int32_t policy_scale_permille(const struct sensor_policy *policy, const char *word)
{
    for (uint32_t i = 0; i < policy->n_scales; i++) {
        if (policy_matches(policy->scales[i].pattern, word)) {
            return policy->scales[i].permille;
        }
    }
    return 1000;
}
