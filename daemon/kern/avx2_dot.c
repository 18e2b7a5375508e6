/*
 * Avx2_dot: matrix products of quantised weights
 *
 * Weight rows go by panels of eight (avx2_panel.h), 256 columns at a time; each opened panel meets all activation
 * rows, four at a time, so that a weight is read from memory and unpacked once for the whole step. Accumulators wait
 * in a small array between panels, eight floats (one a weight row) for each activation row. A single
 * activation row goes another way: avx2_one.c.
 *
 * Sums inside a block are exact: bytes times bytes gives pairs in 16 bits, and the comments say how many may be added
 * before 15 bits are full (|q| <= 127).
 */
#include "kern/avx2.h"
#include "kern/avx2_one.h"
#include "kern/avx2_panel.h"
#include "kern/avx2_set.h"
#include "tensor/block.h"

#include <stddef.h>

#define GROUP_ROWS 128 /* activation rows that share one opening; their accumulators take 4 KiB */
#define TILE_ROWS  4   /* activation rows whose sums fit into registers together */

/* What a panel is multiplied with. */
struct meet {
    const struct panel *panel;
    const struct kern_matmul *op;
    uint32_t row;      /* first activation row */
    uint32_t col;      /* first column of the panel */
    uint32_t n_blocks; /* of the panel */
    float (*acc)[PANEL_ROWS];
};

typedef void (*meet_fn)(const struct meet *meet);

/* How a format's panel is multiplied: by one row, by four. */
struct meeting {
    meet_fn one;
    meet_fn four;
};

AVX2_INLINE struct kern_act_row act_row(const struct meet *meet, enum kern_act act, uint32_t t)
{
    const char *rows = meet->op->acts;

    return kern_act_at(act, meet->op->n_cols, rows + (size_t)(meet->row + t) * meet->op->act_bytes);
}

AVX2_INLINE __m256i load(const void *place)
{
    return _mm256_load_si256((const __m256i *)place);
}

/* Sums of pairs of products of register @w with four activations. */
AVX2_INLINE __m256i pairs(__m256i w, const int8_t *q)
{
    return _mm256_maddubs_epi16(w, avx2_spread(q));
}

/* Adds to @sum the products of @regs[@w] .. @regs[@w + @n - 1] with the activations at column @col, pairs in
 * 16 bits first: @n may be as large as the comments of the callers say. */
AVX2_INLINE void add_run(const uint8_t (*regs)[32], const struct kern_act_row *act, uint32_t n_rows, uint32_t w,
                         uint32_t n, uint32_t col, __m256i scale, __m256i *sum)
{
    __m256i part[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        part[t] = pairs(load(regs[w]), act[t].q + col);
    }
    for (uint32_t k = 1; k < n; k++) {
        for (uint32_t t = 0; t < n_rows; t++) {
            part[t] = _mm256_add_epi16(part[t], pairs(load(regs[w + k]), act[t].q + col + 4 * k));
        }
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        sum[t] = _mm256_add_epi32(sum[t], _mm256_madd_epi16(part[t], scale));
    }
}

/* Q4_0, Q4_1, Q5_0, Q5_1. Four bits: a pair is at most 3810, eight pairs 30480; five: 7874, and four pairs 31496. */
AVX2_INLINE void meet_small(const struct meet *meet, uint32_t n_rows, uint32_t n_bits, uint32_t offset, bool has_m)
{
    const struct panel *panel = meet->panel;
    const __m256i ones = _mm256_set1_epi16(1);
    const uint32_t n_run = n_bits == 4 ? 8 : 4;
    struct kern_act_row act[TILE_ROWS];
    __m256 acc[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(meet, KERN_ACT_Q32, t);
        acc[t] = _mm256_load_ps(meet->acc[t]);
    }
    for (uint32_t b = 0; b < meet->n_blocks; b++) {
        const uint32_t block = meet->col / BLOCK_SMALL + b;
        __m256i sum[TILE_ROWS];

        for (uint32_t t = 0; t < n_rows; t++) {
            sum[t] = offset == 0 ? _mm256_setzero_si256() : _mm256_set1_epi32(-(int)offset * act[t].sum[block]);
        }
        for (uint32_t k = 0; k < 8; k += n_run) {
            add_run(panel->w, act, n_rows, 8 * b + k, n_run, 32 * block + 4 * k, ones, sum);
        }
        for (uint32_t t = 0; t < n_rows; t++) {
            const __m256 d = _mm256_mul_ps(_mm256_load_ps(panel->d[b]), _mm256_broadcast_ss(&act[t].d[block]));

            acc[t] = _mm256_fmadd_ps(d, _mm256_cvtepi32_ps(sum[t]), acc[t]);
            if (has_m) {
                acc[t] = _mm256_fmadd_ps(_mm256_load_ps(panel->m[b]), _mm256_broadcast_ss(&act[t].s[block]), acc[t]);
            }
        }
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        _mm256_store_ps(meet->acc[t], acc[t]);
    }
}

/* Q8_0, IQ4_NL: both halves of w + 128 are at most 15, a pair at most 3810, eight pairs 30480. */
AVX2_INLINE void meet_bytes(const struct meet *meet, uint32_t n_rows)
{
    const struct panel *panel = meet->panel;
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i sixteens = _mm256_set1_epi16(16);
    struct kern_act_row act[TILE_ROWS];
    __m256 acc[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(meet, KERN_ACT_Q32, t);
        acc[t] = _mm256_load_ps(meet->acc[t]);
    }
    for (uint32_t b = 0; b < meet->n_blocks; b++) {
        const uint32_t block = meet->col / BLOCK_SMALL + b;
        const __m256 d = _mm256_load_ps(panel->d[b]);
        __m256i low[TILE_ROWS], high[TILE_ROWS];

        for (uint32_t t = 0; t < n_rows; t++) {
            low[t] = _mm256_setzero_si256();
            high[t] = _mm256_setzero_si256();
        }
        for (uint32_t k = 0; k < 8; k++) {
            for (uint32_t t = 0; t < n_rows; t++) {
                const int8_t *q = act[t].q + 32 * block + 4 * k;

                low[t] = _mm256_add_epi16(low[t], pairs(load(panel->w[8 * b + k]), q));
                high[t] = _mm256_add_epi16(high[t], pairs(load(panel->high[8 * b + k]), q));
            }
        }
        for (uint32_t t = 0; t < n_rows; t++) {
            __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(low[t], ones), _mm256_madd_epi16(high[t], sixteens));

            sum = _mm256_sub_epi32(sum, _mm256_set1_epi32(128 * act[t].sum[block]));
            acc[t] = _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_broadcast_ss(&act[t].d[block])), _mm256_cvtepi32_ps(sum),
                                     acc[t]);
        }
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        _mm256_store_ps(meet->acc[t], acc[t]);
    }
}

/* The sums over the block that go with panel->pair: mins or scales times sums of activations. */
AVX2_INLINE __m256i pair_sums(const struct panel *panel, const int16_t *sum16)
{
    __m256i sum = _mm256_madd_epi16(load(panel->pair[0]), avx2_spread(sum16));

    for (uint32_t j = 1; j < 8; j++) {
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(load(panel->pair[j]), avx2_spread(sum16 + 2 * j)));
    }
    return sum;
}

/* Q2_K, Q4_K, Q5_K: as above (two bits: a pair is at most 762); the scale of a run, which is @n_scaled registers long,
 * multiplies its pairs while they are added to 32 bits. */
AVX2_INLINE void meet_k(const struct meet *meet, uint32_t n_rows, uint32_t n_run, uint32_t n_scaled)
{
    const struct panel *panel = meet->panel;
    const uint32_t block = meet->col / BLOCK_SUPER;
    struct kern_act_row act[TILE_ROWS];
    __m256i sum[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(meet, KERN_ACT_Q256, t);
        sum[t] = _mm256_setzero_si256();
    }
    for (uint32_t w = 0; w < PANEL_REGS; w += n_run) {
        add_run(panel->w, act, n_rows, w, n_run, meet->col + 4 * w, load(panel->scale[w / n_scaled]), sum);
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        const __m256 d = _mm256_broadcast_ss(&act[t].d[block]);
        const __m256i mins = pair_sums(panel, act[t].sum16 + 16 * block);
        __m256 acc = _mm256_load_ps(meet->acc[t]);

        acc = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_load_ps(panel->d[0]), d), _mm256_cvtepi32_ps(sum[t]), acc);
        acc = _mm256_fnmadd_ps(_mm256_mul_ps(_mm256_load_ps(panel->m[0]), d), _mm256_cvtepi32_ps(mins), acc);
        _mm256_store_ps(meet->acc[t], acc);
    }
}

/*
 * Formats whose w is q less 2^@shift, scaled by runs of 16. Q6_K: q is at most 63, a pair at most 16002, two pairs
 * 32004. Q3_K: q is at most 7, four pairs at most 7112.
 */
AVX2_INLINE void meet_less(const struct meet *meet, uint32_t n_rows, uint32_t n_run, int shift)
{
    const struct panel *panel = meet->panel;
    const uint32_t block = meet->col / BLOCK_SUPER;
    struct kern_act_row act[TILE_ROWS];
    __m256i sum[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(meet, KERN_ACT_Q256, t);
        /* Sums of (q - 2^shift) are the sums of q less 2^shift times those of the activations. */
        sum[t] = _mm256_slli_epi32(pair_sums(panel, act[t].sum16 + 16 * block), shift);
        sum[t] = _mm256_sub_epi32(_mm256_setzero_si256(), sum[t]);
    }
    for (uint32_t w = 0; w < PANEL_REGS; w += n_run) {
        add_run(panel->w, act, n_rows, w, n_run, meet->col + 4 * w, load(panel->scale[w / 4]), sum);
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        const __m256 d = _mm256_broadcast_ss(&act[t].d[block]);
        const __m256 acc = _mm256_load_ps(meet->acc[t]);

        _mm256_store_ps(meet->acc[t], _mm256_fmadd_ps(_mm256_mul_ps(_mm256_load_ps(panel->d[0]), d),
                                                      _mm256_cvtepi32_ps(sum[t]), acc));
    }
}

/* IQ4_XS: as Q8_0, scaled by runs of 32 while they are added to 32 bits. */
AVX2_INLINE void meet_xs(const struct meet *meet, uint32_t n_rows)
{
    const struct panel *panel = meet->panel;
    const uint32_t block = meet->col / BLOCK_SUPER;
    struct kern_act_row act[TILE_ROWS];
    __m256i sum[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(meet, KERN_ACT_Q256, t);
        /* The 128 above every value, out again: 128 times scales times sums of activations. */
        sum[t] = _mm256_slli_epi32(pair_sums(panel, act[t].sum16 + 16 * block), 7);
        sum[t] = _mm256_sub_epi32(_mm256_setzero_si256(), sum[t]);
    }
    for (uint32_t j = 0; j < 8; j++) {
        const __m256i scale = load(panel->scale[j]);
        const __m256i scale16 = _mm256_slli_epi16(scale, 4); /* of the high halves */

        add_run(panel->w, act, n_rows, 8 * j, 8, meet->col + 32 * j, scale, sum);
        add_run(panel->high, act, n_rows, 8 * j, 8, meet->col + 32 * j, scale16, sum);
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        const __m256 d = _mm256_broadcast_ss(&act[t].d[block]);
        const __m256 acc = _mm256_load_ps(meet->acc[t]);

        _mm256_store_ps(meet->acc[t], _mm256_fmadd_ps(_mm256_mul_ps(_mm256_load_ps(panel->d[0]), d),
                                                      _mm256_cvtepi32_ps(sum[t]), acc));
    }
}

static void meet_q4_0_one(const struct meet *meet)
{
    meet_small(meet, 1, 4, 8, false);
}

static void meet_q4_0_four(const struct meet *meet)
{
    meet_small(meet, TILE_ROWS, 4, 8, false);
}

static void meet_q4_1_one(const struct meet *meet)
{
    meet_small(meet, 1, 4, 0, true);
}

static void meet_q4_1_four(const struct meet *meet)
{
    meet_small(meet, TILE_ROWS, 4, 0, true);
}

static void meet_q5_0_one(const struct meet *meet)
{
    meet_small(meet, 1, 5, 16, false);
}

static void meet_q5_0_four(const struct meet *meet)
{
    meet_small(meet, TILE_ROWS, 5, 16, false);
}

static void meet_q5_1_one(const struct meet *meet)
{
    meet_small(meet, 1, 5, 0, true);
}

static void meet_q5_1_four(const struct meet *meet)
{
    meet_small(meet, TILE_ROWS, 5, 0, true);
}

static void meet_q8_0_one(const struct meet *meet)
{
    meet_bytes(meet, 1);
}

static void meet_q8_0_four(const struct meet *meet)
{
    meet_bytes(meet, TILE_ROWS);
}

static void meet_q2_k_one(const struct meet *meet)
{
    meet_k(meet, 1, 4, 4);
}

static void meet_q2_k_four(const struct meet *meet)
{
    meet_k(meet, TILE_ROWS, 4, 4);
}

static void meet_q3_k_one(const struct meet *meet)
{
    meet_less(meet, 1, 4, 2);
}

static void meet_q3_k_four(const struct meet *meet)
{
    meet_less(meet, TILE_ROWS, 4, 2);
}

static void meet_q4_k_one(const struct meet *meet)
{
    meet_k(meet, 1, 8, 8);
}

static void meet_q4_k_four(const struct meet *meet)
{
    meet_k(meet, TILE_ROWS, 8, 8);
}

static void meet_q5_k_one(const struct meet *meet)
{
    meet_k(meet, 1, 4, 8);
}

static void meet_q5_k_four(const struct meet *meet)
{
    meet_k(meet, TILE_ROWS, 4, 8);
}

static void meet_q6_k_one(const struct meet *meet)
{
    meet_less(meet, 1, 2, 5);
}

static void meet_q6_k_four(const struct meet *meet)
{
    meet_less(meet, TILE_ROWS, 2, 5);
}

static void meet_iq4_xs_one(const struct meet *meet)
{
    meet_xs(meet, 1);
}

static void meet_iq4_xs_four(const struct meet *meet)
{
    meet_xs(meet, TILE_ROWS);
}

static const struct meeting meetings[ELEM_TYPE_COUNT] = {
    [ELEM_Q4_0] = { meet_q4_0_one, meet_q4_0_four },   [ELEM_Q4_1] = { meet_q4_1_one, meet_q4_1_four },
    [ELEM_Q5_0] = { meet_q5_0_one, meet_q5_0_four },   [ELEM_Q5_1] = { meet_q5_1_one, meet_q5_1_four },
    [ELEM_Q8_0] = { meet_q8_0_one, meet_q8_0_four },   [ELEM_Q2_K] = { meet_q2_k_one, meet_q2_k_four },
    [ELEM_Q3_K] = { meet_q3_k_one, meet_q3_k_four },   [ELEM_Q4_K] = { meet_q4_k_one, meet_q4_k_four },
    [ELEM_Q5_K] = { meet_q5_k_one, meet_q5_k_four },   [ELEM_Q6_K] = { meet_q6_k_one, meet_q6_k_four },
    [ELEM_IQ4_NL] = { meet_q8_0_one, meet_q8_0_four }, [ELEM_IQ4_XS] = { meet_iq4_xs_one, meet_iq4_xs_four },
};

/* The panel of weight rows at @rows with @n_rows activation rows from @row on. */
static void panel_by_group(const struct kern_matmul *op, const uint8_t *const rows[PANEL_ROWS], uint32_t row,
                           uint32_t n_rows, float (*acc)[PANEL_ROWS])
{
    const struct elem_info *info = elem_info(op->type);
    const panel_open_fn open = panel_opener(op->type);
    const struct meeting *meeting = &meetings[op->type];
    const uint8_t *at[PANEL_ROWS];
    struct panel panel;
    struct meet meet = { .panel = &panel, .op = op };

    memset(acc, 0, n_rows * sizeof(acc[0]));
    memcpy(at, rows, sizeof(at));
    for (uint32_t col = 0; col < op->n_cols; col += PANEL_COLS) {
        const uint32_t n_cols = op->n_cols - col < PANEL_COLS ? op->n_cols - col : PANEL_COLS;
        uint32_t r = 0;

        open(&panel, at, n_cols / info->n_block);
        meet.col = col;
        meet.n_blocks = n_cols / info->n_block;
        for (; r + TILE_ROWS <= n_rows; r += TILE_ROWS) {
            meet.row = row + r;
            meet.acc = &acc[r];
            meeting->four(&meet);
        }
        for (; r < n_rows; r++) {
            meet.row = row + r;
            meet.acc = &acc[r];
            meeting->one(&meet);
        }
        for (uint32_t i = 0; i < PANEL_ROWS; i++) {
            at[i] += (size_t)n_cols / info->n_block * info->n_bytes;
        }
    }
}

/* Where the rows of the panel at weight row @w begin; those that are missing below it repeat the last. */
static void panel_rows(const struct kern_matmul *op, uint32_t w, uint32_t n, const uint8_t *rows[PANEL_ROWS])
{
    for (uint32_t i = 0; i < PANEL_ROWS; i++) {
        rows[i] = (const uint8_t *)op->weights + (w + (i < n ? i : n - 1)) * op->weight_bytes;
    }
}

static void panel_by_all(const struct kern_matmul *op, const uint8_t *const rows[PANEL_ROWS], uint32_t w, uint32_t n)
{
    _Alignas(32) float acc[GROUP_ROWS][PANEL_ROWS];

    for (uint32_t row = 0; row < op->n_rows; row += GROUP_ROWS) {
        const uint32_t n_rows = op->n_rows - row < GROUP_ROWS ? op->n_rows - row : GROUP_ROWS;

        panel_by_group(op, rows, row, n_rows, acc);
        for (uint32_t r = 0; r < n_rows; r++) {
            memcpy(op->out + (row + r) * op->out_stride + w, acc[r], n * sizeof(float));
        }
    }
}

void avx2_matmul_blocks(const struct kern_matmul *op, uint32_t first, uint32_t n)
{
    const one_fn one = op->n_rows == 1 ? one_by_type(op->type) : NULL;
    const struct kern_act_row act = kern_act_at(kern_act_of(op->type), op->n_cols, op->acts);
    const uint8_t *rows[PANEL_ROWS];
    float out[PANEL_ROWS];

    for (uint32_t w = first; w < first + n; w += PANEL_ROWS) {
        const uint32_t n_weights = first + n - w < PANEL_ROWS ? first + n - w : PANEL_ROWS;

        panel_rows(op, w, n_weights, rows);
        if (one) {
            one(rows, op->n_cols, &act, out);
            memcpy(op->out + w, out, n_weights * sizeof(float));
        } else {
            panel_by_all(op, rows, w, n_weights);
        }
    }
}
