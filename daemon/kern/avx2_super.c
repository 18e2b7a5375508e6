/*
 * Avx2_super: weights in super-blocks of 256 (layouts: tensor/block.h), opened to panels and by a single activation row
 */
#include "kern/avx2_block.h"

/* ---- parts of blocks ---- */

/* Returns byte @j of each lane, twice, as numbers of 16 bits. */
AVX2_INLINE __m256i byte_twice(__m256i words, uint32_t j)
{
    const __m256i lane = _mm256_setr_epi8(0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12, -128, 0,
                                          -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12, -128);

    return _mm256_shuffle_epi8(words, _mm256_add_epi8(lane, _mm256_set1_epi16((short)j)));
}

/* Returns bytes @i and @j of each lane, with their signs, as numbers of 16 bits. */
AVX2_INLINE __m256i signed_pair(__m256i words, uint32_t i, uint32_t j)
{
    const __m256i lane = _mm256_setr_epi8(-128, 0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12,
                                          -128, 0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12);
    const __m256i which = _mm256_set1_epi32((int)(i << 8 | j << 24));

    return _mm256_srai_epi16(_mm256_shuffle_epi8(words, _mm256_add_epi8(lane, which)), 8);
}

/* Returns scale (or min) @j of sixteen, a byte each in @scales, twice. */
AVX2_INLINE __m256i scale_twice(const __m256i scales[4], uint32_t j)
{
    return signed_pair(scales[j / 4], j % 4, j % 4);
}

/* Returns scales (or mins) 2j and 2j + 1 of sixteen. */
AVX2_INLINE __m256i scale_pair(const __m256i scales[4], uint32_t j)
{
    return signed_pair(scales[j / 2], j % 2 * 2, j % 2 * 2 + 1);
}

/* Adds to @sum a pair of scales (or mins) times the sums of two runs of 16 activations. */
AVX2_INLINE __m256i add_sums(__m256i sum, __m256i pair, const int16_t *sum16)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pair, avx2_spread(sum16)));
}

/* Returns bits 2n and 2n + 1 of each byte as its bits 4 and 5. */
AVX2_INLINE __m256i as_top(__m256i bytes, uint32_t n)
{
    const __m256i two =
        _mm256_and_si256(_mm256_srl_epi16(bytes, _mm_cvtsi32_si128((int)(2 * n))), _mm256_set1_epi8(LOW_TWO));

    return _mm256_slli_epi16(two, 4);
}

/* Returns bit @n of each byte as its bit 4. */
AVX2_INLINE __m256i as_fifth(__m256i bytes, uint32_t n)
{
    const __m256i bit = _mm256_srl_epi16(_mm256_slli_epi16(bytes, 4), _mm_cvtsi32_si128((int)n));
    const __m256i top = _mm256_srl_epi16(bytes, _mm_cvtsi32_si128((int)n - 4));

    return _mm256_and_si256(n < 4 ? bit : top, _mm256_set1_epi8(FIFTH_BIT));
}

/* Returns bits @n and above of each byte, as many as @mask has from its bit 0 on; n + bits is at most 8. */
AVX2_INLINE __m256i bits_from(__m256i bytes, uint32_t n, char mask)
{
    return _mm256_and_si256(_mm256_srl_epi16(bytes, _mm_cvtsi32_si128((int)n)), _mm256_set1_epi8(mask));
}

/* The head of a block of Q3_K, some of which ends it: sixteen scales less 32, a byte each, and d. */
struct q3_head {
    __m256 d;
    __m256i scales[4];
};

AVX2_INLINE struct q3_head load_q3_head(const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    const size_t scales = at + offsetof(struct block_q3_k, scales);
    const __m256i first = word_of(rows, scales);
    const __m256i second = word_of(rows, scales + 4);
    const __m256i upper = word_of(rows, scales + 8);
    const __m256i low[4] = { low_four(first), low_four(second), high_four(first), high_four(second) };
    struct q3_head head = { .d = last_half(rows, at + offsetof(struct block_q3_k, d)) };

    for (uint32_t i = 0; i < 4; i++) {
        head.scales[i] = _mm256_sub_epi8(_mm256_or_si256(low[i], as_top(upper, i)), _mm256_set1_epi8(32));
    }
    return head;
}

/* The head of a block of IQ4_XS, eight bytes: d, and the low and upper bits of eight scales. */
struct xs_head {
    __m256 d;
    __m256i low;   /* nibble j is that of scale j */
    __m256i upper; /* bits 16 + 2j */
};

AVX2_INLINE struct xs_head load_xs_head(const uint8_t *const rows[PANEL_ROWS], size_t at)
{
    const __m256i d_and_upper = word_of(rows, at);

    return (struct xs_head){ .d = low_half(d_and_upper),
                             .low = word_of(rows, at + offsetof(struct block_iq4_xs, scales_l)),
                             .upper = d_and_upper };
}

/* Returns scale @j less 32, twice, as numbers of 16 bits. */
AVX2_INLINE __m256i xs_scale(const struct xs_head *head, uint32_t j)
{
    const __m256i low =
        _mm256_and_si256(_mm256_srl_epi32(head->low, _mm_cvtsi32_si128((int)(4 * j))), _mm256_set1_epi32(LOW_FOUR));
    const __m256i two = _mm256_and_si256(_mm256_srl_epi32(head->upper, _mm_cvtsi32_si128((int)(16 + 2 * j))),
                                         _mm256_set1_epi32(LOW_TWO));
    const __m256i six = _mm256_or_si256(low, _mm256_slli_epi32(two, 4));

    return _mm256_sub_epi16(_mm256_or_si256(six, _mm256_slli_epi32(six, 16)), _mm256_set1_epi16(32));
}

/* The head of a block of Q4_K or Q5_K, sixteen bytes: d, dmin, and eight 6-bit scales and mins (two registers each, a
 * byte a number). */
struct k_head {
    __m256 d;
    __m256 dmin;
    __m256i scales[2];
    __m256i mins[2];
};

AVX2_INLINE void load_k_head(const uint8_t *const rows[PANEL_ROWS], size_t at, struct k_head *head)
{
    const __m256i six = _mm256_set1_epi8(0x3f);
    const __m256i top = _mm256_set1_epi8(0x30);
    __m256i words[4];

    transpose(rows, at, words);
    head->d = low_half(words[0]);
    head->dmin = high_half(words[0]);
    head->scales[0] = _mm256_and_si256(words[1], six);
    head->mins[0] = _mm256_and_si256(words[2], six);
    /* The upper two bits of a byte continue as bits 4 and 5. */
    head->scales[1] = _mm256_or_si256(low_four(words[3]), _mm256_and_si256(_mm256_srli_epi16(words[1], 2), top));
    head->mins[1] = _mm256_or_si256(high_four(words[3]), _mm256_and_si256(_mm256_srli_epi16(words[2], 2), top));
}

/* ---- opening ---- */

static void open_q2_k(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    const __m256i d_and_dmin = word_of(rows, offsetof(struct block_q2_k, d));
    __m256i scales[4];

    (void)n_blocks;
    for (uint32_t i = 0; i < 4; i++) { /* sixteen bytes: columns 128 (i / 2) + 16 (i mod 2) on, four times 32 apart */
        const uint32_t reg = 32 * (i / 2) + 4 * (i % 2);
        __m256i words[4];

        transpose(rows, offsetof(struct block_q2_k, qs) + 16 * i, words);
        for (uint32_t k = 0; k < 16; k++) {
            put(panel->w[reg + k / 4 * 8 + k % 4], bits_from(words[k % 4], k / 4 * 2, LOW_TWO));
        }
    }
    transpose(rows, offsetof(struct block_q2_k, scales), scales);
    for (uint32_t j = 0; j < 16; j++) {
        put(panel->scale[j], byte_twice(low_four(scales[j / 4]), j % 4));
    }
    for (uint32_t j = 0; j < 8; j++) {
        put(panel->pair[j], signed_pair(high_four(scales[j / 2]), j % 2 * 2, j % 2 * 2 + 1));
    }
    _mm256_store_ps(panel->d[0], low_half(d_and_dmin));
    _mm256_store_ps(panel->m[0], high_half(d_and_dmin));
}

static void open_q3_k(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    const struct q3_head head = load_q3_head(rows, 0);
    __m256i third[8];

    (void)n_blocks;
    transpose(rows, offsetof(struct block_q3_k, hmask), third);
    transpose(rows, offsetof(struct block_q3_k, hmask) + 16, third + 4);
    for (uint32_t i = 0; i < 4; i++) { /* as in Q2_K */
        const uint32_t reg = 32 * (i / 2) + 4 * (i % 2);
        __m256i words[4];

        transpose(rows, offsetof(struct block_q3_k, qs) + 16 * i, words);
        for (uint32_t k = 0; k < 16; k++) {
            const __m256i top = bits_from(third[i % 2 * 4 + k % 4], i / 2 * 4 + k / 4, 1);

            put(panel->w[reg + k / 4 * 8 + k % 4],
                _mm256_or_si256(bits_from(words[k % 4], k / 4 * 2, LOW_TWO), _mm256_slli_epi16(top, 2)));
        }
    }
    for (uint32_t j = 0; j < 16; j++) {
        put(panel->scale[j], scale_twice(head.scales, j));
    }
    for (uint32_t j = 0; j < 8; j++) {
        put(panel->pair[j], scale_pair(head.scales, j));
    }
    _mm256_store_ps(panel->d[0], head.d);
}

/* Opens the head of a block of Q4_K or Q5_K. */
AVX2_INLINE void open_k_head(struct panel *panel, const uint8_t *const rows[PANEL_ROWS])
{
    struct k_head head;

    load_k_head(rows, 0, &head);
    _mm256_store_ps(panel->d[0], head.d);
    _mm256_store_ps(panel->m[0], head.dmin);
    for (uint32_t j = 0; j < 8; j++) {
        put(panel->scale[j], byte_twice(head.scales[j / 4], j % 4));
        put(panel->pair[j], byte_twice(head.mins[j / 4], j % 4));
    }
}

static void open_q4_k(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    (void)n_blocks;
    open_k_head(panel, rows);
    for (uint32_t i = 0; i < 8; i++) { /* sixteen bytes: columns 64 (i / 2) + 16 (i mod 2) on, and 32 further */
        const uint32_t reg = 16 * (i / 2) + 4 * (i % 2);
        __m256i words[4];

        transpose(rows, offsetof(struct block_q4_k, qs) + 16 * i, words);
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
    transpose(rows, offsetof(struct block_q5_k, qh), high);
    transpose(rows, offsetof(struct block_q5_k, qh) + 16, high + 4);
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t reg = 16 * (i / 2) + 4 * (i % 2);
        __m256i words[4];

        transpose(rows, offsetof(struct block_q5_k, qs) + 16 * i, words);
        for (uint32_t k = 0; k < 4; k++) {
            const __m256i bits = high[4 * (i % 2) + k];

            put(panel->w[reg + k], _mm256_or_si256(low_four(words[k]), as_fifth(bits, i / 2 * 2)));
            put(panel->w[reg + 8 + k], _mm256_or_si256(high_four(words[k]), as_fifth(bits, i / 2 * 2 + 1)));
        }
    }
}

/* Opens half @h of a block of Q6_K: 128 columns, from register 32 h on. */
AVX2_INLINE void open_q6_half(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t h)
{
    for (uint32_t i = 0; i < 2; i++) { /* sixteen columns of each run of 32 */
        uint8_t(*w)[32] = &panel->w[32 * h + 4 * i];
        __m256i first[4], second[4], top[4];

        transpose(rows, offsetof(struct block_q6_k, ql) + 64 * h + 16 * i, first);
        transpose(rows, offsetof(struct block_q6_k, ql) + 64 * h + 32 + 16 * i, second);
        transpose(rows, offsetof(struct block_q6_k, qh) + 32 * h + 16 * i, top);
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
    __m256i scales[4];

    (void)n_blocks;
    open_q6_half(panel, rows, 0);
    open_q6_half(panel, rows, 1);
    transpose(rows, offsetof(struct block_q6_k, scales), scales);
    for (uint32_t j = 0; j < 16; j++) {
        put(panel->scale[j], scale_twice(scales, j));
    }
    for (uint32_t j = 0; j < 8; j++) {
        put(panel->pair[j], scale_pair(scales, j));
    }
    _mm256_store_ps(panel->d[0], last_half(rows, offsetof(struct block_q6_k, d)));
}

static void open_iq4_xs(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    const struct xs_head head = load_xs_head(rows, 0);

    (void)n_blocks;
    _mm256_store_ps(panel->d[0], head.d);
    for (uint32_t j = 0; j < 8; j++) {
        const __m256i scale = xs_scale(&head, j);

        open_values(panel, 8 * j, rows, offsetof(struct block_iq4_xs, qs) + 16 * j);
        put(panel->scale[j], scale);
        put(panel->pair[j], scale);
    }
}

/* ---- a single activation row ---- */

/* Returns the products of 16 columns with @q, scaled: two bits of @words from @shift on and, as the third, bit @bit of
 * @third (NULL: none). A pair is at most 1778, four are 7112. */
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

static void one_q2_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q2_k);
        const __m256i d_and_dmin = word_of(rows, at + offsetof(struct block_q2_k, d));
        __m256i sum = _mm256_setzero_si256();
        __m256i mins = _mm256_setzero_si256();
        __m256i heads[4], words[4];

        transpose(rows, at + offsetof(struct block_q2_k, scales), heads);
        for (uint32_t j = 0; j < 8; j++) {
            const __m256i pair = signed_pair(high_four(heads[j / 2]), j % 2 * 2, j % 2 * 2 + 1);

            mins = add_sums(mins, pair, act->sum16 + 16 * b + 2 * j);
        }
        for (uint32_t i = 0; i < 4; i++) { /* sixteen bytes: four runs, 32 columns apart */
            transpose(rows, at + offsetof(struct block_q2_k, qs) + 16 * i, words);
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

/* Returns what the 2^@shift that the format subtracts from every q take from the sum. */
AVX2_INLINE __m256i minus_sums(const __m256i scales[4], const int16_t *sum16, int shift)
{
    __m256i sum = _mm256_setzero_si256();

    for (uint32_t j = 0; j < 8; j++) {
        sum = add_sums(sum, scale_pair(scales, j), sum16 + 2 * j);
    }
    return _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(sum, shift));
}

static void one_q3_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q3_k);
        const struct q3_head head = load_q3_head(rows, at);
        __m256i third[8], words[4];
        __m256i sum = minus_sums(head.scales, act->sum16 + 16 * b, 2);
        transpose(rows, at + offsetof(struct block_q3_k, hmask), third);
        transpose(rows, at + offsetof(struct block_q3_k, hmask) + 16, third + 4);
        for (uint32_t i = 0; i < 4; i++) { /* as in Q2_K */
            transpose(rows, at + offsetof(struct block_q3_k, qs) + 16 * i, words);
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t run = i / 2 * 8 + 2 * k + i % 2;
                const __m256i scale = scale_twice(head.scales, run);

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

/* Returns the products of runs 2i and 2i + 1 of a block of Q4_K at @at with @q, times their scales. */
AVX2_INLINE __m256i two_runs(const uint8_t *const rows[PANEL_ROWS], size_t at, uint32_t i, const struct k_head *head,
                             const int8_t *q)
{
    const size_t qs = at + offsetof(struct block_q4_k, qs) + 32 * i;
    __m256i low = _mm256_setzero_si256();
    __m256i high = _mm256_setzero_si256();
    __m256i words[8];

    transpose(rows, qs, words);
    transpose(rows, qs + 16, words + 4);
    for (uint32_t k = 0; k < 8; k++) {
        low = add_pairs(low, low_four(words[k]), q + 64 * i + 4 * k);
        high = add_pairs(high, high_four(words[k]), q + 64 * i + 32 + 4 * k);
    }
    low = _mm256_madd_epi16(low, byte_twice(head->scales[i / 2], 2 * i % 4));
    high = _mm256_madd_epi16(high, byte_twice(head->scales[i / 2], 2 * i % 4 + 1));
    return _mm256_add_epi32(low, high);
}

/* Adds to @acc block @b of Q4_K or Q5_K: its scaled sums @sum, and its mins. */
AVX2_INLINE __m256 add_k_block(__m256 acc, const struct k_head *head, const struct kern_act_row *act, uint32_t b,
                               __m256i sum)
{
    __m256i mins = _mm256_setzero_si256();

    for (uint32_t j = 0; j < 8; j++) {
        mins = add_sums(mins, byte_twice(head->mins[j / 4], j % 4), act->sum16 + 16 * b + 2 * j);
    }
    acc = add_block(acc, head->d, &act->d[b], sum);
    return _mm256_fnmadd_ps(_mm256_mul_ps(head->dmin, _mm256_broadcast_ss(&act->d[b])), _mm256_cvtepi32_ps(mins), acc);
}

static void one_q4_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q4_k);
        __m256i sum = _mm256_setzero_si256();
        struct k_head head;

        load_k_head(rows, at, &head);
        for (uint32_t i = 0; i < 4; i++) {
            sum = _mm256_add_epi32(sum, two_runs(rows, at, i, &head, act->q + BLOCK_SUPER * b));
        }
        acc = add_k_block(acc, &head, act, b, sum);
    }
    _mm256_storeu_ps(out, acc);
}

/* Returns the products of 16 columns with @q, scaled: low bits in @four, the fifth is bit @j of the bytes of @fifth. */
AVX2_INLINE __m256i five_bits(const __m256i four[4], const __m256i fifth[4], uint32_t j, __m256i scale, const int8_t *q)
{
    __m256i sum = _mm256_setzero_si256();

    for (uint32_t k = 0; k < 4; k++) { /* four pairs: at most 31496 */
        sum = add_pairs(sum, _mm256_or_si256(four[k], as_fifth(fifth[k], j)), q + 4 * k);
    }
    return _mm256_madd_epi16(sum, scale);
}

static void one_q5_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q5_k);
        __m256i sum = _mm256_setzero_si256();
        __m256i fifth[8], words[4], low[4], high[4];
        struct k_head head;

        load_k_head(rows, at, &head);
        transpose(rows, at + offsetof(struct block_q5_k, qh), fifth);
        transpose(rows, at + offsetof(struct block_q5_k, qh) + 16, fifth + 4);
        for (uint32_t i = 0; i < 8; i++) { /* sixteen bytes: of runs j and j + 1 */
            const uint32_t j = i / 2 * 2;
            const int8_t *q = act->q + BLOCK_SUPER * b + 32 * j + 16 * (i % 2);

            transpose(rows, at + offsetof(struct block_q5_k, qs) + 16 * i, words);
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

/* Returns the products of four registers of one run of Q6_K with @q: two pairs are at most 32004. */
AVX2_INLINE __m256i six_bits(const __m256i w[4], __m256i scale, const int8_t *q)
{
    const __m256i first = add_pairs(_mm256_maddubs_epi16(w[0], avx2_spread(q)), w[1], q + 4);
    const __m256i last = add_pairs(_mm256_maddubs_epi16(w[2], avx2_spread(q + 8)), w[3], q + 12);

    return _mm256_add_epi32(_mm256_madd_epi16(first, scale), _mm256_madd_epi16(last, scale));
}

/* Returns the products of the @i-th sixteen columns of each of the four runs of 32 in half @h of a block of Q6_K. */
AVX2_INLINE __m256i four_runs(const uint8_t *const rows[PANEL_ROWS], size_t at, uint32_t h, uint32_t i,
                              const __m256i scales[4], const int8_t *q)
{
    const size_t ql = at + offsetof(struct block_q6_k, ql) + 64 * h + 16 * i;
    __m256i first[4], second[4], top[4], w[4][4];
    __m256i sum = _mm256_setzero_si256();

    transpose(rows, ql, first);
    transpose(rows, ql + 32, second);
    transpose(rows, at + offsetof(struct block_q6_k, qh) + 32 * h + 16 * i, top);
    for (uint32_t k = 0; k < 4; k++) {
        w[0][k] = _mm256_or_si256(low_four(first[k]), as_top(top[k], 0));
        w[1][k] = _mm256_or_si256(low_four(second[k]), as_top(top[k], 1));
        w[2][k] = _mm256_or_si256(high_four(first[k]), as_top(top[k], 2));
        w[3][k] = _mm256_or_si256(high_four(second[k]), as_top(top[k], 3));
    }
    for (uint32_t run = 0; run < 4; run++) {
        const uint32_t j = 8 * h + 2 * run + i; /* of sixteen scales */

        sum = _mm256_add_epi32(sum, six_bits(w[run], scale_twice(scales, j), q + 128 * h + 32 * run + 16 * i));
    }
    return sum;
}

static void one_q6_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_q6_k);
        __m256i scales[4];
        __m256i sum;

        transpose(rows, at + offsetof(struct block_q6_k, scales), scales);
        sum = minus_sums(scales, act->sum16 + 16 * b, 5);
        for (uint32_t i = 0; i < 4; i++) {
            sum = _mm256_add_epi32(sum, four_runs(rows, at, i / 2, i % 2, scales, act->q + BLOCK_SUPER * b));
        }
        acc = add_block(acc, last_half(rows, at + offsetof(struct block_q6_k, d)), &act->d[b], sum);
    }
    _mm256_storeu_ps(out, acc);
}

static void one_iq4_xs(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                       float *out)
{
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SUPER; b++) {
        const size_t at = b * sizeof(struct block_iq4_xs);
        const struct xs_head head = load_xs_head(rows, at);
        __m256i sum = _mm256_setzero_si256();

        for (uint32_t j = 0; j < 8; j++) {
            const size_t qs = at + offsetof(struct block_iq4_xs, qs) + 16 * j;

            sum =
                _mm256_add_epi32(sum, value_products(rows, qs, act->q + BLOCK_SUPER * b + 32 * j, xs_scale(&head, j)));
        }
        acc = add_block(acc, head.d, &act->d[b], sum);
    }
    _mm256_storeu_ps(out, acc);
}

const struct avx2_format avx2_super_formats[ELEM_TYPE_COUNT] = {
    [ELEM_Q2_K] = { open_q2_k, one_q2_k }, [ELEM_Q3_K] = { open_q3_k, one_q3_k },
    [ELEM_Q4_K] = { open_q4_k, one_q4_k }, [ELEM_Q5_K] = { open_q5_k, one_q5_k },
    [ELEM_Q6_K] = { open_q6_k, one_q6_k }, [ELEM_IQ4_XS] = { open_iq4_xs, one_iq4_xs },
};
