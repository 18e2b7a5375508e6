/*
 * Avx2_turn: blocks of eight rows turned into registers whose lanes are rows; private to the set
 *
 * What the two ways of multiplying share: by opened panels (avx2_panel.h) when several activation rows want the same
 * weights, straight from registers (avx2_one.c) when there is but one.
 */
#ifndef SOTTO_KERN_AVX2_TURN_H
#define SOTTO_KERN_AVX2_TURN_H

#include "kern/avx2.h"
#include "kern/avx2_panel.h"
#include "tensor/block.h"

#include <stddef.h>

#define LOW_FOUR  0x0f
#define LOW_TWO   0x03
#define FIFTH_BIT 0x10

AVX2_INLINE __m256i both(const uint8_t *low, const uint8_t *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)low)),
                                   _mm_loadu_si128((const __m128i *)(const void *)high), 1);
}

/* Sixteen bytes from @at on of each row, as four registers of 32-bit words, a lane a row. */
AVX2_INLINE void turn(const uint8_t *const rows[PANEL_ROWS], size_t at, __m256i words[4])
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

/* Four bytes from @at on of each row, a lane a row. */
AVX2_INLINE __m256i word_of(const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    const __m128i ab = _mm_unpacklo_epi32(word_at(rows[0] + at), word_at(rows[1] + at));
    const __m128i cd = _mm_unpacklo_epi32(word_at(rows[2] + at), word_at(rows[3] + at));
    const __m128i ef = _mm_unpacklo_epi32(word_at(rows[4] + at), word_at(rows[5] + at));
    const __m128i gh = _mm_unpacklo_epi32(word_at(rows[6] + at), word_at(rows[7] + at));

    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi64(ab, cd)), _mm_unpacklo_epi64(ef, gh), 1);
}

/* The low 16 bits of each lane, which are a half, as floats. */
AVX2_INLINE __m256 low_half(__m256i words)
{
    const __m256i low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));

    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}

AVX2_INLINE __m256 high_half(__m256i words)
{
    return low_half(_mm256_srli_epi32(words, 16));
}

AVX2_INLINE __m256i low_four(__m256i bytes)
{
    return _mm256_and_si256(bytes, _mm256_set1_epi8(LOW_FOUR));
}

AVX2_INLINE __m256i high_four(__m256i bytes)
{
    return low_four(_mm256_srli_epi16(bytes, 4));
}

/* Byte @j of each lane, twice, as numbers of 16 bits. */
AVX2_INLINE __m256i byte_twice(__m256i words, uint32_t j)
{
    const __m256i lane = _mm256_setr_epi8(0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12, -128, 0,
                                          -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12, -128);

    return _mm256_shuffle_epi8(words, _mm256_add_epi8(lane, _mm256_set1_epi16((short)j)));
}

/* Bytes @i and @j of each lane, with their signs, as numbers of 16 bits. */
AVX2_INLINE __m256i signed_pair(__m256i words, uint32_t i, uint32_t j)
{
    const __m256i lane = _mm256_setr_epi8(-128, 0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12,
                                          -128, 0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12);
    const __m256i which = _mm256_set1_epi32((int)(i << 8 | j << 24));

    return _mm256_srai_epi16(_mm256_shuffle_epi8(words, _mm256_add_epi8(lane, which)), 8);
}

/* Bits 2n and 2n + 1 of each byte as its bits 4 and 5. */
AVX2_INLINE __m256i as_top(__m256i bytes, uint32_t n)
{
    const __m256i two =
        _mm256_and_si256(_mm256_srl_epi16(bytes, _mm_cvtsi32_si128((int)(2 * n))), _mm256_set1_epi8(LOW_TWO));

    return _mm256_slli_epi16(two, 4);
}

/* Bit @n of each byte as its bit 4. */
AVX2_INLINE __m256i as_fifth(__m256i bytes, uint32_t n)
{
    const __m256i bit = _mm256_srl_epi16(_mm256_slli_epi16(bytes, 4), _mm_cvtsi32_si128((int)n));
    const __m256i top = _mm256_srl_epi16(bytes, _mm_cvtsi32_si128((int)n - 4));

    return _mm256_and_si256(n < 4 ? bit : top, _mm256_set1_epi8(FIFTH_BIT));
}

/* Bits @n and above of each byte, as many as @mask has from its bit 0 on; n + bits at most 8. */
AVX2_INLINE __m256i bits_from(__m256i bytes, uint32_t n, char mask)
{
    return _mm256_and_si256(_mm256_srl_epi16(bytes, _mm_cvtsi32_si128((int)n)), _mm256_set1_epi8(mask));
}

/* What heads (or ends) a block of Q3_K: sixteen scales less 32, a byte each, and d. */
struct q3_head {
    __m256 d;
    __m256i scales[4];
};

AVX2_INLINE struct q3_head turn_q3_head(const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    const size_t scales = at + offsetof(struct block_q3_k, scales);
    const __m256i first = word_of(rows, scales);
    const __m256i second = word_of(rows, scales + 4);
    const __m256i upper = word_of(rows, scales + 8);
    const __m256i low[4] = { low_four(first), low_four(second), high_four(first), high_four(second) };
    /* d ends the block: four bytes from two before it on stay inside. */
    struct q3_head head = { .d = high_half(word_of(rows, at + offsetof(struct block_q3_k, d) - 2)) };

    for (uint32_t i = 0; i < 4; i++) {
        head.scales[i] = _mm256_sub_epi8(_mm256_or_si256(low[i], as_top(upper, i)), _mm256_set1_epi8(32));
    }
    return head;
}

/* The values that the nibbles in @q name (IQ4_NL, IQ4_XS), with their signs. */
AVX2_INLINE __m256i iq4_values(__m256i q)
{
    static const int8_t values[16] = { BLOCK_IQ4_VALUES };
    const __m128i table = _mm_loadu_si128((const __m128i *)(const void *)values);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), q);
}

/* What heads a block of IQ4_XS, eight bytes: d and the low and upper bits of eight scales. */
struct xs_head {
    __m256 d;
    __m256i low;   /* nibble j is that of scale j */
    __m256i upper; /* bits 16 + 2j */
};

AVX2_INLINE struct xs_head turn_xs_head(const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    const __m256i d_and_upper = word_of(rows, at);

    return (struct xs_head){ .d = low_half(d_and_upper),
                             .low = word_of(rows, at + offsetof(struct block_iq4_xs, scales_l)),
                             .upper = d_and_upper };
}

/* Scale @j less 32, twice, as numbers of 16 bits. */
AVX2_INLINE __m256i xs_scale(const struct xs_head *head, uint32_t j)
{
    const __m256i low =
        _mm256_and_si256(_mm256_srl_epi32(head->low, _mm_cvtsi32_si128((int)(4 * j))), _mm256_set1_epi32(LOW_FOUR));
    const __m256i two = _mm256_and_si256(_mm256_srl_epi32(head->upper, _mm_cvtsi32_si128((int)(16 + 2 * j))),
                                         _mm256_set1_epi32(LOW_TWO));
    const __m256i six = _mm256_or_si256(low, _mm256_slli_epi32(two, 4));

    return _mm256_sub_epi16(_mm256_or_si256(six, _mm256_slli_epi32(six, 16)), _mm256_set1_epi16(32));
}

/* What heads a block of Q4_K and Q5_K, sixteen bytes: d, dmin, and eight 6-bit scales and mins (two registers each, a
 * byte a number). */
struct k_head {
    __m256 d;
    __m256 dmin;
    __m256i scales[2];
    __m256i mins[2];
};

AVX2_INLINE void turn_k_head(const uint8_t *const rows[PANEL_ROWS], size_t at, struct k_head *head)
{
    const __m256i six = _mm256_set1_epi8(0x3f);
    const __m256i top = _mm256_set1_epi8(0x30);
    __m256i words[4];

    turn(rows, at, words);
    head->d = low_half(words[0]);
    head->dmin = high_half(words[0]);
    head->scales[0] = _mm256_and_si256(words[1], six);
    head->mins[0] = _mm256_and_si256(words[2], six);
    /* The upper two bits of a byte go on as bits 4 and 5. */
    head->scales[1] = _mm256_or_si256(low_four(words[3]), _mm256_and_si256(_mm256_srli_epi16(words[1], 2), top));
    head->mins[1] = _mm256_or_si256(high_four(words[3]), _mm256_and_si256(_mm256_srli_epi16(words[2], 2), top));
}

#endif
