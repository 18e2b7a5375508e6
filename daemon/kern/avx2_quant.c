/*
 * Avx2_quant: rounding activations to 8 bits, 32 at a time
 */
#include "kern/avx2.h"
#include "kern/set.h"

/* Returns the bits of the largest magnitude among the @n (a multiple of 32) floats at @x. */
AVX2_INLINE uint32_t top_of(const float *x, uint32_t n)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i top = _mm256_setzero_si256();
    __m128i four;

    for (uint32_t i = 0; i < n; i += 8) {
        const __m256i bits = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));

        top = _mm256_max_epi32(top, _mm256_and_si256(bits, magnitude));
    }
    four = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(four);
}

AVX2_INLINE __m256i round_eight(const float *x, __m256 inv)
{
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inv)); /* to nearest even: the mode of every thread */
}

/* Rounds a block of @n floats; returns d. */
AVX2_INLINE float quantise_block(const float *x, uint32_t n, int8_t *q)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* packing works by halves of 128 bits */
    const uint32_t top_bits = top_of(x, n);
    float top;
    __m256 inv;

    memcpy(&top, &top_bits, sizeof(top));
    if (top_bits >= 0x7f800000 || top < KERN_ACT_TINY) {
        memset(q, 0, n);
        return top_bits >= 0x7f800000 ? NAN : 0.0f;
    }
    inv = _mm256_set1_ps(127.0f / top);
    for (uint32_t i = 0; i < n; i += 32) {
        const __m256i low = _mm256_packs_epi32(round_eight(x + i, inv), round_eight(x + i + 8, inv));
        const __m256i high = _mm256_packs_epi32(round_eight(x + i + 16, inv), round_eight(x + i + 24, inv));
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);

        _mm256_storeu_si256((__m256i *)(void *)(q + i), bytes);
    }
    return top / 127.0f;
}

/* Returns the sums of each four of 32 bytes. */
AVX2_INLINE __m256i fours(const int8_t *q)
{
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)q);

    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes), _mm256_set1_epi16(1));
}

/* Sums the first and the last 16 of 32 bytes. */
AVX2_INLINE void sums_of(const int8_t *q, int32_t *ret_first, int32_t *ret_last)
{
    __m256i sum = fours(q);

    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0x4e));
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0xb1));
    *ret_first = _mm256_cvtsi256_si32(sum);
    *ret_last = _mm_cvtsi128_si32(_mm256_extracti128_si256(sum, 1));
}

static void quantise_q32(const float *x, uint32_t n_cols, void *out)
{
    const uint32_t n_blocks = n_cols / BLOCK_SMALL;
    int8_t *q = out;
    float *d = (float *)(void *)(q + n_cols);
    float *s = d + n_blocks;
    int32_t *sum = (int32_t *)(void *)(s + n_blocks);

    for (uint32_t b = 0; b < n_blocks; b++) {
        int32_t first, last;

        d[b] = quantise_block(x + b * BLOCK_SMALL, BLOCK_SMALL, q + b * BLOCK_SMALL);
        sums_of(q + b * BLOCK_SMALL, &first, &last);
        sum[b] = first + last;
        s[b] = d[b] * (float)sum[b];
    }
}

static void quantise_q256(const float *x, uint32_t n_cols, void *out)
{
    const uint32_t n_blocks = n_cols / BLOCK_SUPER;
    int8_t *q = out;
    float *d = (float *)(void *)(q + n_cols);
    int16_t *sum16 = (int16_t *)(void *)(d + n_blocks);

    for (uint32_t b = 0; b < n_blocks; b++) {
        d[b] = quantise_block(x + b * BLOCK_SUPER, BLOCK_SUPER, q + b * BLOCK_SUPER);
    }
    for (uint32_t j = 0; j < n_cols / 32; j++) {
        int32_t first, last;

        sums_of(q + 32 * j, &first, &last);
        sum16[2 * j] = (int16_t)first;
        sum16[2 * j + 1] = (int16_t)last;
    }
}

static void quantise(enum kern_act act, const float *x, uint32_t n_cols, void *out)
{
    if (act == KERN_ACT_Q32) {
        quantise_q32(x, n_cols, out);
    } else {
        quantise_q256(x, n_cols, out);
    }
}

void kern_fill_avx2_quant(struct kern_ops *ops)
{
    ops->quantise = quantise;
}
