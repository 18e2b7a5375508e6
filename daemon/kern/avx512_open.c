/*
 * Avx512_open: what each format has: a function that opens a piece into memory, for many activation rows, and kernels
 * that multiply a piece of a panel with few
 *
 * With few activation rows memory bounds the product, and storing what was opened would take longer than to multiply.
 * With many, opening once saves the most.
 */
#include "kern/avx512_run.h"
#include "kern/avx512_tile.h"

#define HALF_FIRST        0
#define HALF_LAST(format) offsetof(struct block_##format, d)
#define NO_HALF           SIZE_MAX

AVX512_INLINE void put_run(struct opened *opened, uint32_t j, const __m512i q[RUN_REGS])
{
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        put(opened->w[j][k], q[k]);
    }
}

#define NARROW(format, n, kernel, ...)                                                                                 \
    static void format##_by_##n(const struct tile *tile)                                                               \
    {                                                                                                                  \
        kernel(tile, __VA_ARGS__);                                                                                     \
    }

/* ---- blocks of 32 ---- */

#define SMALL(format, half, offset, has_m)                                                                             \
    AVX512_INLINE void open_piece_##format(struct opened *opened, const struct piece *piece)                           \
    {                                                                                                                  \
        for (uint32_t j = 0; j < piece->n_blocks; j++) {                                                               \
            __m512i q[RUN_REGS];                                                                                       \
            __m512 m;                                                                                                  \
                                                                                                                       \
            run_##format(piece, j, q);                                                                                 \
            put_run(opened, j, q);                                                                                     \
            _mm512_store_ps(opened->d[j], scale_of(piece, j, has_m, &m));                                              \
            if (has_m) {                                                                                               \
                _mm512_store_ps(opened->m[j], m);                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    AVX512_INLINE void load_##format(const struct tile *tile, uint32_t j, __m512i q[RUN_REGS], __m512 *ret_d,          \
                                     __m512 *ret_m)                                                                    \
    {                                                                                                                  \
        const struct piece piece = { tile->source, true, sizeof(struct block_##format), half, tile->n_blocks };        \
                                                                                                                       \
        run_##format(&piece, j, q);                                                                                    \
        *ret_d = scale_of(&piece, j, has_m, ret_m);                                                                    \
    }                                                                                                                  \
    NARROW(format, 1, tile_small, 1, offset, has_m, load_##format)                                                     \
    NARROW(format, 2, tile_small, 2, offset, has_m, load_##format)                                                     \
    NARROW(format, 4, tile_small, 4, offset, has_m, load_##format)                                                     \
    NARROW(format, 8, tile_small, 8, offset, has_m, load_##format)

/* ---- super-blocks ---- */

#define SUPER(format, half, n_scaled, shift, prefetches)                                                               \
    AVX512_INLINE void open_piece_##format(struct opened *opened, const struct piece *piece)                           \
    {                                                                                                                  \
        head_##format(piece, opened);                                                                                  \
        for (uint32_t j = 0; j < PANEL_RUNS; j++) {                                                                    \
            __m512i q[RUN_REGS];                                                                                       \
                                                                                                                       \
            run_##format(piece, j, q);                                                                                 \
            put_run(opened, j, q);                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    AVX512_INLINE void load_##format(const struct tile *tile, uint32_t j, __m512i q[RUN_REGS], __m512 *ret_d,          \
                                     __m512 *ret_m)                                                                    \
    {                                                                                                                  \
        const struct piece piece = { tile->source, true, sizeof(struct block_##format), half, 1 };                     \
                                                                                                                       \
        (void)ret_d;                                                                                                   \
        (void)ret_m;                                                                                                   \
        if (prefetches) {                                                                                              \
            prefetch_run(tile, j);                                                                                     \
        }                                                                                                              \
        run_##format(&piece, j, q);                                                                                    \
    }                                                                                                                  \
    AVX512_INLINE void narrow_##format(const struct tile *tile, uint32_t n_rows)                                       \
    {                                                                                                                  \
        const struct piece piece = { tile->source, true, sizeof(struct block_##format), half, 1 };                     \
        struct opened head;                                                                                            \
                                                                                                                       \
        head_##format(&piece, &head);                                                                                  \
        tile_super(tile, &head, n_rows, n_scaled, shift, load_##format);                                               \
    }                                                                                                                  \
    NARROW(format, 1, narrow_##format, 1)                                                                              \
    NARROW(format, 2, narrow_##format, 2)                                                                              \
    NARROW(format, 4, narrow_##format, 4)                                                                              \
    NARROW(format, 8, narrow_##format, 8)

/* The function that opens a piece, of rows or of a panel. */
#define OPEN(format, half)                                                                                             \
    static void open_##format(struct opened *opened, const struct row_source *source, uint32_t n_blocks)               \
    {                                                                                                                  \
        struct piece piece = { source, false, sizeof(struct block_##format), half, n_blocks };                         \
                                                                                                                       \
        if (source->panel) {                                                                                           \
            piece.in_panel = true;                                                                                     \
            open_piece_##format(opened, &piece);                                                                       \
        } else {                                                                                                       \
            open_piece_##format(opened, &piece);                                                                       \
        }                                                                                                              \
    }

SMALL(q4_0, HALF_FIRST, 8, false)
SMALL(q4_1, NO_HALF, 0, true)
SMALL(q5_0, HALF_FIRST, 16, false)
SMALL(q5_1, NO_HALF, 0, true)
SMALL(q8_0, HALF_FIRST, 128, false)
SMALL(iq4_nl, HALF_FIRST, 128, false)
SUPER(q2_k, NO_HALF, 4, 0, false)
SUPER(q3_k, HALF_LAST(q3_k), 4, 2, false)
SUPER(q4_k, NO_HALF, 8, 0, false)
SUPER(q5_k, NO_HALF, 8, 0, false)
SUPER(q6_k, HALF_LAST(q6_k), 4, 5, true)
SUPER(iq4_xs, NO_HALF, 8, 7, false)

OPEN(q4_0, HALF_FIRST)
OPEN(q4_1, NO_HALF)
OPEN(q5_0, HALF_FIRST)
OPEN(q5_1, NO_HALF)
OPEN(q8_0, HALF_FIRST)
OPEN(iq4_nl, HALF_FIRST)
OPEN(q2_k, NO_HALF)
OPEN(q3_k, HALF_LAST(q3_k))
OPEN(q4_k, NO_HALF)
OPEN(q5_k, NO_HALF)
OPEN(q6_k, HALF_LAST(q6_k))
OPEN(iq4_xs, NO_HALF)

/* ---- many activation rows, from what was opened ---- */

#define WIDE_SMALL(kind, n, offset, has_m)                                                                             \
    static void kind##_##n(const struct tile *tile)                                                                    \
    {                                                                                                                  \
        tile_small(tile, n, offset, has_m, NULL);                                                                      \
    }

#define WIDE_SUPER(kind, n, n_scaled, shift)                                                                           \
    static void kind##_##n(const struct tile *tile)                                                                    \
    {                                                                                                                  \
        tile_super(tile, tile->opened, n, n_scaled, shift, NULL);                                                      \
    }

#define WIDE(kind, wide, ...)                                                                                          \
    wide(kind, 12, __VA_ARGS__) wide(kind, 8, __VA_ARGS__) wide(kind, 4, __VA_ARGS__) wide(kind, 2, __VA_ARGS__)       \
        wide(kind, 1, __VA_ARGS__) static const struct avx512_wide kind = { { kind##_12, kind##_8, kind##_4, kind##_2, \
                                                                              kind##_1 } };

WIDE(less_8, WIDE_SMALL, 8, false)
WIDE(less_16, WIDE_SMALL, 16, false)
WIDE(less_128, WIDE_SMALL, 128, false)
WIDE(with_m, WIDE_SMALL, 0, true)
WIDE(by_16_min, WIDE_SUPER, 4, 0)
WIDE(by_32_min, WIDE_SUPER, 8, 0)
WIDE(by_16_less_4, WIDE_SUPER, 4, 2)
WIDE(by_16_less_32, WIDE_SUPER, 4, 5)
WIDE(by_32_less_128, WIDE_SUPER, 8, 7)

#define ROW(format, kind)                                                                                              \
    {                                                                                                                  \
        open_##format, { format##_by_8, format##_by_4, format##_by_2, format##_by_1 }, &kind                           \
    }

const struct avx512_format avx512_formats[ELEM_TYPE_COUNT] = {
    [ELEM_Q4_0] = ROW(q4_0, less_8),        [ELEM_Q4_1] = ROW(q4_1, with_m),
    [ELEM_Q5_0] = ROW(q5_0, less_16),       [ELEM_Q5_1] = ROW(q5_1, with_m),
    [ELEM_Q8_0] = ROW(q8_0, less_128),      [ELEM_IQ4_NL] = ROW(iq4_nl, less_128),
    [ELEM_Q2_K] = ROW(q2_k, by_16_min),     [ELEM_Q3_K] = ROW(q3_k, by_16_less_4),
    [ELEM_Q4_K] = ROW(q4_k, by_32_min),     [ELEM_Q5_K] = ROW(q5_k, by_32_min),
    [ELEM_Q6_K] = ROW(q6_k, by_16_less_32), [ELEM_IQ4_XS] = ROW(iq4_xs, by_32_less_128),
};
