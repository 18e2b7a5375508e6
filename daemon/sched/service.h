/*
 * Service: how fast requests end, at the slowest
 *
 * It remembers when the last requests ended, and predicts how long the next k ends take at most: as long as the slowest
 * k in a row did lately. That is an empirical service curve (Cruz 1991; Le Boudec and Thiran, Network Calculus, 2001).
 * A mean would be exceeded for half of the requests that rely on it, and ends come in bursts, as requests that begin
 * together end together.
 *
 * Pure: time is an argument, on the monotonic clock.
 */
#ifndef SOTTO_SCHED_SERVICE_H
#define SOTTO_SCHED_SERVICE_H

#include <stdint.h>

/* Ends that are remembered: four bursts of an engine of sixteen slots. */
#define SERVICE_ENDS 64u

struct service {
    uint64_t at_us[SERVICE_ENDS]; /* a ring; the first entry is when work began */
    uint64_t n;                   /* entries ever made; 0: there is no work */
};

/* Starts with the first work, forgetting everything before. */
void service_begin(struct service *service, uint64_t now_us);

void service_end(struct service *service, uint64_t now_us);

/* Forgets everything: ends from now on would show how seldom requests arrive, not how fast the chip is. */
void service_forget(struct service *service);

/* Returns how long the next @n ends take at most, in us, including requests that already run. Without an end so far
 * it is the time since work began, or 0. */
double service_wait_us(const struct service *service, double n, uint64_t now_us);

#endif
