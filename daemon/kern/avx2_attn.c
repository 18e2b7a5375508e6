/*
 * Avx2_attn: attention over pages, for neighbours that share their KV
 *
 * Neighbouring items (rows of one prompt, or heads of one group) read the same K and V. So a page is converted to
 * floats once, into an array that stays in the nearest cache, and all items of the group read it from there. Heads with
 * a size that is no multiple of 16 are padded with K = -0 against q = 1: adding -0 changes no float.
 */
#include "kern/avx2.h"
#include "kern/kv.h"
#include "kern/set.h"

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
    float m;      /* largest score so far */
    __m256 l_low; /* sums of p, by position mod 16 */
    __m256 l_high;
};

static uint32_t padded(uint32_t dim)
{
    return (dim + LANES - 1) / LANES * LANES;
}

/* Computes the products of @q with four rows of @k, each as eight sums: lane i plus lane i + 8. */
AVX2_INLINE void four_dots(const float *q, const float *k, uint32_t dim, __m256 eight[4])
{
    __m256 low[4], high[4];

    for (uint32_t j = 0; j < 4; j++) {
        low[j] = _mm256_setzero_ps();
        high[j] = _mm256_setzero_ps();
    }
    for (uint32_t i = 0; i < dim; i += LANES) {
        const __m256 q_low = _mm256_loadu_ps(q + i);
        const __m256 q_high = _mm256_loadu_ps(q + i + 8);

        for (uint32_t j = 0; j < 4; j++) {
            low[j] = _mm256_fmadd_ps(q_low, _mm256_loadu_ps(k + (size_t)j * dim + i), low[j]);
            high[j] = _mm256_fmadd_ps(q_high, _mm256_loadu_ps(k + (size_t)j * dim + i + 8), high[j]);
        }
    }
    for (uint32_t j = 0; j < 4; j++) {
        eight[j] = _mm256_add_ps(low[j], high[j]);
    }
}

/* Returns one level of the tree for rows @a and @b: lane i plus lane i + 4; a's four, then b's. */
AVX2_INLINE __m256 to_four(__m256 a, __m256 b)
{
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

/* Returns the scores of eight positions before scaling: the tree of the sum of 16, for eight rows at once. */
AVX2_INLINE __m256 eight_dots(const float *q, const float *k, uint32_t dim)
{
    __m256 rows[8];
    __m256 four[4];
    __m256 first, second;

    four_dots(q, k, dim, rows);
    four_dots(q, k + (size_t)4 * dim, dim, rows + 4);
    for (uint32_t j = 0; j < 4; j++) {
        four[j] = to_four(rows[j], rows[j + 4]);
    }
    first = _mm256_add_ps(_mm256_shuffle_ps(four[0], four[1], 0x44), _mm256_shuffle_ps(four[0], four[1], 0xee));
    second = _mm256_add_ps(_mm256_shuffle_ps(four[2], four[3], 0x44), _mm256_shuffle_ps(four[2], four[3], 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(first, second, 0x88), _mm256_shuffle_ps(first, second, 0xdd));
}

/* Leaves lanes @from .. @to (of 16) of @first and @second unchanged and sets the others to -infinity. */
AVX2_INLINE void keep_lanes(uint32_t from, uint32_t to, __m256 *first, __m256 *second)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i above = _mm256_set1_epi32((int)from - 1);
    const __m256i below = _mm256_set1_epi32((int)to + 1);
    const __m256 none = _mm256_set1_ps(-INFINITY);

    for (int half = 0; half < 2; half++) {
        __m256 *x = half == 0 ? first : second;
        const __m256i at = _mm256_add_epi32(lane, _mm256_set1_epi32(8 * half));
        const __m256i in = _mm256_and_si256(_mm256_cmpgt_epi32(at, above), _mm256_cmpgt_epi32(below, at));

        *x = _mm256_blendv_ps(none, *x, _mm256_castsi256_ps(in));
    }
}

/* Returns the largest of @m and the sixteen lanes; NaN never wins. */
AVX2_INLINE float most_of(float m, __m256 first, __m256 second)
{
    __m256 most = _mm256_max_ps(second, _mm256_max_ps(first, _mm256_set1_ps(m)));
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps(most, 1));

    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

/* Computes out = out * c, then adds p * v of positions @from .. @to in order; @n registers of eight columns. */
AVX2_INLINE void add_values(float *out, float c, const float *p, const float *v, uint32_t dim, uint32_t from,
                            uint32_t to, uint32_t n)
{
    __m256 sum[8];

    for (uint32_t i = 0; i < n; i++) {
        sum[i] = _mm256_mul_ps(_mm256_loadu_ps(out + 8 * i), _mm256_set1_ps(c));
    }
    for (uint32_t pos = from; pos <= to; pos++) {
        const __m256 weight = _mm256_set1_ps(p[pos]);

        for (uint32_t i = 0; i < n; i++) {
            sum[i] = _mm256_fmadd_ps(weight, _mm256_loadu_ps(v + (size_t)pos * dim + 8 * i), sum[i]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        _mm256_storeu_ps(out + 8 * i, sum[i]);
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
    const __m256 scale = _mm256_set1_ps(op->scale * (1.0f / (float)kv_hadamard_width(op->shape.kv, dim)));
    const float *q = pass->q;
    __m256 first, second;
    float m, c;

    if (stride != dim) {
        memcpy(padded_q, q, dim * sizeof(float));
        for (uint32_t i = dim; i < stride; i++) {
            padded_q[i] = 1.0f;
        }
        q = padded_q;
    }
    first = _mm256_mul_ps(eight_dots(q, page->k, stride), scale);
    second = _mm256_mul_ps(eight_dots(q, page->k + (size_t)8 * stride, stride), scale);
    if (op->cap > 0.0f) {
        first = avx2_capped(first, _mm256_set1_ps(op->cap));
        second = avx2_capped(second, _mm256_set1_ps(op->cap));
    }
    keep_lanes(from, to, &first, &second);
    m = most_of(pass->m, first, second);
    c = _mm256_cvtss_f32(avx2_exp(_mm256_set1_ps(pass->m - m)));

    first = avx2_exp(_mm256_sub_ps(first, _mm256_set1_ps(m)));
    second = avx2_exp(_mm256_sub_ps(second, _mm256_set1_ps(m)));
    _mm256_store_ps(p, first);
    _mm256_store_ps(p + 8, second);
    pass->l_low = _mm256_add_ps(_mm256_mul_ps(pass->l_low, _mm256_set1_ps(c)), first);
    pass->l_high = _mm256_add_ps(_mm256_mul_ps(pass->l_high, _mm256_set1_ps(c)), second);
    add_all_values(pass->out, c, p, v, dim, from, to);
    pass->m = m;
}

/* Fills @page with the page's K and V as floats, and returns the V: in the page where it is stored as floats. */
static const float *load_page(const struct kern_kv_shape *shape, uint32_t number, uint32_t kv_head, uint32_t n_pos,
                              struct page *page)
{
    uint8_t *v = kv_strip(shape, number, shape->n_kv_heads + kv_head);
    const uint32_t stride = padded(shape->head_dim);

    avx2_kv_get(shape->kv, kv_strip(shape, number, kv_head), n_pos, shape->head_dim, page->k, stride);
    memset(page->k + (size_t)n_pos * stride, 0, (KERN_PAGE_TOK - n_pos) * stride * sizeof(float));
    if (shape->kv == KERN_KV_F32) {
        return (const float *)(const void *)v;
    }
    avx2_kv_get(shape->kv, v, n_pos, shape->head_dim, page->v, shape->head_dim);
    return page->v;
}

/* Transforms the queries of a group, in @transformed, unless heads are stored unchanged. */
static void transform_queries(struct pass *group, uint32_t n, uint32_t dim, uint32_t width,
                              float (*transformed)[KERN_HEAD_MAX])
{
    for (uint32_t i = 0; width > 1 && i < n; i++) {
        memcpy(transformed[i], group[i].q, dim * sizeof(float));
        avx2_kv_hadamard(transformed[i], dim, width);
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
        const float inv = 1.0f / avx2_join(group[i].l_low, group[i].l_high) * (1.0f / (float)width);

        avx2_kv_hadamard(group[i].out, dim, width);
        for (uint32_t j = 0; j < dim; j++) {
            group[i].out[j] *= inv;
        }
    }
}

void avx2_attend(const struct kern_attend *op, uint32_t first, uint32_t n)
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
            .l_low = _mm256_setzero_ps(),
            .l_high = _mm256_setzero_ps(),
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

            avx2_kv_put(shape->kv, op->k + r * op->k_stride + at, shape->head_dim, kv_strip(shape, page, h), lane);
            avx2_kv_put(shape->kv, op->v + r * op->v_stride + at, shape->head_dim,
                        kv_strip(shape, page, shape->n_kv_heads + h), lane);
        }
    }
}

void kern_fill_avx2_attn(struct kern_ops *ops)
{
    ops->store = store;
    ops->attend = avx2_attend;
}
