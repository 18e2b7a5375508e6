/*
 * Cores: how many threads may really run at once
 *
 * More workers than processors easily cost nine tenths of the speed. So the count is the affinity mask, limited by the
 * quota of the control group (v2 cpu.max, v1 cpu.cfs_quota_us) and of all its parents, rounded down, never below 1.
 */
#ifndef SOTTO_KERN_CORES_H
#define SOTTO_KERN_CORES_H

#include <stdint.h>

/* Returns the number of processors in this thread's affinity mask, at most what the quota allows. Reads /proc and
 * /sys. */
uint32_t cores_count(void);

/*
 * Returns the whole processors that the control groups allow, at least 1; UINT32_MAX where there is no limit or nothing
 * can be read. @root is put before /proc/self/cgroup and /sys/fs/cgroup: "" is the machine, tests pass a folder.
 */
uint32_t cores_quota(const char *root);

#endif
