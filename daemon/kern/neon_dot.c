/*
 * Neon_dot: matrix products by NEON without more (vec_dot.h)
 */
#include "kern/vec_dot.h"

void kern_fill_neon_dot(struct kern_ops *ops)
{
    ops->matmul = matmul;
}
