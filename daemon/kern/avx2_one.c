/*
 * Avx2_one: products of quantised weights with a single activation row: the decode of one sequence
 *
 * The weights are used once, so nothing is opened to memory: eight rows are turned in registers and multiplied there.
 * Half as fast again as by panels, and then bound by memory. Formats that are not here go by panels.
 */
#include "kern/avx2_one.h"

#include "kern/avx2_turn.h"
#include "tensor/block.h"

/* Sums of pairs of products of register @w with four activations, added to @sum. */
AVX2_INLINE __m256i add_pairs(__m256i sum, __m256i w, const int8_t *q)
{
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, avx2_spread(q)));
}

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

AVX2_INLINE __m256 add_block(__m256 acc, __m256 weight_d, const float *act_d, __m256i sum)
{
    return _mm256_fmadd_ps(_mm256_mul_ps(weight_d, _mm256_broadcast_ss(act_d)), _mm256_cvtepi32_ps(sum), acc);
}

static void one_q4_0(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                     float *out)
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

static void one_q4_1(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                     float *out)
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
static void one_q8_0(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                     float *out)
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

/* Adds to @sum the products of the values that @nibbles name with @q, times @scale; signs as above. */
AVX2_INLINE __m256i add_values(__m256i sum, __m256i nibbles, const int8_t *q, __m256i scale)
{
    const __m256i values = iq4_values(nibbles);
    const __m256i signed_q = _mm256_sign_epi8(avx2_spread(q), values);

    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(values), signed_q),
                                                   scale));
}

/* The same for 32 columns whose nibbles are at @at. */
AVX2_INLINE __m256i values_at(const uint8_t *const rows[PANEL_ROWS], size_t at, const int8_t *q,
                              __m256i scale)
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

static void one_iq4_xs(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                       float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_iq4_xs);
        const struct xs_head head = turn_xs_head(rows, at);
        __m256i sum = _mm256_setzero_si256();

        for (uint32_t j = 0; j < 8; j++) {
            const size_t qs = at + offsetof(struct block_iq4_xs, qs) + 16 * j;

            sum = _mm256_add_epi32(sum, values_at(rows, qs, act->q + BLOCK_SUPER * b + 32 * j,
                                                  xs_scale(&head, j)));
        }
        acc = add_block(acc, head.d, &act->d[b], sum);
    }
    _mm256_storeu_ps(out, acc);
}

/* Runs 2i and 2i + 1 of a block of Q4_K at @at with @q, multiplied with their scales. */
AVX2_INLINE __m256i two_runs(const uint8_t *const rows[PANEL_ROWS], size_t at, uint32_t i,
                             const struct k_head *head, const int8_t *q)
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

static void one_q4_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                     float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q4_k);
        __m256i sum = _mm256_setzero_si256();
        __m256i mins = _mm256_setzero_si256();
        struct k_head head;

        turn_k_head(rows, at, &head);
        for (uint32_t j = 0; j < 8; j++) {
            const __m256i pair = avx2_spread(act->sum16 + 16 * b + 2 * j);

            mins = _mm256_add_epi32(mins, _mm256_madd_epi16(byte_twice(head.mins[j / 4], j % 4), pair));
        }
        for (uint32_t i = 0; i < 4; i++) {
            sum = _mm256_add_epi32(sum, two_runs(rows, at, i, &head, act->q + BLOCK_SUPER * b));
        }
        acc = add_block(acc, head.d, &act->d[b], sum);
        acc = _mm256_fnmadd_ps(_mm256_mul_ps(head.dmin, _mm256_broadcast_ss(&act->d[b])),
                               _mm256_cvtepi32_ps(mins), acc);
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

static void one_q6_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                     float *out)
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

one_fn one_by_type(uint32_t type)
{
    static const one_fn ones[ELEM_TYPE_COUNT] = {
        [ELEM_Q4_0] = one_q4_0,     [ELEM_Q4_1] = one_q4_1, [ELEM_Q8_0] = one_q8_0,
        [ELEM_Q4_K] = one_q4_k,     [ELEM_Q6_K] = one_q6_k, [ELEM_IQ4_NL] = one_iq4_nl,
        [ELEM_IQ4_XS] = one_iq4_xs,
    };

    return ones[type];
}
