/*
 * Avx2: parts that the files of this set share: sums of 16 in two registers, exp in eight lanes; private to the set
 *
 * The functions here are always inlined: they are steps of kernels, and a call would spill the registers.
 */
#ifndef SOTTO_KERN_AVX2_H
#define SOTTO_KERN_AVX2_H

#include "tensor/real.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define AVX2_INLINE static inline __attribute__((always_inline))

/* Returns the sum of 16 by its tree: @low holds lanes 0 to 7, @high 8 to 15. */
AVX2_INLINE float avx2_join(__m256 low, __m256 high)
{
    __m256 eight = _mm256_add_ps(low, high);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/* Returns real_exp() of eight, step by step. */
AVX2_INLINE __m256 avx2_exp(__m256 x)
{
    const __m256 to_even = _mm256_set1_ps(12582912.0f);
    __m256 k = _mm256_sub_ps(_mm256_fmadd_ps(x, _mm256_set1_ps(REAL_LOG2_E), to_even), to_even);
    __m256 r = _mm256_fmadd_ps(k, _mm256_set1_ps(-REAL_LN2_HIGH), x);
    __m256 q = _mm256_set1_ps(REAL_EXP_Q4);
    __m256 e;

    r = _mm256_fmadd_ps(k, _mm256_set1_ps(-REAL_LN2_LOW), r);
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(REAL_EXP_Q3));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(REAL_EXP_Q2));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(REAL_EXP_Q1));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(REAL_EXP_Q0));
    q = _mm256_add_ps(_mm256_fmadd_ps(q, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
    e = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(q), _mm256_slli_epi32(_mm256_cvtps_epi32(k), 23)));
    /* Until here, lanes outside the range hold garbage. */
    e = _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(REAL_EXP_MIN), _CMP_LT_OQ), e);
    e = _mm256_blendv_ps(e, _mm256_set1_ps(INFINITY), _mm256_cmp_ps(x, _mm256_set1_ps(REAL_EXP_MAX), _CMP_GT_OQ));
    return _mm256_blendv_ps(e, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

/* Returns real_tanh() of eight, step by step; both branches are computed, and each lane takes its own. */
AVX2_INLINE __m256 avx2_tanh(__m256 x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 a = _mm256_andnot_ps(sign, x);
    const __m256 z = _mm256_mul_ps(a, a);
    const __m256 e = avx2_exp(_mm256_mul_ps(_mm256_set1_ps(2.0f), a));
    const __m256 far = _mm256_sub_ps(one, _mm256_div_ps(_mm256_set1_ps(2.0f), _mm256_add_ps(e, one)));
    __m256 p = _mm256_set1_ps(REAL_TANH_P4);
    __m256 near;

    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(REAL_TANH_P3));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(REAL_TANH_P2));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(REAL_TANH_P1));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(REAL_TANH_P0));
    near = _mm256_fmadd_ps(_mm256_mul_ps(a, z), p, a);
    /* NaN is not below the split, and the far branch keeps it. */
    near = _mm256_blendv_ps(far, near, _mm256_cmp_ps(a, _mm256_set1_ps(REAL_TANH_SPLIT), _CMP_LT_OQ));
    return _mm256_or_ps(near, _mm256_and_ps(sign, x));
}

/* Returns eight scores or logits softly limited. */
AVX2_INLINE __m256 avx2_capped(__m256 x, __m256 cap)
{
    return _mm256_mul_ps(avx2_tanh(_mm256_div_ps(x, cap)), cap);
}

/* Returns four bytes, which need not be aligned, in each of eight lanes. */
AVX2_INLINE __m256i avx2_spread(const void *bytes)
{
    int32_t word;

    memcpy(&word, bytes, sizeof(word));
    return _mm256_set1_epi32(word);
}

#endif
