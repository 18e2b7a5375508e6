/*
 * Record of processes: who has a DRM device open, and which control groups bound our memory
 */
#ifndef SOTTO_RECORD_RECORD_PROCESS_H
#define SOTTO_RECORD_RECORD_PROCESS_H

#include "record/copy.h"

/*
 * Of each process its number and whether its descriptors may be looked at; of those that have a GPU's device open the
 * name (comm), these descriptors and their fdinfo, without the line drm-client-name, which a program may fill with
 * anything. Threads of the kernel are left out.
 */
void record_processes(struct copy *copy);

/* /proc/self/cgroup and the memory files of these groups, version 2 and 1, under other names: groups are called after
 * users, units and containers. */
void record_groups(struct copy *copy);

#endif
