/*
 * Fill: what one step holds, out of the jobs that could run, in their order
 *
 * The inside of plan.h. Where several accounts of one class want more than the step holds, they are raised to one level
 * of virtual time, like water: each gets rows until it has had as much as the others, by weight. So shares hold within
 * every step, even if steps are long and a period holds few of them.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_FILL_H
#define SOTTO_SCHED_FILL_H

#include "sched/plan.h"

/* True if only the shares decide which of @a and @b is first. */
bool fill_is_share(const struct job *a, const struct job *b, uint64_t now_us);

/* Fills @plan from those of @jobs that belong to its engine. The engine of @plan is set, and it holds nothing. */
void fill_step(struct plan *plan, struct job *const *jobs, uint32_t n, const struct plan_input *in);

#endif
