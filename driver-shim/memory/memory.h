/*
 * Memory: how much more may be taken
 *
 * The machine's available memory (not its free memory: pages of files can be dropped), and the same for each control
 * group above a process, version 2 or 1: its limit less what it uses, with pages of files that nobody used lately
 * given back. The least of all is what a daemon may budget with. A chip with one memory for processor and GPU has
 * one such number.
 */
#ifndef SOTTO_MEMORY_MEMORY_H
#define SOTTO_MEMORY_MEMORY_H

#include "sysfs/root.h"

#define MEMORY_NO_LIMIT UINT64_MAX

struct memory {
    uint64_t total_kb;           /* of the machine */
    uint64_t machine_kb;         /* available on the machine */
    uint64_t group_limit_kb;     /* the tightest limit above the process; MEMORY_NO_LIMIT */
    uint64_t group_available_kb; /* the least that is left below any of the limits; MEMORY_NO_LIMIT */
    uint64_t available_kb;       /* the least of machine_kb and group_available_kb: the number to budget with */
    char group[160];             /* folder of the group that leaves least, below the root; empty: the machine does */
};

/* As process @pid has it; POLICY_OWN_PROCESS (0): this one; POLICY_NO_PROCESS: none. 0, or the fault of
 * /proc/meminfo (-EPROTO: it doesn't tell what is available). A group that can't be read bounds nothing. */
int memory_read(const struct root *root, uint32_t pid, struct memory *ret_memory);

/* Pure parts. Value of "KEY: number" lines in kB, as /proc/meminfo has them; or of "key number" lines of memory.stat.
 * False: there is no such line, or it holds no number. */
bool memory_find(const char *text, const char *key, uint64_t *ret_number);

/* A limit file's text in bytes: "max" and what version 1 writes for none are MEMORY_NO_LIMIT. False: no number. */
bool memory_parse_limit(const char *text, uint64_t *ret_bytes);

/* The path of the group in /proc/PID/cgroup: of version 2 (the line "0::"), or of version 1's controller @controller.
 * False: there is none. */
bool memory_find_group(const char *text, const char *controller, char *path, size_t cap);

#endif
