/*
 * Avx2_panel: opening blocks of each format (layouts: tensor/block.h)
 */
#include "kern/avx2_panel.h"

#include "kern/avx2_turn.h"
#include "tensor/block.h"
#include "tensor/type.h"

#include <stddef.h>

AVX2_INLINE void put(uint8_t place[32], __m256i bytes)
{
    _mm256_store_si256((__m256i *)(void *)place, bytes);
}

/* The nibbles of 32 elements at @at: registers @w .. @w + 7. */
AVX2_INLINE void open_nibbles(uint8_t (*w)[32], const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    __m256i words[4];

    turn(rows, at, words);
    for (uint32_t k = 0; k < 4; k++) {
        put(w[k], low_four(words[k]));
        put(w[k + 4], high_four(words[k]));
    }
}

static void open_q4_0(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++) {
        const size_t at = b * sizeof(struct block_q4_0);

        open_nibbles(&panel->w[8 * b], rows, at + offsetof(struct block_q4_0, qs));
        _mm256_store_ps(panel->d[b], low_half(word_of(rows, at)));
    }
}

static void open_q4_1(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++) {
        const size_t at = b * sizeof(struct block_q4_1);
        const __m256i d_and_m = word_of(rows, at);

        open_nibbles(&panel->w[8 * b], rows, at + offsetof(struct block_q4_1, qs));
        _mm256_store_ps(panel->d[b], low_half(d_and_m));
        _mm256_store_ps(panel->m[b], high_half(d_and_m));
    }
}

/* Joins bit 4k + i of each lane of @bits to byte i of register k, as its bit 4. */
AVX2_INLINE void open_fifth(uint8_t (*w)[32], __m256i bits)
{
    const __m256i even = _mm256_set1_epi32(0x08040201);
    const __m256i odd = _mm256_set1_epi32((int)0x80402010);
    const __m256i lane = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0, 0, 0, 4, 4, 4, 4, 8,
                                          8, 8, 8, 12, 12, 12, 12);

    for (uint32_t k = 0; k < 8; k++) {
        const __m256i mask = k % 2 == 0 ? even : odd;
        const __m256i byte = _mm256_add_epi8(lane, _mm256_set1_epi8((char)(k / 2)));
        const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(bits, byte), mask), mask);
        const __m256i q = _mm256_load_si256((const __m256i *)(const void *)w[k]);

        put(w[k], _mm256_or_si256(q, _mm256_and_si256(set, _mm256_set1_epi8(FIFTH_BIT))));
    }
}

static void open_q5_0(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++) {
        const size_t at = b * sizeof(struct block_q5_0);

        open_nibbles(&panel->w[8 * b], rows, at + offsetof(struct block_q5_0, qs));
        open_fifth(&panel->w[8 * b], word_of(rows, at + offsetof(struct block_q5_0, qh)));
        _mm256_store_ps(panel->d[b], low_half(word_of(rows, at)));
    }
}

static void open_q5_1(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++) {
        const size_t at = b * sizeof(struct block_q5_1);
        const __m256i d_and_m = word_of(rows, at);

        open_nibbles(&panel->w[8 * b], rows, at + offsetof(struct block_q5_1, qs));
        open_fifth(&panel->w[8 * b], word_of(rows, at + offsetof(struct block_q5_1, qh)));
        _mm256_store_ps(panel->d[b], low_half(d_and_m));
        _mm256_store_ps(panel->m[b], high_half(d_and_m));
    }
}

/* Signed bytes as register @reg, in two halves. */
AVX2_INLINE void put_halves(struct panel *panel, uint32_t reg, __m256i bytes)
{
    const __m256i above = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)0x80)); /* + 128 */

    put(panel->w[reg], low_four(above));
    put(panel->high[reg], high_four(above));
}

static void open_q8_0(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++) {
        const size_t at = b * sizeof(struct block_q8_0);
        __m256i words[8];

        turn(rows, at + offsetof(struct block_q8_0, qs), words);
        turn(rows, at + offsetof(struct block_q8_0, qs) + 16, words + 4);
        for (uint32_t k = 0; k < 8; k++) {
            put_halves(panel, 8 * b + k, words[k]);
        }
        _mm256_store_ps(panel->d[b], low_half(word_of(rows, at)));
    }
}

/* The values of 32 elements at @at: registers @reg .. @reg + 7. */
AVX2_INLINE void open_values(struct panel *panel, uint32_t reg, const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    __m256i words[4];

    turn(rows, at, words);
    for (uint32_t k = 0; k < 4; k++) {
        put_halves(panel, reg + k, iq4_values(low_four(words[k])));
        put_halves(panel, reg + 4 + k, iq4_values(high_four(words[k])));
    }
}

static void open_iq4_nl(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++) {
        const size_t at = b * sizeof(struct block_iq4_nl);

        open_values(panel, 8 * b, rows, at + offsetof(struct block_iq4_nl, qs));
        _mm256_store_ps(panel->d[b], low_half(word_of(rows, at)));
    }
}

AVX2_INLINE void put16(int16_t place[16], __m256i numbers)
{
    _mm256_store_si256((__m256i *)(void *)place, numbers);
}

static void open_q2_k(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    const __m256i d_and_dmin = word_of(rows, offsetof(struct block_q2_k, d));
    __m256i scales[4];

    (void)n_blocks;
    for (uint32_t i = 0; i < 4; i++) { /* sixteen bytes: columns 128 (i / 2) + 16 (i mod 2) on, four times 32 apart */
        const uint32_t reg = 32 * (i / 2) + 4 * (i % 2);
        __m256i words[4];

        turn(rows, offsetof(struct block_q2_k, qs) + 16 * i, words);
        for (uint32_t k = 0; k < 16; k++) {
            put(panel->w[reg + k / 4 * 8 + k % 4], bits_from(words[k % 4], k / 4 * 2, LOW_TWO));
        }
    }
    turn(rows, offsetof(struct block_q2_k, scales), scales);
    for (uint32_t j = 0; j < 16; j++) {
        put16(panel->scale[j], byte_twice(low_four(scales[j / 4]), j % 4));
    }
    for (uint32_t j = 0; j < 8; j++) {
        put16(panel->pair[j], signed_pair(high_four(scales[j / 2]), j % 2 * 2, j % 2 * 2 + 1));
    }
    _mm256_store_ps(panel->d[0], low_half(d_and_dmin));
    _mm256_store_ps(panel->m[0], high_half(d_and_dmin));
}

static void open_q3_k(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    const struct q3_head head = turn_q3_head(rows, 0);
    __m256i third[8];

    (void)n_blocks;
    turn(rows, offsetof(struct block_q3_k, hmask), third);
    turn(rows, offsetof(struct block_q3_k, hmask) + 16, third + 4);
    for (uint32_t i = 0; i < 4; i++) { /* as in Q2_K */
        const uint32_t reg = 32 * (i / 2) + 4 * (i % 2);
        __m256i words[4];

        turn(rows, offsetof(struct block_q3_k, qs) + 16 * i, words);
        for (uint32_t k = 0; k < 16; k++) {
            const __m256i top = bits_from(third[i % 2 * 4 + k % 4], i / 2 * 4 + k / 4, 1);

            put(panel->w[reg + k / 4 * 8 + k % 4],
                _mm256_or_si256(bits_from(words[k % 4], k / 4 * 2, LOW_TWO), _mm256_slli_epi16(top, 2)));
        }
    }
    for (uint32_t j = 0; j < 16; j++) {
        put16(panel->scale[j], signed_pair(head.scales[j / 4], j % 4, j % 4));
    }
    for (uint32_t j = 0; j < 8; j++) {
        put16(panel->pair[j], signed_pair(head.scales[j / 2], j % 2 * 2, j % 2 * 2 + 1));
    }
    _mm256_store_ps(panel->d[0], head.d);
}

/* Opens what heads a block of Q4_K and Q5_K. */
AVX2_INLINE void open_k_head(struct panel *panel, const uint8_t *const rows[PANEL_ROWS])
{
    struct k_head head;

    turn_k_head(rows, 0, &head);
    _mm256_store_ps(panel->d[0], head.d);
    _mm256_store_ps(panel->m[0], head.dmin);
    for (uint32_t j = 0; j < 8; j++) {
        put16(panel->scale[j], byte_twice(head.scales[j / 4], j % 4));
        put16(panel->pair[j], byte_twice(head.mins[j / 4], j % 4));
    }
}

static void open_q4_k(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    (void)n_blocks;
    open_k_head(panel, rows);
    for (uint32_t i = 0; i < 8; i++) { /* sixteen bytes: columns 64 (i / 2) + 16 (i mod 2) on, and 32 further */
        const uint32_t reg = 16 * (i / 2) + 4 * (i % 2);
        __m256i words[4];

        turn(rows, offsetof(struct block_q4_k, qs) + 16 * i, words);
        for (uint32_t k = 0; k < 4; k++) {
            put(panel->w[reg + k], low_four(words[k]));
            put(panel->w[reg + 8 + k], high_four(words[k]));
        }
    }
}

static void open_q5_k(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    __m256i high[8];

    (void)n_blocks;
    open_k_head(panel, rows);
    turn(rows, offsetof(struct block_q5_k, qh), high);
    turn(rows, offsetof(struct block_q5_k, qh) + 16, high + 4);
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t reg = 16 * (i / 2) + 4 * (i % 2);
        __m256i words[4];

        turn(rows, offsetof(struct block_q5_k, qs) + 16 * i, words);
        for (uint32_t k = 0; k < 4; k++) {
            const __m256i bits = high[4 * (i % 2) + k];

            put(panel->w[reg + k], _mm256_or_si256(low_four(words[k]), as_fifth(bits, i / 2 * 2)));
            put(panel->w[reg + 8 + k], _mm256_or_si256(high_four(words[k]), as_fifth(bits, i / 2 * 2 + 1)));
        }
    }
}

/* Half @h of a block of Q6_K: 128 columns, register 32 h on. */
AVX2_INLINE void open_q6_half(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t h)
{
    for (uint32_t i = 0; i < 2; i++) { /* sixteen columns of each run of 32 */
        uint8_t(*w)[32] = &panel->w[32 * h + 4 * i];
        __m256i first[4], second[4], top[4];

        turn(rows, offsetof(struct block_q6_k, ql) + 64 * h + 16 * i, first);
        turn(rows, offsetof(struct block_q6_k, ql) + 64 * h + 32 + 16 * i, second);
        turn(rows, offsetof(struct block_q6_k, qh) + 32 * h + 16 * i, top);
        for (uint32_t k = 0; k < 4; k++) {
            put(w[k], _mm256_or_si256(low_four(first[k]), as_top(top[k], 0)));
            put(w[k + 8], _mm256_or_si256(low_four(second[k]), as_top(top[k], 1)));
            put(w[k + 16], _mm256_or_si256(high_four(first[k]), as_top(top[k], 2)));
            put(w[k + 24], _mm256_or_si256(high_four(second[k]), as_top(top[k], 3)));
        }
    }
}

static void open_q6_k(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    /* d ends the block: four bytes from two before it on stay inside. */
    const size_t before_d = offsetof(struct block_q6_k, d) - 2;
    __m256i scales[4];

    (void)n_blocks;
    open_q6_half(panel, rows, 0);
    open_q6_half(panel, rows, 1);
    turn(rows, offsetof(struct block_q6_k, scales), scales);
    for (uint32_t j = 0; j < 16; j++) {
        put16(panel->scale[j], signed_pair(scales[j / 4], j % 4, j % 4));
    }
    for (uint32_t j = 0; j < 8; j++) {
        put16(panel->pair[j], signed_pair(scales[j / 2], j % 2 * 2, j % 2 * 2 + 1));
    }
    _mm256_store_ps(panel->d[0], high_half(word_of(rows, before_d)));
}

static void open_iq4_xs(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    const struct xs_head head = turn_xs_head(rows, 0);

    (void)n_blocks;
    _mm256_store_ps(panel->d[0], head.d);
    for (uint32_t j = 0; j < 8; j++) {
        const __m256i scale = xs_scale(&head, j);

        open_values(panel, 8 * j, rows, offsetof(struct block_iq4_xs, qs) + 16 * j);
        put16(panel->scale[j], scale);
        put16(panel->pair[j], scale);
    }
}

panel_open_fn panel_opener(uint32_t type)
{
    static const panel_open_fn openers[ELEM_TYPE_COUNT] = {
        [ELEM_Q4_0] = open_q4_0, [ELEM_Q4_1] = open_q4_1, [ELEM_Q5_0] = open_q5_0,     [ELEM_Q5_1] = open_q5_1,
        [ELEM_Q8_0] = open_q8_0, [ELEM_Q2_K] = open_q2_k, [ELEM_Q3_K] = open_q3_k,     [ELEM_Q4_K] = open_q4_k,
        [ELEM_Q5_K] = open_q5_k, [ELEM_Q6_K] = open_q6_k, [ELEM_IQ4_NL] = open_iq4_nl, [ELEM_IQ4_XS] = open_iq4_xs,
    };

    return openers[type];
}
