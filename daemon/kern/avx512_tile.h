/*
 * Avx512_tile: a piece of sixteen weight rows times up to twelve activation rows; private to the set
 *
 * Everything is inlined: the number of rows and the functions that load weights are constants, so that sums and weights
 * stay in registers. Sums of floats wait in tile->acc between pieces.
 */
#ifndef SOTTO_KERN_AVX512_TILE_H
#define SOTTO_KERN_AVX512_TILE_H

#include "kern/avx512.h"

#define LINE_BYTES 64 /* of a cache line */
#define TILE_ROWS  12 /* activation rows that have their sums in registers together, at most */

/* Loads run @j, and what its weights are scaled by (blocks of 32). */
typedef void (*load_fn)(const struct tile *tile, uint32_t j, __m512i q[RUN_REGS], __m512 *ret_d, __m512 *ret_m);

AVX512_INLINE __m512i load(const void *place)
{
    return _mm512_load_si512(place);
}

/* Returns four bytes, which need not be aligned, in each lane. */
AVX512_INLINE __m512i spread(const void *bytes)
{
    int32_t word;

    memcpy(&word, bytes, sizeof(word));
    return _mm512_set1_epi32(word);
}

AVX512_INLINE struct kern_act_row act_row(const struct tile *tile, enum kern_act act, uint32_t t)
{
    return kern_act_at(act, tile->n_cols, tile->acts + t * tile->act_bytes);
}

/* Adds to @sum the products of @n registers with the activations from column @col on. The registers are @q or, where
 * that is NULL, memory at @w: there is no register left for them with many activation rows. */
AVX512_INLINE void add_dots(__m512i *sum, const __m512i *q, const uint8_t (*w)[4 * PANEL_ROWS], uint32_t n,
                            const struct tile *tile, uint32_t n_rows, uint32_t col)
{
    for (uint32_t k = 0; k < n; k++) {
        const __m512i weights = q ? q[k] : load(w[k]);

        for (uint32_t t = 0; t < n_rows; t++) {
            sum[t] = _mm512_dpbusd_epi32(sum[t], weights, spread(tile->acts + t * tile->act_bytes + col + 4 * k));
        }
    }
}

/*
 * Prefetches what lies one piece ahead of run @j. Only Q6_K needs it: the processor does not foresee the order in which
 * its pieces are read (scales, then the two places of low and of high bits by turns), and they came from memory at a
 * quarter of its bandwidth. The other formats are read upwards, and prefetching halved the speed of Q4_0. A piece's
 * lines are spread over the runs, because the processor can wait for a few lines only. Prefetching does not fault
 * behind the weights.
 */
AVX512_INLINE void prefetch_run(const struct tile *tile, uint32_t j)
{
    const size_t per_run = tile->n_bytes / PANEL_RUNS;
    const uint8_t *ahead = tile->source->panel + tile->n_bytes + j * per_run;

    for (size_t at = 0; at < per_run; at += LINE_BYTES) {
        _mm_prefetch((const char *)ahead + at, _MM_HINT_T0);
    }
}

/* Blocks of 32. @offset: what every byte is above its weight. @load_run: NULL, if the piece was opened. */
AVX512_INLINE void tile_small(const struct tile *tile, uint32_t n_rows, int offset, bool has_m, load_fn load_run)
{
    __m512 acc[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        acc[t] = _mm512_load_ps(tile->acc[t]);
    }
    for (uint32_t j = 0; j < tile->n_blocks; j++) {
        const uint32_t block = tile->col / BLOCK_SMALL + j;
        __m512i sum[TILE_ROWS], q[RUN_REGS];
        __m512 d, m;

        if (load_run) {
            load_run(tile, j, q, &d, &m);
        } else {
            d = _mm512_load_ps(tile->opened->d[j]);
            m = has_m ? _mm512_load_ps(tile->opened->m[j]) : _mm512_setzero_ps();
        }
        for (uint32_t t = 0; t < n_rows; t++) {
            sum[t] = offset == 0 ? _mm512_setzero_si512()
                                 : _mm512_set1_epi32(-offset * act_row(tile, KERN_ACT_Q32, t).sum[block]);
        }
        add_dots(sum, load_run ? q : NULL, load_run ? NULL : tile->opened->w[j], RUN_REGS, tile, n_rows,
                 BLOCK_SMALL * block);
        for (uint32_t t = 0; t < n_rows; t++) {
            const struct kern_act_row act = act_row(tile, KERN_ACT_Q32, t);
            const __m512 scale = _mm512_mul_ps(d, _mm512_set1_ps(act.d[block]));

            acc[t] = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(sum[t]), acc[t]);
            if (has_m) {
                acc[t] = _mm512_fmadd_ps(m, _mm512_set1_ps(act.s[block]), acc[t]);
            }
        }
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        _mm512_store_ps(tile->acc[t], acc[t]);
    }
}

/* Returns the sums over the block that go with opened->pair: mins or scales times sums of activations. */
AVX512_INLINE __m512i pair_sums(const struct opened *opened, const int16_t *sum16)
{
    __m512i sum = _mm512_setzero_si512();

    for (uint32_t j = 0; j < 8; j++) {
        sum = _mm512_dpwssd_epi32(sum, load(opened->pair[j]), spread(sum16 + 2 * j));
    }
    return sum;
}

/* Adds to @sum the products of run @j, of which each @n_scaled registers have a scale. */
AVX512_INLINE void add_run(__m512i *sum, const struct tile *tile, const struct opened *head, uint32_t n_rows,
                           uint32_t n_scaled, uint32_t j, load_fn load_run)
{
    __m512i q[RUN_REGS];

    if (load_run) {
        load_run(tile, j, q, NULL, NULL);
    }
    for (uint32_t k = 0; k < RUN_REGS; k += n_scaled) {
        const __m512i scale = load(head->scale[(RUN_REGS * j + k) / n_scaled]);
        __m512i run[TILE_ROWS];

        for (uint32_t t = 0; t < n_rows; t++) {
            run[t] = _mm512_setzero_si512();
        }
        add_dots(run, load_run ? q + k : NULL, load_run ? NULL : tile->opened->w[j] + k, n_scaled, tile, n_rows,
                 tile->col + RUN_COLS * j + 4 * k);
        for (uint32_t t = 0; t < n_rows; t++) {
            sum[t] = _mm512_add_epi32(sum[t], _mm512_mullo_epi32(run[t], scale));
        }
    }
}

/*
 * Super-blocks, with a scale for each @n_scaled registers. Either each of their runs has a min (Q2_K, Q4_K, Q5_K;
 * @shift is 0), or every byte is 2^shift above its weight (Q3_K, Q6_K, IQ4_XS): the sum of (w - 2^shift) q is that of
 * w q less 2^shift times that of q. @load_run: NULL, if the piece was opened.
 */
AVX512_INLINE void tile_super(const struct tile *tile, const struct opened *head, uint32_t n_rows, uint32_t n_scaled,
                              unsigned shift, load_fn load_run)
{
    const uint32_t block = tile->col / BLOCK_SUPER;
    __m512i sum[TILE_ROWS];

    for (uint32_t t = 0; t < n_rows; t++) {
        sum[t] = _mm512_setzero_si512();
    }
    for (uint32_t j = 0; j < PANEL_RUNS; j++) {
        add_run(sum, tile, head, n_rows, n_scaled, j, load_run);
    }
    for (uint32_t t = 0; t < n_rows; t++) {
        const struct kern_act_row act = act_row(tile, KERN_ACT_Q256, t);
        const __m512i pairs = pair_sums(head, act.sum16 + 16 * block);
        const __m512i less = shift == 0 ? sum[t] : _mm512_sub_epi32(sum[t], _mm512_slli_epi32(pairs, shift));
        const __m512 d = _mm512_mul_ps(_mm512_load_ps(head->d[0]), _mm512_set1_ps(act.d[block]));
        __m512 acc = _mm512_load_ps(tile->acc[t]);

        acc = _mm512_fmadd_ps(d, _mm512_cvtepi32_ps(less), acc);
        if (shift == 0) {
            const __m512 m = _mm512_mul_ps(_mm512_load_ps(head->m[0]), _mm512_set1_ps(act.d[block]));

            acc = _mm512_fnmadd_ps(m, _mm512_cvtepi32_ps(pairs), acc);
        }
        _mm512_store_ps(tile->acc[t], acc);
    }
}

#endif
