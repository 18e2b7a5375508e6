/*
 * Shape: numbers of elements and bytes that never overflow
 *
 * Dimensions come from untrusted files. Each size is computed exactly or refused.
 */
#ifndef SOTTO_TENSOR_SHAPE_H
#define SOTTO_TENSOR_SHAPE_H

#include "tensor/type.h"

#define SHAPE_MAX_DIMS 4

struct shape {
    uint32_t type;                 /* enum elem_type */
    uint32_t n_dims;               /* 1 to SHAPE_MAX_DIMS */
    uint64_t dims[SHAPE_MAX_DIMS]; /* fastest first; absent ones are 1 */
};

/* Returns false, and leaves *ret_shape alone, for too many dimensions, an unknown type, rows that are not whole blocks,
 * or a size above 64 bits. A dimension may be 0: the tensor is empty. */
bool shape_make(struct shape *ret_shape, uint32_t type, uint32_t n_dims, const uint64_t *dims);

/* Return sizes of a shape from shape_make(); they can't fail. */
uint64_t shape_n_elems(const struct shape *shape);
uint64_t shape_n_rows(const struct shape *shape); /* all dimensions but the first */
uint64_t shape_row_bytes(const struct shape *shape);
uint64_t shape_bytes(const struct shape *shape);

/* Returns whether @shape is a matrix of that size; a row has @n_rows 1. */
bool shape_is(const struct shape *shape, uint64_t n_cols, uint64_t n_rows);

#endif
