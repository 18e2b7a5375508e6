/*
 * Kern: the table of kernels, filled from the plainest set up
 */
#include "kern/kern.h"

#include "kern/set.h"

static void fill_ref(struct kern_ops *ops)
{
    ops->name = "scalar";
    kern_fill_ref_unpack(ops);
    kern_fill_ref_dot(ops);
    kern_fill_ref_elem(ops);
    kern_fill_ref_attn(ops);
    kern_fill_ref_delta(ops);
}

#ifdef HAVE_KERN_AVX2
/* Unpacking stays the definition's: only single rows and tests use it. */
static void fill_avx2(struct kern_ops *ops)
{
    ops->name = "avx2";
    kern_fill_avx2_quant(ops);
    kern_fill_avx2_dot(ops);
    kern_fill_avx2_elem(ops);
    kern_fill_avx2_attn(ops);
    kern_fill_avx2_delta(ops);
}
#endif

#ifdef HAVE_KERN_AVX512
/* The other slots stay avx2's. */
static void fill_avx512(struct kern_ops *ops)
{
    ops->name = "avx512";
    kern_fill_avx512_dot(ops);
    kern_fill_avx512_attn(ops);
}
#endif

void kern_choose(struct kern_ops *ops, uint32_t cpu)
{
    const uint32_t avx2 = CPU_AVX2 | CPU_FMA | CPU_F16C;
    const uint32_t avx512 = CPU_AVX512 | CPU_VNNI;

    fill_ref(ops);
    if ((cpu & avx2) != avx2) {
        return;
    }
#ifdef HAVE_KERN_AVX2
    fill_avx2(ops);
#endif
#ifdef HAVE_KERN_AVX512
    if ((cpu & avx512) == avx512) {
        fill_avx512(ops);
    }
#endif
}
