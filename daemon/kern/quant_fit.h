/*
 * Quant_fit: the scale, or scale and min, that suits a run of floats; private to this room
 *
 * Rounding for a given scale is easy, and so is the best scale for given integers (least squares); what is best
 * together is not known before it was tried. So some scales around the plain one are tried, each improved by least
 * squares, and the one with the least error wins. The idea is that of the K formats as published with llama.cpp.
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

/* The integers that a format has: all from @lo to @hi, or sixteen of them. */
struct fit_range {
    int lo;
    int hi;
    const int8_t *values; /* [16] ascending, from @lo to @hi; NULL: all */
};

#define FIT_RUN_MAX 32 /* elements of a run, at most */

/* @x as the nearest integer of @range: halves to even, or to the lower value. */
int fit_round(double x, struct fit_range range);

/* Rounds @n floats to @q and gives the sum of the squares of the errors. d 0: every q is the one nearest to 0. */
double fit_apply(const struct fit *fit, const float *x, uint32_t n, struct fit_range range, int8_t *q);

/* A scale without a min (m 0), of either sign. */
struct fit fit_scale(const float *x, uint32_t n, struct fit_range range);

/* Scale (0 or above) and min, q from 0 to @hi; with @is_below m is at most 0, as the K formats have it. */
struct fit fit_line(const float *x, uint32_t n, int hi, bool is_below);

#endif
