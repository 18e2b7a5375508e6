/*
 * Rope: sines and cosines of rotary positions (arXiv 2104.09864), computed once for a model
 *
 * Computed in binary64 by operations that IEEE defines exactly (tensor/real.h), so the table has the same bits on
 * every machine, whatever its C library.
 */
#ifndef SOTTO_KERN_ROPE_H
#define SOTTO_KERN_ROPE_H

#include <stdint.h>

struct rope_shape {
    uint32_t n_rot;         /* even */
    double base;            /* of the frequencies, above 0: 10000 */
    double scale;           /* positions are multiplied by this (linear scaling: 1 / factor); 1: none */
    double magnitude;       /* of sine and cosine; 1: none */
    const double *divisors; /* [n_rot / 2], each frequency is divided by its own; NULL: none */
};

/*
 * Fills @table [n_pos][n_rot / 2][cos, sin] for positions @first .. @first + @n_pos - 1. The angle of pair i at
 * position p is (p * scale) * (base^(-2i / n_rot) / divisors[i]); sine and cosine are multiplied by magnitude
 * before they are rounded.
 */
void rope_table(const struct rope_shape *shape, uint32_t first, uint32_t n_pos, float *table);

#endif
