/*
 * Vec_float: matrix products of float weights: the sum of 16 in two registers for each (weight row, activation row)
 *
 * Four weight rows by one activation row, or two by three: eight or twelve running registers, enough to hide the
 * latency of the fused operation. The last columns are padded with -0 * 1: adding -0 changes no float.
 */
#include "kern/set.h"
#include "kern/vec.h"

#define LANES    16
#define MAX_ROWS 4 /* weight rows of a tile */
#define MAX_ACTS 3

VEC_INLINE vecf load_eight(uint32_t type, const uint8_t *at)
{
    if (type == ELEM_F32) {
        return vecf_load((const float *)(const void *)at);
    }
    return type == ELEM_F16 ? vecf_load_halves(at) : vecf_load_bf16(at);
}

struct tile {
    const uint8_t *weights[MAX_ROWS];
    const float *acts[MAX_ACTS];
    float *out[MAX_ACTS]; /* of the first weight row */
    uint32_t n_cols;
};

/* Copies the last @n columns of @from to 16 elements of @elem_bytes each, the rest of which hold @filler. */
VEC_INLINE void pad(void *to, const void *from, uint32_t n, size_t elem_bytes, const void *filler)
{
    for (uint32_t i = 0; i < LANES; i++) {
        memcpy((char *)to + i * elem_bytes, i < n ? (const char *)from + i * elem_bytes : filler, elem_bytes);
    }
}

VEC_INLINE void add_columns(uint32_t type, uint32_t n_rows, uint32_t n_acts, const uint8_t *const *weights,
                            const float *const *acts, size_t elem_bytes, vecf (*sum)[MAX_ACTS][2])
{
    for (uint32_t i = 0; i < n_rows; i++) {
        const vecf low = load_eight(type, weights[i]);
        const vecf high = load_eight(type, weights[i] + 8 * elem_bytes);

        for (uint32_t t = 0; t < n_acts; t++) {
            sum[i][t][0] = vecf_fma(low, vecf_load(acts[t]), sum[i][t][0]);
            sum[i][t][1] = vecf_fma(high, vecf_load(acts[t] + 8), sum[i][t][1]);
        }
    }
}

VEC_INLINE void add_tail(uint32_t type, uint32_t n_rows, uint32_t n_acts, const struct tile *tile, uint32_t col,
                         size_t elem_bytes, vecf (*sum)[MAX_ACTS][2])
{
    static const uint8_t minus_zero_f32[4] = { 0, 0, 0, 0x80 };
    static const uint8_t minus_zero_16[2] = { 0, 0x80 };
    static const float one = 1.0f;
    const void *minus_zero = type == ELEM_F32 ? minus_zero_f32 : minus_zero_16;
    const uint32_t n = tile->n_cols - col;
    uint8_t weights[MAX_ROWS][LANES * sizeof(float)];
    float acts[MAX_ACTS][LANES];
    const uint8_t *weight_rows[MAX_ROWS];
    const float *act_rows[MAX_ACTS];

    for (uint32_t i = 0; i < n_rows; i++) {
        pad(weights[i], tile->weights[i] + col * elem_bytes, n, elem_bytes, minus_zero);
        weight_rows[i] = weights[i];
    }
    for (uint32_t t = 0; t < n_acts; t++) {
        pad(acts[t], tile->acts[t] + col, n, sizeof(float), &one);
        act_rows[t] = acts[t];
    }
    add_columns(type, n_rows, n_acts, weight_rows, act_rows, elem_bytes, sum);
}

VEC_INLINE void run_tile(uint32_t type, uint32_t n_rows, uint32_t n_acts, const struct tile *tile)
{
    const size_t elem_bytes = type == ELEM_F32 ? 4 : 2;
    const uint32_t whole = tile->n_cols / LANES * LANES;
    const uint8_t *weights[MAX_ROWS];
    const float *acts[MAX_ACTS];
    vecf sum[MAX_ROWS][MAX_ACTS][2];

    for (uint32_t i = 0; i < n_rows; i++) {
        for (uint32_t t = 0; t < n_acts; t++) {
            sum[i][t][0] = vecf_set(0.0f);
            sum[i][t][1] = vecf_set(0.0f);
        }
    }
    for (uint32_t col = 0; col < whole; col += LANES) {
        for (uint32_t i = 0; i < n_rows; i++) {
            weights[i] = tile->weights[i] + col * elem_bytes;
        }
        for (uint32_t t = 0; t < n_acts; t++) {
            acts[t] = tile->acts[t] + col;
        }
        add_columns(type, n_rows, n_acts, weights, acts, elem_bytes, sum);
    }
    if (whole < tile->n_cols) {
        add_tail(type, n_rows, n_acts, tile, whole, elem_bytes, sum);
    }
    for (uint32_t i = 0; i < n_rows; i++) {
        for (uint32_t t = 0; t < n_acts; t++) {
            tile->out[t][i] = vecf_join_16(sum[i][t][0], sum[i][t][1]);
        }
    }
}

/* Runs a tile of (weight rows, activation rows): a wide one, or a narrow one at the edges. */
VEC_INLINE void run_type(uint32_t type, uint32_t n_rows, uint32_t n_acts, const struct tile *tile)
{
    if (n_rows == 4) {
        run_tile(type, 4, 1, tile);
    } else if (n_rows == 2) {
        run_tile(type, 2, 3, tile);
    } else if (n_acts == 3) {
        run_tile(type, 1, 3, tile);
    } else {
        run_tile(type, 1, 1, tile);
    }
}

static void run(uint32_t type, uint32_t n_rows, uint32_t n_acts, const struct tile *tile)
{
    if (type == ELEM_F32) {
        run_type(ELEM_F32, n_rows, n_acts, tile);
    } else if (type == ELEM_F16) {
        run_type(ELEM_F16, n_rows, n_acts, tile);
    } else {
        run_type(ELEM_BF16, n_rows, n_acts, tile);
    }
}

/* Multiplies weight rows @w .. @w + @n_rows - 1 with activation rows from @row on, by tiles of @n_acts; returns the
 * first row that is left. */
static uint32_t rows_by(const struct kern_matmul *op, uint32_t w, uint32_t n_rows, uint32_t n_acts, uint32_t row)
{
    struct tile tile = { .n_cols = op->weights.n_cols };

    for (uint32_t i = 0; i < n_rows; i++) {
        tile.weights[i] = (const uint8_t *)op->weights.bytes + (w + i) * op->weights.row_bytes;
    }
    for (; row + n_acts <= op->n_rows; row += n_acts) {
        for (uint32_t t = 0; t < n_acts; t++) {
            const char *acts = (const char *)op->acts + (row + t) * op->act_bytes;

            tile.acts[t] = (const float *)(const void *)acts;
            tile.out[t] = op->out + (row + t) * op->out_stride + w;
        }
        run(op->weights.type, n_rows, n_acts, &tile);
    }
    return row;
}

void vec_matmul_floats(const struct kern_matmul *op, uint32_t first, uint32_t n)
{
    uint32_t w = first;
    uint32_t row;

    for (; w + 4 <= first + n; w += 4) {
        row = rows_by(op, w, 2, 3, 0);
        rows_by(op, w + 2, 2, 3, 0);
        rows_by(op, w, 4, 1, row);
    }
    for (; w < first + n; w++) {
        row = rows_by(op, w, 1, 3, 0);
        rows_by(op, w, 1, 1, row);
    }
}
