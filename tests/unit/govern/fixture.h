/*
 * Machine: a governor and what it is told, for tests of one reason at a time
 */
#ifndef SOTTO_GOVERN_FIXTURE_H
#define SOTTO_GOVERN_FIXTURE_H

#include "govern/governor.h"

#define FIXTURE_TICK_US 50000u

extern struct governor governor;
extern struct governor_input in;
extern const struct governor_limits *const device;
extern const struct governor_limits *const cores;

/* A new governor that knows nothing yet. */
void fixture_begin(const struct governor_policy *policy);

/* The same without any policy. */
void fixture_setup(void);

/* Ticks with what stands in `in`; what is seen is seen anew each time. True: something was worth an event. */
bool fixture_tick(uint32_t n);

/* Others draw so much. */
void fixture_draw(uint32_t busy_permille);

/* A zone is seen. */
void fixture_heat(uint32_t i, int32_t temp_mc, int32_t passive_mc, int32_t critical_mc);

#endif
