/*
 * File: reading small files, lock files, standard descriptors
 */
#ifndef SOTTO_BASE_FILE_H
#define SOTTO_BASE_FILE_H

#include "base/diag.h"
#include "base/mem.h"

enum file_outcome {
    FILE_OK,
    FILE_ABSENT,  /* there is no such file */
    FILE_REFUSED, /* no permission, not a regular file, or larger than the ceiling: @diag says which */
};

/* Reads all of @path into a block of @kind, with a zero after it. Returns a file_outcome or a fault. Blocks. */
int file_read(const char *path, enum mem_kind kind, size_t max_bytes, char **ret_bytes, size_t *ret_n,
              struct diag *diag);

/* Reads @n bytes at @at by pread(), retrying; *ret_got is less only at the end of the file. Returns 0 or a fault. */
int file_pread(int fd, void *bytes, size_t n, uint64_t at, size_t *ret_got);

enum lock_outcome {
    LOCK_OK,
    LOCK_HELD, /* a living process holds it: *ret_pid, or 0 if unknown */
};

/* Creates or opens @path (0600, never through a link) and locks all of it (flock). The lock lives with *ret_fd. The
 * holder's process id is written into the file if there is room. Returns a lock_outcome or a fault. */
int lock_take(const char *path, int *ret_fd, int *ret_pid, struct diag *diag);

/*
 * Opens /dev/null for those of the descriptors 0, 1 and 2 that are closed. Otherwise the next file or socket that the
 * program opens would get that number, and text for people would be written into it. Reading from such a 0 and writing
 * to such a 1 or 2 fails with EBADF, as on a closed one. Call it first in main(). Returns 0, or a fault if there is no
 * /dev/null.
 */
int file_hold_std(void);

#endif
