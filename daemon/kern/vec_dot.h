/*
 * Vec_dot: matrix products of eight weight rows at once, the same for several sets; private to the module
 *
 * Included once in a file of each set, which is compiled with the flags of its processors. With many activation rows
 * each piece of 256 columns is opened into memory, and multiplied with a group of them, so that a weight is read from
 * memory and unpacked once for the whole step. With few, pieces of panels are multiplied as they are, and so are rows
 * of a file with a single one: storing what was opened would take longer than to multiply.
 *
 * A panel has sixteen rows. Each piece of it is used as two times eight, one after the other, so that its cache lines
 * come from memory once.
 */
#ifndef SOTTO_KERN_VEC_DOT_H
#define SOTTO_KERN_VEC_DOT_H

#include "kern/set.h"
#include "kern/vec_open.h"

#define GROUP_ROWS 96 /* activation rows that share one opening; their sums take 6 KiB */
#define N_WIDTHS   4  /* kernels for 8, 4, 2 and 1 activation rows */
#define MAX_WIDTH  8
#define HALVES     (ELEM_PANEL_ROWS / LANES)

/* 256 columns of eight weight rows. Blocks of 32 use d and m, super-blocks head. */
struct vec_opened {
    _Alignas(64) uint8_t w[N_RUNS][RUN_REGS][32]; /* by vec_put() */
    vecf d[N_RUNS], m[N_RUNS];
    struct head head;
};

/* One piece and the activation rows that it is multiplied with. */
struct vec_tile {
    const struct vec_piece *piece;
    const struct vec_opened *opened; /* NULL: the piece is used as it is */
    const int8_t *acts;              /* first activation row */
    size_t act_bytes;
    uint32_t n_cols; /* of a whole row */
    uint32_t col;    /* first column of the piece */
    float *acc;      /* of the first activation row; those of the next are ELEM_PANEL_ROWS apart */
};

typedef void (*tile_fn)(const struct vec_tile *tile);

typedef void (*run_fn)(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS]);
typedef void (*head_fn)(const struct vec_piece *piece, struct head *head);

struct format {
    void (*open)(const struct vec_piece *piece, struct vec_opened *opened);
    const tile_fn *wide;   /* [N_WIDTHS], of what was opened */
    tile_fn few[N_WIDTHS]; /* of panels; the first is NULL, since opening pays */
    tile_fn one;           /* of rows of a file, by one activation row; NULL: none */
};

/* ---- tiles: everything is inlined, with constants for all but the tile ---- */

VEC_INLINE struct kern_act_row act_row(const struct vec_tile *tile, enum kern_act act, uint32_t t)
{
    return kern_act_at(act, tile->n_cols, tile->acts + t * tile->act_bytes);
}

/* Adds to @sum the products of @n registers of run @j, from register @k on. */
VEC_INLINE void add_dots(veci *sum, const struct vec_tile *tile, const veci q[RUN_REGS], uint32_t j, uint32_t k,
                         uint32_t n, uint32_t n_rows)
{
    const int8_t *acts = tile->acts + tile->col + RUN_COLS * j + 4 * k;

    if (!q) {
        vec_dots(sum, tile->opened->w[j] + k, n, acts, tile->act_bytes, n_rows);
        return;
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        sum[t] = vec_dot(sum[t], q + k, acts + t * tile->act_bytes);
        if (n == RUN_REGS) { /* a sum of its own: one chain would wait for itself */
            sum[t] = veci_add(sum[t], vec_dot(veci_set(0), q + k + 4, acts + t * tile->act_bytes + 16));
        }
    }
}

/* Blocks of 32. @above: what every byte is above its weight. @run: NULL, if the piece was opened. */
VEC_INLINE void tile_small(const struct vec_tile *tile, uint32_t n_rows, int above, bool has_m, run_fn run)
{
    vecf acc[MAX_WIDTH];

    for (uint32_t t = 0; t < n_rows; t++) {
        acc[t] = vecf_load(tile->acc + ELEM_PANEL_ROWS * t);
    }
    for (uint32_t j = 0; j < tile->piece->n_blocks; j++) {
        const uint32_t block = tile->col / BLOCK_SMALL + j;
        veci sum[MAX_WIDTH], q[RUN_REGS];
        vecf d, m;

        if (run) {
            run(tile->piece, j, q);
            d = scale_of(tile->piece, j, has_m, &m);
        } else {
            d = tile->opened->d[j];
            m = has_m ? tile->opened->m[j] : d;
        }
        for (uint32_t t = 0; t < n_rows; t++) {
            sum[t] = veci_set(above == 0 ? 0 : -above * act_row(tile, KERN_ACT_Q32, t).sum[block]);
        }
        add_dots(sum, tile, run ? q : NULL, j, 0, RUN_REGS, n_rows);
        for (uint32_t t = 0; t < n_rows; t++) {
            const struct kern_act_row act = act_row(tile, KERN_ACT_Q32, t);

            acc[t] = vecf_fma(vecf_mul(d, vecf_set(act.d[block])), vecf_of(sum[t]), acc[t]);
            if (has_m) {
                acc[t] = vecf_fma(m, vecf_set(act.s[block]), acc[t]);
            }
        }
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        vecf_store(tile->acc + ELEM_PANEL_ROWS * t, acc[t]);
    }
}

/* Adds to @acc what a super-block with the sum of integers @sum gives; see tile_super(). */
VEC_INLINE vecf add_super(vecf acc, const struct head *head, const struct kern_act_row *act, uint32_t block, veci sum,
                          bool has_min, int above)
{
    const vecf act_d = vecf_set(act->d[block]);
    veci pairs = veci_set(0);

    for (uint32_t j = 0; j < 8 && (has_min || above > 0); j++) {
        pairs = vec_add_pair(pairs, head->pair[j], act->sum16 + 16 * block + 2 * j);
    }
    if (above > 0) {
        sum = veci_sub(sum, veci_mul(pairs, veci_set(above)));
    }
    acc = vecf_fma(vecf_mul(head->d, act_d), vecf_of(sum), acc);
    return has_min ? vecf_fnma(vecf_mul(head->m, act_d), vecf_of(pairs), acc) : acc;
}

/*
 * Super-blocks, with a scale for each @n_scaled registers. Either their runs have mins, or every byte is @above its
 * weight: the sum of (w - above) q is that of w q less above times that of q. @run: NULL, if the piece was opened.
 */
VEC_INLINE void tile_super(const struct vec_tile *tile, const struct head *head, uint32_t n_rows, uint32_t n_scaled,
                           bool has_min, int above, run_fn run)
{
    const uint32_t block = tile->col / BLOCK_SUPER;
    veci sum[MAX_WIDTH];

    for (uint32_t t = 0; t < n_rows; t++) {
        sum[t] = veci_set(0);
    }
    for (uint32_t j = 0; j < N_RUNS; j++) {
        veci q[RUN_REGS];

        if (run) {
            run(tile->piece, j, q);
        }
        for (uint32_t k = 0; k < RUN_REGS; k += n_scaled) {
            const veci scale = head->scale[(RUN_REGS * j + k) / n_scaled];
            veci part[MAX_WIDTH];

            for (uint32_t t = 0; t < n_rows; t++) {
                part[t] = veci_set(0);
            }
            add_dots(part, tile, run ? q : NULL, j, k, n_scaled, n_rows);
            for (uint32_t t = 0; t < n_rows; t++) {
                sum[t] = veci_add(sum[t], veci_mul(part[t], scale));
            }
        }
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        const struct kern_act_row act = act_row(tile, KERN_ACT_Q256, t);
        const vecf acc = vecf_load(tile->acc + ELEM_PANEL_ROWS * t);

        vecf_store(tile->acc + ELEM_PANEL_ROWS * t, add_super(acc, head, &act, block, sum[t], has_min, above));
    }
}

/* ---- formats ---- */

VEC_INLINE void open_small(const struct vec_piece *piece, struct vec_opened *opened, bool has_m, run_fn run)
{
    for (uint32_t j = 0; j < piece->n_blocks; j++) {
        veci q[RUN_REGS];

        run(piece, j, q);
        vec_put(opened->w[j], q);
        opened->d[j] = scale_of(piece, j, has_m, &opened->m[j]);
    }
}

VEC_INLINE void open_super(const struct vec_piece *piece, struct vec_opened *opened, run_fn run, head_fn load_head)
{
    load_head(piece, &opened->head);
    for (uint32_t j = 0; j < N_RUNS; j++) {
        veci q[RUN_REGS];

        run(piece, j, q);
        vec_put(opened->w[j], q);
    }
}

/* Returns @piece with the constants of a format. */
VEC_INLINE struct vec_piece piece_as(const struct vec_piece *piece, bool in_panel, size_t n_bytes, size_t half_at)
{
    struct vec_piece same = *piece;

    same.in_panel = in_panel;
    same.n_bytes = n_bytes;
    same.half_at = half_at;
    return same;
}

/* A kernel that uses pieces as they are. */
#define AS_THEY_ARE(name, format, half, in_panel, ...)                                                                 \
    static void name(const struct vec_tile *tile)                                                                      \
    {                                                                                                                  \
        const struct vec_piece piece = piece_as(tile->piece, in_panel, sizeof(struct block_##format), half);           \
        struct vec_tile constant = *tile;                                                                              \
                                                                                                                       \
        constant.piece = &piece;                                                                                       \
        __VA_ARGS__;                                                                                                   \
    }

#define SMALL(format, half, above, has_m)                                                                              \
    static void open_##format(const struct vec_piece *piece, struct vec_opened *opened)                                \
    {                                                                                                                  \
        if (piece->panel) {                                                                                            \
            const struct vec_piece same = piece_as(piece, true, sizeof(struct block_##format), half);                  \
                                                                                                                       \
            open_small(&same, opened, has_m, run_##format);                                                            \
        } else {                                                                                                       \
            const struct vec_piece same = piece_as(piece, false, sizeof(struct block_##format), half);                 \
                                                                                                                       \
            open_small(&same, opened, has_m, run_##format);                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    AS_THEY_ARE(format##_one, format, half, false, tile_small(&constant, 1, above, has_m, run_##format))               \
    AS_THEY_ARE(format##_by_1, format, half, true, tile_small(&constant, 1, above, has_m, run_##format))               \
    AS_THEY_ARE(format##_by_2, format, half, true, tile_small(&constant, 2, above, has_m, run_##format))               \
    AS_THEY_ARE(format##_by_4, format, half, true, tile_small(&constant, 4, above, has_m, run_##format))

VEC_INLINE void super_as_is(const struct vec_tile *tile, uint32_t n_rows, uint32_t n_scaled, bool has_min, int above,
                            run_fn run, head_fn load_head)
{
    struct head head;

    load_head(tile->piece, &head);
    tile_super(tile, &head, n_rows, n_scaled, has_min, above, run);
}

#define SUPER_BY(format, n, n_scaled, has_min, above)                                                                  \
    super_as_is(&constant, n, n_scaled, has_min, above, run_##format, head_##format)

#define SUPER(format, half, n_scaled, has_min, above)                                                                  \
    static void open_##format(const struct vec_piece *piece, struct vec_opened *opened)                                \
    {                                                                                                                  \
        if (piece->panel) {                                                                                            \
            const struct vec_piece same = piece_as(piece, true, sizeof(struct block_##format), half);                  \
                                                                                                                       \
            open_super(&same, opened, run_##format, head_##format);                                                    \
        } else {                                                                                                       \
            const struct vec_piece same = piece_as(piece, false, sizeof(struct block_##format), half);                 \
                                                                                                                       \
            open_super(&same, opened, run_##format, head_##format);                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    AS_THEY_ARE(format##_one, format, half, false, SUPER_BY(format, 1, n_scaled, has_min, above))                      \
    AS_THEY_ARE(format##_by_1, format, half, true, SUPER_BY(format, 1, n_scaled, has_min, above))                      \
    AS_THEY_ARE(format##_by_2, format, half, true, SUPER_BY(format, 2, n_scaled, has_min, above))                      \
    AS_THEY_ARE(format##_by_4, format, half, true, SUPER_BY(format, 4, n_scaled, has_min, above))

#define HALF_FIRST        0
#define HALF_LAST(format) offsetof(struct block_##format, d)
#define NO_HALF           SIZE_MAX

SMALL(q4_0, HALF_FIRST, 8, false)
SMALL(q4_1, NO_HALF, 0, true)
SMALL(q5_0, HALF_FIRST, 16, false)
SMALL(q5_1, NO_HALF, 0, true)
SMALL(q8_0, HALF_FIRST, VEC_ABOVE, false)
SMALL(iq4_nl, HALF_FIRST, VEC_ABOVE, false)
SUPER(q2_k, NO_HALF, 4, true, 0)
SUPER(q3_k, HALF_LAST(q3_k), 4, false, 4)
SUPER(q4_k, NO_HALF, 8, true, 0)
SUPER(q5_k, NO_HALF, 8, true, 0)
SUPER(q6_k, HALF_LAST(q6_k), 4, false, 32)
SUPER(iq4_xs, NO_HALF, 8, false, VEC_ABOVE)

/* ---- many activation rows, from what was opened ---- */

#define WIDE_SMALL(kind, n, above, has_m)                                                                              \
    static void kind##_##n(const struct vec_tile *tile)                                                                \
    {                                                                                                                  \
        tile_small(tile, n, above, has_m, NULL);                                                                       \
    }

#define WIDE_SUPER(kind, n, n_scaled, has_min, above)                                                                  \
    static void kind##_##n(const struct vec_tile *tile)                                                                \
    {                                                                                                                  \
        tile_super(tile, &tile->opened->head, n, n_scaled, has_min, above, NULL);                                      \
    }

#define WIDE(kind, wide, ...)                                                                                          \
    wide(kind, 8, __VA_ARGS__) wide(kind, 4, __VA_ARGS__) wide(kind, 2, __VA_ARGS__)                                   \
        wide(kind, 1, __VA_ARGS__) static const tile_fn kind[N_WIDTHS] = { kind##_8, kind##_4, kind##_2, kind##_1 };

WIDE(less_8, WIDE_SMALL, 8, false)
WIDE(less_16, WIDE_SMALL, 16, false)
WIDE(as_signed, WIDE_SMALL, VEC_ABOVE, false)
WIDE(with_m, WIDE_SMALL, 0, true)
WIDE(by_16_min, WIDE_SUPER, 4, true, 0)
WIDE(by_32_min, WIDE_SUPER, 8, true, 0)
WIDE(by_16_less_4, WIDE_SUPER, 4, false, 4)
WIDE(by_16_less_32, WIDE_SUPER, 4, false, 32)
WIDE(by_32_signed, WIDE_SUPER, 8, false, VEC_ABOVE)

#define ROW(format, wide)                                                                                              \
    {                                                                                                                  \
        open_##format, wide, { NULL, format##_by_4, format##_by_2, format##_by_1 },                                    \
            VEC_ROWS_BY_ONE ? format##_one : NULL                                                                      \
    }

/* Rows without open: there are no kernels for the type. */
static const struct format formats[ELEM_TYPE_COUNT] = {
    [ELEM_Q4_0] = ROW(q4_0, less_8),        [ELEM_Q4_1] = ROW(q4_1, with_m),
    [ELEM_Q5_0] = ROW(q5_0, less_16),       [ELEM_Q5_1] = ROW(q5_1, with_m),
    [ELEM_Q8_0] = ROW(q8_0, as_signed),     [ELEM_IQ4_NL] = ROW(iq4_nl, as_signed),
    [ELEM_Q2_K] = ROW(q2_k, by_16_min),     [ELEM_Q3_K] = ROW(q3_k, by_16_less_4),
    [ELEM_Q4_K] = ROW(q4_k, by_32_min),     [ELEM_Q5_K] = ROW(q5_k, by_32_min),
    [ELEM_Q6_K] = ROW(q6_k, by_16_less_32), [ELEM_IQ4_XS] = ROW(iq4_xs, by_32_signed),
};

/* ---- rows by rows ---- */

/* Runs the kernels of all widths, the widest first, until @n_rows are done. */
static void run_tiles(struct vec_tile tile, uint32_t n_rows, const tile_fn *kernels)
{
    static const uint32_t widths[N_WIDTHS] = { 8, 4, 2, 1 };

    for (uint32_t i = 0; i < N_WIDTHS; i++) {
        for (; kernels[i] && n_rows >= widths[i]; n_rows -= widths[i]) {
            kernels[i](&tile);
            tile.acts += widths[i] * tile.act_bytes;
            tile.acc += widths[i] * ELEM_PANEL_ROWS;
        }
    }
}

/* Multiplies a piece with @n_rows activation rows. */
static void run_piece(const struct format *format, struct vec_tile tile, uint32_t n_rows)
{
    struct vec_opened opened;

    if (tile.piece->panel && n_rows < MAX_WIDTH) {
        run_tiles(tile, n_rows, format->few);
    } else if (n_rows == 1 && format->one) {
        format->one(&tile);
    } else {
        format->open(tile.piece, &opened);
        tile.opened = &opened;
        run_tiles(tile, n_rows, format->wide);
    }
}

/* Sixteen weight rows from some column on, of which those from @from up to @to are wanted. */
struct rows {
    const uint8_t *rows[ELEM_PANEL_ROWS]; /* or */
    const uint8_t *panel;
    uint32_t from, to;
};

/* Multiplies the weight rows of @rows with @n_rows activation rows from @row on, into @acc. */
static void rows_by_group(const struct kern_matmul *op, struct rows rows, uint32_t row, uint32_t n_rows,
                          float (*acc)[ELEM_PANEL_ROWS])
{
    const struct elem_info *info = elem_info(op->weights.type);

    memset(acc, 0, n_rows * sizeof(acc[0]));
    for (uint32_t col = 0; col < op->weights.n_cols; col += ELEM_PANEL_COLS) {
        const uint32_t left = op->weights.n_cols - col;
        const uint32_t n_blocks = (left < ELEM_PANEL_COLS ? left : ELEM_PANEL_COLS) / info->n_block;
        const size_t n_bytes = (size_t)n_blocks * info->n_bytes; /* of a row */

        for (uint32_t lane = rows.from / LANES * LANES; lane < rows.to; lane += LANES) {
            const struct vec_piece piece = {
                .rows = rows.rows + lane, .panel = rows.panel, .lane = lane, .n_blocks = n_blocks
            };
            const struct vec_tile tile = {
                .piece = &piece,
                .acts = (const int8_t *)op->acts + row * op->act_bytes,
                .act_bytes = op->act_bytes,
                .n_cols = op->weights.n_cols,
                .col = col,
                .acc = acc[0] + lane,
            };

            run_piece(&formats[op->weights.type], tile, n_rows);
        }
        for (uint32_t i = 0; i < ELEM_PANEL_ROWS; i++) {
            rows.rows[i] += n_bytes;
        }
        rows.panel += rows.panel ? ELEM_PANEL_ROWS * n_bytes : 0;
    }
}

/* Multiplies weight rows @w .. of @rows with all activation rows. */
static void rows_by_all(const struct kern_matmul *op, const struct rows *rows, uint32_t w)
{
    _Alignas(64) float acc[GROUP_ROWS][ELEM_PANEL_ROWS];

    for (uint32_t row = 0; row < op->n_rows; row += GROUP_ROWS) {
        const uint32_t n_rows = op->n_rows - row < GROUP_ROWS ? op->n_rows - row : GROUP_ROWS;

        rows_by_group(op, *rows, row, n_rows, acc);
        for (uint32_t r = 0; r < n_rows; r++) {
            memcpy(op->out + (row + r) * op->out_stride + w, &acc[r][rows->from],
                   (rows->to - rows->from) * sizeof(float));
        }
    }
}

static void matmul(const struct kern_matmul *op, uint32_t first, uint32_t n)
{
    const uint8_t *weights = op->weights.bytes;
    struct rows rows = { .panel = NULL };

    if (kern_act_of(op->weights.type) == KERN_ACT_F32) {
        vec_matmul_floats(op, first, n);
        return;
    }
    if (!formats[op->weights.type].open) {
        ref_matmul(op, first, n); /* there are no kernels for the format */
        return;
    }
#ifdef __AVX2__
    if (op->n_rows == 1 && !op->weights.in_panels) {
        avx2_matmul(op, first, n);
        return;
    }
#endif
    for (uint32_t w = first; w < first + n; w += rows.to - rows.from) {
        const uint32_t left = first + n - w;

        rows.from = op->weights.in_panels ? w % ELEM_PANEL_ROWS : 0;
        rows.to = rows.from + (left < ELEM_PANEL_ROWS - rows.from ? left : ELEM_PANEL_ROWS - rows.from);
        if (op->weights.in_panels) {
            rows.panel = weights + (w - rows.from) * op->weights.row_bytes;
        }
        for (uint32_t i = 0; i < ELEM_PANEL_ROWS; i++) { /* rows that are missing repeat the last */
            rows.rows[i] =
                weights + (w + (i < rows.to - rows.from ? i : rows.to - rows.from - 1)) * op->weights.row_bytes;
        }
        rows_by_all(op, &rows, w);
    }
}

#endif
