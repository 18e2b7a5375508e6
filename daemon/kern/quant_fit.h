/*
 * Quant_fit: the scale, or scale and min, that suits a run of floats best; private to the module
 *
 * Rounding for a given scale is easy, and so is the best scale for given integers (least squares); the best combination
 * is only found by trying. So several scales around the plain one are tried, each improved by least squares, and the
 * one with the least error wins. The idea is that of the K formats in llama.cpp.
 */
#ifndef SOTTO_KERN_QUANT_FIT_H
#define SOTTO_KERN_QUANT_FIT_H

#include <stdbool.h>
#include <stdint.h>

/* An element is d * q + m. */
struct fit {
    double d;
    double m;
};

/* The integers of a format: all from @lo to @hi, or sixteen of them. */
struct fit_range {
    int lo;
    int hi;
    const int8_t *values; /* [16] ascending, from @lo to @hi; NULL: all */
};

#define FIT_RUN_MAX 32 /* elements of a run, at most */

/* Returns the integer of @range that is nearest to @x: halves to even, or to the lower value. */
int fit_round(double x, struct fit_range range);

/* Rounds @n floats to @q and returns the sum of the squared errors. With d 0 every q is the one nearest to 0. */
double fit_apply(const struct fit *fit, const float *x, uint32_t n, struct fit_range range, int8_t *q);

/* Returns the best scale without a min (m 0), of either sign. */
struct fit fit_scale(const float *x, uint32_t n, struct fit_range range);

/* Returns the best scale (0 or above) and min, q from 0 to @hi; with @is_below m is at most 0, as in the K formats. */
struct fit fit_line(const float *x, uint32_t n, int hi, bool is_below);

/* Stores @x as the nearest finite half and returns what was stored. */
double fit_half(double x, uint8_t place[2]);

#endif
