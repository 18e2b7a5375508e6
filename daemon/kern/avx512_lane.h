/*
 * Avx512_lane: sixteen floats at once: the tree of kern.h, 1, for sixteen rows, exp and tanh; private to the set
 *
 * Functions are always inlined: they are steps of kernels, and a call would spill the registers.
 */
#ifndef SOTTO_KERN_AVX512_LANE_H
#define SOTTO_KERN_AVX512_LANE_H

#include "kern/avx512.h"
#include "tensor/real.h"

#include <math.h>

#define LANES 16

/* ---- the tree ---- */

/* Joins two registers lane by lane. Which of them comes first changes no bit. */
typedef __m512 (*join_fn)(__m512 a, __m512 b);

AVX512_INLINE __m512 add(__m512 a, __m512 b)
{
    return _mm512_add_ps(a, b);
}

AVX512_INLINE __m512 larger(__m512 a, __m512 b)
{
    return _mm512_max_ps(a, b);
}

/* Returns the first level of the tree for rows @a and @b: lane i with lane i + 8; a's eight, then b's. */
AVX512_INLINE __m512 join_halves(__m512 a, __m512 b, join_fn join)
{
    return join(_mm512_mask_blend_ps(0xff00, a, b), _mm512_shuffle_f32x4(a, b, 0x4e));
}

/* Returns two levels of the tree for four rows: four lanes of each, in the order of the rows. */
AVX512_INLINE __m512 join_four(const __m512 rows[4], join_fn join)
{
    const __m512 a = join_halves(rows[0], rows[1], join);
    const __m512 b = join_halves(rows[2], rows[3], join);

    return join(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

/* Returns the last two levels for @four of join_four(): part k of rows k, k + 4, k + 8 and k + 12. Lane i is row i. */
AVX512_INLINE __m512 join_parts(const __m512 four[4], join_fn join)
{
    const __m512 a = join(_mm512_shuffle_ps(four[0], four[1], 0x44), _mm512_shuffle_ps(four[0], four[1], 0xee));
    const __m512 b = join(_mm512_shuffle_ps(four[2], four[3], 0x44), _mm512_shuffle_ps(four[2], four[3], 0xee));

    return join(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
}

/* Returns the tree of each of sixteen rows: lane i is that of row i. */
AVX512_INLINE __m512 join_rows(const __m512 rows[LANES], join_fn join)
{
    __m512 four[4];

    for (uint32_t part = 0; part < 4; part++) {
        const __m512 some[4] = { rows[part], rows[part + 4], rows[part + 8], rows[part + 12] };

        four[part] = join_four(some, join);
    }
    return join_parts(four, join);
}

/* Returns the sum of 16 by its tree. */
AVX512_INLINE float join_one(__m512 lanes)
{
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/* ---- functions of tensor/real.h, step by step ---- */

/* Returns real_exp() of each lane. */
AVX512_INLINE __m512 avx512_exp(__m512 x)
{
    const __m512 to_even = _mm512_set1_ps(12582912.0f);
    const __m512 k = _mm512_sub_ps(_mm512_fmadd_ps(x, _mm512_set1_ps(REAL_LOG2_E), to_even), to_even);
    __m512 r = _mm512_fmadd_ps(k, _mm512_set1_ps(-REAL_LN2_HIGH), x);
    __m512 q = _mm512_set1_ps(REAL_EXP_Q4);
    __m512 e;

    r = _mm512_fmadd_ps(k, _mm512_set1_ps(-REAL_LN2_LOW), r);
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(REAL_EXP_Q3));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(REAL_EXP_Q2));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(REAL_EXP_Q1));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(REAL_EXP_Q0));
    q = _mm512_add_ps(_mm512_fmadd_ps(q, _mm512_mul_ps(r, r), r), _mm512_set1_ps(1.0f));
    e = _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(q), _mm512_slli_epi32(_mm512_cvtps_epi32(k), 23)));
    /* Until here, lanes outside the range hold garbage. */
    e = _mm512_mask_mov_ps(e, _mm512_cmp_ps_mask(x, _mm512_set1_ps(REAL_EXP_MIN), _CMP_LT_OQ), _mm512_setzero_ps());
    e = _mm512_mask_mov_ps(e, _mm512_cmp_ps_mask(x, _mm512_set1_ps(REAL_EXP_MAX), _CMP_GT_OQ),
                           _mm512_set1_ps(INFINITY));
    return _mm512_mask_mov_ps(e, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
}

/* Returns real_tanh() of each lane; both branches are computed, and each lane takes its own. */
AVX512_INLINE __m512 avx512_tanh(__m512 x)
{
    const __m512 sign = _mm512_set1_ps(-0.0f);
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 a = _mm512_andnot_ps(sign, x);
    const __m512 z = _mm512_mul_ps(a, a);
    const __m512 e = avx512_exp(_mm512_mul_ps(_mm512_set1_ps(2.0f), a));
    const __m512 far = _mm512_sub_ps(one, _mm512_div_ps(_mm512_set1_ps(2.0f), _mm512_add_ps(e, one)));
    __m512 p = _mm512_set1_ps(REAL_TANH_P4);
    __m512 near;

    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(REAL_TANH_P3));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(REAL_TANH_P2));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(REAL_TANH_P1));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(REAL_TANH_P0));
    near = _mm512_fmadd_ps(_mm512_mul_ps(a, z), p, a);
    /* NaN is not below the split, and the far branch keeps it. */
    near = _mm512_mask_mov_ps(far, _mm512_cmp_ps_mask(a, _mm512_set1_ps(REAL_TANH_SPLIT), _CMP_LT_OQ), near);
    return _mm512_or_ps(near, _mm512_and_ps(sign, x));
}

/* Returns scores softly limited. */
AVX512_INLINE __m512 avx512_capped(__m512 x, __m512 cap)
{
    return _mm512_mul_ps(avx512_tanh(_mm512_div_ps(x, cap)), cap);
}

#endif
