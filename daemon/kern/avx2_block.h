/*
 * Avx2_block: products of weights in blocks, eight weight rows at a time; private to the set
 *
 * The blocks of eight rows are transposed, so that each 32-bit lane of a register belongs to one row and register k
 * holds columns 4k .. 4k + 3 of all eight. A step of the dot product then multiplies bytes by bytes and sums pairs,
 * against four activations that are spread to all lanes, and nothing ever has to be added across lanes. The instruction
 * wants unsigned weights: they are used as stored, and what the format subtracts from them is subtracted from the sums.
 *
 * Several activation rows share the work: a panel of 256 columns is opened into memory once and multiplied with all of
 * them (avx2_dot.c). With a single activation row each weight is used once, so nothing is opened: it is multiplied in
 * registers, which is 1.5 times as fast as by panels, and then bound by memory.
 *
 * A format is two functions and a row in avx2_small.c (blocks of 32) or avx2_super.c (blocks of 256), and its tile in
 * avx2_dot.c. A format without a row is computed by the scalar set.
 */
#ifndef SOTTO_KERN_AVX2_BLOCK_H
#define SOTTO_KERN_AVX2_BLOCK_H

#include "kern/avx2.h"
#include "kern/kern.h"

#include <stddef.h>

#define PANEL_ROWS   8
#define PANEL_COLS   256
#define PANEL_BLOCKS 8 /* of 32 columns */
#define PANEL_REGS   (PANEL_COLS / 4)

#define LOW_FOUR  0x0f
#define LOW_TWO   0x03
#define FIFTH_BIT 0x10

struct panel {
    _Alignas(32) uint8_t w[PANEL_REGS][32];
    _Alignas(32) uint8_t high[PANEL_REGS][32]; /* Q8_0, IQ4: w the low, this the high four bits of w + 128 */
    _Alignas(32) float d[PANEL_BLOCKS][PANEL_ROWS];
    _Alignas(32) float m[PANEL_BLOCKS][PANEL_ROWS];
    /* Super-blocks: a lane holds its row's number twice, for a pair of sums of 16 bits each. */
    _Alignas(32) int16_t scale[16][16];
    /* Q4_K, Q5_K: min j, twice; Q2_K: mins, Q3_K, Q6_K: scales 2j and 2j + 1; IQ4_XS: scale j, twice. */
    _Alignas(32) int16_t pair[8][16];
};

struct avx2_format {
    /* Opens @n_blocks blocks of @rows: the columns of one panel at most, so 1 for super-blocks. */
    void (*open)(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks);

    /* Writes the products of @rows, of @n_cols columns, with the one row @act to @out [PANEL_ROWS]. */
    void (*one)(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out);
};

/* Each table has rows for the formats of its block size. */
extern const struct avx2_format avx2_small_formats[ELEM_TYPE_COUNT];
extern const struct avx2_format avx2_super_formats[ELEM_TYPE_COUNT];

/* ---- transposing ---- */

AVX2_INLINE __m256i both(const uint8_t *low, const uint8_t *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)low)),
                                   _mm_loadu_si128((const __m128i *)(const void *)high), 1);
}

/* Loads sixteen bytes from @at on of each row as four registers of 32-bit words, a row in each lane. */
AVX2_INLINE void transpose(const uint8_t *const rows[PANEL_ROWS], size_t at, __m256i words[4])
{
    const __m256i a = both(rows[0] + at, rows[4] + at);
    const __m256i b = both(rows[1] + at, rows[5] + at);
    const __m256i c = both(rows[2] + at, rows[6] + at);
    const __m256i d = both(rows[3] + at, rows[7] + at);
    const __m256i ab_low = _mm256_unpacklo_epi32(a, b);
    const __m256i ab_high = _mm256_unpackhi_epi32(a, b);
    const __m256i cd_low = _mm256_unpacklo_epi32(c, d);
    const __m256i cd_high = _mm256_unpackhi_epi32(c, d);

    words[0] = _mm256_unpacklo_epi64(ab_low, cd_low);
    words[1] = _mm256_unpackhi_epi64(ab_low, cd_low);
    words[2] = _mm256_unpacklo_epi64(ab_high, cd_high);
    words[3] = _mm256_unpackhi_epi64(ab_high, cd_high);
}

AVX2_INLINE __m128i word_at(const uint8_t *bytes)
{
    int32_t word;

    memcpy(&word, bytes, sizeof(word));
    return _mm_cvtsi32_si128(word);
}

/* Loads four bytes from @at on of each row, a row in each lane. */
AVX2_INLINE __m256i word_of(const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    const __m128i ab = _mm_unpacklo_epi32(word_at(rows[0] + at), word_at(rows[1] + at));
    const __m128i cd = _mm_unpacklo_epi32(word_at(rows[2] + at), word_at(rows[3] + at));
    const __m128i ef = _mm_unpacklo_epi32(word_at(rows[4] + at), word_at(rows[5] + at));
    const __m128i gh = _mm_unpacklo_epi32(word_at(rows[6] + at), word_at(rows[7] + at));

    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi64(ab, cd)), _mm_unpacklo_epi64(ef, gh), 1);
}

/* Returns the low 16 bits of each lane, which are a half, as floats. */
AVX2_INLINE __m256 low_half(__m256i words)
{
    const __m256i low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));

    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}

AVX2_INLINE __m256 high_half(__m256i words)
{
    return low_half(_mm256_srli_epi32(words, 16));
}

/* Returns the halves at @at that end a block: the four bytes from two before it on stay inside. */
AVX2_INLINE __m256 last_half(const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    return high_half(word_of(rows, at - 2));
}

AVX2_INLINE __m256i low_four(__m256i bytes)
{
    return _mm256_and_si256(bytes, _mm256_set1_epi8(LOW_FOUR));
}

AVX2_INLINE __m256i high_four(__m256i bytes)
{
    return low_four(_mm256_srli_epi16(bytes, 4));
}

/* Returns the signed values that the nibbles in @q index (IQ4_NL, IQ4_XS). */
AVX2_INLINE __m256i iq4_values(__m256i q)
{
    static const int8_t values[16] = { BLOCK_IQ4_VALUES };
    const __m128i table = _mm_loadu_si128((const __m128i *)(const void *)values);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), q);
}

/* ---- opening ---- */

AVX2_INLINE void put(void *place, __m256i reg)
{
    _mm256_store_si256((__m256i *)place, reg);
}

/* Puts signed bytes as register @reg, in two halves. */
AVX2_INLINE void put_halves(struct panel *panel, uint32_t reg, __m256i bytes)
{
    const __m256i above = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)0x80)); /* + 128 */

    put(panel->w[reg], low_four(above));
    put(panel->high[reg], high_four(above));
}

/* Puts the values of 32 elements with their nibbles at @at as registers @reg .. @reg + 7. */
AVX2_INLINE void open_values(struct panel *panel, uint32_t reg, const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    __m256i words[4];

    transpose(rows, at, words);
    for (uint32_t k = 0; k < 4; k++) {
        put_halves(panel, reg + k, iq4_values(low_four(words[k])));
        put_halves(panel, reg + 4 + k, iq4_values(high_four(words[k])));
    }
}

/* ---- multiplying ---- */

/* Adds to @sum the sums of pairs of products of register @w with four activations. */
AVX2_INLINE __m256i add_pairs(__m256i sum, __m256i w, const int8_t *q)
{
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, avx2_spread(q)));
}

/* Adds to @acc a block with the sum of integers @sum. */
AVX2_INLINE __m256 add_block(__m256 acc, __m256 weight_d, const float *act_d, __m256i sum)
{
    return _mm256_fmadd_ps(_mm256_mul_ps(weight_d, _mm256_broadcast_ss(act_d)), _mm256_cvtepi32_ps(sum), acc);
}

/* Returns the products of signed bytes with @q, scaled. The signs go over to the activations: |w| * (q with the sign of
 * w); a pair is at most 2 * 128 * 127 = 32512. */
AVX2_INLINE __m256i signed_products(__m256i w, const int8_t *q, __m256i scale)
{
    const __m256i signed_q = _mm256_sign_epi8(avx2_spread(q), w);

    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(w), signed_q), scale);
}

/* Returns the scaled products with @q of the values of 32 columns with their nibbles at @at. */
AVX2_INLINE __m256i value_products(const uint8_t *const rows[PANEL_ROWS], size_t at, const int8_t *q, __m256i scale)
{
    __m256i sum = _mm256_setzero_si256();
    __m256i words[4];

    transpose(rows, at, words);
    for (uint32_t k = 0; k < 4; k++) {
        sum = _mm256_add_epi32(sum, signed_products(iq4_values(low_four(words[k])), q + 4 * k, scale));
        sum = _mm256_add_epi32(sum, signed_products(iq4_values(high_four(words[k])), q + 16 + 4 * k, scale));
    }
    return sum;
}

#endif
