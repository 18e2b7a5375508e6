/*
 * Drm-sched source: load from the kernel's trace events of GPU jobs
 *
 * The source needs a trace instance of its own (/sys/kernel/tracing/instances/sotto) with the clock "mono" and the job
 * events enabled, so that it disturbs no other tracing. It makes that instance where it may; where it may only read,
 * the instance must exist already (sotto-sense's unit can make it as root before it starts). Otherwise the reading is
 * FORBIDDEN or ABSENT and names what is missing; the source tries again every 10 s.
 */
#ifndef SOTTO_LOAD_DRM_SCHED_H
#define SOTTO_LOAD_DRM_SCHED_H

#include "load/load_source.h"

/* Opens both sources of @device. 0 or -ENOMEM. */
int drm_sched_open(struct source **ret_graphics, struct source **ret_compute, const struct root *root,
                   const struct gpu *device);

#endif
