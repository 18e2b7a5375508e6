/*
 * St: a safetensors file as untrusted data
 *
 * The file has eight bytes of length, a head of JSON of that length (name -> dtype, shape, data_offsets), and the data.
 * It is read with pread, never mapped, so that a file which is cut meanwhile gives an error and no signal. The head is
 * checked before it is used: dtype and shape against the bytes, the bytes against the file, and the tensors against
 * each other: as the format demands, they cover the data without gaps and overlaps.
 *
 * Read-only once open: any thread. Source: the format description of the PyPI package `safetensors`.
 */
#ifndef SOTTO_IMPORT_ST_H
#define SOTTO_IMPORT_ST_H

#include "base/diag.h"
#include <stddef.h>
#include <stdint.h>

#define ST_DIMS_MAX 4

enum st_type {
    ST_F32,
    ST_F16,
    ST_BF16,
    ST_I32,
    ST_OTHER, /* another dtype of the format, which no supported weight has */
    ST_TYPE_COUNT,
};

struct st_tensor {
    const char *name;  /* owned by the file */
    const char *dtype; /* as the format spells it: "BF16" */
    const struct st *file;
    enum st_type type;
    uint32_t n_dims;            /* 0: a single number */
    uint64_t dims[ST_DIMS_MAX]; /* slowest first, as the file has them; absent ones are 1 */
    uint64_t at;                /* of the first byte in the file */
    uint64_t n_bytes;
};

struct st;

enum st_outcome {
    ST_OK,
    ST_REFUSED, /* absent, malformed or contradicting itself: @diag says what and where */
};

/* ST_REFUSED, or -ENOMEM. */
int st_open(struct st **ret_st, const char *path, struct diag *diag);
void st_close(struct st *st);
void st_closep(struct st **st);

const char *st_path(const struct st *st);
size_t st_n_tensors(const struct st *st);
const struct st_tensor *st_tensor_at(const struct st *st, size_t i);    /* in order of their data */
const struct st_tensor *st_find(const struct st *st, const char *name); /* or NULL */

/* Returns the bytes of an element. */
uint32_t st_elem_bytes(const struct st_tensor *tensor);

/* Reads @n bytes at @at within the tensor's data into @bytes. ST_REFUSED: the file has shrunk. Or a fault. */
int st_read(const struct st_tensor *tensor, uint64_t at, void *bytes, size_t n, struct diag *diag);

#endif
