/*
 * Avx2_step: the steps of a product with one activation row; private to the set
 */
#ifndef SOTTO_KERN_AVX2_STEP_H
#define SOTTO_KERN_AVX2_STEP_H

#include "kern/avx2_turn.h"

/* Sums of pairs of products of register @w with four activations, added to @sum. */
AVX2_INLINE __m256i add_pairs(__m256i sum, __m256i w, const int8_t *q)
{
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, avx2_spread(q)));
}

AVX2_INLINE __m256 add_block(__m256 acc, __m256 weight_d, const float *act_d, __m256i sum)
{
    return _mm256_fmadd_ps(_mm256_mul_ps(weight_d, _mm256_broadcast_ss(act_d)), _mm256_cvtepi32_ps(sum), acc);
}

/* Adds to @sum the products of the values that @nibbles name with @q, times @scale; signs as above. */
AVX2_INLINE __m256i add_values(__m256i sum, __m256i nibbles, const int8_t *q, __m256i scale)
{
    const __m256i values = iq4_values(nibbles);
    const __m256i signed_q = _mm256_sign_epi8(avx2_spread(q), values);

    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(values), signed_q), scale));
}

/* The same for 32 columns whose nibbles are at @at. */
AVX2_INLINE __m256i values_at(const uint8_t *const rows[PANEL_ROWS], size_t at, const int8_t *q, __m256i scale)
{
    __m256i sum = _mm256_setzero_si256();
    __m256i words[4];

    turn(rows, at, words);
    for (uint32_t k = 0; k < 4; k++) {
        sum = add_values(sum, low_four(words[k]), q + 4 * k, scale);
        sum = add_values(sum, high_four(words[k]), q + 16 + 4 * k, scale);
    }
    return sum;
}

#endif
