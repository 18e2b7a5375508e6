/*
 * Drm-sched source: load by the kernel's trace events of GPU jobs
 *
 * It needs a trace instance of its own (/sys/kernel/tracing/instances/sotto) with the clock "mono" and the events of
 * jobs switched on, so that nobody else's tracing is touched. It makes that instance where it may; where it may only
 * read, the instance must have been made beforehand (sotto-sense's unit can do it, as root, before it starts).
 * FORBIDDEN or ABSENT, with what is missing, otherwise; it tries again every 10 s.
 */
#ifndef SOTTO_LOAD_DRM_SCHED_H
#define SOTTO_LOAD_DRM_SCHED_H

#include "load/load.h"

/* -ENOMEM. */
int drm_sched_open(struct source **ret_graphics, struct source **ret_compute, const struct root *root,
                   const struct gpu *device);

#endif
