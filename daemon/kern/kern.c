/*
 * Kern: the ladder, and the layouts that all sets share
 */
#include "kern/kern.h"

#include "base/num.h"
#include "kern/kv.h"
#include "kern/set.h"

#include <assert.h>

static void fill_ref(struct kern_ops *ops)
{
    ops->name = "scalar";
    kern_fill_ref_unpack(ops);
    kern_fill_ref_dot(ops);
    kern_fill_ref_elem(ops);
    kern_fill_ref_attn(ops);
    kern_fill_ref_delta(ops);
}

#ifdef HAVE_KERN_AVX2
/* Unpacking stays the definition's: it is for single rows, and for tests. */
static void fill_avx2(struct kern_ops *ops)
{
    ops->name = "avx2";
    kern_fill_avx2_dot(ops);
    kern_fill_avx2_elem(ops);
    kern_fill_avx2_attn(ops);
    kern_fill_avx2_delta(ops);
}
#endif

void kern_choose(struct kern_ops *ops, uint32_t cpu)
{
    const uint32_t avx2 = CPU_AVX2 | CPU_FMA | CPU_F16C;

    fill_ref(ops);
    if ((cpu & avx2) != avx2) {
        return;
    }
#ifdef HAVE_KERN_AVX2
    fill_avx2(ops);
#endif
}

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

size_t kern_kv_page_bytes(enum kern_kv kv, uint32_t n_kv_heads, uint32_t head_dim)
{
    return 2 * n_kv_heads * kv_head_bytes(kv, head_dim);
}
