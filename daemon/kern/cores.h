/*
 * Cores: how many threads may really run at once
 *
 * More workers than processors is the classic way to a tenth of the speed. So: the affinity mask, then the quota of
 * the control group (v2 cpu.max, v1 cpu.cfs_quota_us) and of all its parents, rounded down, never below 1.
 */
#ifndef SOTTO_KERN_CORES_H
#define SOTTO_KERN_CORES_H

#include <stdint.h>

/* Processors of this thread's affinity mask, at most those that the quota allows. Reads /proc and /sys. */
uint32_t cores_count(void);

/*
 * Whole processors that the control groups allow, at least 1; UINT32_MAX where there is no limit or nothing can be
 * read. @root is put before /proc/self/cgroup and /sys/fs/cgroup ("" is the machine; tests have a tree of files).
 */
uint32_t cores_quota(const char *root);

#endif
