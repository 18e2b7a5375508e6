/*
 * Shape: how many elements, how many bytes; never wrong by a wrap
 *
 * Dimensions come from files. Each size is computed exactly or refused; nothing is truncated.
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

/* False: too many dimensions, an unknown type, rows that are no whole number of blocks, or a size that does not fit
 * into 64 bits. *ret_shape is untouched then. A dimension may be 0: the tensor is empty. */
bool shape_make(struct shape *ret_shape, uint32_t type, uint32_t n_dims, const uint64_t *dims);

/* Of a made shape: these cannot fail. */
uint64_t shape_n_elems(const struct shape *shape);
uint64_t shape_n_rows(const struct shape *shape); /* all dimensions but the first */
uint64_t shape_row_bytes(const struct shape *shape);
uint64_t shape_bytes(const struct shape *shape);

bool shape_is(const struct shape *shape, uint64_t n_cols, uint64_t n_rows); /* a matrix, or a row with n_rows 1 */

#endif
