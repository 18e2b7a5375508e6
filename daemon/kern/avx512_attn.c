/*
 * Avx512_attn: attention over pages, sixteen lanes at a time, for items that share their KV
 *
 * Items (a row and a head) that read the same pages make a group: the heads of a row that share a kv head, and the rows
 * of a prompt. A page is converted to floats once for the group. Scores are computed in tiles of four positions by up
 * to four items, so that a register of K or q is used four times; values also go in tiles, of four registers by four
 * items. The largest scores of all items of a group are found, and their corrections computed, together: an item in
 * each lane.
 *
 * Heads are left to avx2 if their size is no multiple of 16.
 */
#include "kern/avx512_lane.h"
#include "kern/kv.h"
#include "kern/set.h"

#define GROUP_ITEMS 16 /* a lane each */
#define TILE_ITEMS  4
#define TILE_REGS   4 /* registers of an item's values in a tile */

/* A page's K and V of one head as floats, unless they are stored so. */
struct page {
    _Alignas(64) float k[KERN_PAGE_TOK * KERN_HEAD_MAX];
    _Alignas(64) float v[KERN_PAGE_TOK * KERN_HEAD_MAX];
};

/* The items that are computed together. Rows of q and out are dense: those of the step may share their cache sets. */
struct group {
    const struct kern_attend *op;
    uint32_t kv_head;
    uint32_t n;
    const struct kern_kv_row *rows[GROUP_ITEMS];
    float *outs[GROUP_ITEMS];                            /* where the answers go */
    _Alignas(64) float m[LANES];                         /* largest score so far, of each item */
    _Alignas(64) float c[LANES];                         /* correction of what was summed before this page */
    _Alignas(64) float l[GROUP_ITEMS][LANES];            /* sums of p, by position mod 16 */
    _Alignas(64) float p[GROUP_ITEMS][LANES];            /* scores of this page, then weights */
    _Alignas(64) float q[GROUP_ITEMS * KERN_HEAD_MAX];   /* [n][head_dim], transformed */
    _Alignas(64) float out[GROUP_ITEMS * KERN_HEAD_MAX]; /* [n][head_dim] */
};

/* ---- scores ---- */

/* Computes the products of @n rows of @q with the sixteen rows of @k, a position in each lane of @ret_scores. */
AVX512_INLINE void score_tile(const float *q, const float *k, uint32_t dim, uint32_t n, __m512 *ret_scores)
{
    __m512 four[TILE_ITEMS][4];

    for (uint32_t part = 0; part < 4; part++) {
        __m512 sum[TILE_ITEMS][4];

        for (uint32_t t = 0; t < n; t++) {
            for (uint32_t j = 0; j < 4; j++) {
                sum[t][j] = _mm512_setzero_ps();
            }
        }
        for (uint32_t i = 0; i < dim; i += LANES) {
            __m512 row[4];

            for (uint32_t j = 0; j < 4; j++) {
                row[j] = _mm512_loadu_ps(k + (size_t)(part + 4 * j) * dim + i);
            }
            for (uint32_t t = 0; t < n; t++) {
                const __m512 one = _mm512_loadu_ps(q + (size_t)t * dim + i);

                for (uint32_t j = 0; j < 4; j++) {
                    sum[t][j] = _mm512_fmadd_ps(one, row[j], sum[t][j]);
                }
            }
        }
        for (uint32_t t = 0; t < n; t++) {
            four[t][part] = join_four(sum[t], add);
        }
    }
    for (uint32_t t = 0; t < n; t++) {
        ret_scores[t] = join_parts(four[t], add);
    }
}

static void score_items(struct group *group, const float *k, uint32_t dim, uint32_t first, uint32_t n)
{
    const float *q = group->q + (size_t)first * dim;
    __m512 scores[TILE_ITEMS];

    switch (n) {
    case 1:
        score_tile(q, k, dim, 1, scores);
        break;
    case 2:
        score_tile(q, k, dim, 2, scores);
        break;
    case 3:
        score_tile(q, k, dim, 3, scores);
        break;
    default:
        score_tile(q, k, dim, 4, scores);
        break;
    }
    for (uint32_t t = 0; t < n; t++) {
        _mm512_store_ps(group->p[first + t], scores[t]);
    }
}

/* ---- values ---- */

/* Adds p * v of positions @from .. @to, in order, to @n_regs registers of @n items, which are corrected first. */
AVX512_INLINE void value_tile(struct group *group, const float *v, uint32_t dim, uint32_t first, uint32_t n,
                              uint32_t n_regs, uint32_t from, uint32_t to, uint32_t col)
{
    float *out = group->out + (size_t)first * dim + col;
    __m512 sum[TILE_ITEMS][TILE_REGS];

    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t i = 0; i < n_regs; i++) {
            sum[t][i] =
                _mm512_mul_ps(_mm512_loadu_ps(out + (size_t)t * dim + LANES * i), _mm512_set1_ps(group->c[first + t]));
        }
    }
    for (uint32_t pos = from; pos <= to; pos++) {
        __m512 row[TILE_REGS];

        for (uint32_t i = 0; i < n_regs; i++) {
            row[i] = _mm512_loadu_ps(v + (size_t)pos * dim + col + LANES * i);
        }
        for (uint32_t t = 0; t < n; t++) {
            const __m512 weight = _mm512_set1_ps(group->p[first + t][pos]);

            for (uint32_t i = 0; i < n_regs; i++) {
                sum[t][i] = _mm512_fmadd_ps(weight, row[i], sum[t][i]);
            }
        }
    }
    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t i = 0; i < n_regs; i++) {
            _mm512_storeu_ps(out + (size_t)t * dim + LANES * i, sum[t][i]);
        }
    }
}

AVX512_INLINE void value_columns(struct group *group, const float *v, uint32_t dim, uint32_t first, uint32_t n,
                                 uint32_t from, uint32_t to)
{
    uint32_t col = 0;

    for (; col + TILE_REGS * LANES <= dim; col += TILE_REGS * LANES) {
        value_tile(group, v, dim, first, n, TILE_REGS, from, to, col);
    }
    for (; col < dim; col += LANES) {
        value_tile(group, v, dim, first, n, 1, from, to, col);
    }
}

/* Adds the values of a whole page for @n items from @first on. */
static void value_items(struct group *group, const float *v, uint32_t dim, uint32_t first, uint32_t n)
{
    switch (n) {
    case 1:
        value_columns(group, v, dim, first, 1, 0, KERN_PAGE_TOK - 1);
        break;
    case 2:
        value_columns(group, v, dim, first, 2, 0, KERN_PAGE_TOK - 1);
        break;
    case 3:
        value_columns(group, v, dim, first, 3, 0, KERN_PAGE_TOK - 1);
        break;
    default:
        value_columns(group, v, dim, first, 4, 0, KERN_PAGE_TOK - 1);
        break;
    }
}

/* ---- a page ---- */

/* The positions of a page, 0 to 15, that an item attends to; none if from is above to. */
struct span {
    uint32_t from, to;
};

static struct span span_of(const struct kern_kv_row *row, uint32_t begin)
{
    const uint32_t end = begin + KERN_PAGE_TOK - 1;

    if (row->pos < begin || row->first > end) {
        return (struct span){ 1, 0 };
    }
    return (struct span){ row->first > begin ? row->first - begin : 0,
                          row->pos < end ? row->pos - begin : end - begin };
}

/* Turns the scores of the page into weights: the largest score so far, the corrections, and the sums of weights. An
 * item that attends to no position keeps what it has. */
static void weigh(struct group *group, const struct span *spans)
{
    const struct kern_attend *op = group->op;
    const __m512 scale =
        _mm512_set1_ps(op->scale * (1.0f / (float)kv_hadamard_width(op->shape.kv, op->shape.head_dim)));
    const __m512 before = _mm512_load_ps(group->m);
    __m512 most[LANES];
    __m512 m;

    for (uint32_t t = 0; t < LANES; t++) {
        const uint32_t from = t < group->n ? spans[t].from : 1;
        const uint32_t to = t < group->n ? spans[t].to : 0;
        __m512 scores;

        most[t] = _mm512_set1_ps(-INFINITY);
        if (from > to) {
            continue;
        }
        scores = _mm512_mul_ps(_mm512_load_ps(group->p[t]), scale);
        if (op->cap > 0.0f) {
            scores = avx512_capped(scores, _mm512_set1_ps(op->cap));
        }
        scores = _mm512_mask_mov_ps(most[t], (__mmask16)((2u << to) - (1u << from)), scores);
        _mm512_store_ps(group->p[t], scores);
        most[t] = _mm512_max_ps(scores, most[t]); /* a NaN gives way to the second operand */
    }
    m = _mm512_max_ps(join_rows(most, larger), before);
    _mm512_store_ps(group->c, avx512_exp(_mm512_sub_ps(before, m)));
    _mm512_store_ps(group->m, m);
    for (uint32_t t = 0; t < group->n; t++) {
        if (spans[t].from <= spans[t].to) {
            const __m512 p = avx512_exp(_mm512_sub_ps(_mm512_load_ps(group->p[t]), _mm512_set1_ps(group->m[t])));
            const __m512 l = _mm512_mul_ps(_mm512_load_ps(group->l[t]), _mm512_set1_ps(group->c[t]));

            _mm512_store_ps(group->p[t], p);
            _mm512_store_ps(group->l[t], _mm512_add_ps(l, p));
        }
    }
}

/* Adds the page from position @begin on to all items: @k and @v are its numbers as floats. */
static void take_page(struct group *group, const float *k, const float *v, uint32_t begin)
{
    const uint32_t dim = group->op->shape.head_dim;
    struct span spans[GROUP_ITEMS];
    uint32_t n_now;

    for (uint32_t t = 0; t < group->n; t += TILE_ITEMS) {
        score_items(group, k, dim, t, group->n - t < TILE_ITEMS ? group->n - t : TILE_ITEMS);
    }
    for (uint32_t t = 0; t < group->n; t++) {
        spans[t] = span_of(group->rows[t], begin);
    }
    weigh(group, spans);
    for (uint32_t t = 0; t < group->n; t += n_now) {
        n_now = 0;
        while (n_now < TILE_ITEMS && t + n_now < group->n && spans[t + n_now].from == 0 &&
               spans[t + n_now].to == KERN_PAGE_TOK - 1) {
            n_now++;
        }
        if (n_now > 0) {
            value_items(group, v, dim, t, n_now);
            continue;
        }
        /* A position that the item does not attend to may hold anything, so it is left out, not weighed with 0. */
        if (spans[t].from <= spans[t].to) {
            value_columns(group, v, dim, t, 1, spans[t].from, spans[t].to);
        }
        n_now = 1;
    }
}

static float from_half(const uint8_t *place)
{
    uint16_t half;

    memcpy(&half, place, sizeof(half));
    return _cvtsh_ss(half);
}

/* The following read the numbers of a page, which need not all have been written, as floats. */
static void read_f16(const uint8_t *halves, uint32_t dim, float *out)
{
    for (uint32_t i = 0; i < KERN_PAGE_TOK * dim; i += LANES) {
        _mm512_store_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(halves + 2 * i))));
    }
}

static void read_q8(const uint8_t *numbers, const uint8_t *scales, uint32_t dim, float *out)
{
    for (uint32_t lane = 0; lane < KERN_PAGE_TOK; lane++) {
        const __m512 d = _mm512_set1_ps(from_half(scales + 2 * lane));

        for (uint32_t i = lane * dim; i < (lane + 1) * dim; i += LANES) {
            const __m512i q = _mm512_cvtepi8_epi32(load_16(numbers + i));

            _mm512_store_ps(out + i, _mm512_mul_ps(d, _mm512_cvtepi32_ps(q)));
        }
    }
}

static void read_q4(const uint8_t *numbers, const uint8_t *scales, uint32_t dim, float *out)
{
    for (uint32_t lane = 0; lane < KERN_PAGE_TOK; lane++, out += dim, numbers += dim / 2) {
        const __m512 d = _mm512_set1_ps(from_half(scales + 4 * lane));
        const __m512 m = _mm512_set1_ps(from_half(scales + 4 * lane + 2));

        for (uint32_t i = 0; i < dim / 2; i += LANES / 2) {
            const __m256i q = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(numbers + i)));
            const __m256i low = _mm256_and_si256(q, _mm256_set1_epi32(LOW_FOUR));
            const __m512i both = _mm512_inserti32x8(_mm512_castsi256_si512(low), _mm256_srli_epi32(q, 4), 1);
            const __m512 x = _mm512_fmadd_ps(d, _mm512_cvtepi32_ps(both), m);

            _mm256_storeu_ps(out + i, _mm512_castps512_ps256(x));
            _mm256_storeu_ps(out + dim / 2 + i, _mm512_extractf32x8_ps(x, 1));
        }
    }
}

/* Returns the K or V at @strip as floats: in @place, or where it is stored. */
static const float *read_strip(const struct kern_kv_shape *shape, uint8_t *strip, float *place)
{
    const uint8_t *scales = kv_scales(shape->kv, shape->head_dim, strip, 0);

    switch (shape->kv) {
    case KERN_KV_F16:
        read_f16(strip, shape->head_dim, place);
        break;
    case KERN_KV_Q8:
        read_q8(strip, scales, shape->head_dim, place);
        break;
    case KERN_KV_Q4:
        read_q4(strip, scales, shape->head_dim, place);
        break;
    case KERN_KV_F32:
    case KERN_KV_COUNT:
        return (const float *)(const void *)strip;
    }
    return place;
}

/* Computes all items of a group over all pages that any of them attends to. */
static void attend_pages(struct group *group)
{
    const struct kern_kv_shape *shape = &group->op->shape;
    const uint32_t *pages = group->rows[0]->pages;
    struct page page;
    uint32_t first = UINT32_MAX;
    uint32_t last = 0;

    for (uint32_t t = 0; t < group->n; t++) {
        first = group->rows[t]->first < first ? group->rows[t]->first : first;
        last = group->rows[t]->pos > last ? group->rows[t]->pos : last;
    }
    for (uint32_t i = first / KERN_PAGE_TOK; i <= last / KERN_PAGE_TOK; i++) {
        const float *k = read_strip(shape, kv_strip(shape, pages[i], group->kv_head), page.k);
        const float *v = read_strip(shape, kv_strip(shape, pages[i], shape->n_kv_heads + group->kv_head), page.v);

        take_page(group, k, v, i * KERN_PAGE_TOK);
    }
}

/* ---- items ---- */

static void begin_group(struct group *group, const struct kern_attend *op, uint32_t kv_head)
{
    group->op = op;
    group->kv_head = kv_head;
    group->n = 0;
    _mm512_store_ps(group->m, _mm512_set1_ps(-INFINITY));
    memset(group->l, 0, sizeof(group->l));
}

static void add_item(struct group *group, uint32_t head, uint32_t r)
{
    const struct kern_attend *op = group->op;
    const uint32_t dim = op->shape.head_dim;
    float *q = group->q + (size_t)group->n * dim;

    memcpy(q, op->q + r * op->q_stride + (size_t)head * dim, dim * sizeof(float));
    vec_kv_hadamard(q, dim, kv_hadamard_width(op->shape.kv, dim));
    memset(group->out + (size_t)group->n * dim, 0, dim * sizeof(float));
    group->rows[group->n] = &op->rows[r];
    group->outs[group->n++] = op->out + r * op->out_stride + (size_t)head * dim;
}

/* Computes the group and writes its answers; it is empty afterwards. */
static void end_group(struct group *group)
{
    const uint32_t dim = group->op->shape.head_dim;
    const uint32_t width = kv_hadamard_width(group->op->shape.kv, dim);

    if (group->n > 0) {
        attend_pages(group);
    }
    for (uint32_t t = 0; t < group->n; t++) {
        float *out = group->out + (size_t)t * dim;
        const float inv = 1.0f / join_one(_mm512_load_ps(group->l[t])) * (1.0f / (float)width);

        vec_kv_hadamard(out, dim, width);
        for (uint32_t i = 0; i < dim; i += LANES) {
            _mm512_storeu_ps(group->outs[t] + i, _mm512_mul_ps(_mm512_loadu_ps(out + i), _mm512_set1_ps(inv)));
        }
    }
    begin_group(group, group->op, group->kv_head);
}

/* Items go by rows and, within a row, by heads that share a kv head: so they make groups in steps of many sequences. */
static void attend(const struct kern_attend *op, uint32_t first, uint32_t n)
{
    const uint32_t n_shared = op->n_heads / op->shape.n_kv_heads;
    struct group group;

    if (op->shape.head_dim % LANES != 0) {
        vec_attend(op, first, n);
        return;
    }
    for (uint32_t kv_head = 0; kv_head < op->shape.n_kv_heads; kv_head++) {
        begin_group(&group, op, kv_head);
        for (uint32_t r = 0; r < op->n_rows; r++) {
            for (uint32_t head = kv_head * n_shared; head < (kv_head + 1) * n_shared; head++) {
                const uint32_t item = head * op->n_rows + r;

                if (item < first || item - first >= n) {
                    continue;
                }
                if (group.n == GROUP_ITEMS || (group.n > 0 && op->rows[r].pages != group.rows[0]->pages)) {
                    end_group(&group);
                }
                add_item(&group, head, r);
            }
        }
        end_group(&group);
    }
}

void kern_fill_avx512_attn(struct kern_ops *ops)
{
    ops->attend = attend;
}
