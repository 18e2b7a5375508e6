/*
 * Avx2_small: weights in blocks of 32 (layouts: tensor/block.h), opened to panels and by a single activation row
 */
#include "kern/avx2_block.h"

#include <stdbool.h>

/* ---- four and five bits ---- */

/* Offsets of the parts of a block, and what the format does with q. */
struct layout {
    size_t n_bytes;
    size_t qs;
    size_t qh;       /* the fifth bits; 0: none */
    uint32_t offset; /* what the format subtracts from q */
    bool has_m;      /* a second half follows d */
};

static const struct layout q4_0 = { sizeof(struct block_q4_0), offsetof(struct block_q4_0, qs), 0, 8, false };
static const struct layout q4_1 = { sizeof(struct block_q4_1), offsetof(struct block_q4_1, qs), 0, 0, true };
static const struct layout q5_0 = { sizeof(struct block_q5_0), offsetof(struct block_q5_0, qs),
                                    offsetof(struct block_q5_0, qh), 16, false };
static const struct layout q5_1 = { sizeof(struct block_q5_1), offsetof(struct block_q5_1, qs),
                                    offsetof(struct block_q5_1, qh), 0, true };

/* Returns bits 4k .. 4k + 3 of each lane of @bits as bit 4 of its four bytes. */
AVX2_INLINE __m256i fifth_of(__m256i bits, uint32_t k)
{
    const __m256i mask = _mm256_set1_epi32(k % 2 == 0 ? 0x08040201 : (int)0x80402010);
    const __m256i lane = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0, 0, 0, 4, 4, 4, 4, 8,
                                          8, 8, 8, 12, 12, 12, 12);
    const __m256i byte = _mm256_shuffle_epi8(bits, _mm256_add_epi8(lane, _mm256_set1_epi8((char)(k / 2))));
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(byte, mask), mask);

    return _mm256_and_si256(set, _mm256_set1_epi8(FIFTH_BIT));
}

/* Loads the q of the block at @at: registers 0 .. 7 of its 32 columns. */
AVX2_INLINE void load_q(const struct layout *layout, const uint8_t *const rows[PANEL_ROWS], size_t at, __m256i q[8])
{
    __m256i words[4];

    transpose(rows, at + layout->qs, words);
    for (uint32_t k = 0; k < 4; k++) {
        q[k] = low_four(words[k]);
        q[k + 4] = high_four(words[k]);
    }
    if (layout->qh) {
        const __m256i bits = word_of(rows, at + layout->qh);

        for (uint32_t k = 0; k < 8; k++) {
            q[k] = _mm256_or_si256(q[k], fifth_of(bits, k));
        }
    }
}

AVX2_INLINE void open_bits(const struct layout *layout, struct panel *panel, const uint8_t *const rows[PANEL_ROWS],
                           uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++) {
        const __m256i d_and_m = word_of(rows, b * layout->n_bytes);
        __m256i q[8];

        load_q(layout, rows, b * layout->n_bytes, q);
        for (uint32_t k = 0; k < 8; k++) {
            put(panel->w[8 * b + k], q[k]);
        }
        _mm256_store_ps(panel->d[b], low_half(d_and_m));
        if (layout->has_m) {
            _mm256_store_ps(panel->m[b], high_half(d_and_m));
        }
    }
}

/* Four bits: eight pairs of at most 3810 in each lane. Five: a pair is at most 7874, so four are 31496. */
AVX2_INLINE void one_bits(const struct layout *layout, const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols,
                          const struct kern_act_row *act, float *out)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SMALL; b++) {
        const __m256i d_and_m = word_of(rows, b * layout->n_bytes);
        __m256i low = _mm256_setzero_si256();
        __m256i high = _mm256_setzero_si256();
        __m256i q[8], sum;

        load_q(layout, rows, b * layout->n_bytes, q);
        for (uint32_t k = 0; k < 4; k++) {
            low = add_pairs(low, q[k], act->q + BLOCK_SMALL * b + 4 * k);
            high = add_pairs(high, q[k + 4], act->q + BLOCK_SMALL * b + 16 + 4 * k);
        }
        if (layout->qh) {
            sum = _mm256_add_epi32(_mm256_madd_epi16(low, ones), _mm256_madd_epi16(high, ones));
        } else {
            sum = _mm256_madd_epi16(_mm256_add_epi16(low, high), ones);
        }
        if (layout->offset > 0) {
            sum = _mm256_sub_epi32(sum, _mm256_set1_epi32((int)layout->offset * act->sum[b]));
        }
        acc = add_block(acc, low_half(d_and_m), &act->d[b], sum);
        if (layout->has_m) {
            acc = _mm256_fmadd_ps(high_half(d_and_m), _mm256_broadcast_ss(&act->s[b]), acc);
        }
    }
    _mm256_storeu_ps(out, acc);
}

/* Both functions of a format: its layout is constant where they are inlined. */
#define BITS(format)                                                                                                   \
    static void open_##format(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)           \
    {                                                                                                                  \
        open_bits(&(format), panel, rows, n_blocks);                                                                   \
    }                                                                                                                  \
    static void one_##format(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,   \
                             float *out)                                                                               \
    {                                                                                                                  \
        one_bits(&(format), rows, n_cols, act, out);                                                                   \
    }

BITS(q4_0)
BITS(q4_1)
BITS(q5_0)
BITS(q5_1)

#undef BITS

/* ---- signed bytes, and values in their place ---- */

/* Loads the 32 bytes at @at of each row. */
AVX2_INLINE void load_bytes(const uint8_t *const rows[PANEL_ROWS], size_t at, __m256i words[8])
{
    transpose(rows, at, words);
    transpose(rows, at + 16, words + 4);
}

static void open_q8_0(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++) {
        const size_t at = b * sizeof(struct block_q8_0);
        __m256i words[8];

        load_bytes(rows, at + offsetof(struct block_q8_0, qs), words);
        for (uint32_t k = 0; k < 8; k++) {
            put_halves(panel, 8 * b + k, words[k]);
        }
        _mm256_store_ps(panel->d[b], low_half(word_of(rows, at)));
    }
}

static void one_q8_0(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256 acc = _mm256_setzero_ps();

    for (uint32_t b = 0; b < n_cols / BLOCK_SMALL; b++) {
        const size_t at = b * sizeof(struct block_q8_0);
        __m256i sum = _mm256_setzero_si256();
        __m256i words[8];

        load_bytes(rows, at + offsetof(struct block_q8_0, qs), words);
        for (uint32_t k = 0; k < 8; k++) {
            sum = _mm256_add_epi32(sum, signed_products(words[k], act->q + BLOCK_SMALL * b + 4 * k, ones));
        }
        acc = add_block(acc, low_half(word_of(rows, at)), &act->d[b], sum);
    }
    _mm256_storeu_ps(out, acc);
}

static void open_iq4_nl(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++) {
        const size_t at = b * sizeof(struct block_iq4_nl);

        open_values(panel, 8 * b, rows, at + offsetof(struct block_iq4_nl, qs));
        _mm256_store_ps(panel->d[b], low_half(word_of(rows, at)));
    }
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
                        value_products(rows, qs, act->q + BLOCK_SMALL * b, ones));
    }
    _mm256_storeu_ps(out, acc);
}

const struct avx2_format avx2_small_formats[ELEM_TYPE_COUNT] = {
    [ELEM_Q4_0] = { open_q4_0, one_q4_0 }, [ELEM_Q4_1] = { open_q4_1, one_q4_1 },
    [ELEM_Q5_0] = { open_q5_0, one_q5_0 }, [ELEM_Q5_1] = { open_q5_1, one_q5_1 },
    [ELEM_Q8_0] = { open_q8_0, one_q8_0 }, [ELEM_IQ4_NL] = { open_iq4_nl, one_iq4_nl },
};
