/*
 * Vec: eight lanes of 32 bits, as kernels use them on every kind of processor; private to the module
 *
 * Kernels that are the same for several kinds are written once, with these operations (vec_elem.c, vec_attn.c, ...),
 * and compiled for each set of kernels. vecf holds eight floats, veci eight integers or 32 bytes. Each operation rounds
 * as kern.h says of its scalar counterpart, so that sets have the same bits.
 *
 * All functions are always inlined: they are steps of kernels, and a call would spill the registers. What the names do
 * not tell:
 *     fma(a, b, c) is a * b + c, fnma -(a * b) + c, fms a * b - c, each rounded once
 *     max, min     a where it is the larger (the smaller), else b, also where one of them is NaN
 *     round        to the nearest even integer; outside the range of an integer, and of a NaN, it gives anything
 *     less, is_nan all bits of a lane where it is so, else none; select(mask, a, b) takes a where the bits are set
 *     as           the same bits, which are no longer used as floats, or from now on
 *     shr, sar     shift zeros (the sign) in
 *     load_halves  eight half-precision floats as floats; store_halves rounds to nearest even
 *     store_8      the low byte of each lane; store_32 stores 32 lanes of -128 .. 127 as bytes
 *     load_pairs   the first and the second of eight pairs
 *     join         the tree of the sum of 16 from its second level on; join_eight that of eight rows
 *     first, least the first lane, the smallest if none is NaN; top is the largest integer
 *     hadamard     the first three steps of kern.h, 6
 */
#ifndef SOTTO_KERN_VEC_H
#define SOTTO_KERN_VEC_H

#include "tensor/real.h"

#if defined(__AVX2__)
#include "kern/avx2_vec.h"
#elif defined(__aarch64__)
#include "kern/neon_vec.h"
#else
#error "no kernel set of this processor uses vec.h"
#endif

#include <math.h>

/* Returns the sum of 16 by its tree: @low holds lanes 0 to 7, @high 8 to 15. */
VEC_INLINE float vecf_join_16(vecf low, vecf high)
{
    return vecf_join(vecf_add(low, high));
}

/* Returns real_exp() of eight, step by step. */
VEC_INLINE vecf vecf_exp(vecf x)
{
    const vecf to_even = vecf_set(12582912.0f);
    const vecf k = vecf_sub(vecf_fma(x, vecf_set(REAL_LOG2_E), to_even), to_even);
    vecf r = vecf_fma(k, vecf_set(-REAL_LN2_HIGH), x);
    vecf q = vecf_set(REAL_EXP_Q4);
    vecf e;

    r = vecf_fma(k, vecf_set(-REAL_LN2_LOW), r);
    q = vecf_fma(q, r, vecf_set(REAL_EXP_Q3));
    q = vecf_fma(q, r, vecf_set(REAL_EXP_Q2));
    q = vecf_fma(q, r, vecf_set(REAL_EXP_Q1));
    q = vecf_fma(q, r, vecf_set(REAL_EXP_Q0));
    q = vecf_add(vecf_fma(q, vecf_mul(r, r), r), vecf_set(1.0f));
    e = vecf_as(veci_add(veci_as(q), veci_shl(veci_round(k), 23)));
    /* Until here, lanes outside the range hold garbage. */
    e = vecf_select(vecf_less(x, vecf_set(REAL_EXP_MIN)), vecf_set(0.0f), e);
    e = vecf_select(vecf_less(vecf_set(REAL_EXP_MAX), x), vecf_set(INFINITY), e);
    return vecf_select(vecf_is_nan(x), x, e);
}

/* Returns real_tanh() of eight, step by step; both branches are computed, and each lane takes its own. */
VEC_INLINE vecf vecf_tanh(vecf x)
{
    const vecf one = vecf_set(1.0f);
    const vecf a = vecf_abs(x);
    const vecf z = vecf_mul(a, a);
    const vecf e = vecf_exp(vecf_mul(vecf_set(2.0f), a));
    const vecf far = vecf_sub(one, vecf_div(vecf_set(2.0f), vecf_add(e, one)));
    vecf p = vecf_set(REAL_TANH_P4);
    vecf near;

    p = vecf_fma(p, z, vecf_set(REAL_TANH_P3));
    p = vecf_fma(p, z, vecf_set(REAL_TANH_P2));
    p = vecf_fma(p, z, vecf_set(REAL_TANH_P1));
    p = vecf_fma(p, z, vecf_set(REAL_TANH_P0));
    near = vecf_fma(vecf_mul(a, z), p, a);
    /* NaN is not below the split, and the far branch keeps it. */
    return vecf_copysign(vecf_select(vecf_less(a, vecf_set(REAL_TANH_SPLIT)), near, far), x);
}

/* Returns eight scores or logits softly limited. */
VEC_INLINE vecf vecf_capped(vecf x, vecf cap)
{
    return vecf_mul(vecf_tanh(vecf_div(x, cap)), cap);
}

/* Returns @numerator / (1 + exp(-@x)). */
VEC_INLINE vecf vecf_gate(vecf numerator, vecf x)
{
    return vecf_div(numerator, vecf_add(vecf_set(1.0f), vecf_exp(vecf_neg(x))));
}

#endif
