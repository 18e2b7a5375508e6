/*
 * Vec_quant: rounding activations to 8 bits, 32 at a time
 */
#include "kern/set.h"
#include "kern/vec.h"

/* Returns the bits of the largest magnitude among the @n (a multiple of 32) floats at @x. */
VEC_INLINE uint32_t top_of(const float *x, uint32_t n)
{
    const veci magnitude = veci_set(0x7fffffff);
    veci top = veci_set(0);

    for (uint32_t i = 0; i < n; i += 8) {
        const veci bits = veci_load(x + i);

        top = veci_max(top, veci_and(bits, magnitude));
    }
    return (uint32_t)veci_top(top);
}

VEC_INLINE veci round_eight(const float *x, vecf inv)
{
    return veci_round(vecf_mul(vecf_load(x), inv)); /* to nearest even: the mode of every thread */
}

/* Rounds a block of @n floats; returns d. */
VEC_INLINE float quantise_block(const float *x, uint32_t n, int8_t *q)
{
    const uint32_t top_bits = top_of(x, n);
    float top;
    vecf inv;

    memcpy(&top, &top_bits, sizeof(top));
    if (top_bits >= 0x7f800000 || top < KERN_ACT_TINY) {
        memset(q, 0, n);
        return top_bits >= 0x7f800000 ? NAN : 0.0f;
    }
    inv = vecf_set(127.0f / top);
    for (uint32_t i = 0; i < n; i += 32) {
        const veci rounded[4] = { round_eight(x + i, inv), round_eight(x + i + 8, inv), round_eight(x + i + 16, inv),
                                  round_eight(x + i + 24, inv) };

        veci_store_32(q + i, rounded);
    }
    return top / 127.0f;
}

static void quantise_q32(const float *x, uint32_t n_cols, void *out)
{
    const uint32_t n_blocks = n_cols / BLOCK_SMALL;
    int8_t *q = out;
    float *d = (float *)(void *)(q + n_cols);
    float *s = d + n_blocks;
    int32_t *sum = (int32_t *)(void *)(s + n_blocks);

    for (uint32_t b = 0; b < n_blocks; b++) {
        int32_t first, last;

        d[b] = quantise_block(x + b * BLOCK_SMALL, BLOCK_SMALL, q + b * BLOCK_SMALL);
        vec_sums_of_32(q + b * BLOCK_SMALL, &first, &last);
        sum[b] = first + last;
        s[b] = d[b] * (float)sum[b];
    }
}

static void quantise_q256(const float *x, uint32_t n_cols, void *out)
{
    const uint32_t n_blocks = n_cols / BLOCK_SUPER;
    int8_t *q = out;
    float *d = (float *)(void *)(q + n_cols);
    int16_t *sum16 = (int16_t *)(void *)(d + n_blocks);

    for (uint32_t b = 0; b < n_blocks; b++) {
        d[b] = quantise_block(x + b * BLOCK_SUPER, BLOCK_SUPER, q + b * BLOCK_SUPER);
    }
    for (uint32_t j = 0; j < n_cols / 32; j++) {
        int32_t first, last;

        vec_sums_of_32(q + 32 * j, &first, &last);
        sum16[2 * j] = (int16_t)first;
        sum16[2 * j + 1] = (int16_t)last;
    }
}

static void quantise(enum kern_act act, const float *x, uint32_t n_cols, void *out)
{
    if (act == KERN_ACT_Q32) {
        quantise_q32(x, n_cols, out);
    } else {
        quantise_q256(x, n_cols, out);
    }
}

void kern_fill_vec_quant(struct kern_ops *ops)
{
    ops->quantise = quantise;
}
