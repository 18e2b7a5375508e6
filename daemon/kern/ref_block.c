/*
 * Ref_block: readers of blocks, one for each format (layouts: tensor/block.h)
 */
#include "kern/ref_block.h"

#include "kern/half.h"
#include "tensor/type.h"

static void read_q4_0(const void *bytes, struct ref_small *ret_block)
{
    const struct block_q4_0 *block = bytes;

    for (uint32_t j = 0; j < 16; j++) {
        ret_block->w[j] = (int8_t)((block->qs[j] & 0xf) - 8);
        ret_block->w[j + 16] = (int8_t)((block->qs[j] >> 4) - 8);
    }
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->has_m = false;
}

static void read_q4_1(const void *bytes, struct ref_small *ret_block)
{
    const struct block_q4_1 *block = bytes;

    for (uint32_t j = 0; j < 16; j++) {
        ret_block->w[j] = (int8_t)(block->qs[j] & 0xf);
        ret_block->w[j + 16] = (int8_t)(block->qs[j] >> 4);
    }
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->m = half_to_float(half_load(block->m));
    ret_block->has_m = true;
}

/* Returns bit 4 of element @j, in place. */
static int fifth(const uint8_t *qh, uint32_t j)
{
    return (qh[j / 8] >> (j % 8) & 1) << 4;
}

static void read_q5_0(const void *bytes, struct ref_small *ret_block)
{
    const struct block_q5_0 *block = bytes;

    for (uint32_t j = 0; j < 16; j++) {
        ret_block->w[j] = (int8_t)(((block->qs[j] & 0xf) | fifth(block->qh, j)) - 16);
        ret_block->w[j + 16] = (int8_t)((block->qs[j] >> 4 | fifth(block->qh, j + 16)) - 16);
    }
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->has_m = false;
}

static void read_q5_1(const void *bytes, struct ref_small *ret_block)
{
    const struct block_q5_1 *block = bytes;

    for (uint32_t j = 0; j < 16; j++) {
        ret_block->w[j] = (int8_t)((block->qs[j] & 0xf) | fifth(block->qh, j));
        ret_block->w[j + 16] = (int8_t)(block->qs[j] >> 4 | fifth(block->qh, j + 16));
    }
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->m = half_to_float(half_load(block->m));
    ret_block->has_m = true;
}

static void read_q8_0(const void *bytes, struct ref_small *ret_block)
{
    const struct block_q8_0 *block = bytes;

    memcpy(ret_block->w, block->qs, sizeof(block->qs));
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->has_m = false;
}

static const int8_t iq4_values[16] = { BLOCK_IQ4_VALUES };

static void read_iq4_nl(const void *bytes, struct ref_small *ret_block)
{
    const struct block_iq4_nl *block = bytes;

    for (uint32_t j = 0; j < 16; j++) {
        ret_block->w[j] = iq4_values[block->qs[j] & 0xf];
        ret_block->w[j + 16] = iq4_values[block->qs[j] >> 4];
    }
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->has_m = false;
}

static void read_q2_k(const void *bytes, struct ref_super *ret_block)
{
    const struct block_q2_k *block = bytes;

    for (uint32_t i = 0; i < BLOCK_SUPER; i++) {
        ret_block->w[i] = (int8_t)(block->qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3);
    }
    for (uint32_t j = 0; j < 16; j++) {
        ret_block->scale[j] = (int8_t)(block->scales[j] & 0xf);
        ret_block->min[j] = block->scales[j] >> 4;
    }
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->dmin = half_to_float(half_load(block->dmin));
    ret_block->has_min = true;
}

static void read_q3_k(const void *bytes, struct ref_super *ret_block)
{
    const struct block_q3_k *block = bytes;

    for (uint32_t i = 0; i < BLOCK_SUPER; i++) {
        const int low = block->qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
        const int third = block->hmask[i % 32] >> (i / 32) & 1;

        ret_block->w[i] = (int8_t)((low | third << 2) - 4);
    }
    for (uint32_t j = 0; j < 16; j++) {
        const int low = block->scales[j % 8] >> (j / 8 * 4) & 0xf;
        const int high = block->scales[8 + j % 4] >> (j / 4 * 2) & 3;

        ret_block->scale[j] = (int8_t)((low | high << 4) - 32);
    }
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->has_min = false;
}

/* Reads the eight 6-bit scales and mins of Q4_K and Q5_K. */
static void read_scales(const uint8_t *packed, struct ref_super *ret_block)
{
    for (uint32_t j = 0; j < 8; j++) {
        uint8_t scale, min;

        if (j < 4) {
            scale = packed[j] & 63;
            min = packed[j + 4] & 63;
        } else {
            scale = (uint8_t)((packed[j + 4] & 0xf) | (packed[j - 4] >> 6) << 4);
            min = (uint8_t)(packed[j + 4] >> 4 | (packed[j] >> 6) << 4);
        }
        ret_block->scale[2 * j] = (int8_t)scale;
        ret_block->scale[2 * j + 1] = (int8_t)scale;
        ret_block->min[2 * j] = min;
        ret_block->min[2 * j + 1] = min;
    }
    ret_block->has_min = true;
}

static void read_q4_k(const void *bytes, struct ref_super *ret_block)
{
    const struct block_q4_k *block = bytes;

    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 0; j < 32; j++) {
            ret_block->w[64 * i + j] = (int8_t)(block->qs[32 * i + j] & 0xf);
            ret_block->w[64 * i + 32 + j] = (int8_t)(block->qs[32 * i + j] >> 4);
        }
    }
    read_scales(block->scales, ret_block);
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->dmin = half_to_float(half_load(block->dmin));
}

static void read_q5_k(const void *bytes, struct ref_super *ret_block)
{
    const struct block_q5_k *block = bytes;

    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 0; j < 32; j++) {
            int low = (block->qh[j] >> (2 * i) & 1) << 4;
            int high = (block->qh[j] >> (2 * i + 1) & 1) << 4;

            ret_block->w[64 * i + j] = (int8_t)((block->qs[32 * i + j] & 0xf) | low);
            ret_block->w[64 * i + 32 + j] = (int8_t)(block->qs[32 * i + j] >> 4 | high);
        }
    }
    read_scales(block->scales, ret_block);
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->dmin = half_to_float(half_load(block->dmin));
}

static void read_q6_k(const void *bytes, struct ref_super *ret_block)
{
    const struct block_q6_k *block = bytes;

    for (uint32_t i = 0; i < BLOCK_SUPER; i++) {
        uint32_t h = i / 128;
        uint32_t k = i / 32 % 4;
        uint32_t l = i % 32;
        int low = block->ql[64 * h + 32 * (k % 2) + l] >> (k < 2 ? 0 : 4) & 0xf;
        int high = block->qh[32 * h + l] >> (2 * k) & 3;

        ret_block->w[i] = (int8_t)((low | high << 4) - 32);
    }
    memcpy(ret_block->scale, block->scales, sizeof(block->scales));
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->has_min = false;
}

static void read_iq4_xs(const void *bytes, struct ref_super *ret_block)
{
    const struct block_iq4_xs *block = bytes;

    for (uint32_t i = 0; i < 8; i++) {
        const int low = block->scales_l[i / 2] >> (i % 2 * 4) & 0xf;
        const int high = half_load(block->scales_h) >> (2 * i) & 3;

        for (uint32_t j = 0; j < 16; j++) {
            ret_block->w[32 * i + j] = iq4_values[block->qs[16 * i + j] & 0xf];
            ret_block->w[32 * i + 16 + j] = iq4_values[block->qs[16 * i + j] >> 4];
        }
        ret_block->scale[2 * i] = (int8_t)((low | high << 4) - 32);
        ret_block->scale[2 * i + 1] = ret_block->scale[2 * i];
    }
    ret_block->d = half_to_float(half_load(block->d));
    ret_block->has_min = false;
}

ref_small_fn ref_small_reader(uint32_t type)
{
    static const ref_small_fn readers[ELEM_TYPE_COUNT] = {
        [ELEM_Q4_0] = read_q4_0, [ELEM_Q4_1] = read_q4_1, [ELEM_Q5_0] = read_q5_0,
        [ELEM_Q5_1] = read_q5_1, [ELEM_Q8_0] = read_q8_0, [ELEM_IQ4_NL] = read_iq4_nl,
    };

    return type < ELEM_TYPE_COUNT ? readers[type] : NULL;
}

ref_super_fn ref_super_reader(uint32_t type)
{
    static const ref_super_fn readers[ELEM_TYPE_COUNT] = {
        [ELEM_Q2_K] = read_q2_k, [ELEM_Q3_K] = read_q3_k, [ELEM_Q4_K] = read_q4_k,
        [ELEM_Q5_K] = read_q5_k, [ELEM_Q6_K] = read_q6_k, [ELEM_IQ4_XS] = read_iq4_xs,
    };

    return type < ELEM_TYPE_COUNT ? readers[type] : NULL;
}
