/*
 * Quant: the table of writers, and the writers of floats and plain blocks of 32 (layouts: tensor/block.h)
 */
#include "kern/quant.h"

#include "kern/half.h"
#include "kern/quant_fit.h"
#include "kern/set.h"
#include "tensor/block.h"
#include "tensor/type.h"

#include <math.h>

static void write_f32(const float *x, void *out)
{
    memcpy(out, x, sizeof(*x));
}

static void write_f16(const float *x, void *out)
{
    const uint16_t half = half_from_float(*x);
    uint8_t *bytes = out;

    bytes[0] = (uint8_t)half;
    bytes[1] = (uint8_t)(half >> 8);
}

static void write_bf16(const float *x, void *out)
{
    uint32_t bits = half_float_bits(*x);
    uint8_t *bytes = out;

    if ((bits & 0x7fffffff) > 0x7f800000) {
        bits |= 0x00400000; /* a NaN stays one: quiet */
    } else {
        bits += 0x7fff + (bits >> 16 & 1); /* to nearest even; a carry into the exponent is right */
    }
    bytes[0] = (uint8_t)(bits >> 16);
    bytes[1] = (uint8_t)(bits >> 24);
}

/* Stores the low four bits of 32 elements. */
static void put_nibbles(const int8_t q[BLOCK_SMALL], uint8_t qs[16])
{
    for (uint32_t j = 0; j < 16; j++) {
        qs[j] = (uint8_t)((q[j] & 0xf) | (q[j + 16] & 0xf) << 4);
    }
}

/* Stores the fifth bits of 32 elements. */
static void put_fifths(const int8_t q[BLOCK_SMALL], uint8_t qh[4])
{
    memset(qh, 0, 4);
    for (uint32_t j = 0; j < BLOCK_SMALL; j++) {
        qh[j / 8] |= (uint8_t)((q[j] >> 4 & 1) << (j % 8));
    }
}

/* Rounds a block by the best scale that a half holds. */
static void round_scale(const float *x, struct fit_range range, uint8_t d[2], int8_t q[BLOCK_SMALL])
{
    struct fit fit = fit_scale(x, BLOCK_SMALL, range);

    fit.d = fit_half(fit.d, d);
    fit_apply(&fit, x, BLOCK_SMALL, range, q);
}

static void round_line(const float *x, int hi, uint8_t d[2], uint8_t m[2], int8_t q[BLOCK_SMALL])
{
    struct fit fit = fit_line(x, BLOCK_SMALL, hi, false);

    fit.d = fit_half(fit.d, d);
    fit.m = fit_half(fit.m, m);
    fit_apply(&fit, x, BLOCK_SMALL, (struct fit_range){ .lo = 0, .hi = hi }, q);
}

static void write_q4_0(const float *x, void *out)
{
    struct block_q4_0 *block = out;
    int8_t q[BLOCK_SMALL];

    round_scale(x, (struct fit_range){ .lo = -8, .hi = 7 }, block->d, q);
    for (uint32_t i = 0; i < BLOCK_SMALL; i++) {
        q[i] = (int8_t)(q[i] + 8);
    }
    put_nibbles(q, block->qs);
}

static void write_q4_1(const float *x, void *out)
{
    struct block_q4_1 *block = out;
    int8_t q[BLOCK_SMALL];

    round_line(x, 15, block->d, block->m, q);
    put_nibbles(q, block->qs);
}

static void write_q5_0(const float *x, void *out)
{
    struct block_q5_0 *block = out;
    int8_t q[BLOCK_SMALL];

    round_scale(x, (struct fit_range){ .lo = -16, .hi = 15 }, block->d, q);
    for (uint32_t i = 0; i < BLOCK_SMALL; i++) {
        q[i] = (int8_t)(q[i] + 16);
    }
    put_nibbles(q, block->qs);
    put_fifths(q, block->qh);
}

static void write_q5_1(const float *x, void *out)
{
    struct block_q5_1 *block = out;
    int8_t q[BLOCK_SMALL];

    round_line(x, 31, block->d, block->m, q);
    put_nibbles(q, block->qs);
    put_fifths(q, block->qh);
}

static void write_q8_0(const float *x, void *out)
{
    struct block_q8_0 *block = out;

    round_scale(x, (struct fit_range){ .lo = -127, .hi = 127 }, block->d, block->qs);
}

/* Writes one block. */
typedef void (*write_fn)(const float *x, void *out);

static write_fn writer_of(uint32_t type)
{
    static const write_fn writers[ELEM_TYPE_COUNT] = {
        [ELEM_F32] = write_f32,   [ELEM_F16] = write_f16,       [ELEM_BF16] = write_bf16,     [ELEM_Q4_0] = write_q4_0,
        [ELEM_Q4_1] = write_q4_1, [ELEM_Q5_0] = write_q5_0,     [ELEM_Q5_1] = write_q5_1,     [ELEM_Q8_0] = write_q8_0,
        [ELEM_Q2_K] = quant_q2_k, [ELEM_Q3_K] = quant_q3_k,     [ELEM_Q4_K] = quant_q4_k,     [ELEM_Q5_K] = quant_q5_k,
        [ELEM_Q6_K] = quant_q6_k, [ELEM_IQ4_NL] = quant_iq4_nl, [ELEM_IQ4_XS] = quant_iq4_xs,
    };

    return type < ELEM_TYPE_COUNT ? writers[type] : NULL;
}

bool quant_may(uint32_t type)
{
    return writer_of(type) != NULL;
}

int quant_row(uint32_t type, const float *x, uint64_t n, void *out)
{
    const write_fn write = writer_of(type);
    const struct elem_info *info = elem_info(type);

    if (!write) {
        return QUANT_NO_FORMAT;
    }
    if (n % info->n_block != 0) {
        return QUANT_NOT_WHOLE;
    }
    for (uint64_t i = 0; info->n_block > 1 && i < n; i++) {
        if (!isfinite(x[i])) {
            return QUANT_NOT_FINITE;
        }
    }
    for (uint64_t b = 0; b < n / info->n_block; b++) {
        write(x + b * info->n_block, (uint8_t *)out + b * info->n_bytes);
    }
    return QUANT_OK;
}
