/*
 * Kv: where K and V are stored (struct kern_kv_shape), and their readers and writers in each set; private to the module
 *
 * The K of a kv head in a page, or its V, is one stretch of bytes, here called a strip: numbers of all positions, then
 * scales of all positions.
 */
#ifndef SOTTO_KERN_KV_H
#define SOTTO_KERN_KV_H

#include "kern/kern.h"

/* Returns the bytes of the numbers of one position. */
static inline size_t kv_row_bytes(enum kern_kv kv, uint32_t head_dim)
{
    static const uint8_t bits[KERN_KV_COUNT] = {
        [KERN_KV_F16] = 16, [KERN_KV_F32] = 32, [KERN_KV_Q8] = 8, [KERN_KV_Q4] = 4
    };

    return (size_t)head_dim * bits[kv] / 8;
}

/* Returns the bytes of the scales of one position. */
static inline size_t kv_scale_bytes(enum kern_kv kv)
{
    static const uint8_t bytes[KERN_KV_COUNT] = { [KERN_KV_Q8] = 2, [KERN_KV_Q4] = 4 };

    return bytes[kv];
}

static inline size_t kv_head_bytes(enum kern_kv kv, uint32_t head_dim)
{
    return KERN_PAGE_TOK * (kv_row_bytes(kv, head_dim) + kv_scale_bytes(kv));
}

/* Returns how many elements of a head are transformed together; 1: the format stores heads unchanged. */
static inline uint32_t kv_hadamard_width(enum kern_kv kv, uint32_t head_dim)
{
    return kv_scale_bytes(kv) == 0 ? 1 : head_dim & (~head_dim + 1);
}

/* Transforms the head @x in place; a second time gives @width times the original. */
static inline void kv_hadamard(float *x, uint32_t head_dim, uint32_t width)
{
    for (uint32_t half = 1; half < width; half *= 2) {
        for (uint32_t at = 0; at < head_dim; at += 2 * half) {
            for (uint32_t i = at; i < at + half; i++) {
                const float a = x[i];
                const float b = x[i + half];

                x[i] = a + b;
                x[i + half] = a - b;
            }
        }
    }
}

/* Returns the strip of K of kv head @head in page @page of the pool; n_kv_heads + head is that of V. */
static inline uint8_t *kv_strip(const struct kern_kv_shape *shape, uint32_t page, uint32_t head)
{
    return shape->base + page * shape->page_bytes + shape->layer_bytes +
           head * kv_head_bytes(shape->kv, shape->head_dim);
}

/* Returns the numbers of position @lane of a strip. */
static inline uint8_t *kv_numbers(enum kern_kv kv, uint32_t head_dim, uint8_t *strip, uint32_t lane)
{
    return strip + lane * kv_row_bytes(kv, head_dim);
}

/* Returns the scales of position @lane of a strip: half d, half m. */
static inline uint8_t *kv_scales(enum kern_kv kv, uint32_t head_dim, uint8_t *strip, uint32_t lane)
{
    return strip + KERN_PAGE_TOK * kv_row_bytes(kv, head_dim) + lane * kv_scale_bytes(kv);
}

/* Writes @x to position @lane of @strip. */
void ref_kv_put(enum kern_kv kv, const float *x, uint32_t head_dim, uint8_t *strip, uint32_t lane);

/* Reads position @lane of @strip as floats. */
void ref_kv_get(enum kern_kv kv, uint8_t *strip, uint32_t lane, uint32_t head_dim, float *out);

/* Like kv_hadamard() and ref_kv_put(), eight numbers at a time. */
void vec_kv_hadamard(float *x, uint32_t head_dim, uint32_t width);
void vec_kv_put(enum kern_kv kv, const float *x, uint32_t head_dim, uint8_t *strip, uint32_t lane);

/* Reads positions 0 .. @n - 1 as floats, @stride apart; the gaps between them are -0. */
void vec_kv_get(enum kern_kv kv, uint8_t *strip, uint32_t n, uint32_t head_dim, float *out, uint32_t stride);

#endif
