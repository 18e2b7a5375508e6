/*
 * Attention and the store of K and V: the same bits in every set, however rows are cut into chunks and items into
 * ranges; near the truth; independent of positions that it must not attend to
 */
#include "fixture.h"
#include "unit.h"

#include "base/clean.h"
#include "kern/half.h"

#include <math.h>
#include <string.h>

#define N_FAST  (FIXTURE_N_SETS - 1)
#define N_PAGES 6

/* One sequence with pages in disorder in the pool, and another layer's part before each. */
struct scene {
    struct kern_kv_shape shape;
    uint32_t n_heads;
    uint32_t n_pos;
    uint32_t window;  /* 0: none */
    float cap;        /* of scores; 0: none */
    float *q, *k, *v; /* [n_pos][heads][head_dim] */
    struct kern_kv_row *rows;
    uint32_t pages[N_PAGES];
};

static void make(struct scene *scene, enum fixture_kind kind, struct fixture_random *random)
{
    const size_t kv_dim = (size_t)scene->shape.n_kv_heads * scene->shape.head_dim;
    const size_t q_dim = (size_t)scene->n_heads * scene->shape.head_dim;
    const size_t layer = kern_kv_page_bytes(scene->shape.kv, scene->shape.n_kv_heads, scene->shape.head_dim);

    scene->shape.layer_bytes = layer;
    scene->shape.page_bytes = 2 * layer;
    scene->shape.base = aligned_alloc(64, N_PAGES * 2 * layer);
    memset(scene->shape.base, 0xff, N_PAGES * 2 * layer); /* NaN: what must not be seen would show */
    scene->q = fixture_guarded(scene->n_pos * q_dim);
    scene->k = fixture_guarded(scene->n_pos * kv_dim);
    scene->v = fixture_guarded(scene->n_pos * kv_dim);
    fixture_fill(scene->q, scene->n_pos * q_dim, kind, random);
    fixture_fill(scene->k, scene->n_pos * kv_dim, kind, random);
    fixture_fill(scene->v, scene->n_pos * kv_dim, kind, random);
    scene->rows = calloc(scene->n_pos + 1, sizeof(scene->rows[0]));
    for (uint32_t i = 0; i < N_PAGES; i++) {
        scene->pages[i] = (i * 5 + 2) % N_PAGES;
    }
    for (uint32_t r = 0; r < scene->n_pos; r++) {
        const uint32_t first = scene->window > 0 && r + 1 > scene->window ? r + 1 - scene->window : 0;

        scene->rows[r] = (struct kern_kv_row){ .pages = scene->pages, .pos = r, .first = first };
    }
}

static void unmake(struct scene *scene)
{
    const size_t kv_dim = (size_t)scene->shape.n_kv_heads * scene->shape.head_dim;

    fixture_free_guarded(scene->q, (size_t)scene->n_pos * scene->n_heads * scene->shape.head_dim);
    fixture_free_guarded(scene->k, scene->n_pos * kv_dim);
    fixture_free_guarded(scene->v, scene->n_pos * kv_dim);
    free(scene->rows);
    free(scene->shape.base);
}

/* Stores and attends rows by chunks of @chunk, items of a chunk by ranges of @range. */
static float *run(const struct kern_ops *ops, const struct scene *scene, uint32_t chunk, uint32_t range)
{
    const size_t kv_dim = (size_t)scene->shape.n_kv_heads * scene->shape.head_dim;
    const size_t q_dim = (size_t)scene->n_heads * scene->shape.head_dim;
    float *out = fixture_guarded(scene->n_pos * q_dim);

    for (uint32_t row = 0; row < scene->n_pos; row += chunk) {
        const uint32_t n = scene->n_pos - row < chunk ? scene->n_pos - row : chunk;
        const struct kern_store store = { .shape = scene->shape,
                                          .rows = scene->rows + row,
                                          .k = scene->k + row * kv_dim,
                                          .v = scene->v + row * kv_dim,
                                          .k_stride = kv_dim,
                                          .v_stride = kv_dim };
        const struct kern_attend attend = {
            .shape = scene->shape,
            .n_heads = scene->n_heads,
            .n_rows = n,
            .rows = scene->rows + row,
            .scale = 1.0f / sqrtf((float)scene->shape.head_dim),
            .cap = scene->cap,
            .q = scene->q + row * q_dim,
            .out = out + row * q_dim,
            .q_stride = q_dim,
            .out_stride = q_dim,
        };
        const uint32_t n_items = n * scene->n_heads;

        ops->store(&store, 0, n);
        for (uint32_t i = 0; i < n_items; i += range) {
            ops->attend(&attend, i, n_items - i < range ? n_items - i : range);
        }
    }
    return out;
}

static const struct scene scenes[] = {
    { .shape = { .kv = KERN_KV_F16, .n_kv_heads = 3, .head_dim = 64 }, .n_heads = 9, .n_pos = 83 },
    { .shape = { .kv = KERN_KV_F32, .n_kv_heads = 3, .head_dim = 64 }, .n_heads = 9, .n_pos = 83 },
    { .shape = { .kv = KERN_KV_F16, .n_kv_heads = 4, .head_dim = 8 }, .n_heads = 8, .n_pos = 49 },
    { .shape = { .kv = KERN_KV_F32, .n_kv_heads = 4, .head_dim = 8 }, .n_heads = 8, .n_pos = 49 },
    { .shape = { .kv = KERN_KV_F16, .n_kv_heads = 1, .head_dim = 128 }, .n_heads = 2, .n_pos = 33 },
    { .shape = { .kv = KERN_KV_F16, .n_kv_heads = 1, .head_dim = 82 }, .n_heads = 5, .n_pos = 18 },
    { .shape = { .kv = KERN_KV_F32, .n_kv_heads = 2, .head_dim = 6 }, .n_heads = 2, .n_pos = 18 },
    { .shape = { .kv = KERN_KV_F16, .n_kv_heads = 1, .head_dim = 256 }, .n_heads = 1, .n_pos = 17 },
    { .shape = { .kv = KERN_KV_F16, .n_kv_heads = 1, .head_dim = 512 }, .n_heads = 1, .n_pos = 17 },
    { .shape = { .kv = KERN_KV_Q8, .n_kv_heads = 3, .head_dim = 64 }, .n_heads = 9, .n_pos = 83 },
    { .shape = { .kv = KERN_KV_Q4, .n_kv_heads = 3, .head_dim = 64 }, .n_heads = 9, .n_pos = 83 },
    { .shape = { .kv = KERN_KV_Q8, .n_kv_heads = 4, .head_dim = 8 }, .n_heads = 8, .n_pos = 49 },
    { .shape = { .kv = KERN_KV_Q4, .n_kv_heads = 4, .head_dim = 8 }, .n_heads = 8, .n_pos = 49 },
    { .shape = { .kv = KERN_KV_Q8, .n_kv_heads = 1, .head_dim = 82 }, .n_heads = 5, .n_pos = 18 },
    { .shape = { .kv = KERN_KV_Q4, .n_kv_heads = 1, .head_dim = 82 }, .n_heads = 5, .n_pos = 18 },
    { .shape = { .kv = KERN_KV_Q8, .n_kv_heads = 1, .head_dim = 512 }, .n_heads = 1, .n_pos = 17 },
    { .shape = { .kv = KERN_KV_Q4, .n_kv_heads = 1, .head_dim = 512 }, .n_heads = 1, .n_pos = 17 },
    { .shape = { .kv = KERN_KV_Q4, .n_kv_heads = 2, .head_dim = 6 }, .n_heads = 4, .n_pos = 90, .window = 19 },
    { .shape = { .kv = KERN_KV_F16, .n_kv_heads = 2, .head_dim = 64 }, .n_heads = 4, .n_pos = 90, .window = 19 },
    { .shape = { .kv = KERN_KV_F32, .n_kv_heads = 2, .head_dim = 24 }, .n_heads = 4, .n_pos = 90, .window = 1 },
    { .shape = { .kv = KERN_KV_F16, .n_kv_heads = 2, .head_dim = 40 },
      .n_heads = 4,
      .n_pos = 90,
      .window = 33,
      .cap = 0.5f },
    /* Heads of 16 times an odd number, and seven that share a kv head: edges of the tiles of avx512. */
    { .shape = { .kv = KERN_KV_F16, .n_kv_heads = 2, .head_dim = 80 }, .n_heads = 14, .n_pos = 35 },
    { .shape = { .kv = KERN_KV_Q8, .n_kv_heads = 1, .head_dim = 48 }, .n_heads = 7, .n_pos = 50, .window = 20 },
    { .shape = { .kv = KERN_KV_Q4, .n_kv_heads = 2, .head_dim = 112 }, .n_heads = 12, .n_pos = 40, .cap = 2.0f },
    { .shape = { .kv = KERN_KV_F32, .n_kv_heads = 2, .head_dim = 64 }, .n_heads = 4, .n_pos = 50, .cap = 50.0f },
};

START_TEST(sets_attend_alike_however_rows_are_cut)
{
    static const struct {
        uint32_t chunk, range;
    } cuts[] = { { 1, 1 }, { 1, 100 }, { 7, 5 }, { 16, 1000 }, { 96, 31 }, { 96, 10000 } };
    const int n_scenes = (int)COUNTOF(scenes);
    const struct kern_ops *ops = fixture_set(_i / n_scenes % FIXTURE_N_SETS);
    struct scene scene = scenes[_i % n_scenes];
    struct fixture_random random = { 41 + (uint64_t)_i };
    const size_t n = (size_t)scene.n_pos * scene.n_heads * scene.shape.head_dim;
    float *expected;

    if (!ops) {
        return;
    }
    make(&scene, (enum fixture_kind)(_i / n_scenes / FIXTURE_N_SETS), &random);
    expected = run(fixture_set(0), &scene, 1, 1);

    for (size_t c = unit_is_sanitized() ? 2 : 0; c < COUNTOF(cuts); c += unit_is_sanitized() ? 2 : 1) {
        float *got = run(ops, &scene, cuts[c].chunk, cuts[c].range);

        fixture_same(got, expected, n, ops->name);
        fixture_free_guarded(got, n);
    }
    fixture_free_guarded(expected, n);
    unmake(&scene);
}
END_TEST

static float near_half(float x)
{
    return half_to_float(half_from_float(x));
}

/* out = H x within each run of @width: H has 1 where the bits that row and column share are even in number. */
static void hadamard(const double *x, uint32_t dim, uint32_t width, double *out)
{
    for (uint32_t i = 0; i < dim; i++) {
        out[i] = 0;
        for (uint32_t j = 0; j < width; j++) {
            out[i] += (__builtin_popcount(i % width & j) % 2 == 0 ? 1 : -1) * x[i / width * width + j];
        }
    }
}

/* Computes what a stored head @x reads as. The transform is exact for the numbers of this test. */
static void store_head(enum kern_kv kv, const float *x, uint32_t dim, double *out)
{
    const uint32_t width = dim & -dim;
    const float least = kv == KERN_KV_Q8 ? -127.0f : 0.0f;
    float lo = INFINITY, hi = -INFINITY, d, m;
    double y[KERN_HEAD_MAX];

    for (uint32_t i = 0; i < dim; i++) {
        out[i] = (double)(kv == KERN_KV_F16 ? near_half(x[i]) : x[i]);
    }
    if (kv == KERN_KV_F16 || kv == KERN_KV_F32) {
        return;
    }
    hadamard(out, dim, width, y);
    for (uint32_t i = 0; i < dim; i++) {
        lo = fminf(lo, (float)y[i]);
        hi = fmaxf(hi, (float)y[i]);
    }
    m = kv == KERN_KV_Q8 ? 0.0f : near_half(lo);
    d = near_half(kv == KERN_KV_Q8 ? fmaxf(hi, -lo) / 127.0f : (hi - m) * (1.0f / 15.0f));
    for (uint32_t i = 0; i < dim; i++) {
        y[i] = (double)d * (double)fmaxf(rintf(((float)y[i] - m) * (1.0f / d)), least) + (double)m;
    }
    hadamard(y, dim, width, out);
    for (uint32_t i = 0; i < dim; i++) {
        out[i] /= width;
    }
}

/* Returns what is stored for all heads at @x; free() it. */
static double *store_all(const struct scene *scene, const float *x)
{
    const uint32_t dim = scene->shape.head_dim;
    double *out = calloc((size_t)scene->n_pos * scene->shape.n_kv_heads * dim, sizeof(*out));

    for (uint32_t i = 0; i < scene->n_pos * scene->shape.n_kv_heads; i++) {
        store_head(scene->shape.kv, x + (size_t)i * dim, dim, out + (size_t)i * dim);
    }
    return out;
}

/* Element @i of the answer of @row and @head, in float64 and two passes. */
static double truth(const struct scene *scene, const double *k, const double *v, uint32_t row, uint32_t head,
                    uint32_t i)
{
    const uint32_t dim = scene->shape.head_dim;
    const uint32_t kv_head = head / (scene->n_heads / scene->shape.n_kv_heads);
    double scores[100];
    double most = -INFINITY, sum = 0, value = 0;

    for (uint32_t pos = scene->rows[row].first; pos <= row; pos++) {
        const size_t at = ((size_t)pos * scene->shape.n_kv_heads + kv_head) * dim;

        scores[pos] = 0;
        for (uint32_t j = 0; j < dim; j++) {
            scores[pos] += (double)scene->q[((size_t)row * scene->n_heads + head) * dim + j] * k[at + j];
        }
        scores[pos] /= sqrt(dim);
        if (scene->cap > 0.0f) {
            scores[pos] = (double)scene->cap * tanh(scores[pos] / (double)scene->cap);
        }
        most = fmax(most, scores[pos]);
    }
    for (uint32_t pos = scene->rows[row].first; pos <= row; pos++) {
        const double p = exp(scores[pos] - most);

        sum += p;
        value += p * v[((size_t)pos * scene->shape.n_kv_heads + kv_head) * dim + i];
    }
    return value / sum;
}

START_TEST(attention_is_near_the_truth)
{
    const struct kern_ops *ops = fixture_set(_i / (int)COUNTOF(scenes));
    struct scene scene = scenes[_i % (int)COUNTOF(scenes)];
    struct fixture_random random = { 43 };
    const uint32_t dim = scene.shape.head_dim;
    double *k, *v;
    float *out;

    if (!ops) {
        return;
    }
    make(&scene, FIXTURE_ORDINARY, &random);
    for (uint32_t i = 0; i < scene.n_pos * scene.shape.n_kv_heads * dim; i++) { /* so that sums of them are exact */
        scene.k[i] = rintf(scene.k[i] * 4096.0f) / 4096.0f;
        scene.v[i] = rintf(scene.v[i] * 4096.0f) / 4096.0f;
    }
    out = run(ops, &scene, 8, 1000);
    k = store_all(&scene, scene.k);
    v = store_all(&scene, scene.v);

    for (uint32_t row = 0; row < scene.n_pos; row++) {
        for (uint32_t head = 0; head < scene.n_heads; head++) {
            for (uint32_t i = 0; i < dim; i += 5) {
                const double got = (double)out[((size_t)row * scene.n_heads + head) * dim + i];

                ck_assert_double_le(fabs(got - truth(&scene, k, v, row, head, i)), 2e-6);
            }
        }
    }
    free(k);
    free(v);
    fixture_free_guarded(out, (size_t)scene.n_pos * scene.n_heads * dim);
    unmake(&scene);
}
END_TEST

/* Stores the one head @x of @dim as K and V of position 3; gives the page, 2 strips. */
static uint8_t *one_stored(const struct kern_ops *ops, enum kern_kv kv, const float *x, uint32_t dim)
{
    const size_t n_bytes = kern_kv_page_bytes(kv, 1, dim);
    uint8_t *page = aligned_alloc(64, n_bytes + 64 - n_bytes % 64);
    const uint32_t pages[1] = { 0 };
    const struct kern_kv_row row = { .pages = pages, .pos = 3 };
    const struct kern_store store = {
        .shape = { .kv = kv, .n_kv_heads = 1, .head_dim = dim, .base = page, .page_bytes = n_bytes },
        .rows = &row,
        .k = x,
        .v = x,
    };

    memset(page, 0x5a, n_bytes);
    ops->store(&store, 0, 1);
    ck_assert(memcmp(page, page + n_bytes / 2, n_bytes / 2) == 0);
    return page;
}

/* Stores the head that is @y after the transform; returns the page as one_head() does. */
static uint8_t *one_transformed(const struct kern_ops *ops, enum kern_kv kv, const double *y, uint32_t dim)
{
    double wide[32];
    float x[32];

    hadamard(y, dim, dim & -dim, wide);
    for (uint32_t i = 0; i < dim; i++) {
        x[i] = (float)(wide[i] / (dim & -dim));
    }
    return one_stored(ops, kv, x, dim);
}

START_TEST(heads_round_as_written)
{
    const struct kern_ops *ops = fixture_set(_i);
    const double y8[8] = { 127.0, -127.0, 0.5, 1.5, 2.5, -0.5, -1.5, 63.25 }; /* halves to the even */
    const double y4[8] = { -2.0, 13.0, -1.5, -0.5, 0.5, 1.25, 3.0, 12.75 };
    static const int8_t q8[8] = { 127, -127, 0, 2, 2, 0, -2, 63 };
    static const uint8_t q4[4] = { 0x20, 0x3f, 0x50, 0xf2 };
    uint8_t *page;

    if (!ops) {
        return;
    }
    page = one_transformed(ops, KERN_KV_Q8, y8, 8);
    ck_assert(memcmp(page + 3 * 8, q8, 8) == 0);
    ck_assert_uint_eq(half_load(page + 16 * 8 + 3 * 2), half_from_float(1.0f));
    ck_assert_uint_eq(page[2 * 8 + 7], 0x5a);
    ck_assert_uint_eq(page[4 * 8], 0x5a);
    free(page);

    page = one_transformed(ops, KERN_KV_Q4, y4, 8);
    ck_assert(memcmp(page + 3 * 4, q4, 4) == 0);
    ck_assert_uint_eq(half_load(page + 16 * 4 + 3 * 4), half_from_float(1.0f));
    ck_assert_uint_eq(half_load(page + 16 * 4 + 3 * 4 + 2), half_from_float(-2.0f));
    ck_assert_uint_eq(page[2 * 4 + 3], 0x5a);
    ck_assert_uint_eq(page[4 * 4], 0x5a);
    free(page);
}
END_TEST

START_TEST(heads_that_cannot_be_rounded_are_nan_and_even_ones_are_exact)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 0x1.8p+30, -0x1.8p+30 };
    const struct kern_ops *ops = fixture_set(_i / 2);
    const enum kern_kv kv = _i % 2 == 0 ? KERN_KV_Q8 : KERN_KV_Q4;
    const size_t scale_at = 16 * (kv == KERN_KV_Q8 ? 26 : 13) + 3 * (kv == KERN_KV_Q8 ? 2 : 4);
    double x[26] = { 0 };
    uint8_t *page;

    for (size_t i = 0; ops && i < COUNTOF(odd) * 26; i++) { /* in the eights and in what they leave */
        memset(x, 0, sizeof(x));
        x[i % 26] = odd[i / 26];
        page = one_transformed(ops, kv, x, 26);
        ck_assert(isnan(half_to_float(half_load(page + scale_at))));
        free(page);
    }
    memset(x, 0, sizeof(x));
    x[5] = -0.0;
    page = ops ? one_transformed(ops, kv, x, 26) : NULL;
    for (size_t i = 0; page && i < (kv == KERN_KV_Q8 ? 26 : 13); i++) {
        ck_assert_uint_eq(page[3 * (kv == KERN_KV_Q8 ? 26 : 13) + i], 0);
    }
    ck_assert(!page || half_load(page + scale_at) == 0);
    free(page);
}
END_TEST

START_TEST(a_head_of_negative_zeros_is_stored_as_one_of_zeros)
{
    const struct kern_ops *ops = fixture_set(_i);
    float x[26];
    uint8_t *page;

    if (!ops) {
        return;
    }
    for (size_t i = 0; i < COUNTOF(x); i++) {
        x[i] = -0.0f;
    }
    page = one_stored(ops, KERN_KV_Q4, x, 26);

    for (size_t i = 0; i < 4; i++) { /* d and m: sets that disagree on the sign of a least zero would differ here */
        ck_assert_uint_eq(page[16 * 13 + 3 * 4 + i], 0);
    }
    free(page);
}
END_TEST

START_TEST(rising_scores_do_not_overflow)
{
    const struct kern_ops *ops = fixture_set(_i);
    struct scene scene = scenes[1];
    struct fixture_random random = { 47 };
    const uint32_t dim = scene.shape.head_dim;
    float *out;

    if (!ops) {
        return;
    }
    make(&scene, FIXTURE_ORDINARY, &random);
    for (uint32_t pos = 0; pos < scene.n_pos; pos++) { /* each page's scores far above those before */
        for (uint32_t i = 0; i < 3 * dim; i++) {
            scene.k[(size_t)pos * 3 * dim + i] = (float)pos * 40.0f;
        }
        for (uint32_t i = 0; i < 9 * dim; i++) {
            scene.q[(size_t)pos * 9 * dim + i] = 1.0f;
        }
    }

    out = run(ops, &scene, 83, 1000);

    for (uint32_t i = 0; i < dim; i++) { /* the last position takes all */
        ck_assert_float_eq(out[(size_t)82 * 9 * dim + i], scene.v[(size_t)82 * 3 * dim + i]);
    }
    fixture_free_guarded(out, (size_t)scene.n_pos * 9 * dim);
    unmake(&scene);
}
END_TEST

START_TEST(rows_of_many_sequences_attend_as_if_alone)
{
    const struct kern_ops *ops = fixture_set(_i);
    struct scene scene = scenes[0];
    struct fixture_random random = { 53 };
    uint32_t copy[N_PAGES];
    const size_t q_dim = (size_t)9 * 64;
    float *alone;
    float *together = fixture_guarded(2 * q_dim);
    struct kern_attend attend;

    if (!ops) {
        fixture_free_guarded(together, 2 * q_dim);
        return;
    }
    make(&scene, FIXTURE_ORDINARY, &random);
    alone = run(ops, &scene, 83, 1000);
    memcpy(copy, scene.pages, sizeof(copy));
    attend = (struct kern_attend){ .shape = scene.shape,
                                   .n_heads = 9,
                                   .n_rows = 2,
                                   .scale = 0.125f,
                                   .out = together,
                                   .q_stride = 82 * q_dim,
                                   .out_stride = q_dim,
                                   .q = scene.q };
    /* Row 0 of the sequence, and row 82 of one with a page table of its own. */
    scene.rows[1] = scene.rows[82];
    scene.rows[1].pages = copy;
    attend.rows = scene.rows;

    ops->attend(&attend, 0, 18);

    fixture_same(together, alone, q_dim, "row 0");
    fixture_same(together + q_dim, alone + 82 * q_dim, q_dim, "row 82");
    fixture_free_guarded(together, 2 * q_dim);
    fixture_free_guarded(alone, (size_t)83 * q_dim);
    unmake(&scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kern-attn");
    TCase *tcase = tcase_create("attn");
    const int n_scenes = (int)COUNTOF(scenes);

    tcase_add_loop_test(tcase, sets_attend_alike_however_rows_are_cut, 0, 2 * FIXTURE_N_SETS * n_scenes);
    tcase_add_loop_test(tcase, attention_is_near_the_truth, 0, FIXTURE_N_SETS * n_scenes);
    tcase_add_loop_test(tcase, heads_round_as_written, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, heads_that_cannot_be_rounded_are_nan_and_even_ones_are_exact, 0, 2 * FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, a_head_of_negative_zeros_is_stored_as_one_of_zeros, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, rising_scores_do_not_overflow, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, rows_of_many_sequences_attend_as_if_alone, 0, FIXTURE_N_SETS);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
