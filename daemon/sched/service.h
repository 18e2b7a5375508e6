/*
 * Service: how fast requests end, at the slowest
 *
 * The times of the last ends. From them: how long the next k of them take at most, as lately the slowest k in a row
 * did. That is an empirical service curve (Cruz 1991; Le Boudec and Thiran, Network Calculus, 2001): a mean would
 * be passed by half of those who believe it, and ends come in bursts: who began together ends together.
 *
 * Pure: time is an argument, on the monotonic clock.
 */
#ifndef SOTTO_SCHED_SERVICE_H
#define SOTTO_SCHED_SERVICE_H

#include <stdint.h>

/* Ends that are remembered: four bursts of a lane of sixteen seats. */
#define SERVICE_ENDS 64u

struct service {
    uint64_t at_us[SERVICE_ENDS]; /* a ring; at first, since when there is work */
    uint64_t n;                   /* ever put in; 0: there is no work */
};

/* Work begins, where there was none; what was is forgotten. */
void service_begin(struct service *service, uint64_t now_us);

void service_end(struct service *service, uint64_t now_us);

/* Nothing that ends now would say how fast the chip is, but how seldom anybody asks. */
void service_forget(struct service *service);

/* How long the next @n ends take at most, in us; what runs already counts. Before there was one: as long as nothing has
 * ended, or 0. */
double service_wait_us(const struct service *service, double n, uint64_t now_us);

#endif
