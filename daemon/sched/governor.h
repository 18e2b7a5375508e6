/*
 * Governor: how much of the device is ours now
 *
 * What is known of the machine in, limits out, asked before each plan. On the CPU alone there is nothing to give way
 * to yet: the answer is always the whole device. The shape is that of the full governor (graphics load, heat, power,
 * pressure in; mode, slice, duty, ceiling, gate out), so that the plan and the engines obey it already.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_GOVERNOR_H
#define SOTTO_SCHED_GOVERNOR_H

#include "sched/account.h"

enum governor_mode {
    GOVERNOR_FULL,
    GOVERNOR_SHARED,
    GOVERNOR_THIN,
    GOVERNOR_CPU,
    GOVERNOR_PAUSED,
    GOVERNOR_MODE_COUNT,
};

struct governor_input {
    uint64_t now_us;
};

struct governor_limits {
    enum governor_mode mode;
    uint32_t slice_us;           /* longest unbroken time on the device; 0: no bound */
    uint32_t duty_permille;      /* share of time that the device may be ours */
    uint32_t n_rows;             /* of a step at most; 0: what the engine takes */
    enum sched_class class_gate; /* lower classes wait */
};

void governor_decide(const struct governor_input *input, struct governor_limits *ret_limits);

#endif
