/*
 * Shape: shape_make() checks all sizes once
 */
#include "tensor/shape.h"

#include "base/num.h"

#include <assert.h>

bool shape_make(struct shape *ret_shape, uint32_t type, uint32_t n_dims, const uint64_t *dims)
{
    struct shape shape = { .type = type, .n_dims = n_dims, .dims = { 1, 1, 1, 1 } };
    uint64_t n_elems = 1;
    uint64_t n_rows = 1;
    uint64_t n_bytes;

    if (n_dims == 0 || n_dims > SHAPE_MAX_DIMS || !elem_row_bytes(type, dims[0], &n_bytes)) {
        return false;
    }
    for (uint32_t i = 0; i < n_dims; i++) {
        shape.dims[i] = dims[i];
        if (!num_mul(n_elems, dims[i], &n_elems) || (i > 0 && !num_mul(n_rows, dims[i], &n_rows))) {
            return false;
        }
    }
    if (!num_mul(n_bytes, n_rows, &n_bytes)) {
        return false;
    }
    *ret_shape = shape;
    return true;
}

uint64_t shape_n_elems(const struct shape *shape)
{
    return shape->dims[0] * shape_n_rows(shape);
}

uint64_t shape_n_rows(const struct shape *shape)
{
    return shape->dims[1] * shape->dims[2] * shape->dims[3];
}

uint64_t shape_row_bytes(const struct shape *shape)
{
    uint64_t n_bytes = 0;
    bool fits = elem_row_bytes(shape->type, shape->dims[0], &n_bytes);

    assert(fits);
    (void)fits;
    return n_bytes;
}

uint64_t shape_bytes(const struct shape *shape)
{
    return shape_row_bytes(shape) * shape_n_rows(shape);
}

bool shape_is(const struct shape *shape, uint64_t n_cols, uint64_t n_rows)
{
    return shape->dims[0] == n_cols && shape->dims[1] == n_rows && shape->dims[2] == 1 && shape->dims[3] == 1;
}
