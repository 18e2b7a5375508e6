/*
 * Avx512_dot: matrix products of weights in blocks
 *
 * Weight rows go by sixteen (avx512.h), 256 columns at a time. With many activation rows each piece is opened and
 * multiplied with a whole group of them, up to twelve at a time, so that a weight is read from memory and unpacked once
 * for the whole step: twelve sums of integers, twelve of floats and a weight fill the registers. With few, pieces of
 * panels are multiplied as they are. One activation row and weights in the order of the file are left to avx2.
 */
#include "kern/avx512.h"
#include "kern/set.h"

#define GROUP_ROWS  96 /* activation rows that share one opening; their sums take 6 KiB */
#define NARROW_ROWS 8  /* activation rows from which on opening pays, less one */

/* Runs the kernels of @n_widths widths, the widest first, until @n_rows are done. */
static void run_tiles(struct tile *tile, uint32_t n_rows, void (*const *kernels)(const struct tile *tile),
                      const uint32_t *widths, uint32_t n_widths)
{
    for (uint32_t i = 0; i < n_widths; i++) {
        for (; n_rows >= widths[i]; n_rows -= widths[i]) {
            kernels[i](tile);
            tile->acts += widths[i] * tile->act_bytes;
            tile->acc += widths[i];
        }
    }
}

/* Multiplies a piece with @n_rows activation rows. */
static void run_piece(const struct kern_matmul *op, struct tile *tile, uint32_t n_rows)
{
    static const uint32_t widths[AVX512_WIDTHS] = { 12, 8, 4, 2, 1 };
    const struct avx512_format *format = &avx512_formats[op->weights.type];
    struct opened opened;

    if (n_rows <= NARROW_ROWS && tile->source->panel) {
        run_tiles(tile, n_rows, format->narrow, widths + 1, AVX512_WIDTHS - 1);
        return;
    }
    format->open(&opened, tile->source, tile->n_blocks);
    tile->opened = &opened;
    run_tiles(tile, n_rows, format->wide->run, widths, AVX512_WIDTHS);
}

/* Multiplies the weight rows at @source with @n_rows activation rows from @row on, into @acc. */
static void rows_by_group(const struct kern_matmul *op, struct row_source source, uint32_t row, uint32_t n_rows,
                          float (*acc)[PANEL_ROWS])
{
    const struct elem_info *info = elem_info(op->weights.type);

    memset(acc, 0, n_rows * sizeof(acc[0]));
    for (uint32_t col = 0; col < op->weights.n_cols; col += PANEL_COLS) {
        const uint32_t n_cols = op->weights.n_cols - col < PANEL_COLS ? op->weights.n_cols - col : PANEL_COLS;
        const uint32_t n_blocks = n_cols / info->n_block;
        const size_t n_bytes = (size_t)n_blocks * info->n_bytes; /* of a row */
        struct tile tile = {
            .source = &source,
            .acts = (const char *)op->acts + row * op->act_bytes,
            .act_bytes = op->act_bytes,
            .n_cols = op->weights.n_cols,
            .col = col,
            .n_blocks = n_blocks,
            .n_bytes = n_bytes * PANEL_ROWS,
            .acc = acc,
        };

        run_piece(op, &tile, n_rows);
        for (uint32_t i = 0; i < PANEL_ROWS; i++) {
            source.rows[i] += n_bytes;
        }
        if (source.panel) {
            source.panel += n_bytes * PANEL_ROWS;
        }
    }
}

/* Multiplies weight rows @w .. @w + @n - 1, which are the rows from @lane on of @source, with all activation rows. */
static void rows_by_all(const struct kern_matmul *op, const struct row_source *source, uint32_t w, uint32_t n,
                        uint32_t lane)
{
    _Alignas(64) float acc[GROUP_ROWS][PANEL_ROWS];

    for (uint32_t row = 0; row < op->n_rows; row += GROUP_ROWS) {
        const uint32_t n_rows = op->n_rows - row < GROUP_ROWS ? op->n_rows - row : GROUP_ROWS;

        rows_by_group(op, *source, row, n_rows, acc);
        for (uint32_t r = 0; r < n_rows; r++) {
            memcpy(op->out + (row + r) * op->out_stride + w, &acc[r][lane], n * sizeof(float));
        }
    }
}

static void matmul(const struct kern_matmul *op, uint32_t first, uint32_t n)
{
    const uint8_t *weights = op->weights.bytes;
    struct row_source source = { .panel = NULL };

    if (kern_act_of(op->weights.type) == KERN_ACT_F32) {
        avx512_matmul_floats(op, first, n);
        return;
    }
    if (!avx512_formats[op->weights.type].open || (op->n_rows == 1 && !op->weights.in_panels)) {
        avx2_matmul(op, first, n);
        return;
    }
    for (uint32_t w = first, n_now; w < first + n; w += n_now) {
        const uint32_t lane = op->weights.in_panels ? w % PANEL_ROWS : 0;

        n_now = first + n - w < PANEL_ROWS - lane ? first + n - w : PANEL_ROWS - lane;
        if (op->weights.in_panels) {
            source.panel = weights + (w - lane) * op->weights.row_bytes;
        }
        for (uint32_t i = 0; i < PANEL_ROWS; i++) { /* rows that are missing repeat the last */
            source.rows[i] = weights + (w + (i < n_now ? i : n_now - 1)) * op->weights.row_bytes;
        }
        rows_by_all(op, &source, w, n_now, lane);
    }
}

void kern_fill_avx512_dot(struct kern_ops *ops)
{
    ops->matmul = matmul;
}
