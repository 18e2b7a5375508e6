/*
 * Quant: rows of floats in the formats of files
 *
 * The way back from kern_ops::unpack: what `sotto quantize` and `sotto convert` write. A format fixes how a block is
 * read, not how it is made; here every block is searched for the scales (and mins) whose rounded weights lie nearest
 * to the floats, in the sum of squares, every weight alike: what activations they will meet is not known here.
 *
 * The same floats give the same bytes on every machine: plain C, exact operations, no library function that may round
 * its own way. A row is done by itself, so rows may go to as many threads as there are.
 */
#ifndef SOTTO_KERN_QUANT_H
#define SOTTO_KERN_QUANT_H

#include <stdbool.h>
#include <stdint.h>

enum quant_outcome {
    QUANT_OK,
    QUANT_NO_FORMAT,  /* nothing here writes @type: quant_may() */
    QUANT_NOT_WHOLE,  /* @n is no whole number of blocks */
    QUANT_NOT_FINITE, /* a format in blocks was asked for, and an infinity or a NaN is in the row */
};

/* True if quant_row() writes @type (enum elem_type): every type that computes. */
bool quant_may(uint32_t type);

/*
 * Writes the @n floats at @x as a row of @type at @out (elem_row_bytes(); no alignment needed). Nothing is written
 * unless QUANT_OK is given. Float formats round to nearest even and take every float as it is. What lies
 * beyond the scale of a format's half (65504 times the largest q) is brought to the nearest that there is.
 */
int quant_row(uint32_t type, const float *x, uint64_t n, void *out);

#endif
