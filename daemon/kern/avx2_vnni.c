/*
 * Avx2_vnni: matrix products by AVX2 with the 256-bit VPDPBUSD of AVX512_VNNI (vec_dot.h)
 */
#include "kern/vec_dot.h"

void kern_fill_avx2_vnni(struct kern_ops *ops)
{
    ops->matmul = matmul;
}
