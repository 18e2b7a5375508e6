/*
 * Record: a copy of a machine's files, as a tree that works as a root
 *
 * A user's bug report is a fixture: the files that driver-shim reads of thermal zones, hwmon, powercap, devfreq, DRM
 * devices and their clients, pressure, memory, control groups and modules are copied one by one. A file that can't be
 * read becomes NAME.sotto-errno.
 *
 * Nothing private is copied: no command lines, no environment, no names of users, no contents but of the files named in
 * record.c. Of other processes only those are recorded that have a DRM device open: pid, name (comm) and the
 * descriptors of such devices. Serial numbers and network addresses are not among the files.
 */
#ifndef SOTTO_RECORD_RECORD_H
#define SOTTO_RECORD_RECORD_H

#include "base/diag.h"
#include "sysfs/root.h"

/* A tree is a few hundred small files. Beyond these bounds the rest is left out, and is_cut is set. */
#define RECORD_BYTES_MAX (4u << 20)
#define RECORD_FILES_MAX 8192u

struct record {
    uint32_t n_files;  /* copied */
    uint32_t n_faults; /* NAME.sotto-errno files written */
    uint64_t n_bytes;
    bool is_cut; /* a bound was reached */
};

enum record_outcome {
    RECORD_OK,
    RECORD_REFUSED, /* @into is not an empty folder, or can't be made: @diag says which */
};

/*
 * Copies from @from into the folder @into, which is made (0700) unless it exists and is empty. Reads sensors, so it
 * takes as long as the slowest of them. RECORD_OK, RECORD_REFUSED, or a fault with a sentence in @diag.
 */
int record_machine(const struct root *from, const char *into, struct record *ret_record, struct diag *diag);

#endif
