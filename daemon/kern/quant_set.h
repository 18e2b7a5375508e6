/*
 * Quant_set: what the writers of blocks share; private to this room
 */
#ifndef SOTTO_KERN_QUANT_SET_H
#define SOTTO_KERN_QUANT_SET_H

#include <stdint.h>

/* Stores @x as the nearest finite half and gives what was stored. */
double quant_half(double x, uint8_t place[2]);

#endif
