/*
 * Kernel: the virtual clock in place of the kernel's, for everything in this program
 *
 * kernel.c defines functions that the program and libuv would otherwise take from elsewhere: clock_gettime(),
 * timerfd_create(), timerfd_settime(), getrandom() and uv_queue_work(). So sottod's own clock, alarm, timers and text
 * pool run unchanged, and what they do follows from the timeline alone: time passes only when the timeline says so,
 * random bytes come from the seed, and a job of the pool takes no time and ends in the order in which it was given.
 */
#ifndef SOTTO_SIM_REAL_KERNEL_H
#define SOTTO_SIM_REAL_KERNEL_H

#include "timeline.h"

/* Until kernel_end() the clocks show the time of @timeline, and random bytes follow from @seed. */
void kernel_begin(const struct timeline *timeline, uint64_t seed);
void kernel_end(void);

/* Rings the alarms that are due. Returns whether one was. */
bool kernel_ring(void);

/* Runs the jobs of the pool, also those that their callbacks add. Returns whether there was one. */
bool kernel_work(void);

/* Returns when the next alarm is due; UINT64_MAX: none. */
uint64_t kernel_next_ns(void);

#endif
