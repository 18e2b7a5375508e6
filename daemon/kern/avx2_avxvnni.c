/*
 * Avx2_avxvnni: matrix products by AVX2 with the VPDPBUSD of AVX-VNNI (vec_dot.h)
 */
#include "kern/vec_dot.h"

void kern_fill_avx2_avxvnni(struct kern_ops *ops)
{
    ops->matmul = matmul;
}
