/*
 * Ref_dot: rounding activations, and products of rows: the definition (kern.h, 1 to 3) as C
 */
#include "kern/half.h"
#include "kern/ref_block.h"
#include "kern/ref_sum.h"
#include "kern/set.h"
#include "tensor/panel.h"

#include <assert.h>
#include <math.h>

/* Rounds the block @x of @n elements to 8 bits; returns d. */
static float quantise_block(const float *x, uint32_t n, int8_t *q)
{
    const float to_even = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    uint32_t top_bits = 0;             /* magnitudes order like their bits, NaN above infinity above all */
    float top, inv;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits = half_float_bits(x[i]) & 0x7fffffff;

        top_bits = bits > top_bits ? bits : top_bits;
    }
    top = half_bits_float(top_bits);
    if (top_bits >= 0x7f800000 || top < KERN_ACT_TINY) {
        memset(q, 0, n);
        return top_bits >= 0x7f800000 ? NAN : 0.0f;
    }
    inv = 127.0f / top;
    for (uint32_t i = 0; i < n; i++) {
        q[i] = (int8_t)((x[i] * inv + to_even) - to_even);
    }
    return top / 127.0f;
}

static int32_t sum_of(const int8_t *q, uint32_t n)
{
    int32_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        sum += q[i];
    }
    return sum;
}

static void quantise(enum kern_act act, const float *x, uint32_t n_cols, void *out)
{
    const struct kern_act_row row = kern_act_at(act, n_cols, out);
    const uint32_t n_block = act == KERN_ACT_Q32 ? BLOCK_SMALL : BLOCK_SUPER;
    int8_t *q = out;
    float *d = (float *)(void *)(q + n_cols);

    for (uint32_t b = 0; b < n_cols / n_block; b++) {
        d[b] = quantise_block(x + b * n_block, n_block, q + b * n_block);
    }
    if (act == KERN_ACT_Q32) {
        float *s = d + n_cols / BLOCK_SMALL;
        int32_t *sum = (int32_t *)(void *)(s + n_cols / BLOCK_SMALL);

        for (uint32_t b = 0; b < n_cols / BLOCK_SMALL; b++) {
            sum[b] = sum_of(row.q + b * BLOCK_SMALL, BLOCK_SMALL);
            s[b] = d[b] * (float)sum[b];
        }
    } else {
        int16_t *sum16 = (int16_t *)(void *)(d + n_cols / BLOCK_SUPER);

        for (uint32_t j = 0; j < n_cols / 16; j++) {
            sum16[j] = (int16_t)sum_of(row.q + j * 16, 16);
        }
    }
}

static int32_t dot_int(const int8_t *w, const int8_t *q, uint32_t n)
{
    int32_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        sum += w[i] * q[i];
    }
    return sum;
}

static float add_small(const struct ref_small *block, const struct kern_act_row *act, uint32_t b, float acc)
{
    int32_t sum = dot_int(block->w, act->q + b * BLOCK_SMALL, BLOCK_SMALL);

    acc = fmaf(block->d * act->d[b], (float)sum, acc);
    return block->has_m ? fmaf(block->m, act->s[b], acc) : acc;
}

static float add_super(const struct ref_super *block, const struct kern_act_row *act, uint32_t b, float acc)
{
    const int8_t *q = act->q + b * BLOCK_SUPER;
    const int16_t *sum16 = act->sum16 + b * 16;
    int32_t sum = 0;
    int32_t sum_min = 0;

    for (uint32_t j = 0; j < 16; j++) {
        sum += block->scale[j] * dot_int(block->w + 16 * j, q + 16 * j, 16);
    }
    acc = fmaf(block->d * act->d[b], (float)sum, acc);
    if (!block->has_min) {
        return acc;
    }
    for (uint32_t j = 0; j < 16; j++) {
        sum_min += block->min[j] * sum16[j];
    }
    return fmaf(-(block->dmin * act->d[b]), (float)sum_min, acc);
}

/* Adds @n_blocks blocks of weight row @w, the first of which is block @first of the row, to all its products. */
static void add_blocks(const struct kern_matmul *op, uint32_t w, uint32_t first, uint32_t n_blocks,
                       const uint8_t *bytes)
{
    const ref_small_fn read_small = ref_small_reader(op->weights.type);
    const ref_super_fn read_super = ref_super_reader(op->weights.type);
    const enum kern_act form = kern_act_of(op->weights.type);
    struct ref_small small;
    struct ref_super super;

    for (uint32_t b = first; b < first + n_blocks; b++, bytes += elem_info(op->weights.type)->n_bytes) {
        if (read_small) {
            read_small(bytes, &small);
        } else {
            read_super(bytes, &super);
        }
        for (uint32_t r = 0; r < op->n_rows; r++) {
            const char *row = (const char *)op->acts + r * op->act_bytes;
            const struct kern_act_row act = kern_act_at(form, op->weights.n_cols, row);
            float *acc = &op->out[r * op->out_stride + w];

            *acc = read_small ? add_small(&small, &act, b, *acc) : add_super(&super, &act, b, *acc);
        }
    }
}

/* Computes weight row @w for all activation rows; the accumulators live in the output. */
static void row_in_blocks(const struct kern_matmul *op, uint32_t w)
{
    const uint32_t n_block = elem_info(op->weights.type)->n_block;
    const uint32_t row = w % ELEM_PANEL_ROWS;
    uint8_t bytes[ELEM_PANEL_BLOCK_MAX];

    for (uint32_t r = 0; r < op->n_rows; r++) {
        op->out[r * op->out_stride + w] = 0.0f;
    }
    if (!op->weights.in_panels) {
        add_blocks(op, w, 0, op->weights.n_cols / n_block,
                   (const uint8_t *)op->weights.bytes + w * op->weights.row_bytes);
        return;
    }
    for (uint32_t col = 0; col < op->weights.n_cols; col += ELEM_PANEL_COLS) {
        const uint8_t *panel = (const uint8_t *)op->weights.bytes + (w - row) * op->weights.row_bytes;
        const uint32_t n_blocks = panel_row(op->weights.type, panel, op->weights.n_cols, row, col, bytes);

        add_blocks(op, w, col / n_block, n_blocks, bytes);
    }
}

/* Reads up to 16 weights from column @at on as floats. */
static void floats_of(uint32_t type, const uint8_t *row, uint32_t at, uint32_t n, float *out)
{
    if (type == ELEM_F32) {
        memcpy(out, row + (size_t)4 * at, n * sizeof(float));
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint16_t bits = half_load(row + (size_t)2 * (at + i));

        out[i] = type == ELEM_F16 ? half_to_float(bits) : half_from_bf16(bits);
    }
}

static void row_of_floats(const struct kern_matmul *op, uint32_t w)
{
    const uint8_t *bytes = (const uint8_t *)op->weights.bytes + w * op->weights.row_bytes;
    float weights[REF_LANES];

    for (uint32_t r = 0; r < op->n_rows; r++) {
        const float *x = (const float *)(const void *)((const char *)op->acts + r * op->act_bytes);
        struct ref_sum sum = { { 0 } };

        for (uint32_t at = 0; at < op->weights.n_cols; at += REF_LANES) {
            uint32_t n = op->weights.n_cols - at < REF_LANES ? op->weights.n_cols - at : REF_LANES;

            floats_of(op->weights.type, bytes, at, n, weights);
            ref_sum_add(&sum, weights, x + at, n);
        }
        op->out[r * op->out_stride + w] = ref_sum_join(&sum);
    }
}

void ref_matmul(const struct kern_matmul *op, uint32_t first, uint32_t n)
{
    const bool in_blocks = kern_act_of(op->weights.type) != KERN_ACT_F32;

    for (uint32_t w = first; w < first + n; w++) {
        if (in_blocks) {
            row_in_blocks(op, w);
        } else {
            row_of_floats(op, w);
        }
    }
}

void kern_fill_ref_dot(struct kern_ops *ops)
{
    ops->quantise = quantise;
    ops->matmul = ref_matmul;
}
