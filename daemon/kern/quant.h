/*
 * Quant: rows of floats in the formats of files
 *
 * The inverse of kern_ops::unpack, for `sotto quantize` and `sotto convert`. A format defines how a block is read, not
 * how it is made; here a search finds the scales (and mins) of each block that bring the rounded weights nearest to the
 * floats in the sum of squares, with equal weights, since the activations are not known.
 *
 * The same floats give the same bytes on every machine: plain C, exact operations, no library function that may round
 * differently. Rows are independent, so any number of threads may share them.
 */
#ifndef SOTTO_KERN_QUANT_H
#define SOTTO_KERN_QUANT_H

#include <stdbool.h>
#include <stdint.h>

enum quant_outcome {
    QUANT_OK,
    QUANT_NO_FORMAT,  /* @type can't be written: quant_may() */
    QUANT_NOT_WHOLE,  /* @n is not a whole number of blocks */
    QUANT_NOT_FINITE, /* the format has blocks, and the row has an infinity or a NaN */
};

/* Returns whether quant_row() writes @type (enum elem_type): it does for every type that computes. */
bool quant_may(uint32_t type);

/*
 * Writes the @n floats at @x as a row of @type at @out (elem_row_bytes(); no alignment needed). Nothing is written
 * unless it returns QUANT_OK. Float formats round to nearest even and accept every float. Values beyond the range of a
 * format's half (65504 times the largest q) become the nearest that it can store.
 */
int quant_row(uint32_t type, const float *x, uint64_t n, void *out);

#endif
