/*
 * The CPU backend shares nothing with the screen that the kernel's own scheduler does not divide already.
 */
#include "sched/governor.h"

void governor_decide(const struct governor_input *input, struct governor_limits *ret_limits)
{
    (void)input;
    *ret_limits = (struct governor_limits){
        .mode = GOVERNOR_FULL,
        .slice_us = 0,
        .duty_permille = 1000,
        .n_rows = 0,
        .class_gate = SCHED_BACKGROUND,
    };
}
