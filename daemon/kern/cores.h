/*
 * Cores: how many threads may really run at once, and where
 *
 * More workers than processors easily cost nine tenths of the speed. So the count is the affinity mask, limited by the
 * quota of the control group (v2 cpu.max, v1 cpu.cfs_quota_us) and of all its parents, rounded down, never below 1.
 *
 * Where cores differ (big.LITTLE), all workers wait for the slowest at every barrier, and the slow cores are those that
 * the rest of the machine lives on. So only cores with at least half the capacity of the fastest are chosen, by the
 * kernel's figures (/sys/devices/system/cpu/cpuN/cpu_capacity). A caller that asks for more threads gets the next
 * fastest ones as well.
 */
#ifndef SOTTO_KERN_CORES_H
#define SOTTO_KERN_CORES_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORES_MAX  8192 /* the most that a kernel can be built for */
#define CORES_TEXT 256  /* bytes of a description; a longer one is cut off */

struct cores_set {
    cpu_set_t words[CORES_MAX / CPU_SETSIZE];
};

struct cores {
    struct cores_set chosen;
    struct cores_set left; /* allowed, but slower than the chosen */
    uint32_t n_chosen;     /* 0: unknown */
    uint32_t n_left;
    uint32_t quota;     /* whole processors that the control groups allow; UINT32_MAX: no limit */
    uint32_t n_at_once; /* threads that can run at the same time: the chosen cores, at most the quota */
    uint32_t n_threads; /* those asked for, or n_at_once */
};

/*
 * Chooses among the cores @allowed (NULL: this thread's affinity mask). @n_threads: how many are wanted; 0: as many as
 * can run at once. @root is put before /proc/self/cgroup, /sys/fs/cgroup and /sys/devices: "" is the machine, tests
 * pass a folder. Where nothing can be read, nothing is limited.
 */
void cores_choose(struct cores *ret_cores, const char *root, const struct cores_set *allowed, uint32_t n_threads);

/* Binds @thread to the chosen cores, if some were left. Failures are ignored: affinity is only a hint. */
void cores_bind(const struct cores *cores, pthread_t thread);

/* Writes what was chosen, and why: "4 threads on cores 4-7; 4 slower cores (0-3) are left to others". */
void cores_describe(const struct cores *cores, char *text, size_t cap);

/*
 * Returns the whole processors that the control groups allow, at least 1; UINT32_MAX where there is no limit or nothing
 * can be read. @root as above.
 */
uint32_t cores_quota(const char *root);

#endif
