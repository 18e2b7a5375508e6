/*
 * Record of processes: those that have a DRM device open, and the control groups that bound our memory
 */
#ifndef SOTTO_RECORD_RECORD_PROCESS_H
#define SOTTO_RECORD_RECORD_PROCESS_H

#include "record/copy.h"

/*
 * Copies the number of each process, and whether its descriptors may be looked at; if it has a GPU's device open, also
 * its name (comm), these descriptors and their fdinfo, without the line drm-client-name, which a program may fill with
 * anything. Kernel threads are left out.
 */
void record_processes(struct copy *copy);

/*
 * Copies /proc/self/cgroup and the memory files of these groups, version 2 and 1, under other names: groups are named
 * after users, units and containers.
 */
void record_groups(struct copy *copy);

#endif
