/*
 * File: small whole-file reading and lock files
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

/* Reads all of @path into a block of @kind with a zero behind it. FILE_ABSENT, FILE_REFUSED, or a fault. Blocks. */
int file_read(const char *path, enum mem_kind kind, size_t max_bytes, char **ret_bytes, size_t *ret_n,
              struct diag *diag);

/* pread() of exactly @n bytes at @at, retrying; fewer at the end of the file: *ret_got says. 0 or a fault. */
int file_pread(int fd, void *bytes, size_t n, uint64_t at, size_t *ret_got);

enum lock_outcome {
    LOCK_OK,
    LOCK_HELD, /* by a living process; *ret_pid says whose, 0 if unknown */
};

/* Creates or opens @path (0600, never through a link) and locks it whole (flock). The lock lives with *ret_fd.
 * The holder's number is written into it if there is room. */
int lock_take(const char *path, int *ret_fd, int *ret_pid, struct diag *diag);

#endif
