/*
 * Avx2_set: the two halves of this set's matmul; private to the set
 */
#ifndef SOTTO_KERN_AVX2_SET_H
#define SOTTO_KERN_AVX2_SET_H

#include "kern/set.h"

/* The slot matmul, for weights in blocks and for float weights. */
void avx2_matmul_blocks(const struct kern_matmul *op, uint32_t first, uint32_t n);
void avx2_matmul_floats(const struct kern_matmul *op, uint32_t first, uint32_t n);

#endif
