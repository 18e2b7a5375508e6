/*
 * Ref_attn: storing K and V, and one-pass attention over pages (kern.h, 5): the definition as C
 */
#include "kern/kv.h"
#include "kern/ref_sum.h"
#include "kern/set.h"
#include "tensor/real.h"

#include <string.h>

static void store(const struct kern_store *op, uint32_t first, uint32_t n)
{
    const struct kern_kv_shape *shape = &op->shape;

    for (uint32_t r = first; r < first + n; r++) {
        const uint32_t page = op->rows[r].pages[op->rows[r].pos / KERN_PAGE_TOK];
        const uint32_t lane = op->rows[r].pos % KERN_PAGE_TOK;

        for (uint32_t h = 0; h < shape->n_kv_heads; h++) {
            const size_t at = (size_t)h * shape->head_dim;

            ref_kv_put(shape->kv, op->k + r * op->k_stride + at, shape->head_dim, kv_strip(shape, page, h), lane);
            ref_kv_put(shape->kv, op->v + r * op->v_stride + at, shape->head_dim,
                       kv_strip(shape, page, shape->n_kv_heads + h), lane);
        }
    }
}

/* The state of one (row, head) after some pages. */
struct pass {
    float m;          /* largest score so far */
    struct ref_sum l; /* sums of p, by position mod 16 */
    float *out;
    float scale; /* of scores */
};

/* Adds positions @from .. @to, all of one page, to @pass. */
static void take_page(const struct kern_attend *op, const struct kern_kv_row *row, uint32_t kv_head, const float *q,
                      uint32_t from, uint32_t to, struct pass *pass)
{
    const struct kern_kv_shape *shape = &op->shape;
    const uint32_t dim = shape->head_dim;
    const uint32_t page = row->pages[from / KERN_PAGE_TOK];
    uint8_t *const k = kv_strip(shape, page, kv_head);
    uint8_t *const v = kv_strip(shape, page, shape->n_kv_heads + kv_head);
    float scores[KERN_PAGE_TOK];
    float values[KERN_HEAD_MAX];
    float m = pass->m;
    float c;

    for (uint32_t pos = from; pos <= to; pos++) {
        float *score = &scores[pos % KERN_PAGE_TOK];

        ref_kv_get(shape->kv, k, pos % KERN_PAGE_TOK, dim, values);
        *score = ref_sum_dot(q, values, dim) * pass->scale;
        if (op->cap > 0.0f) {
            *score = real_tanh(*score / op->cap) * op->cap;
        }
        m = *score > m ? *score : m;
    }

    c = real_exp(pass->m - m);
    for (uint32_t i = 0; i < dim; i++) {
        pass->out[i] *= c;
    }
    for (uint32_t i = 0; i < KERN_PAGE_TOK; i++) {
        pass->l.lane[i] *= c;
    }

    for (uint32_t pos = from; pos <= to; pos++) {
        const uint32_t lane = pos % KERN_PAGE_TOK;
        const float p = real_exp(scores[lane] - m);

        ref_kv_get(shape->kv, v, lane, dim, values);
        pass->l.lane[lane] += p;
        for (uint32_t i = 0; i < dim; i++) {
            pass->out[i] = fmaf(p, values[i], pass->out[i]);
        }
    }
    pass->m = m;
}

static void attend_one(const struct kern_attend *op, uint32_t head, uint32_t r)
{
    const struct kern_kv_row *row = &op->rows[r];
    const uint32_t dim = op->shape.head_dim;
    const uint32_t kv_head = head / (op->n_heads / op->shape.n_kv_heads);
    const uint32_t width = kv_hadamard_width(op->shape.kv, dim);
    struct pass pass = { .m = -INFINITY,
                         .out = op->out + r * op->out_stride + (size_t)head * dim,
                         .scale = op->scale * (1.0f / (float)width) };
    float q[KERN_HEAD_MAX];
    float inv;

    memcpy(q, op->q + r * op->q_stride + (size_t)head * dim, dim * sizeof(float));
    kv_hadamard(q, dim, width);
    memset(pass.out, 0, dim * sizeof(float));
    for (uint32_t from = row->first; from <= row->pos;) {
        const uint32_t last = from | (KERN_PAGE_TOK - 1);
        const uint32_t to = last < row->pos ? last : row->pos;

        take_page(op, row, kv_head, q, from, to, &pass);
        from = to + 1;
    }
    kv_hadamard(pass.out, dim, width);
    inv = 1.0f / ref_sum_join(&pass.l) * (1.0f / (float)width);
    for (uint32_t i = 0; i < dim; i++) {
        pass.out[i] *= inv;
    }
}

static void attend(const struct kern_attend *op, uint32_t first, uint32_t n)
{
    for (uint32_t item = first; item < first + n; item++) {
        attend_one(op, item / op->n_rows, item % op->n_rows);
    }
}

void kern_fill_ref_attn(struct kern_ops *ops)
{
    ops->store = store;
    ops->attend = attend;
}
