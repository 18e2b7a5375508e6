/*
 * Peak: what this processor and its memory can do at most, measured now
 *
 * A share of these limits says how good a kernel is; a rate alone says how good the machine was in that second. So they
 * are measured beside each figure, on the same threads, in a few milliseconds. The multiply-adds are those of the
 * widest vectors that sotto's kernels use, on registers alone.
 */
#ifndef SOTTO_KERN_PEAK_H
#define SOTTO_KERN_PEAK_H

#include "kern/pool.h"

enum peak_kind {
    PEAK_INT8, /* products of 8-bit integers, summed to 32 bits */
    PEAK_F32,
    PEAK_BF16, /* products of pairs of bfloat16, summed to f32 */
    PEAK_KIND_COUNT,
};

/* Returns "int8", "fp32" or "bf16". */
const char *peak_name(enum peak_kind kind);

/* Runs all workers of @pool for some milliseconds and returns the operations a second (a multiply-add counts as two);
 * 0 if the processor has no such instructions, or if there is no measurement for its architecture. */
double peak_compute(struct pool *pool, enum peak_kind kind);

/* Reads each cache line of the @n_bytes at @bytes once, with all workers, and returns the bytes a second. The block
 * should be several times as large as the last cache. */
double peak_read(struct pool *pool, const void *bytes, size_t n_bytes);

#endif
