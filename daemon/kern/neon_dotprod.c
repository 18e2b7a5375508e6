/*
 * Neon_dotprod: matrix products by NEON with SDOT (vec_dot.h)
 */
#include "kern/vec_dot.h"

void kern_fill_neon_dotprod(struct kern_ops *ops)
{
    ops->matmul = matmul;
}
