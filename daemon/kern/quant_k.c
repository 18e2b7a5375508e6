/*
 * Quant_k: writers of the formats with super-blocks (layouts: tensor/block.h)
 */
#include "kern/quant_super.h"
#include "kern/set.h"

#include <string.h>

static void copy_half(uint8_t to[2], const uint8_t from[2])
{
    to[0] = from[0];
    to[1] = from[1];
}

void quant_q2_k(const float *x, void *out)
{
    static const struct super_shape shape = {
        .n_run = 16, .range = { .lo = 0, .hi = 3 }, .scales = { .lo = 0, .hi = 15 }, .has_min = true
    };
    struct block_q2_k *block = out;
    struct super super;

    super_fit(&shape, x, &super);
    memset(block->qs, 0, sizeof(block->qs));
    for (uint32_t i = 0; i < BLOCK_SUPER; i++) {
        block->qs[i / 128 * 32 + i % 32] |= (uint8_t)(super.q[i] << (i / 32 % 4 * 2));
    }
    for (uint32_t j = 0; j < 16; j++) {
        block->scales[j] = (uint8_t)(super.scale[j] | super.min[j] << 4);
    }
    copy_half(block->d, super.d);
    copy_half(block->dmin, super.dmin);
}

void quant_q3_k(const float *x, void *out)
{
    static const struct super_shape shape = { .n_run = 16,
                                              .range = { .lo = -4, .hi = 3 },
                                              .scales = { .lo = -32, .hi = 31 } };
    struct block_q3_k *block = out;
    struct super super;

    super_fit(&shape, x, &super);
    memset(block, 0, sizeof(*block));
    for (uint32_t i = 0; i < BLOCK_SUPER; i++) {
        const int q = super.q[i] + 4;

        block->qs[i / 128 * 32 + i % 32] |= (uint8_t)((q & 3) << (i / 32 % 4 * 2));
        block->hmask[i % 32] |= (uint8_t)((q >> 2) << (i / 32));
    }
    for (uint32_t j = 0; j < 16; j++) {
        const int scale = super.scale[j] + 32;

        block->scales[j % 8] |= (uint8_t)((scale & 0xf) << (j / 8 * 4));
        block->scales[8 + j % 4] |= (uint8_t)((scale >> 4) << (j / 4 * 2));
    }
    copy_half(block->d, super.d);
}

/* Stores eight scales and mins of six bits. */
static void put_scales(const struct super *super, uint8_t scales[12])
{
    for (uint32_t j = 0; j < 4; j++) {
        scales[j] = (uint8_t)(super->scale[j] | (super->scale[j + 4] >> 4) << 6);
        scales[j + 4] = (uint8_t)(super->min[j] | (super->min[j + 4] >> 4) << 6);
        scales[j + 8] = (uint8_t)((super->scale[j + 4] & 0xf) | (super->min[j + 4] & 0xf) << 4);
    }
}

/* Stores the low four bits of all q. */
static void put_nibbles(const int8_t q[BLOCK_SUPER], uint8_t qs[128])
{
    for (uint32_t i = 0; i < 128; i++) {
        const uint32_t at = i / 32 * 64 + i % 32;

        qs[i] = (uint8_t)((q[at] & 0xf) | (q[at + 32] & 0xf) << 4);
    }
}

void quant_q4_k(const float *x, void *out)
{
    static const struct super_shape shape = {
        .n_run = 32, .range = { .lo = 0, .hi = 15 }, .scales = { .lo = 0, .hi = 63 }, .has_min = true
    };
    struct block_q4_k *block = out;
    struct super super;

    super_fit(&shape, x, &super);
    copy_half(block->d, super.d);
    copy_half(block->dmin, super.dmin);
    put_scales(&super, block->scales);
    put_nibbles(super.q, block->qs);
}

void quant_q5_k(const float *x, void *out)
{
    static const struct super_shape shape = {
        .n_run = 32, .range = { .lo = 0, .hi = 31 }, .scales = { .lo = 0, .hi = 63 }, .has_min = true
    };
    struct block_q5_k *block = out;
    struct super super;

    super_fit(&shape, x, &super);
    copy_half(block->d, super.d);
    copy_half(block->dmin, super.dmin);
    put_scales(&super, block->scales);
    put_nibbles(super.q, block->qs);
    memset(block->qh, 0, sizeof(block->qh));
    for (uint32_t i = 0; i < BLOCK_SUPER; i++) {
        block->qh[i % 32] |= (uint8_t)((super.q[i] >> 4) << (i / 32));
    }
}

void quant_q6_k(const float *x, void *out)
{
    static const struct super_shape shape = { .n_run = 16,
                                              .range = { .lo = -32, .hi = 31 },
                                              .scales = { .lo = -128, .hi = 127 } };
    struct block_q6_k *block = out;
    struct super super;

    super_fit(&shape, x, &super);
    memset(block, 0, sizeof(*block));
    for (uint32_t i = 0; i < BLOCK_SUPER; i++) {
        const uint32_t h = i / 128;
        const uint32_t k = i / 32 % 4;
        const int q = super.q[i] + 32;

        block->ql[64 * h + 32 * (k % 2) + i % 32] |= (uint8_t)((q & 0xf) << (k / 2 * 4));
        block->qh[32 * h + i % 32] |= (uint8_t)((q >> 4) << (2 * k));
    }
    for (uint32_t j = 0; j < 16; j++) {
        block->scales[j] = (int8_t)super.scale[j];
    }
    copy_half(block->d, super.d);
}

/* ---- values instead of integers ---- */

static const int8_t iq4_values[16] = { BLOCK_IQ4_VALUES };
static const struct fit_range iq4_range = { .lo = -127, .hi = 113, .values = iq4_values };

/* Returns the index of @value. */
static int index_of(int8_t value)
{
    int i = 0;

    while (iq4_values[i] != value) {
        i++;
    }
    return i;
}

/* Stores the indices of 32 values. */
static void put_indices(const int8_t *values, uint8_t qs[16])
{
    for (uint32_t j = 0; j < 16; j++) {
        qs[j] = (uint8_t)(index_of(values[j]) | index_of(values[j + 16]) << 4);
    }
}

void quant_iq4_nl(const float *x, void *out)
{
    struct block_iq4_nl *block = out;
    struct fit fit = fit_scale(x, BLOCK_SMALL, iq4_range);
    int8_t q[BLOCK_SMALL];

    fit.d = fit_half(fit.d, block->d);
    fit_apply(&fit, x, BLOCK_SMALL, iq4_range, q);
    put_indices(q, block->qs);
}

void quant_iq4_xs(const float *x, void *out)
{
    const struct super_shape shape = { .n_run = 32, .range = iq4_range, .scales = { .lo = -32, .hi = 31 } };
    struct block_iq4_xs *block = out;
    struct super super;

    super_fit(&shape, x, &super);
    memset(block, 0, sizeof(*block));
    copy_half(block->d, super.d);
    for (uint32_t j = 0; j < 8; j++) {
        const int scale = super.scale[j] + 32;

        block->scales_l[j / 2] |= (uint8_t)((scale & 0xf) << (j % 2 * 4));
        block->scales_h[j / 4] |= (uint8_t)((scale >> 4) << (j % 4 * 2));
        put_indices(super.q + 32 * j, block->qs + 16 * j);
    }
}
