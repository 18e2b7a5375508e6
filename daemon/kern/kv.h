/*
 * Kv: where a position's K and V lie (struct kern_kv_shape); private to this room
 */
#ifndef SOTTO_KERN_KV_H
#define SOTTO_KERN_KV_H

#include "kern/kern.h"

/* K of page @page (in the pool) and kv head @head: [KERN_PAGE_TOK][head_dim]. */
static inline uint8_t *kv_k_page(const struct kern_kv_shape *shape, uint32_t page, uint32_t head)
{
    const size_t head_bytes = kern_kv_page_bytes(shape->kv, 1, shape->head_dim) / 2;

    return shape->base + page * shape->page_bytes + shape->layer_bytes + head * head_bytes;
}

static inline uint8_t *kv_v_page(const struct kern_kv_shape *shape, uint32_t page, uint32_t head)
{
    return kv_k_page(shape, page, shape->n_kv_heads + head);
}

/* K and V of position @pos: [head_dim]. */
static inline uint8_t *kv_k(const struct kern_kv_shape *shape, const struct kern_kv_row *row, uint32_t head,
                            uint32_t pos)
{
    const size_t tok_bytes = shape->head_dim * kern_kv_elem_bytes(shape->kv);

    return kv_k_page(shape, row->pages[pos / KERN_PAGE_TOK], head) + pos % KERN_PAGE_TOK * tok_bytes;
}

static inline uint8_t *kv_v(const struct kern_kv_shape *shape, const struct kern_kv_row *row, uint32_t head,
                            uint32_t pos)
{
    return kv_k(shape, row, shape->n_kv_heads + head, pos);
}

#endif
