/*
 * Avx2_vec: the operations of vec.h in a register of AVX2; private to the module
 */
#ifndef SOTTO_KERN_AVX2_VEC_H
#define SOTTO_KERN_AVX2_VEC_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VEC_INLINE static inline __attribute__((always_inline))

typedef __m256 vecf;
typedef __m256i veci;

/* ---- floats ---- */

VEC_INLINE vecf vecf_load(const float *x)
{
    return _mm256_loadu_ps(x);
}

VEC_INLINE void vecf_store(float *out, vecf x)
{
    _mm256_storeu_ps(out, x);
}

VEC_INLINE vecf vecf_set(float x)
{
    return _mm256_set1_ps(x);
}

VEC_INLINE vecf vecf_add(vecf a, vecf b)
{
    return _mm256_add_ps(a, b);
}

VEC_INLINE vecf vecf_sub(vecf a, vecf b)
{
    return _mm256_sub_ps(a, b);
}

VEC_INLINE vecf vecf_mul(vecf a, vecf b)
{
    return _mm256_mul_ps(a, b);
}

VEC_INLINE vecf vecf_div(vecf a, vecf b)
{
    return _mm256_div_ps(a, b);
}

VEC_INLINE vecf vecf_fma(vecf a, vecf b, vecf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

VEC_INLINE vecf vecf_fnma(vecf a, vecf b, vecf c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

VEC_INLINE vecf vecf_fms(vecf a, vecf b, vecf c)
{
    return _mm256_fmsub_ps(a, b, c);
}

VEC_INLINE vecf vecf_max(vecf a, vecf b)
{
    return _mm256_max_ps(a, b);
}

VEC_INLINE vecf vecf_min(vecf a, vecf b)
{
    return _mm256_min_ps(a, b);
}

VEC_INLINE vecf vecf_neg(vecf x)
{
    return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f));
}

VEC_INLINE vecf vecf_abs(vecf x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

VEC_INLINE vecf vecf_copysign(vecf magnitude, vecf sign)
{
    return _mm256_or_ps(magnitude, _mm256_and_ps(_mm256_set1_ps(-0.0f), sign));
}

/* ---- integers ---- */

VEC_INLINE veci veci_load(const void *place)
{
    return _mm256_loadu_si256((const __m256i *)place);
}

VEC_INLINE void veci_store(void *place, veci x)
{
    _mm256_storeu_si256((__m256i *)place, x);
}

VEC_INLINE veci veci_set(int32_t x)
{
    return _mm256_set1_epi32(x);
}

VEC_INLINE veci veci_bytes(uint8_t x)
{
    return _mm256_set1_epi8((char)x);
}

VEC_INLINE veci veci_and(veci a, veci b)
{
    return _mm256_and_si256(a, b);
}

VEC_INLINE veci veci_or(veci a, veci b)
{
    return _mm256_or_si256(a, b);
}

VEC_INLINE veci veci_add(veci a, veci b)
{
    return _mm256_add_epi32(a, b);
}

VEC_INLINE veci veci_sub(veci a, veci b)
{
    return _mm256_sub_epi32(a, b);
}

VEC_INLINE veci veci_mul(veci a, veci b)
{
    return _mm256_mullo_epi32(a, b);
}

VEC_INLINE veci veci_max(veci a, veci b)
{
    return _mm256_max_epi32(a, b);
}

VEC_INLINE veci veci_shl(veci x, int n)
{
    return _mm256_slli_epi32(x, n);
}

VEC_INLINE veci veci_shr(veci x, int n)
{
    return _mm256_srli_epi32(x, n);
}

VEC_INLINE veci veci_sar(veci x, int n)
{
    return _mm256_srai_epi32(x, n);
}

VEC_INLINE float vecf_first(vecf x)
{
    return _mm256_cvtss_f32(x);
}

VEC_INLINE float vecf_least(vecf x)
{
    __m128 four = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));

    four = _mm_min_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_min_ss(four, _mm_movehdup_ps(four)));
}

VEC_INLINE int32_t veci_top(veci x)
{
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

/* ---- between them ---- */

VEC_INLINE veci veci_round(vecf x)
{
    return _mm256_cvtps_epi32(x);
}

VEC_INLINE vecf vecf_of(veci x)
{
    return _mm256_cvtepi32_ps(x);
}

VEC_INLINE veci veci_as(vecf x)
{
    return _mm256_castps_si256(x);
}

VEC_INLINE vecf vecf_as(veci x)
{
    return _mm256_castsi256_ps(x);
}

VEC_INLINE veci vecf_less(vecf a, vecf b)
{
    return veci_as(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

VEC_INLINE veci vecf_is_nan(vecf x)
{
    return veci_as(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

VEC_INLINE veci veci_less(veci a, veci b)
{
    return _mm256_cmpgt_epi32(b, a);
}

VEC_INLINE vecf vecf_select(veci mask, vecf a, vecf b)
{
    return _mm256_blendv_ps(b, a, vecf_as(mask));
}

/* ---- memory in other forms ---- */

VEC_INLINE __m128i vec_load_16(const void *place)
{
    return _mm_loadu_si128((const __m128i *)place);
}

VEC_INLINE vecf vecf_load_halves(const void *place)
{
    return _mm256_cvtph_ps(vec_load_16(place));
}

VEC_INLINE void vecf_store_halves(void *place, vecf x)
{
    _mm_storeu_si128((__m128i *)place, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

VEC_INLINE float vec_load_half(const void *place)
{
    uint16_t half;

    memcpy(&half, place, sizeof(half));
    return _cvtsh_ss(half);
}

VEC_INLINE float vec_store_half(void *place, float x)
{
    const uint16_t half = _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);

    memcpy(place, &half, sizeof(half));
    return _cvtsh_ss(half);
}

VEC_INLINE vecf vecf_load_bf16(const void *place)
{
    return vecf_as(_mm256_slli_epi32(_mm256_cvtepu16_epi32(vec_load_16(place)), 16));
}

VEC_INLINE veci veci_load_s8(const void *place)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)place));
}

VEC_INLINE veci veci_load_u8(const void *place)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)place));
}

VEC_INLINE void veci_store_8(void *place, veci x)
{
    const veci low = _mm256_and_si256(x, _mm256_set1_epi32(0xff));
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));

    _mm_storel_epi64((__m128i *)place, _mm_packus_epi16(words, words));
}

VEC_INLINE void vecf_load_pairs(const float *x, vecf *ret_first, vecf *ret_second)
{
    const vecf low = _mm256_loadu_ps(x);
    const vecf high = _mm256_loadu_ps(x + 8);
    const __m256d first = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0x88));
    const __m256d second = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0xdd));

    *ret_first = _mm256_castpd_ps(_mm256_permute4x64_pd(first, 0xd8));
    *ret_second = _mm256_castpd_ps(_mm256_permute4x64_pd(second, 0xd8));
}

VEC_INLINE void vecf_store_pairs(float *out, vecf first, vecf second)
{
    const vecf low = _mm256_unpacklo_ps(first, second); /* pairs 0, 1, 4, 5 */
    const vecf high = _mm256_unpackhi_ps(first, second);

    _mm256_storeu_ps(out, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(out + 8, _mm256_permute2f128_ps(low, high, 0x31));
}

/* ---- sums in the order of kern.h, 1 ---- */

VEC_INLINE float vecf_join(vecf eight)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/* Returns one level of the tree for rows @a and @b: lane i plus lane i + 4; a's four, then b's. */
VEC_INLINE vecf vec_to_four(vecf a, vecf b)
{
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

VEC_INLINE vecf vecf_join_eight(const vecf rows[8])
{
    vecf four[4], first, second;

    for (int j = 0; j < 4; j++) {
        four[j] = vec_to_four(rows[j], rows[j + 4]);
    }
    first = _mm256_add_ps(_mm256_shuffle_ps(four[0], four[1], 0x44), _mm256_shuffle_ps(four[0], four[1], 0xee));
    second = _mm256_add_ps(_mm256_shuffle_ps(four[2], four[3], 0x44), _mm256_shuffle_ps(four[2], four[3], 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(first, second, 0x88), _mm256_shuffle_ps(first, second, 0xdd));
}

/* ---- across lanes ---- */

VEC_INLINE veci veci_lanes(void)
{
    return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
}

VEC_INLINE vecf vecf_hadamard(vecf x)
{
    const vecf ones = _mm256_setr_ps(0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f);
    const vecf twos = _mm256_setr_ps(0.0f, 0.0f, -0.0f, -0.0f, 0.0f, 0.0f, -0.0f, -0.0f);
    const vecf fours = _mm256_setr_ps(0.0f, 0.0f, 0.0f, 0.0f, -0.0f, -0.0f, -0.0f, -0.0f);

    /* The partner plus the element itself, negated where it is the second of the two. */
    x = _mm256_add_ps(_mm256_permute_ps(x, 0xb1), _mm256_xor_ps(x, ones));
    x = _mm256_add_ps(_mm256_permute_ps(x, 0x4e), _mm256_xor_ps(x, twos));
    return _mm256_add_ps(_mm256_permute2f128_ps(x, x, 1), _mm256_xor_ps(x, fours));
}

VEC_INLINE void veci_store_32(int8_t *out, const veci x[4])
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* packing works by halves of 128 bits */
    const veci low = _mm256_packs_epi32(x[0], x[1]);
    const veci high = _mm256_packs_epi32(x[2], x[3]);

    veci_store(out, _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order));
}

VEC_INLINE void vec_sums_of_32(const int8_t *q, int32_t *ret_first, int32_t *ret_last)
{
    const veci ones = _mm256_set1_epi16(1);
    veci sum = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), veci_load(q)), ones);

    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0x4e));
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0xb1));
    *ret_first = _mm256_cvtsi256_si32(sum);
    *ret_last = _mm_cvtsi128_si32(_mm256_extracti128_si256(sum, 1));
}

#endif
