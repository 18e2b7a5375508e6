/*
 * Layout: forms and sizes of activations, keys and values, which all sets share
 */
#include "kern/kv.h"

#include <assert.h>

enum kern_act kern_act_of(uint32_t type)
{
    const struct elem_info *info = elem_info(type);

    assert(info && info->computes);
    if (info->n_block == BLOCK_SUPER) {
        return KERN_ACT_Q256;
    }
    return info->n_block == BLOCK_SMALL ? KERN_ACT_Q32 : KERN_ACT_F32;
}

size_t kern_act_bytes(enum kern_act act, uint32_t n_cols)
{
    const size_t n = n_cols;
    uint64_t n_bytes = 0;

    switch (act) {
    case KERN_ACT_F32:
        n_bytes = n * sizeof(float);
        break;
    case KERN_ACT_Q32:
        n_bytes = n + n / BLOCK_SMALL * (2 * sizeof(float) + sizeof(int32_t));
        break;
    case KERN_ACT_Q256:
        n_bytes = n + n / BLOCK_SUPER * sizeof(float) + n / 16 * sizeof(int16_t);
        break;
    case KERN_ACT_COUNT:
        assert(false);
        break;
    }
    return (n_bytes + KERN_ACT_ALIGN - 1) / KERN_ACT_ALIGN * KERN_ACT_ALIGN;
}

void kern_unpack_row(const struct kern_ops *ops, const struct kern_weights *weights, uint32_t row, float *out)
{
    const uint8_t *bytes = weights->bytes;
    const uint32_t lane = row % ELEM_PANEL_ROWS;
    uint8_t blocks[ELEM_PANEL_BLOCK_MAX];

    if (!weights->in_panels) {
        ops->unpack(weights->type, bytes + row * weights->row_bytes, weights->n_cols, out);
        return;
    }
    bytes += (row - lane) * weights->row_bytes;
    for (uint32_t col = 0; col < weights->n_cols; col += ELEM_PANEL_COLS) {
        const uint32_t n_blocks = panel_row(weights->type, bytes, weights->n_cols, lane, col, blocks);

        ops->unpack(weights->type, blocks, n_blocks * elem_info(weights->type)->n_block, out + col);
    }
}

size_t kern_kv_page_bytes(enum kern_kv kv, uint32_t n_kv_heads, uint32_t head_dim)
{
    return 2 * n_kv_heads * kv_head_bytes(kv, head_dim);
}
