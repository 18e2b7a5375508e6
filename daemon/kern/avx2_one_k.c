/*
 * Avx2_one_k: products of weights in super-blocks with a single activation row, as in avx2_one.c
 */
#include "kern/avx2_one_k.h"

#include "kern/avx2_step.h"

/* Products of 16 columns with @q, scaled: the low two bits from @shift on of @words, and of @third (NULL: none), from
 * @bit on, a third one. A pair is at most 1778, four are 7112. */
AVX2_INLINE __m256i few_bits(const __m256i words[4], uint32_t shift, const __m256i *third, uint32_t bit, __m256i scale,
                             const int8_t *q)
{
    __m256i sum = _mm256_setzero_si256();

    for (uint32_t k = 0; k < 4; k++) {
        __m256i w = bits_from(words[k], shift, LOW_TWO);

        if (third) {
            w = _mm256_or_si256(w, _mm256_slli_epi16(bits_from(third[k], bit, 1), 2));
        }
        sum = add_pairs(sum, w, q + 4 * k);
    }
    return _mm256_madd_epi16(sum, scale);
}

void avx2_one_q2_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q2_k);
        const __m256i d_and_dmin = word_of(rows, at + offsetof(struct block_q2_k, d));
        __m256i sum = _mm256_setzero_si256();
        __m256i mins = _mm256_setzero_si256();
        __m256i heads[4], words[4];

        turn(rows, at + offsetof(struct block_q2_k, scales), heads);
        for (uint32_t j = 0; j < 8; j++) {
            const __m256i pair = signed_pair(high_four(heads[j / 2]), j % 2 * 2, j % 2 * 2 + 1);

            mins = _mm256_add_epi32(mins, _mm256_madd_epi16(pair, avx2_spread(act->sum16 + 16 * b + 2 * j)));
        }
        for (uint32_t i = 0; i < 4; i++) { /* sixteen bytes: four runs, 32 columns apart */
            turn(rows, at + offsetof(struct block_q2_k, qs) + 16 * i, words);
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t run = i / 2 * 8 + 2 * k + i % 2;
                const __m256i scale = byte_twice(low_four(heads[run / 4]), run % 4);

                sum =
                    _mm256_add_epi32(sum, few_bits(words, 2 * k, NULL, 0, scale, act->q + BLOCK_SUPER * b + 16 * run));
            }
        }
        acc = add_block(acc, low_half(d_and_dmin), &act->d[b], sum);
        acc = _mm256_fnmadd_ps(_mm256_mul_ps(high_half(d_and_dmin), _mm256_broadcast_ss(&act->d[b])),
                               _mm256_cvtepi32_ps(mins), acc);
    }
    _mm256_storeu_ps(out, acc);
}

void avx2_one_q3_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q3_k);
        const struct q3_head head = turn_q3_head(rows, at);
        __m256i sum = _mm256_setzero_si256();
        __m256i third[8], words[4];

        for (uint32_t j = 0; j < 8; j++) { /* what the 4 below every q adds up to */
            const __m256i pair = signed_pair(head.scales[j / 2], j % 2 * 2, j % 2 * 2 + 1);

            sum = _mm256_sub_epi32(sum, _mm256_madd_epi16(pair, avx2_spread(act->sum16 + 16 * b + 2 * j)));
        }
        sum = _mm256_slli_epi32(sum, 2);
        turn(rows, at + offsetof(struct block_q3_k, hmask), third);
        turn(rows, at + offsetof(struct block_q3_k, hmask) + 16, third + 4);
        for (uint32_t i = 0; i < 4; i++) { /* as in Q2_K */
            turn(rows, at + offsetof(struct block_q3_k, qs) + 16 * i, words);
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t run = i / 2 * 8 + 2 * k + i % 2;
                const __m256i scale = signed_pair(head.scales[run / 4], run % 4, run % 4);

                sum = _mm256_add_epi32(sum, few_bits(words, 2 * k, third + i % 2 * 4, k, scale,
                                                     act->q + BLOCK_SUPER * b + 16 * run));
            }
            for (uint32_t k = 0; k < 4; k++) { /* the other half's bits come down: shifts by constants are faster */
                third[i % 2 * 4 + k] = _mm256_srli_epi16(third[i % 2 * 4 + k], 4);
            }
        }
        acc = add_block(acc, head.d, &act->d[b], sum);
    }
    _mm256_storeu_ps(out, acc);
}

/* Runs 2i and 2i + 1 of a block of Q4_K at @at with @q, multiplied with their scales. */
AVX2_INLINE __m256i two_runs(const uint8_t *const rows[PANEL_ROWS], size_t at, uint32_t i, const struct k_head *head,
                             const int8_t *q)
{
    const size_t qs = at + offsetof(struct block_q4_k, qs) + 32 * i;
    __m256i low = _mm256_setzero_si256();
    __m256i high = _mm256_setzero_si256();
    __m256i words[8];

    turn(rows, qs, words);
    turn(rows, qs + 16, words + 4);
    for (uint32_t k = 0; k < 8; k++) {
        low = add_pairs(low, low_four(words[k]), q + 64 * i + 4 * k);
        high = add_pairs(high, high_four(words[k]), q + 64 * i + 32 + 4 * k);
    }
    low = _mm256_madd_epi16(low, byte_twice(head->scales[i / 2], 2 * i % 4));
    high = _mm256_madd_epi16(high, byte_twice(head->scales[i / 2], 2 * i % 4 + 1));
    return _mm256_add_epi32(low, high);
}

/* Adds block @b of Q4_K or Q5_K, whose scaled sums are @sum, with its mins. */
AVX2_INLINE __m256 add_k_block(__m256 acc, const struct k_head *head, const struct kern_act_row *act, uint32_t b,
                               __m256i sum)
{
    __m256i mins = _mm256_setzero_si256();

    for (uint32_t j = 0; j < 8; j++) {
        const __m256i pair = avx2_spread(act->sum16 + 16 * b + 2 * j);

        mins = _mm256_add_epi32(mins, _mm256_madd_epi16(byte_twice(head->mins[j / 4], j % 4), pair));
    }
    acc = add_block(acc, head->d, &act->d[b], sum);
    return _mm256_fnmadd_ps(_mm256_mul_ps(head->dmin, _mm256_broadcast_ss(&act->d[b])), _mm256_cvtepi32_ps(mins), acc);
}

void avx2_one_q4_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q4_k);
        __m256i sum = _mm256_setzero_si256();
        struct k_head head;

        turn_k_head(rows, at, &head);
        for (uint32_t i = 0; i < 4; i++) {
            sum = _mm256_add_epi32(sum, two_runs(rows, at, i, &head, act->q + BLOCK_SUPER * b));
        }
        acc = add_k_block(acc, &head, act, b, sum);
    }
    _mm256_storeu_ps(out, acc);
}

/* Products of 16 columns with @q, scaled: @four are their low bits, and bit @j of the bytes of @fifth their fifth. */
AVX2_INLINE __m256i five_bits(const __m256i four[4], const __m256i fifth[4], uint32_t j, __m256i scale, const int8_t *q)
{
    __m256i sum = _mm256_setzero_si256();

    for (uint32_t k = 0; k < 4; k++) { /* four pairs: at most 31496 */
        sum = add_pairs(sum, _mm256_or_si256(four[k], as_fifth(fifth[k], j)), q + 4 * k);
    }
    return _mm256_madd_epi16(sum, scale);
}

void avx2_one_q5_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q5_k);
        __m256i sum = _mm256_setzero_si256();
        __m256i fifth[8], words[4], low[4], high[4];
        struct k_head head;

        turn_k_head(rows, at, &head);
        turn(rows, at + offsetof(struct block_q5_k, qh), fifth);
        turn(rows, at + offsetof(struct block_q5_k, qh) + 16, fifth + 4);
        for (uint32_t i = 0; i < 8; i++) { /* sixteen bytes: of runs j and j + 1 */
            const uint32_t j = i / 2 * 2;
            const int8_t *q = act->q + BLOCK_SUPER * b + 32 * j + 16 * (i % 2);

            turn(rows, at + offsetof(struct block_q5_k, qs) + 16 * i, words);
            for (uint32_t k = 0; k < 4; k++) {
                low[k] = low_four(words[k]);
                high[k] = high_four(words[k]);
            }
            sum = _mm256_add_epi32(sum, five_bits(low, fifth + i % 2 * 4, 0, byte_twice(head.scales[j / 4], j % 4), q));
            sum = _mm256_add_epi32(sum, five_bits(high, fifth + i % 2 * 4, 1, byte_twice(head.scales[j / 4], j % 4 + 1),
                                                  q + 32));
            for (uint32_t k = 0; k < 4; k++) { /* the next runs' bits come down: shifts by constants are faster */
                fifth[i % 2 * 4 + k] = _mm256_srli_epi16(fifth[i % 2 * 4 + k], 2);
            }
        }
        acc = add_k_block(acc, &head, act, b, sum);
    }
    _mm256_storeu_ps(out, acc);
}

/* Four registers of one run of Q6_K with @q: two pairs are at most 32004. */
AVX2_INLINE __m256i six_bits(const __m256i w[4], __m256i scale, const int8_t *q)
{
    const __m256i first = add_pairs(_mm256_maddubs_epi16(w[0], avx2_spread(q)), w[1], q + 4);
    const __m256i last = add_pairs(_mm256_maddubs_epi16(w[2], avx2_spread(q + 8)), w[3], q + 12);

    return _mm256_add_epi32(_mm256_madd_epi16(first, scale), _mm256_madd_epi16(last, scale));
}

/* Sixteen columns of each of the four runs of 32 in half @h of a block of Q6_K: the @i-th sixteen. */
AVX2_INLINE __m256i four_runs(const uint8_t *const rows[PANEL_ROWS], size_t at, uint32_t h, uint32_t i,
                              const __m256i scales[4], const int8_t *q)
{
    const size_t ql = at + offsetof(struct block_q6_k, ql) + 64 * h + 16 * i;
    __m256i first[4], second[4], top[4], w[4][4];
    __m256i sum = _mm256_setzero_si256();

    turn(rows, ql, first);
    turn(rows, ql + 32, second);
    turn(rows, at + offsetof(struct block_q6_k, qh) + 32 * h + 16 * i, top);
    for (uint32_t k = 0; k < 4; k++) {
        w[0][k] = _mm256_or_si256(low_four(first[k]), as_top(top[k], 0));
        w[1][k] = _mm256_or_si256(low_four(second[k]), as_top(top[k], 1));
        w[2][k] = _mm256_or_si256(high_four(first[k]), as_top(top[k], 2));
        w[3][k] = _mm256_or_si256(high_four(second[k]), as_top(top[k], 3));
    }
    for (uint32_t run = 0; run < 4; run++) {
        const uint32_t j = 8 * h + 2 * run + i; /* of sixteen scales */

        sum = _mm256_add_epi32(sum, six_bits(w[run], signed_pair(scales[j / 4], j % 4, j % 4),
                                             q + 128 * h + 32 * run + 16 * i));
    }
    return sum;
}

void avx2_one_q6_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    const size_t before_d = offsetof(struct block_q6_k, d) - 2; /* four bytes that stay inside the block */
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q6_k);
        __m256i sum = _mm256_setzero_si256();
        __m256i scales[4];

        turn(rows, at + offsetof(struct block_q6_k, scales), scales);
        for (uint32_t j = 0; j < 8; j++) { /* what the 32 below every q adds up to */
            const __m256i pair = signed_pair(scales[j / 2], j % 2 * 2, j % 2 * 2 + 1);

            sum = _mm256_sub_epi32(sum, _mm256_madd_epi16(pair, avx2_spread(act->sum16 + 16 * b + 2 * j)));
        }
        sum = _mm256_slli_epi32(sum, 5);
        for (uint32_t i = 0; i < 4; i++) {
            sum = _mm256_add_epi32(sum, four_runs(rows, at, i / 2, i % 2, scales, act->q + BLOCK_SUPER * b));
        }
        acc = add_block(acc, high_half(word_of(rows, at + before_d)), &act->d[b], sum);
    }
    _mm256_storeu_ps(out, acc);
}

void avx2_one_iq4_xs(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_iq4_xs);
        const struct xs_head head = turn_xs_head(rows, at);
        __m256i sum = _mm256_setzero_si256();

        for (uint32_t j = 0; j < 8; j++) {
            const size_t qs = at + offsetof(struct block_iq4_xs, qs) + 16 * j;

            sum = _mm256_add_epi32(sum, values_at(rows, qs, act->q + BLOCK_SUPER * b + 32 * j, xs_scale(&head, j)));
        }
        acc = add_block(acc, head.d, &act->d[b], sum);
    }
    _mm256_storeu_ps(out, acc);
}
