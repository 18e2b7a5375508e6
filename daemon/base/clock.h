/*
 * Clock: the only place that reads the time
 *
 * Scheduling, watchdogs and slices use the monotonic clock. journal_ttl, linger, budgets and client deadlines use the
 * boot clock, which continues while the machine sleeps. Events carry real time. Microseconds. Any thread.
 */
#ifndef SOTTO_BASE_CLOCK_H
#define SOTTO_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_mono_us(void);
uint64_t clock_boot_us(void);
uint64_t clock_real_us(void);

/* Fills @bytes with unpredictable bytes from the kernel. Aborts if there are none. */
void clock_entropy(void *bytes, uint32_t n);

#endif
