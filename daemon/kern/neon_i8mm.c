/*
 * Neon_i8mm: matrix products by NEON with SMMLA (vec_dot.h)
 */
#include "kern/vec_dot.h"

void kern_fill_neon_i8mm(struct kern_ops *ops)
{
    ops->matmul = matmul;
}
