/*
 * Ref_unpack: rows as floats, exactly as the formats define them
 */
#include "kern/half.h"
#include "kern/ref_block.h"
#include "kern/set.h"

#include <assert.h>

static void unpack_small(uint32_t type, const uint8_t *row, uint32_t n, float *out)
{
    const ref_small_fn read = ref_small_reader(type);
    const size_t n_bytes = elem_info(type)->n_bytes;
    struct ref_small block;

    for (uint32_t b = 0; b < n / BLOCK_SMALL; b++) {
        read(row + b * n_bytes, &block);
        for (uint32_t i = 0; i < BLOCK_SMALL; i++) {
            float w = (float)block.w[i] * block.d;

            *out++ = block.has_m ? w + block.m : w;
        }
    }
}

static void unpack_super(uint32_t type, const uint8_t *row, uint32_t n, float *out)
{
    const ref_super_fn read = ref_super_reader(type);
    const size_t n_bytes = elem_info(type)->n_bytes;
    struct ref_super block;

    for (uint32_t b = 0; b < n / BLOCK_SUPER; b++) {
        read(row + b * n_bytes, &block);
        for (uint32_t i = 0; i < BLOCK_SUPER; i++) {
            float w = (block.d * (float)block.scale[i / 16]) * (float)block.w[i];

            *out++ = block.has_min ? w - block.dmin * (float)block.min[i / 16] : w;
        }
    }
}

static void unpack(uint32_t type, const void *row, uint32_t n, float *out)
{
    const uint8_t *bytes = row;

    if (type == ELEM_F32) {
        memcpy(out, row, n * sizeof(float));
    } else if (type == ELEM_F16) {
        for (uint32_t i = 0; i < n; i++) {
            out[i] = half_to_float(half_load(bytes + 2 * i));
        }
    } else if (type == ELEM_BF16) {
        for (uint32_t i = 0; i < n; i++) {
            out[i] = half_from_bf16(half_load(bytes + 2 * i));
        }
    } else if (ref_small_reader(type)) {
        unpack_small(type, bytes, n, out);
    } else {
        assert(ref_super_reader(type));
        unpack_super(type, bytes, n, out);
    }
}

void kern_fill_ref_unpack(struct kern_ops *ops)
{
    ops->unpack = unpack;
}
