/*
 * Avx2_dot: matrix products, the front door
 *
 * Weight rows in blocks go by panels of eight (avx2_block.h), 256 columns at a time; each opened panel is multiplied
 * with all activation rows, four at a time, so that a weight is read from memory and unpacked once for the whole step.
 * Accumulators wait in a small array between panels, eight floats (one for each weight row) for each activation row.
 *
 * Sums inside a block are exact: bytes times bytes gives pairs in 16 bits, and the comments say how many may be added
 * before 15 bits are full (|q| <= 127).
 */
#include "kern/avx2_block.h"
#include "kern/set.h"
#include "tensor/panel.h"

#include <stdbool.h>

#define GROUP_ROWS 128 /* activation rows that share one opening; their accumulators take 4 KiB */
#define TILE_ROWS  4   /* activation rows that have their sums in registers together */

/* One opened panel and the activation rows that it is multiplied with. */
struct tile {
    const struct panel *panel;
    const struct kern_matmul *op;
    uint32_t row;      /* first activation row */
    uint32_t col;      /* first column of the panel */
    uint32_t n_blocks; /* of the panel */
    float (*acc)[PANEL_ROWS];
};

AVX2_INLINE struct kern_act_row act_row(const struct tile *tile, enum kern_act act, uint32_t t)
{
    const char *rows = tile->op->acts;

    return kern_act_at(act, tile->op->weights.n_cols, rows + (size_t)(tile->row + t) * tile->op->act_bytes);
}

AVX2_INLINE __m256i load(const void *place)
{
    return _mm256_load_si256((const __m256i *)place);
}

/* Returns the sums of pairs of products of register @w with four activations. */
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

/* Q4_0, Q4_1, Q5_0, Q5_1. @n_run: pairs that 16 bits can add up. Of four bits a pair is at most 3810 and eight are
 * 30480; of five it is 7874 and four are 31496. */
AVX2_INLINE void tile_small(const struct tile *tile, uint32_t n_rows, uint32_t n_run, uint32_t offset, bool has_m)
{
    const struct panel *panel = tile->panel;
    const __m256i ones = _mm256_set1_epi16(1);
    struct kern_act_row act[TILE_ROWS];
    __m256 acc[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(tile, KERN_ACT_Q32, t);
        acc[t] = _mm256_load_ps(tile->acc[t]);
    }
    for (uint32_t b = 0; b < tile->n_blocks; b++) {
        const uint32_t block = tile->col / BLOCK_SMALL + b;
        __m256i sum[TILE_ROWS];

        for (uint32_t t = 0; t < n_rows; t++) {
            sum[t] = offset == 0 ? _mm256_setzero_si256() : _mm256_set1_epi32(-(int)offset * act[t].sum[block]);
        }
        for (uint32_t k = 0; k < 8; k += n_run) {
            add_run(panel->w, act, n_rows, 8 * b + k, n_run, 32 * block + 4 * k, ones, sum);
        }
        for (uint32_t t = 0; t < n_rows; t++) {
            acc[t] = add_block(acc[t], _mm256_load_ps(panel->d[b]), &act[t].d[block], sum[t]);
            if (has_m) {
                acc[t] = _mm256_fmadd_ps(_mm256_load_ps(panel->m[b]), _mm256_broadcast_ss(&act[t].s[block]), acc[t]);
            }
        }
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        _mm256_store_ps(tile->acc[t], acc[t]);
    }
}

/* Q8_0, IQ4_NL: both halves of w + 128 are at most 15, a pair at most 3810, eight pairs 30480. */
AVX2_INLINE void tile_bytes(const struct tile *tile, uint32_t n_rows)
{
    const struct panel *panel = tile->panel;
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i sixteens = _mm256_set1_epi16(16);
    struct kern_act_row act[TILE_ROWS];
    __m256 acc[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(tile, KERN_ACT_Q32, t);
        acc[t] = _mm256_load_ps(tile->acc[t]);
    }
    for (uint32_t b = 0; b < tile->n_blocks; b++) {
        const uint32_t block = tile->col / BLOCK_SMALL + b;
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
            acc[t] = add_block(acc[t], d, &act[t].d[block], sum);
        }
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        _mm256_store_ps(tile->acc[t], acc[t]);
    }
}

/* Returns the sums over the block that go with panel->pair: mins or scales times sums of activations. */
AVX2_INLINE __m256i pair_sums(const struct panel *panel, const int16_t *sum16)
{
    __m256i sum = _mm256_madd_epi16(load(panel->pair[0]), avx2_spread(sum16));

    for (uint32_t j = 1; j < 8; j++) {
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(load(panel->pair[j]), avx2_spread(sum16 + 2 * j)));
    }
    return sum;
}

/* Q2_K, Q4_K, Q5_K: bits as above (two bits: a pair is at most 762). The scale of a run, which is @n_scaled registers
 * long, multiplies its pairs while they are added to 32 bits. */
AVX2_INLINE void tile_k(const struct tile *tile, uint32_t n_rows, uint32_t n_run, uint32_t n_scaled)
{
    const struct panel *panel = tile->panel;
    const uint32_t block = tile->col / BLOCK_SUPER;
    struct kern_act_row act[TILE_ROWS];
    __m256i sum[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(tile, KERN_ACT_Q256, t);
        sum[t] = _mm256_setzero_si256();
    }
    for (uint32_t w = 0; w < PANEL_REGS; w += n_run) {
        add_run(panel->w, act, n_rows, w, n_run, tile->col + 4 * w, load(panel->scale[w / n_scaled]), sum);
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        const __m256 d = _mm256_broadcast_ss(&act[t].d[block]);
        const __m256i mins = pair_sums(panel, act[t].sum16 + 16 * block);
        __m256 acc = _mm256_load_ps(tile->acc[t]);

        acc = add_block(acc, _mm256_load_ps(panel->d[0]), &act[t].d[block], sum[t]);
        acc = _mm256_fnmadd_ps(_mm256_mul_ps(_mm256_load_ps(panel->m[0]), d), _mm256_cvtepi32_ps(mins), acc);
        _mm256_store_ps(tile->acc[t], acc);
    }
}

/*
 * Formats in which w is q less 2^@shift, scaled by runs of 16. Q6_K: q is at most 63, a pair at most 16002, two pairs
 * 32004. Q3_K: q is at most 7, four pairs at most 7112.
 */
AVX2_INLINE void tile_less(const struct tile *tile, uint32_t n_rows, uint32_t n_run, int shift)
{
    const struct panel *panel = tile->panel;
    const uint32_t block = tile->col / BLOCK_SUPER;
    struct kern_act_row act[TILE_ROWS];
    __m256i sum[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(tile, KERN_ACT_Q256, t);
        /* The sum of (q - 2^shift) is the sum of q less 2^shift times that of the activations. */
        sum[t] = _mm256_slli_epi32(pair_sums(panel, act[t].sum16 + 16 * block), shift);
        sum[t] = _mm256_sub_epi32(_mm256_setzero_si256(), sum[t]);
    }
    for (uint32_t w = 0; w < PANEL_REGS; w += n_run) {
        add_run(panel->w, act, n_rows, w, n_run, tile->col + 4 * w, load(panel->scale[w / 4]), sum);
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        const __m256 acc = _mm256_load_ps(tile->acc[t]);

        _mm256_store_ps(tile->acc[t], add_block(acc, _mm256_load_ps(panel->d[0]), &act[t].d[block], sum[t]));
    }
}

/* IQ4_XS: bytes as above, scaled by runs of 32 while they are added to 32 bits. */
AVX2_INLINE void tile_xs(const struct tile *tile, uint32_t n_rows)
{
    const struct panel *panel = tile->panel;
    const uint32_t block = tile->col / BLOCK_SUPER;
    struct kern_act_row act[TILE_ROWS];
    __m256i sum[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        act[t] = act_row(tile, KERN_ACT_Q256, t);
        /* The 128 that was added to every value is taken out again: 128 times scales times sums of activations. */
        sum[t] = _mm256_slli_epi32(pair_sums(panel, act[t].sum16 + 16 * block), 7);
        sum[t] = _mm256_sub_epi32(_mm256_setzero_si256(), sum[t]);
    }
    for (uint32_t j = 0; j < 8; j++) {
        const __m256i scale = load(panel->scale[j]);
        const __m256i scale16 = _mm256_slli_epi16(scale, 4); /* of the high halves */

        add_run(panel->w, act, n_rows, 8 * j, 8, tile->col + 32 * j, scale, sum);
        add_run(panel->high, act, n_rows, 8 * j, 8, tile->col + 32 * j, scale16, sum);
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        const __m256 acc = _mm256_load_ps(tile->acc[t]);

        _mm256_store_ps(tile->acc[t], add_block(acc, _mm256_load_ps(panel->d[0]), &act[t].d[block], sum[t]));
    }
}

/* Both functions of a format; the kernels are inlined, where @n is a constant. */
#define TILE(format, kernel, args)                                                                                     \
    static void format##_one(const struct tile *tile)                                                                  \
    {                                                                                                                  \
        const uint32_t n = 1;                                                                                          \
                                                                                                                       \
        kernel args;                                                                                                   \
    }                                                                                                                  \
    static void format##_four(const struct tile *tile)                                                                 \
    {                                                                                                                  \
        const uint32_t n = TILE_ROWS;                                                                                  \
                                                                                                                       \
        kernel args;                                                                                                   \
    }

TILE(q4_0, tile_small, (tile, n, 8, 8, false))
TILE(q4_1, tile_small, (tile, n, 8, 0, true))
TILE(q5_0, tile_small, (tile, n, 4, 16, false))
TILE(q5_1, tile_small, (tile, n, 4, 0, true))
TILE(bytes, tile_bytes, (tile, n))
TILE(q2_k, tile_k, (tile, n, 4, 4))
TILE(q3_k, tile_less, (tile, n, 4, 2))
TILE(q4_k, tile_k, (tile, n, 8, 8))
TILE(q5_k, tile_k, (tile, n, 4, 8))
TILE(q6_k, tile_less, (tile, n, 2, 5))
TILE(iq4_xs, tile_xs, (tile, n))

#undef TILE

/* The kernels of each format: for one activation row, and for TILE_ROWS. */
static const struct {
    void (*one)(const struct tile *tile);
    void (*four)(const struct tile *tile);
} tiles[ELEM_TYPE_COUNT] = {
    [ELEM_Q4_0] = { q4_0_one, q4_0_four },     [ELEM_Q4_1] = { q4_1_one, q4_1_four },
    [ELEM_Q5_0] = { q5_0_one, q5_0_four },     [ELEM_Q5_1] = { q5_1_one, q5_1_four },
    [ELEM_Q8_0] = { bytes_one, bytes_four },   [ELEM_Q2_K] = { q2_k_one, q2_k_four },
    [ELEM_Q3_K] = { q3_k_one, q3_k_four },     [ELEM_Q4_K] = { q4_k_one, q4_k_four },
    [ELEM_Q5_K] = { q5_k_one, q5_k_four },     [ELEM_Q6_K] = { q6_k_one, q6_k_four },
    [ELEM_IQ4_NL] = { bytes_one, bytes_four }, [ELEM_IQ4_XS] = { iq4_xs_one, iq4_xs_four },
};

static const struct avx2_format *format_of(uint32_t type)
{
    return kern_act_of(type) == KERN_ACT_Q32 ? &avx2_small_formats[type] : &avx2_super_formats[type];
}

/* Up to eight neighbouring weight rows; where fewer exist, the last one is repeated. */
struct weight_rows {
    uint32_t first;
    uint32_t n;
    uint8_t spread[PANEL_ROWS][ELEM_PANEL_BLOCK_MAX]; /* their blocks, if the weights come in panels of sixteen */
};

static uint32_t row_of(const struct weight_rows *rows, uint32_t i)
{
    return rows->first + (i < rows->n ? i : rows->n - 1);
}

/* Writes where the blocks from column @col on of @rows are: as many as a panel of this set holds. */
static void find_blocks(const struct kern_matmul *op, struct weight_rows *rows, uint32_t col,
                        const uint8_t *at[PANEL_ROWS])
{
    const struct elem_info *info = elem_info(op->weights.type);
    const uint8_t *weights = op->weights.bytes;

    for (uint32_t i = 0; i < PANEL_ROWS; i++) {
        const uint32_t w = row_of(rows, i);
        const uint32_t lane = w % ELEM_PANEL_ROWS;

        if (op->weights.in_panels) {
            panel_row(op->weights.type, weights + (w - lane) * op->weights.row_bytes, op->weights.n_cols, lane, col,
                      rows->spread[i]);
            at[i] = rows->spread[i];
        } else {
            at[i] = weights + w * op->weights.row_bytes + (size_t)col / info->n_block * info->n_bytes;
        }
    }
}

/* Multiplies @rows with @n_rows activation rows from @row on, into @acc. */
static void panel_by_group(const struct kern_matmul *op, struct weight_rows *rows, uint32_t row, uint32_t n_rows,
                           float (*acc)[PANEL_ROWS])
{
    const struct elem_info *info = elem_info(op->weights.type);
    const struct avx2_format *format = format_of(op->weights.type);
    const uint8_t *at[PANEL_ROWS];
    struct panel panel;
    struct tile tile = { .panel = &panel, .op = op };

    memset(acc, 0, n_rows * sizeof(acc[0]));
    for (uint32_t col = 0; col < op->weights.n_cols; col += PANEL_COLS) {
        const uint32_t n_cols = op->weights.n_cols - col < PANEL_COLS ? op->weights.n_cols - col : PANEL_COLS;
        uint32_t r = 0;

        find_blocks(op, rows, col, at);
        format->open(&panel, at, n_cols / info->n_block);
        tile.col = col;
        tile.n_blocks = n_cols / info->n_block;
        for (; r + TILE_ROWS <= n_rows; r += TILE_ROWS) {
            tile.row = row + r;
            tile.acc = &acc[r];
            tiles[op->weights.type].four(&tile);
        }
        for (; r < n_rows; r++) {
            tile.row = row + r;
            tile.acc = &acc[r];
            tiles[op->weights.type].one(&tile);
        }
    }
}

static void panel_by_all(const struct kern_matmul *op, struct weight_rows *rows)
{
    _Alignas(32) float acc[GROUP_ROWS][PANEL_ROWS];

    for (uint32_t row = 0; row < op->n_rows; row += GROUP_ROWS) {
        const uint32_t n_rows = op->n_rows - row < GROUP_ROWS ? op->n_rows - row : GROUP_ROWS;

        panel_by_group(op, rows, row, n_rows, acc);
        for (uint32_t r = 0; r < n_rows; r++) {
            memcpy(op->out + (row + r) * op->out_stride + rows->first, acc[r], rows->n * sizeof(float));
        }
    }
}

/* Multiplies @rows with the only activation row. */
static void rows_by_one(const struct kern_matmul *op, struct weight_rows *rows)
{
    const struct kern_act_row act = kern_act_at(kern_act_of(op->weights.type), op->weights.n_cols, op->acts);
    const uint8_t *at[PANEL_ROWS];
    float out[PANEL_ROWS];

    find_blocks(op, rows, 0, at);
    format_of(op->weights.type)->one(at, op->weights.n_cols, &act, out);
    memcpy(op->out + rows->first, out, rows->n * sizeof(float));
}

static void matmul_blocks(const struct kern_matmul *op, uint32_t first, uint32_t n)
{
    struct weight_rows rows;

    for (uint32_t w = first; w < first + n; w += PANEL_ROWS) {
        rows.first = w;
        rows.n = first + n - w < PANEL_ROWS ? first + n - w : PANEL_ROWS;
        if (op->n_rows == 1 && !op->weights.in_panels) {
            rows_by_one(op, &rows);
        } else {
            panel_by_all(op, &rows);
        }
    }
}

void avx2_matmul(const struct kern_matmul *op, uint32_t first, uint32_t n)
{
    if (kern_act_of(op->weights.type) == KERN_ACT_F32) {
        vec_matmul_floats(op, first, n);
    } else if (format_of(op->weights.type)->open) {
        matmul_blocks(op, first, n);
    } else {
        ref_matmul(op, first, n); /* this set has no kernels for the format */
    }
}

void kern_fill_avx2_dot(struct kern_ops *ops)
{
    ops->matmul = avx2_matmul;
}
