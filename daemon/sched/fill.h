/*
 * Fill: what one step holds, out of those who could run, in their order
 *
 * The inside of plan.h. Where several accounts of one class want more than the step holds, they are raised like water
 * to one level of virtual time: each gets rows until it has had as much as the others, by weight. So shares hold in
 * every step, also where a step takes long and a window holds few.
 *
 * Pure.
 */
#ifndef SOTTO_SCHED_FILL_H
#define SOTTO_SCHED_FILL_H

#include "sched/plan.h"

/* So many tokens may answers run ahead of other accounts' prompts: they cost one row, and somebody reads
 * them. A second of a lively answer. */
#define FILL_LEAD_TOK 16u

/* Where @job stands in its class: in virtual time, moved so that it is never below 0, with the lead of
 * answers. */
uint64_t fill_start(const struct job *job);

/* True if only the share tells who of @a and @b is first. */
bool fill_is_share(const struct job *a, const struct job *b, uint64_t now_us);

/* How long a step may take on the chip, in ns, so that an answer with a finish_by_us ends in good time; a
 * step that holds nothing but answers takes @least_ns. */
double fill_pace_ns(const struct job *job, const struct governor_limits *limits, uint64_t boot_us, double least_ns);

/* Fills @plan, whose lane is set and which holds nothing, from those of @jobs that are of its lane. */
void fill_step(struct plan *plan, struct job *const *jobs, uint32_t n, const struct plan_input *in);

#endif
