/*
 * Families internal: what the files of the families share
 *
 * families.c: which families there are, and those of graphics and of many clients. families_heat.c: those of heat.
 * families_parts.c: the parts that they are made of. Each of these functions draws from @rng what it leaves open.
 */
#ifndef SOTTO_SIM_FAMILIES_INTERNAL_H
#define SOTTO_SIM_FAMILIES_INTERNAL_H

#include "rng.h"
#include "scenario.h"
#include "sched/account.h"

/* ---- parts of a world (families_parts.c) */

/* Makes the chip and its sensors, far from any target. */
void family_make_chip(struct scenario *scenario, struct rng *rng);

/* Returns the refresh rate of a screen. */
int64_t family_refresh_hz(struct rng *rng);

/* Makes a screen with frames that are never late by themselves: they take at most @most permille of their period. */
void family_make_screen(struct scenario *scenario, struct rng *rng, int64_t most);

/* Changes the load of frames at @at_ms, in permille of their period at the full clock. */
void family_add_load(struct scenario *scenario, int64_t at_ms, int64_t base, int64_t app);

void family_add_engine(struct scenario *scenario, struct rng *rng);

/* Each adds @n clients and returns them, to be changed; they are owned by @scenario. */
struct scenario_clients *family_add_clients(struct scenario *scenario, enum pattern pattern, int64_t n,
                                            enum priority priority);
struct scenario_clients *family_add_voice(struct scenario *scenario, struct rng *rng, int64_t n);
struct scenario_clients *family_add_chat(struct scenario *scenario, struct rng *rng, int64_t n);
struct scenario_clients *family_add_documents(struct scenario *scenario, struct rng *rng, int64_t n);

/* ---- families of heat (families_heat.c) */

/* Makes a chip that our own work warms, beside others of constant power. */
void family_make_heat(struct scenario *scenario, struct rng *rng);

/* Makes heat beside others of changing power. */
void family_make_disturbed(struct scenario *scenario, struct rng *rng);

/* Makes heat that begins above its target. */
void family_make_hot(struct scenario *scenario, struct rng *rng);

/* Makes heat with pauses, in which a controller could forget or learn what is wrong. */
void family_make_bursts(struct scenario *scenario, struct rng *rng);

/* Makes heat with a sensor that hangs in the middle, and others that grow hotter behind it. */
void family_make_stuck(struct scenario *scenario, struct rng *rng);

#endif
