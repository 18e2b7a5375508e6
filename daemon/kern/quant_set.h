/*
 * Quant_set: what the writers of blocks share; private to this room
 */
#ifndef SOTTO_KERN_QUANT_SET_H
#define SOTTO_KERN_QUANT_SET_H

#include <stdint.h>

/* Stores @x as the nearest finite half and gives what was stored. */
double quant_half(double x, uint8_t place[2]);

/* Write one block of the floats at @x, all finite. */
void quant_q2_k(const float *x, void *out);
void quant_q3_k(const float *x, void *out);
void quant_q4_k(const float *x, void *out);
void quant_q5_k(const float *x, void *out);
void quant_q6_k(const float *x, void *out);
void quant_iq4_nl(const float *x, void *out);
void quant_iq4_xs(const float *x, void *out);

#endif
