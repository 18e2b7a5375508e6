/*
 * Avx2_one: eight weight rows by one activation row, straight from the file's layout; private to the set
 */
#ifndef SOTTO_KERN_AVX2_ONE_H
#define SOTTO_KERN_AVX2_ONE_H

#include "kern/avx2_panel.h"
#include "kern/kern.h"

/* The products of @rows, of @n_cols columns, with @act at @out [PANEL_ROWS]. */
typedef void (*one_fn)(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                       float *out);

/* NULL: weights of @type go by panels. */
one_fn one_by_type(uint32_t type);

#endif
