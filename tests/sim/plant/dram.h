/*
 * Dram: one memory for everybody
 *
 * Reading the weights is bound by memory, so the fixed part of a step stretches with what others take of it.
 */
#ifndef SOTTO_SIM_DRAM_H
#define SOTTO_SIM_DRAM_H

#include "scenario.h"

/* How many times longer a part that is bound by memory takes at @now_ns: 1 and above. */
double dram_stretch(const struct scenario *scenario, uint64_t now_ns);

#endif
