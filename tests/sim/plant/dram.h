/*
 * Dram: one memory for all
 *
 * Reading the weights is bound by memory, so the fixed part of a step stretches with the traffic of others.
 */
#ifndef SOTTO_SIM_DRAM_H
#define SOTTO_SIM_DRAM_H

#include "scenario.h"

/* Returns how many times longer a memory-bound part takes at @now_ns: 1 and above. */
double dram_stretch(const struct scenario *scenario, uint64_t now_ns);

#endif
