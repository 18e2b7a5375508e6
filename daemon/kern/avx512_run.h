/*
 * Avx512_run: the weights of each format, 32 columns at a time (layouts: tensor/block.h); private to the set
 *
 * A format is a function that loads run @j of a piece to eight registers, as unsigned bytes, and one that loads what
 * its weights are scaled by. What a run's bytes are above the weights is in the format's row in avx512_open.c.
 */
#ifndef SOTTO_KERN_AVX512_RUN_H
#define SOTTO_KERN_AVX512_RUN_H

#include "kern/avx512.h"

/* ---- blocks of 32: run @j is block @j ---- */

/* Loads nibbles: sixteen low ones, then the high ones, of the sixteen bytes at @at. */
AVX512_INLINE void load_nibbles(const struct piece *piece, uint32_t b, size_t at, __m512i q[RUN_REGS])
{
    __m512i words[4];

    load_words(piece, b, at, words);
    for (uint32_t k = 0; k < 4; k++) {
        q[k] = low_four(words[k]);
        q[k + 4] = high_four(words[k]);
    }
}

AVX512_INLINE void run_q4_0(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_q4_0, qs), q);
}

AVX512_INLINE void run_q4_1(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_q4_1, qs), q);
}

/* Returns bits 4k .. 4k + 3 of each lane of @bits as bit 4 of its four bytes. */
AVX512_INLINE __m512i fifth_of(__m512i bits, uint32_t k)
{
    const __m512i mask = _mm512_set1_epi32(k % 2 == 0 ? 0x08040201 : (int)0x80402010);
    const __m512i lane = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
    const __m512i byte = _mm512_shuffle_epi8(bits, _mm512_add_epi8(lane, _mm512_set1_epi8((char)(k / 2))));

    return _mm512_maskz_set1_epi8(_mm512_test_epi8_mask(byte, mask), FIFTH_BIT);
}

AVX512_INLINE void add_fifth(const struct piece *piece, uint32_t b, size_t at, __m512i q[RUN_REGS])
{
    const __m512i bits = load_word(piece, b, at);

    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = _mm512_or_si512(q[k], fifth_of(bits, k));
    }
}

AVX512_INLINE void run_q5_0(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_q5_0, qs), q);
    add_fifth(piece, j, offsetof(struct block_q5_0, qh), q);
}

AVX512_INLINE void run_q5_1(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_q5_1, qs), q);
    add_fifth(piece, j, offsetof(struct block_q5_1, qh), q);
}

AVX512_INLINE void run_iq4_nl(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_iq4_nl, qs), q);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = iq4_values(q[k]);
    }
}

AVX512_INLINE void run_q8_0(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    const __m512i above = _mm512_set1_epi8((char)0x80); /* + 128 */

    load_words(piece, j, offsetof(struct block_q8_0, qs), q);
    load_words(piece, j, offsetof(struct block_q8_0, qs) + 16, q + 4);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = _mm512_xor_si512(q[k], above);
    }
}

/* Loads d of block @j, and m if the format has one (*ret_m is 0 if not). */
AVX512_INLINE __m512 scale_of(const struct piece *piece, uint32_t j, bool has_m, __m512 *ret_m)
{
    if (has_m) {
        const __m512i d_and_m = load_word(piece, j, 0);

        *ret_m = high_half(d_and_m);
        return low_half(d_and_m);
    }
    *ret_m = _mm512_setzero_ps();
    return load_half(piece, j);
}

/* ---- super-blocks: a piece is one block ---- */

/* Loads 32 bytes from offset @at on. */
AVX512_INLINE void load_32(const struct piece *piece, size_t at, __m512i words[RUN_REGS])
{
    load_words(piece, 0, at, words);
    load_words(piece, 0, at + 16, words + 4);
}

AVX512_INLINE void run_q2_k(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    load_32(piece, offsetof(struct block_q2_k, qs) + 32 * (j / 4), q);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = bits_from(q[k], j % 4 * 2, LOW_TWO);
    }
}

AVX512_INLINE void run_q3_k(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    __m512i third[RUN_REGS];

    load_32(piece, offsetof(struct block_q3_k, qs) + 32 * (j / 4), q);
    load_32(piece, offsetof(struct block_q3_k, hmask), third);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = _mm512_or_si512(bits_from(q[k], j % 4 * 2, LOW_TWO), _mm512_slli_epi16(bits_from(third[k], j, 1), 2));
    }
}

AVX512_INLINE void run_q4_k(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    load_32(piece, offsetof(struct block_q4_k, qs) + 32 * (j / 2), q);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = bits_from(q[k], j % 2 * 4, LOW_FOUR);
    }
}

AVX512_INLINE void run_q5_k(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    __m512i fifth[RUN_REGS];

    load_32(piece, offsetof(struct block_q5_k, qs) + 32 * (j / 2), q);
    load_32(piece, offsetof(struct block_q5_k, qh), fifth);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = _mm512_or_si512(bits_from(q[k], j % 2 * 4, LOW_FOUR), as_fifth(fifth[k], j));
    }
}

/* Runs 0 and 2, 1 and 3 of a half share their bytes of low bits. */
AVX512_INLINE void run_q6_k(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    __m512i top[RUN_REGS];

    load_32(piece, offsetof(struct block_q6_k, ql) + 64 * (j / 4) + 32 * (j % 2), q);
    load_32(piece, offsetof(struct block_q6_k, qh) + 32 * (j / 4), top);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = _mm512_or_si512(bits_from(q[k], j % 4 / 2 * 4, LOW_FOUR), as_top(top[k], j % 4));
    }
}

AVX512_INLINE void run_iq4_xs(const struct piece *piece, uint32_t j, __m512i q[RUN_REGS])
{
    load_nibbles(piece, 0, offsetof(struct block_iq4_xs, qs) + 16 * j, q);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = iq4_values(q[k]);
    }
}

/* ---- heads of super-blocks ---- */

AVX512_INLINE void put(void *place, __m512i reg)
{
    _mm512_store_si512(place, reg);
}

AVX512_INLINE void put_d_and_m(struct opened *opened, __m512i d_and_dmin)
{
    _mm512_store_ps(opened->d[0], low_half(d_and_dmin));
    _mm512_store_ps(opened->m[0], high_half(d_and_dmin));
}

/* Puts sixteen scales, a signed byte each, and pairs of them. */
AVX512_INLINE void put_scales(struct opened *opened, const __m512i scales[4])
{
    for (uint32_t j = 0; j < 16; j++) {
        put(opened->scale[j], signed_byte_of(scales[j / 4], j % 4));
    }
    for (uint32_t j = 0; j < 8; j++) {
        const __m512i two = scales[j / 2];

        put(opened->pair[j], pair_of(signed_byte_of(two, j % 2 * 2), signed_byte_of(two, j % 2 * 2 + 1)));
    }
}

AVX512_INLINE void head_q2_k(const struct piece *piece, struct opened *opened)
{
    __m512i scales[4];

    load_words(piece, 0, offsetof(struct block_q2_k, scales), scales);
    for (uint32_t j = 0; j < 16; j++) {
        put(opened->scale[j], byte_of(low_four(scales[j / 4]), j % 4));
    }
    for (uint32_t j = 0; j < 8; j++) {
        const __m512i mins = high_four(scales[j / 2]);

        put(opened->pair[j], pair_of(byte_of(mins, j % 2 * 2), byte_of(mins, j % 2 * 2 + 1)));
    }
    put_d_and_m(opened, load_word(piece, 0, offsetof(struct block_q2_k, d)));
}

AVX512_INLINE void head_q3_k(const struct piece *piece, struct opened *opened)
{
    const size_t at = offsetof(struct block_q3_k, scales);
    const __m512i first = load_word(piece, 0, at);
    const __m512i second = load_word(piece, 0, at + 4);
    const __m512i upper = load_word(piece, 0, at + 8);
    __m512i scales[4] = { low_four(first), low_four(second), high_four(first), high_four(second) };

    for (uint32_t i = 0; i < 4; i++) {
        scales[i] = _mm512_sub_epi8(_mm512_or_si512(scales[i], as_top(upper, i)), _mm512_set1_epi8(32));
    }
    put_scales(opened, scales);
    _mm512_store_ps(opened->d[0], load_half(piece, 0));
}

/* Of Q4_K and Q5_K, sixteen bytes: d, dmin, and eight 6-bit scales and mins. */
AVX512_INLINE void head_q4_k(const struct piece *piece, struct opened *opened)
{
    const __m512i six = _mm512_set1_epi8(0x3f);
    const __m512i top = _mm512_set1_epi8(0x30);
    __m512i words[4], scales[2], mins[2];

    load_words(piece, 0, 0, words);
    scales[0] = _mm512_and_si512(words[1], six);
    mins[0] = _mm512_and_si512(words[2], six);
    /* The upper two bits of a byte continue as bits 4 and 5. */
    scales[1] = _mm512_or_si512(low_four(words[3]), _mm512_and_si512(_mm512_srli_epi16(words[1], 2), top));
    mins[1] = _mm512_or_si512(high_four(words[3]), _mm512_and_si512(_mm512_srli_epi16(words[2], 2), top));
    for (uint32_t j = 0; j < 8; j++) {
        const __m512i min = byte_of(mins[j / 4], j % 4);

        put(opened->scale[j], byte_of(scales[j / 4], j % 4));
        put(opened->pair[j], pair_of(min, min));
    }
    put_d_and_m(opened, words[0]);
}

#define head_q5_k head_q4_k

AVX512_INLINE void head_q6_k(const struct piece *piece, struct opened *opened)
{
    __m512i scales[4];

    load_words(piece, 0, offsetof(struct block_q6_k, scales), scales);
    put_scales(opened, scales);
    _mm512_store_ps(opened->d[0], load_half(piece, 0));
}

/* Eight bytes: d, and the low and upper bits of eight scales, of which 32 is taken. */
AVX512_INLINE void head_iq4_xs(const struct piece *piece, struct opened *opened)
{
    const __m512i d_and_upper = load_word(piece, 0, 0);
    const __m512i low = load_word(piece, 0, offsetof(struct block_iq4_xs, scales_l));

    for (uint32_t j = 0; j < 8; j++) {
        const __m512i four = _mm512_and_si512(_mm512_srli_epi32(low, 4 * j), _mm512_set1_epi32(LOW_FOUR));
        const __m512i two = _mm512_and_si512(_mm512_srli_epi32(d_and_upper, 16 + 2 * j), _mm512_set1_epi32(LOW_TWO));
        const __m512i six = _mm512_or_si512(four, _mm512_slli_epi32(two, 4));
        const __m512i scale = _mm512_sub_epi32(six, _mm512_set1_epi32(32));

        put(opened->scale[j], scale);
        put(opened->pair[j], pair_of(scale, scale));
    }
    _mm512_store_ps(opened->d[0], low_half(d_and_upper));
}

#endif
