/*
 * Memory: how much more may be allocated
 *
 * The machine's available memory (not its free memory: file pages can be dropped), and the same for each control group
 * above a process, version 2 or 1: its limit less its usage, with inactive file pages added back. The minimum is what a
 * daemon may budget with. A chip with one memory for CPU and GPU has one such number.
 */
#ifndef SOTTO_MEMORY_MEMORY_H
#define SOTTO_MEMORY_MEMORY_H

#include "sense/policy.h"
#include "sense/source.h"

#define MEMORY_NO_LIMIT UINT64_MAX

struct memory {
    uint64_t total_kb;           /* the machine's */
    uint64_t machine_kb;         /* available on the machine */
    uint64_t group_limit_kb;     /* the tightest limit above the process; MEMORY_NO_LIMIT */
    uint64_t group_available_kb; /* the least that any of the limits leaves; MEMORY_NO_LIMIT */
    uint64_t available_kb;       /* minimum of machine_kb and group_available_kb: the number to budget with */
    char group[160];             /* folder, below the root, of the group that leaves least; empty: the machine does */
};

/*
 * Reads the memory available to process @pid; POLICY_OWN_PROCESS (0): this one; POLICY_NO_PROCESS: none. 0, or the
 * fault of /proc/meminfo (-EPROTO: it has no MemAvailable). An unreadable group bounds nothing.
 */
int memory_read(const struct root *root, uint32_t pid, struct memory *ret_memory);

/*
 * Finds the value of a "KEY: number" line in kB, as in /proc/meminfo, or of a "key number" line of memory.stat; pure.
 * False: there is no such line, or it holds no number.
 */
bool memory_find(const char *text, const char *key, uint64_t *ret_number);

/*
 * Parses a limit file, in bytes: "max", and what version 1 writes for none, are MEMORY_NO_LIMIT; pure. False: no
 * number.
 */
bool memory_parse_limit(const char *text, uint64_t *ret_bytes);

/*
 * Finds the path of the group in /proc/PID/cgroup, of version 2 (the line "0::") or of version 1's controller
 * @controller; pure. False: there is none.
 */
bool memory_find_group(const char *text, const char *controller, char *path, size_t cap);

/* Adds the source of available memory to @sources (source::link), unless it is there. 0 or -ENOMEM. */
int memory_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);

#endif
