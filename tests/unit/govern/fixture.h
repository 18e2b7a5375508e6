/*
 * Fixture: a governor and its input, for tests of one cause at a time
 */
#ifndef SOTTO_GOVERN_FIXTURE_H
#define SOTTO_GOVERN_FIXTURE_H

#include "govern/governor.h"

#define FIXTURE_TICK_US 50000u

extern struct governor governor;
extern struct governor_input in;
extern const struct governor_limits *const device;
extern const struct governor_limits *const cores;

/* Starts a governor that knows nothing. */
void fixture_begin(const struct governor_policy *policy);

/* Starts a governor without a policy; a setup for tests. */
void fixture_setup(void);

/* Makes @n ticks with what stands in `in`; all that is seen is read again each time. Returns true if one was worth
 * an event. */
bool fixture_tick(uint32_t n);

/* Sets the load of others. */
void fixture_draw(uint32_t busy_permille);

/* Adds the reading of a zone. */
void fixture_heat(uint32_t i, int32_t temp_mc, int32_t passive_mc, int32_t critical_mc);

#endif
