/*
 * Avx2_kv: positions of one head, into a strip and out of it (kern.h, 6); private to the set
 */
#ifndef SOTTO_KERN_AVX2_KV_H
#define SOTTO_KERN_AVX2_KV_H

#include "kern/kv.h"

/* kv_hadamard(), eight at a time. */
void avx2_kv_hadamard(float *x, uint32_t head_dim, uint32_t width);

void avx2_kv_put(enum kern_kv kv, const float *x, uint32_t head_dim, uint8_t *strip, uint32_t lane);

/* Positions 0 .. @n - 1 as floats, @stride apart; between two of them -0. */
void avx2_kv_get(enum kern_kv kv, uint8_t *strip, uint32_t n, uint32_t head_dim, float *out, uint32_t stride);

#endif
