/*
 * Avx512_float: matrix products of float weights: the sum of 16 in one register for each (weight row, activation row)
 *
 * Sixteen weight rows go together, four at a time by up to four activation rows: sixteen running registers. Their trees
 * are joined for the sixteen rows at once, so that the result is a register with a weight row in each lane. The last
 * columns are padded with -0 * 1: adding -0 changes no float.
 */
#include "kern/avx512_lane.h"
#include "kern/set.h"

#define TILE_ACTS 4

/* Sixteen weight rows and the activation rows that they are multiplied with. */
struct float_tile {
    const uint8_t *weights; /* of the first row */
    size_t row_bytes;
    uint32_t last; /* row; those behind it repeat it */
    uint32_t n_cols;
    const float *acts[TILE_ACTS];
};

/* Loads columns of @mask as floats; the others are -0. */
AVX512_INLINE __m512 load_weights(uint32_t type, const uint8_t *at, __mmask16 mask)
{
    const __m512 none = _mm512_set1_ps(-0.0f);
    __m256i half;

    if (type == ELEM_F32) {
        return _mm512_mask_loadu_ps(none, mask, at);
    }
    half = _mm256_maskz_loadu_epi16(mask, at);
    if (type == ELEM_F16) {
        return _mm512_mask_cvtph_ps(none, mask, half);
    }
    return _mm512_mask_mov_ps(none, mask, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16)));
}

/* Adds the products of @mask columns from @col on of rows @part, @part + 4, + 8 and + 12. */
AVX512_INLINE void add_products(uint32_t type, const struct float_tile *tile, uint32_t n_acts, const uint8_t *rows[4],
                                uint32_t col, __mmask16 mask, __m512 (*sum)[4])
{
    const size_t elem_bytes = type == ELEM_F32 ? 4 : 2;
    __m512 weights[4];

    for (uint32_t j = 0; j < 4; j++) {
        weights[j] = load_weights(type, rows[j] + col * elem_bytes, mask);
    }
    for (uint32_t t = 0; t < n_acts; t++) {
        const __m512 act = _mm512_mask_loadu_ps(_mm512_set1_ps(1.0f), mask, tile->acts[t] + col);

        for (uint32_t j = 0; j < 4; j++) {
            sum[t][j] = _mm512_fmadd_ps(weights[j], act, sum[t][j]);
        }
    }
}

/* Computes the products of sixteen weight rows with @n_acts activation rows, a weight row in each lane. */
AVX512_INLINE void multiply_tile(uint32_t type, const struct float_tile *tile, uint32_t n_acts, __m512 *ret_products)
{
    const uint32_t whole = tile->n_cols / LANES * LANES;
    __m512 four[TILE_ACTS][4];

    for (uint32_t part = 0; part < 4; part++) {
        const uint8_t *rows[4];
        __m512 sum[TILE_ACTS][4];

        for (uint32_t j = 0; j < 4; j++) {
            const uint32_t row = part + 4 * j < tile->last ? part + 4 * j : tile->last;

            rows[j] = tile->weights + row * tile->row_bytes;
            for (uint32_t t = 0; t < n_acts; t++) {
                sum[t][j] = _mm512_setzero_ps();
            }
        }
        for (uint32_t col = 0; col < whole; col += LANES) {
            add_products(type, tile, n_acts, rows, col, 0xffff, sum);
        }
        if (whole < tile->n_cols) {
            add_products(type, tile, n_acts, rows, whole, (__mmask16)((1u << (tile->n_cols - whole)) - 1), sum);
        }
        for (uint32_t t = 0; t < n_acts; t++) {
            four[t][part] = join_four(sum[t], add);
        }
    }
    for (uint32_t t = 0; t < n_acts; t++) {
        ret_products[t] = join_parts(four[t], add);
    }
}

AVX512_INLINE void multiply_type(uint32_t type, const struct float_tile *tile, uint32_t n_acts, __m512 *ret_products)
{
    switch (n_acts) {
    case 1:
        multiply_tile(type, tile, 1, ret_products);
        break;
    case 2:
        multiply_tile(type, tile, 2, ret_products);
        break;
    case 3:
        multiply_tile(type, tile, 3, ret_products);
        break;
    default:
        multiply_tile(type, tile, 4, ret_products);
        break;
    }
}

static void multiply(uint32_t type, const struct float_tile *tile, uint32_t n_acts, __m512 *ret_products)
{
    if (type == ELEM_F32) {
        multiply_type(ELEM_F32, tile, n_acts, ret_products);
    } else if (type == ELEM_F16) {
        multiply_type(ELEM_F16, tile, n_acts, ret_products);
    } else {
        multiply_type(ELEM_BF16, tile, n_acts, ret_products);
    }
}

/* Multiplies weight rows @w .. @w + @n - 1, sixteen at most, with all activation rows. */
static void rows_by_all(const struct kern_matmul *op, uint32_t w, uint32_t n)
{
    struct float_tile tile = { .weights = (const uint8_t *)op->weights.bytes + w * op->weights.row_bytes,
                               .row_bytes = op->weights.row_bytes,
                               .last = n - 1,
                               .n_cols = op->weights.n_cols };

    for (uint32_t row = 0, n_now; row < op->n_rows; row += n_now) {
        __m512 products[TILE_ACTS];

        n_now = op->n_rows - row < TILE_ACTS ? op->n_rows - row : TILE_ACTS;
        for (uint32_t t = 0; t < n_now; t++) {
            tile.acts[t] = (const float *)(const void *)((const char *)op->acts + (row + t) * op->act_bytes);
        }
        multiply(op->weights.type, &tile, n_now, products);
        for (uint32_t t = 0; t < n_now; t++) {
            _mm512_mask_storeu_ps(op->out + (row + t) * op->out_stride + w, (__mmask16)((1u << n) - 1), products[t]);
        }
    }
}

void avx512_matmul_floats(const struct kern_matmul *op, uint32_t first, uint32_t n)
{
    for (uint32_t w = first, n_now; w < first + n; w += n_now) {
        n_now = first + n - w < LANES ? first + n - w : LANES;
        rows_by_all(op, w, n_now);
    }
}
