/*
 * Avx2_one: products of quantised weights with a single activation row: the decode of one sequence
 *
 * The weights are used once, so nothing is opened to memory: eight rows are turned in registers and multiplied there.
 * Half as fast again as by panels, and then bound by memory. Blocks of 32 are here, of 256 in avx2_one_k.c.
 */
#include "kern/avx2_one.h"

#include "kern/avx2_one_k.h"
#include "kern/avx2_step.h"
#include "tensor/type.h"

/* The products of 32 columns in four bits, whose bytes are at @at, with @q: eight pairs of at most 3810 a lane. */
AVX2_INLINE __m256i nibbles_at(const uint8_t *const rows[PANEL_ROWS], size_t at, const int8_t *q)
{
    __m256i sum = _mm256_setzero_si256();
    __m256i words[4];

    turn(rows, at, words);
    for (uint32_t k = 0; k < 4; k++) {
        sum = add_pairs(sum, low_four(words[k]), q + 4 * k);
        sum = add_pairs(sum, high_four(words[k]), q + 16 + 4 * k);
    }
    return _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
}

static void one_q4_0(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SMALL; b++) {
        const size_t at = b * sizeof(struct block_q4_0);
        const __m256i sum = nibbles_at(rows, at + offsetof(struct block_q4_0, qs), act->q + BLOCK_SMALL * b);

        acc = add_block(acc, low_half(word_of(rows, at)), &act->d[b],
                        _mm256_sub_epi32(sum, _mm256_set1_epi32(8 * act->sum[b])));
    }
    _mm256_storeu_ps(out, acc);
}

static void one_q4_1(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SMALL; b++) {
        const size_t at = b * sizeof(struct block_q4_1);
        const __m256i d_and_m = word_of(rows, at);
        const __m256i sum = nibbles_at(rows, at + offsetof(struct block_q4_1, qs), act->q + BLOCK_SMALL * b);

        acc = add_block(acc, low_half(d_and_m), &act->d[b], sum);
        acc = _mm256_fmadd_ps(high_half(d_and_m), _mm256_broadcast_ss(&act->s[b]), acc);
    }
    _mm256_storeu_ps(out, acc);
}

/* Signs go over to the activations: |w| * (q with the sign of w); a pair is at most 2 * 128 * 127 = 32512. */
static void one_q8_0(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SMALL; b++) {
        const size_t at = b * sizeof(struct block_q8_0);
        __m256i sum = _mm256_setzero_si256();
        __m256i words[8];

        turn(rows, at + offsetof(struct block_q8_0, qs), words);
        turn(rows, at + offsetof(struct block_q8_0, qs) + 16, words + 4);
        for (uint32_t k = 0; k < 8; k++) {
            const __m256i q = _mm256_sign_epi8(avx2_spread(act->q + BLOCK_SMALL * b + 4 * k), words[k]);
            const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(words[k]), q);

            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
        }
        acc = add_block(acc, low_half(word_of(rows, at)), &act->d[b], sum);
    }
    _mm256_storeu_ps(out, acc);
}

/* Bits 4k .. 4k + 3 of each lane of @bits as bit 4 of its four bytes. */
AVX2_INLINE __m256i fifth_of(__m256i bits, uint32_t k)
{
    const __m256i mask = _mm256_set1_epi32(k % 2 == 0 ? 0x08040201 : (int)0x80402010);
    const __m256i lane = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0, 0, 0, 4, 4, 4, 4, 8,
                                          8, 8, 8, 12, 12, 12, 12);
    const __m256i byte = _mm256_shuffle_epi8(bits, _mm256_add_epi8(lane, _mm256_set1_epi8((char)(k / 2))));
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(byte, mask), mask);

    return _mm256_and_si256(set, _mm256_set1_epi8(FIFTH_BIT));
}

/* The products of 32 columns in five bits with @q: a pair is at most 7874, four are 31496. */
AVX2_INLINE __m256i fives_at(const uint8_t *const rows[PANEL_ROWS], size_t qh, size_t qs, const int8_t *q)
{
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i bits = word_of(rows, qh);
    __m256i low = _mm256_setzero_si256();
    __m256i high = _mm256_setzero_si256();
    __m256i words[4];

    turn(rows, qs, words);
    for (uint32_t k = 0; k < 4; k++) {
        low = add_pairs(low, _mm256_or_si256(low_four(words[k]), fifth_of(bits, k)), q + 4 * k);
        high = add_pairs(high, _mm256_or_si256(high_four(words[k]), fifth_of(bits, k + 4)), q + 16 + 4 * k);
    }
    return _mm256_add_epi32(_mm256_madd_epi16(low, ones), _mm256_madd_epi16(high, ones));
}

static void one_q5_0(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SMALL; b++) {
        const size_t at = b * sizeof(struct block_q5_0);
        const __m256i sum = fives_at(rows, at + offsetof(struct block_q5_0, qh), at + offsetof(struct block_q5_0, qs),
                                     act->q + BLOCK_SMALL * b);

        acc = add_block(acc, low_half(word_of(rows, at)), &act->d[b],
                        _mm256_sub_epi32(sum, _mm256_set1_epi32(16 * act->sum[b])));
    }
    _mm256_storeu_ps(out, acc);
}

static void one_q5_1(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SMALL; b++) {
        const size_t at = b * sizeof(struct block_q5_1);
        const __m256i d_and_m = word_of(rows, at);
        const __m256i sum = fives_at(rows, at + offsetof(struct block_q5_1, qh), at + offsetof(struct block_q5_1, qs),
                                     act->q + BLOCK_SMALL * b);

        acc = add_block(acc, low_half(d_and_m), &act->d[b], sum);
        acc = _mm256_fmadd_ps(high_half(d_and_m), _mm256_broadcast_ss(&act->s[b]), acc);
    }
    _mm256_storeu_ps(out, acc);
}

static void one_iq4_nl(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                       float *out)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SMALL; b++) {
        const size_t at = b * sizeof(struct block_iq4_nl);
        const size_t qs = at + offsetof(struct block_iq4_nl, qs);

        acc = add_block(acc, low_half(word_of(rows, at)), &act->d[b],
                        values_at(rows, qs, act->q + BLOCK_SMALL * b, ones));
    }
    _mm256_storeu_ps(out, acc);
}

one_fn one_by_type(uint32_t type)
{
    static const one_fn ones[ELEM_TYPE_COUNT] = {
        [ELEM_Q4_0] = one_q4_0,      [ELEM_Q4_1] = one_q4_1,      [ELEM_Q5_0] = one_q5_0,
        [ELEM_Q5_1] = one_q5_1,      [ELEM_Q8_0] = one_q8_0,      [ELEM_Q2_K] = avx2_one_q2_k,
        [ELEM_Q3_K] = avx2_one_q3_k, [ELEM_Q4_K] = avx2_one_q4_k, [ELEM_Q5_K] = avx2_one_q5_k,
        [ELEM_Q6_K] = avx2_one_q6_k, [ELEM_IQ4_NL] = one_iq4_nl,  [ELEM_IQ4_XS] = avx2_one_iq4_xs,
    };

    return ones[type];
}
