/*
 * Vec_attn: attention over pages, for neighbours that share their KV
 *
 * Neighbouring items (rows of one prompt, or heads of one group) read the same K and V. So a page is converted to
 * floats once, into an array that stays in the nearest cache, and all items of the group read it from there. Heads with
 * a size that is no multiple of 16 are padded with K = -0 against q = 1: adding -0 changes no float.
 */
#include "kern/kv.h"
#include "kern/set.h"
#include "kern/vec.h"

#include <stdbool.h>

#define GROUP_ITEMS 16
#define LANES       16

/* A page's K and V of one head as floats; K's rows are padded to a multiple of 16. */
struct page {
    _Alignas(32) float k[KERN_PAGE_TOK * KERN_HEAD_MAX];
    _Alignas(32) float v[KERN_PAGE_TOK * KERN_HEAD_MAX];
};

/* The state of one (row, head) after some pages. */
struct pass {
    const struct kern_kv_row *row;
    const float *q;
    float *out;
    float m;    /* largest score so far */
    vecf l_low; /* sums of p, by position mod 16 */
    vecf l_high;
};

static uint32_t padded(uint32_t dim)
{
    return (dim + LANES - 1) / LANES * LANES;
}

/* Computes the products of @q with four rows of @k, each as eight sums: lane i plus lane i + 8. */
VEC_INLINE void four_dots(const float *q, const float *k, uint32_t dim, vecf eight[4])
{
    vecf low[4], high[4];

    for (uint32_t j = 0; j < 4; j++) {
        low[j] = vecf_set(0.0f);
        high[j] = vecf_set(0.0f);
    }
    for (uint32_t i = 0; i < dim; i += LANES) {
        const vecf q_low = vecf_load(q + i);
        const vecf q_high = vecf_load(q + i + 8);

        for (uint32_t j = 0; j < 4; j++) {
            low[j] = vecf_fma(q_low, vecf_load(k + (size_t)j * dim + i), low[j]);
            high[j] = vecf_fma(q_high, vecf_load(k + (size_t)j * dim + i + 8), high[j]);
        }
    }
    for (uint32_t j = 0; j < 4; j++) {
        eight[j] = vecf_add(low[j], high[j]);
    }
}

/* Returns the scores of eight positions before scaling: the tree of the sum of 16, for eight rows at once. */
VEC_INLINE vecf eight_dots(const float *q, const float *k, uint32_t dim)
{
    vecf rows[8];

    four_dots(q, k, dim, rows);
    four_dots(q, k + (size_t)4 * dim, dim, rows + 4);
    return vecf_join_eight(rows);
}

/* Leaves lanes @from .. @to (of 16) of @first and @second unchanged and sets the others to -infinity. */
VEC_INLINE void keep_lanes(uint32_t from, uint32_t to, vecf *first, vecf *second)
{
    const veci lane = veci_lanes();
    const veci above = veci_set((int)from - 1);
    const veci below = veci_set((int)to + 1);
    const vecf none = vecf_set(-INFINITY);

    for (int half = 0; half < 2; half++) {
        vecf *x = half == 0 ? first : second;
        const veci at = veci_add(lane, veci_set(8 * half));
        const veci in = veci_and(veci_less(above, at), veci_less(at, below));

        *x = vecf_select(in, *x, none);
    }
}

/* Returns the largest of @m and the sixteen lanes; NaN never wins. */
VEC_INLINE float most_of(float m, vecf first, vecf second)
{
    const vecf most = vecf_max(second, vecf_max(first, vecf_set(m)));

    return -vecf_least(vecf_neg(most));
}

/* Computes out = out * c, then adds p * v of positions @from .. @to in order; @n registers of eight columns. */
VEC_INLINE void add_values(float *out, float c, const float *p, const float *v, uint32_t dim, uint32_t from,
                           uint32_t to, uint32_t n)
{
    vecf sum[8];

    for (uint32_t i = 0; i < n; i++) {
        sum[i] = vecf_mul(vecf_load(out + 8 * i), vecf_set(c));
    }
    for (uint32_t pos = from; pos <= to; pos++) {
        const vecf weight = vecf_set(p[pos]);

        for (uint32_t i = 0; i < n; i++) {
            sum[i] = vecf_fma(weight, vecf_load(v + (size_t)pos * dim + 8 * i), sum[i]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        vecf_store(out + 8 * i, sum[i]);
    }
}

static void add_all_values(float *out, float c, const float *p, const float *v, uint32_t dim, uint32_t from,
                           uint32_t to)
{
    uint32_t i = 0;

    for (; i + 64 <= dim; i += 64) {
        add_values(out + i, c, p, v + i, dim, from, to, 8);
    }
    for (; i + 8 <= dim; i += 8) {
        add_values(out + i, c, p, v + i, dim, from, to, 1);
    }
    for (; i < dim; i++) {
        out[i] *= c;
        for (uint32_t pos = from; pos <= to; pos++) {
            out[i] = fmaf(p[pos], v[(size_t)pos * dim + i], out[i]);
        }
    }
}

/* Adds positions @from .. @to (of 16) of @page to @pass. */
static void take_page(const struct kern_attend *op, const struct page *page, const float *v, uint32_t from, uint32_t to,
                      struct pass *pass)
{
    const uint32_t dim = op->shape.head_dim;
    const uint32_t stride = padded(dim);
    _Alignas(32) float padded_q[KERN_HEAD_MAX];
    _Alignas(32) float p[KERN_PAGE_TOK];
    const vecf scale = vecf_set(op->scale * (1.0f / (float)kv_hadamard_width(op->shape.kv, dim)));
    const float *q = pass->q;
    vecf first, second;
    float m, c;

    if (stride != dim) {
        memcpy(padded_q, q, dim * sizeof(float));
        for (uint32_t i = dim; i < stride; i++) {
            padded_q[i] = 1.0f;
        }
        q = padded_q;
    }
    first = vecf_mul(eight_dots(q, page->k, stride), scale);
    second = vecf_mul(eight_dots(q, page->k + (size_t)8 * stride, stride), scale);
    if (op->cap > 0.0f) {
        first = vecf_capped(first, vecf_set(op->cap));
        second = vecf_capped(second, vecf_set(op->cap));
    }
    keep_lanes(from, to, &first, &second);
    m = most_of(pass->m, first, second);
    c = vecf_first(vecf_exp(vecf_set(pass->m - m)));

    first = vecf_exp(vecf_sub(first, vecf_set(m)));
    second = vecf_exp(vecf_sub(second, vecf_set(m)));
    vecf_store(p, first);
    vecf_store(p + 8, second);
    pass->l_low = vecf_add(vecf_mul(pass->l_low, vecf_set(c)), first);
    pass->l_high = vecf_add(vecf_mul(pass->l_high, vecf_set(c)), second);
    add_all_values(pass->out, c, p, v, dim, from, to);
    pass->m = m;
}

/* Fills @page with the page's K and V as floats, and returns the V: in the page where it is stored as floats. */
static const float *load_page(const struct kern_kv_shape *shape, uint32_t number, uint32_t kv_head, uint32_t n_pos,
                              struct page *page)
{
    uint8_t *v = kv_strip(shape, number, shape->n_kv_heads + kv_head);
    const uint32_t stride = padded(shape->head_dim);

    vec_kv_get(shape->kv, kv_strip(shape, number, kv_head), n_pos, shape->head_dim, page->k, stride);
    memset(page->k + (size_t)n_pos * stride, 0, (KERN_PAGE_TOK - n_pos) * stride * sizeof(float));
    if (shape->kv == KERN_KV_F32) {
        return (const float *)(const void *)v;
    }
    vec_kv_get(shape->kv, v, n_pos, shape->head_dim, page->v, shape->head_dim);
    return page->v;
}

/* Transforms the queries of a group, in @transformed, unless heads are stored unchanged. */
static void transform_queries(struct pass *group, uint32_t n, uint32_t dim, uint32_t width,
                              float (*transformed)[KERN_HEAD_MAX])
{
    for (uint32_t i = 0; width > 1 && i < n; i++) {
        memcpy(transformed[i], group[i].q, dim * sizeof(float));
        vec_kv_hadamard(transformed[i], dim, width);
        group[i].q = transformed[i];
    }
}

/* Computes all items of a group over all pages that any of them attends to. */
static void attend_group(const struct kern_attend *op, uint32_t kv_head, struct pass *group, uint32_t n)
{
    const uint32_t dim = op->shape.head_dim;
    const uint32_t width = kv_hadamard_width(op->shape.kv, dim);
    float transformed[GROUP_ITEMS][KERN_HEAD_MAX];
    struct page page;
    uint32_t first = UINT32_MAX;
    uint32_t last = 0;

    transform_queries(group, n, dim, width, transformed);
    for (uint32_t i = 0; i < n; i++) {
        first = group[i].row->first < first ? group[i].row->first : first;
        last = group[i].row->pos > last ? group[i].row->pos : last;
        memset(group[i].out, 0, dim * sizeof(float));
    }
    for (uint32_t number = first / KERN_PAGE_TOK; number <= last / KERN_PAGE_TOK; number++) {
        const uint32_t begin = number * KERN_PAGE_TOK;
        const uint32_t end = last - begin < KERN_PAGE_TOK ? last : begin + KERN_PAGE_TOK - 1;
        const float *v = load_page(&op->shape, group[0].row->pages[number], kv_head, end - begin + 1, &page);

        for (uint32_t i = 0; i < n; i++) {
            const struct kern_kv_row *row = group[i].row;
            const uint32_t from = row->first > begin ? row->first : begin;
            const uint32_t to = row->pos < end ? row->pos : end;

            if (from <= to) {
                take_page(op, &page, v, from - begin, to - begin, &group[i]);
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const float inv = 1.0f / vecf_join_16(group[i].l_low, group[i].l_high) * (1.0f / (float)width);

        vec_kv_hadamard(group[i].out, dim, width);
        for (uint32_t j = 0; j < dim; j++) {
            group[i].out[j] *= inv;
        }
    }
}

void vec_attend(const struct kern_attend *op, uint32_t first, uint32_t n)
{
    const uint32_t n_shared = op->n_heads / op->shape.n_kv_heads;
    const uint32_t dim = op->shape.head_dim;
    struct pass group[GROUP_ITEMS];
    uint32_t n_group = 0;
    uint32_t kv_head = 0;

    for (uint32_t item = first; item < first + n; item++) {
        const uint32_t head = item / op->n_rows;
        const uint32_t r = item % op->n_rows;
        const struct kern_kv_row *row = &op->rows[r];

        if (n_group == GROUP_ITEMS ||
            (n_group > 0 && (head / n_shared != kv_head || row->pages != group[0].row->pages))) {
            attend_group(op, kv_head, group, n_group);
            n_group = 0;
        }
        kv_head = head / n_shared;
        group[n_group++] = (struct pass){
            .row = row,
            .q = op->q + r * op->q_stride + (size_t)head * dim,
            .out = op->out + r * op->out_stride + (size_t)head * dim,
            .m = -INFINITY,
            .l_low = vecf_set(0.0f),
            .l_high = vecf_set(0.0f),
        };
    }
    if (n_group > 0) {
        attend_group(op, kv_head, group, n_group);
    }
}

static void store(const struct kern_store *op, uint32_t first, uint32_t n)
{
    const struct kern_kv_shape *shape = &op->shape;

    for (uint32_t r = first; r < first + n; r++) {
        const uint32_t page = op->rows[r].pages[op->rows[r].pos / KERN_PAGE_TOK];
        const uint32_t lane = op->rows[r].pos % KERN_PAGE_TOK;

        for (uint32_t h = 0; h < shape->n_kv_heads; h++) {
            const size_t at = (size_t)h * shape->head_dim;

            vec_kv_put(shape->kv, op->k + r * op->k_stride + at, shape->head_dim, kv_strip(shape, page, h), lane);
            vec_kv_put(shape->kv, op->v + r * op->v_stride + at, shape->head_dim,
                       kv_strip(shape, page, shape->n_kv_heads + h), lane);
        }
    }
}

void kern_fill_vec_attn(struct kern_ops *ops)
{
    ops->store = store;
    ops->attend = vec_attend;
}
