/*
 * Convolution, delta rule and the sigmoid gate: the same bits in every set, at any width, however rows are cut into
 * runs and heads or channels into ranges; and the definition near the truth
 */
#include "fixture.h"
#include "unit.h"

#include "base/clean.h"

#include <math.h>
#include <string.h>

#define N_FAST (FIXTURE_N_SETS - 1)
#define N_ROWS 11

/* Rows of two sequences; the first is cut in two at @cut, as two steps would. */
struct scene {
    uint32_t n_channels, n_taps;
    uint32_t n_heads, n_keys, n_k, n_v;
    float *weights, *x, *a, *b, *rate, *bias;
    float *out;
    uint8_t *states[2];
    size_t state_bytes;
};

#define N_FIRST 8 /* rows of the first sequence */

static float *filled(size_t n, enum fixture_kind kind, struct fixture_random *random)
{
    float *x = fixture_guarded(n);

    fixture_fill(x, n, kind, random);
    return x;
}

static void make(struct scene *scene, enum fixture_kind kind, uint64_t seed)
{
    struct fixture_random random = { seed };
    size_t n_matrix = (size_t)scene->n_heads * scene->n_k * scene->n_v;

    scene->n_channels = 2 * scene->n_keys * scene->n_k + scene->n_heads * scene->n_v;
    scene->weights = filled((size_t)scene->n_channels * scene->n_taps, kind, &random);
    scene->x = filled((size_t)N_ROWS * scene->n_channels, kind, &random);
    scene->a = filled((size_t)N_ROWS * scene->n_heads, kind, &random);
    scene->b = filled((size_t)N_ROWS * scene->n_heads, kind, &random);
    scene->rate = filled(scene->n_heads, FIXTURE_ORDINARY, &random);
    scene->bias = filled(scene->n_heads, FIXTURE_ORDINARY, &random);
    scene->out = fixture_guarded((size_t)N_ROWS * scene->n_channels);
    memset(scene->out, 0, (size_t)N_ROWS * scene->n_channels * sizeof(float));
    for (uint32_t i = 0; i < scene->n_heads; i++) {
        scene->rate[i] = -fabsf(scene->rate[i]);
    }
    scene->state_bytes = ((size_t)(scene->n_taps - 1) * scene->n_channels + n_matrix) * sizeof(float);
    for (int i = 0; i < 2; i++) {
        scene->states[i] = malloc(scene->state_bytes);
        memset(scene->states[i], 0x5a, scene->state_bytes); /* left there by others */
    }
}

static void unmake(struct scene *scene)
{
    fixture_free_guarded(scene->weights, (size_t)scene->n_channels * scene->n_taps);
    fixture_free_guarded(scene->x, (size_t)N_ROWS * scene->n_channels);
    fixture_free_guarded(scene->a, (size_t)N_ROWS * scene->n_heads);
    fixture_free_guarded(scene->b, (size_t)N_ROWS * scene->n_heads);
    fixture_free_guarded(scene->rate, scene->n_heads);
    fixture_free_guarded(scene->bias, scene->n_heads);
    fixture_free_guarded(scene->out, (size_t)N_ROWS * scene->n_channels);
    free(scene->states[0]);
    free(scene->states[1]);
}

/* Runs of one step: rows @from .. @to - 1 of all N_ROWS. */
static uint32_t runs_of(const struct scene *scene, uint32_t from, uint32_t to, struct kern_run *runs)
{
    const uint32_t begins[3] = { 0, N_FIRST, N_ROWS };
    uint32_t n = 0;

    for (int i = 0; i < 2; i++) {
        uint32_t first = begins[i] > from ? begins[i] : from;
        uint32_t end = begins[i + 1] < to ? begins[i + 1] : to;

        if (first < end) {
            runs[n++] = (struct kern_run){
                .first = first, .n = end - first, .state = scene->states[i], .is_new = first == begins[i]
            };
        }
    }
    return n;
}

static void convolve(const struct kern_ops *ops, const struct scene *scene, uint32_t from, uint32_t to,
                     uint32_t n_piece)
{
    struct kern_run runs[2];
    const struct kern_conv op = { .runs = runs,
                                  .n_runs = runs_of(scene, from, to, runs),
                                  .n_channels = scene->n_channels,
                                  .n_taps = scene->n_taps,
                                  .weights = scene->weights,
                                  .in = scene->x,
                                  .out = scene->out,
                                  .in_stride = scene->n_channels,
                                  .out_stride = scene->n_channels };

    for (uint32_t at = 0; at < op.n_channels; at += n_piece) {
        ops->conv(&op, at, op.n_channels - at < n_piece ? op.n_channels - at : n_piece);
    }
}

/* Runs the rows in laps of @n_lap. */
static void learn(const struct kern_ops *ops, const struct scene *scene, uint32_t from, uint32_t to, uint32_t n_lap)
{
    struct kern_run runs[2];
    struct kern_delta op = { .runs = runs,
                             .n_runs = runs_of(scene, from, to, runs),
                             .state_at = (size_t)(scene->n_taps - 1) * scene->n_channels * sizeof(float),
                             .n_heads = scene->n_heads,
                             .n_key_heads = scene->n_keys,
                             .n_k = scene->n_k,
                             .n_v = scene->n_v,
                             .rate = scene->rate,
                             .bias = scene->bias,
                             .eps = 1e-6f,
                             .scale = 0.3f,
                             .x = scene->x,
                             .a = scene->a,
                             .b = scene->b,
                             .out = scene->out,
                             .x_stride = scene->n_channels,
                             .a_stride = scene->n_heads,
                             .b_stride = scene->n_heads,
                             .out_stride = scene->n_channels };

    for (op.from = 0; op.from < N_ROWS; op.from += n_lap) {
        op.to = op.from + n_lap;
        ops->delta(&op, 0, 1);
        ops->delta(&op, 1, op.n_runs * op.n_heads - 1);
    }
}

static void same_scene(const struct scene *got, const struct scene *expected, const char *what)
{
    fixture_same(got->out, expected->out, (size_t)N_ROWS * got->n_channels, what);
    for (int i = 0; i < 2; i++) {
        fixture_same((const float *)(const void *)got->states[i], (const float *)(const void *)expected->states[i],
                     got->state_bytes / sizeof(float), what);
    }
}

/* Value heads of 1 to 45 columns: fewer than a register, several, and what is left over. */
START_TEST(sets_convolve_and_learn_alike)
{
    const struct kern_ops *ops = fixture_set(1 + _i / 2);
    const enum fixture_kind kind = _i % 2 ? FIXTURE_EXTREME : FIXTURE_ORDINARY;

    for (uint32_t n_v = 1; ops && n_v <= 45; n_v++) {
        struct scene got = { .n_taps = 2 + n_v % 4, .n_heads = 4, .n_keys = 2, .n_k = 46 - n_v, .n_v = n_v };
        struct scene expected = got;

        make(&got, kind, n_v);
        make(&expected, kind, n_v);
        convolve(fixture_set(0), &expected, 0, N_ROWS, 16);
        convolve(ops, &got, 0, N_ROWS, 16);
        fixture_same(got.out, expected.out, (size_t)N_ROWS * got.n_channels, "conv");
        learn(fixture_set(0), &expected, 0, N_ROWS, N_ROWS);
        learn(ops, &got, 0, N_ROWS, N_ROWS);
        same_scene(&got, &expected, "delta");
        unmake(&got);
        unmake(&expected);
    }
}
END_TEST

START_TEST(steps_laps_and_ranges_may_be_cut_anywhere)
{
    const struct kern_ops *ops = fixture_set(_i);

    for (uint32_t cut = 1; ops && cut < N_ROWS; cut++) {
        struct scene got = { .n_taps = 5, .n_heads = 3, .n_keys = 3, .n_k = 18, .n_v = 11 };
        struct scene expected = got;

        make(&got, FIXTURE_ORDINARY, 7);
        make(&expected, FIXTURE_ORDINARY, 7);
        convolve(ops, &expected, 0, N_ROWS, 1000);
        convolve(ops, &got, 0, cut, cut);
        convolve(ops, &got, cut, N_ROWS, 8);
        learn(ops, &expected, 0, N_ROWS, N_ROWS);
        learn(ops, &got, 0, cut, 2);
        learn(ops, &got, cut, N_ROWS, 3);
        same_scene(&got, &expected, "cut");
        unmake(&got);
        unmake(&expected);
    }
}
END_TEST

/* One head as the paper writes it; @matrix maps keys to values. */
static void learn_truth(const struct scene *scene, uint32_t row, uint32_t head, double *matrix, double *out)
{
    const float *x = scene->x + (size_t)row * scene->n_channels;
    const float *q = x + (size_t)head % scene->n_keys * scene->n_k;
    const float *k = q + (size_t)scene->n_keys * scene->n_k;
    const float *v = x + (size_t)2 * scene->n_keys * scene->n_k + (size_t)head * scene->n_v;
    double a = (double)scene->a[row * scene->n_heads + head] + (double)scene->bias[head];
    double decay = exp((double)scene->rate[head] * log1p(exp(a)));
    double beta = 1.0 / (1.0 + exp(-(double)scene->b[row * scene->n_heads + head]));
    double qq = 1e-6;
    double kk = 1e-6;

    for (uint32_t i = 0; i < scene->n_k; i++) {
        qq += (double)q[i] * (double)q[i];
        kk += (double)k[i] * (double)k[i];
    }
    for (uint32_t j = 0; j < scene->n_v; j++) {
        double seen = 0.0;

        out[j] = 0.0;
        for (uint32_t i = 0; i < scene->n_k; i++) {
            seen += matrix[i * scene->n_v + j] * decay * (double)k[i] / sqrt(kk);
        }
        for (uint32_t i = 0; i < scene->n_k; i++) {
            double *at = &matrix[i * scene->n_v + j];

            *at = *at * decay + beta * ((double)v[j] - seen) * (double)k[i] / sqrt(kk);
            out[j] += *at * (double)q[i] / sqrt(qq) * 0.3;
        }
    }
}

START_TEST(what_a_head_reads_is_near_the_truth)
{
    const struct kern_ops *ops = fixture_set(_i);
    struct scene scene = { .n_taps = 4, .n_heads = 4, .n_keys = 2, .n_k = 20, .n_v = 37 };
    double out[37];

    if (!ops) {
        return;
    }
    make(&scene, FIXTURE_ORDINARY, 3);
    learn(ops, &scene, 0, N_ROWS, 4);

    for (uint32_t head = 0; head < scene.n_heads; head++) {
        double matrix[20 * 37] = { 0.0 };

        for (uint32_t row = 0; row < N_FIRST; row++) {
            learn_truth(&scene, row, head, matrix, out);
            for (uint32_t j = 0; j < scene.n_v; j++) {
                ck_assert_double_eq_tol((double)scene.out[row * scene.n_channels + head * scene.n_v + j], out[j], 1e-6);
            }
        }
    }
    unmake(&scene);
}
END_TEST

START_TEST(what_a_channel_gives_is_near_the_truth)
{
    const struct kern_ops *ops = fixture_set(_i);
    struct scene scene = { .n_taps = 4, .n_heads = 2, .n_keys = 1, .n_k = 5, .n_v = 6 };

    if (!ops) {
        return;
    }
    make(&scene, FIXTURE_ORDINARY, 5);
    convolve(ops, &scene, 0, N_ROWS, 16);

    for (uint32_t row = 0; row < N_ROWS; row++) {
        for (uint32_t c = 0; c < scene.n_channels; c++) {
            uint32_t position = row < N_FIRST ? row : row - N_FIRST;
            double sum = 0.0;

            for (uint32_t back = 0; back < 4 && back <= position; back++) {
                sum += (double)scene.weights[c * 4 + 3 - back] * (double)scene.x[(row - back) * scene.n_channels + c];
            }
            ck_assert_double_eq_tol((double)scene.out[row * scene.n_channels + c], sum / (1.0 + exp(-sum)), 1e-6);
        }
    }
    unmake(&scene);
}
END_TEST

START_TEST(a_head_that_forgets_nothing_and_learns_all_repeats_what_it_was_told)
{
    const struct kern_ops *ops = fixture_set(_i);
    struct scene scene = { .n_taps = 2, .n_heads = 1, .n_keys = 1, .n_k = 8, .n_v = 9 };

    if (!ops) {
        return;
    }
    make(&scene, FIXTURE_ORDINARY, 9);
    for (uint32_t row = 0; row < N_ROWS; row++) {
        float *x = scene.x + (size_t)row * scene.n_channels;

        memcpy(x, x + 8, 8 * sizeof(float)); /* asked with its own key */
        scene.a[row] = -200.0f;
        scene.b[row] = 200.0f;
    }
    learn(ops, &scene, 0, N_ROWS, N_ROWS);

    for (uint32_t row = 0; row < N_ROWS; row++) {
        for (uint32_t j = 0; j < 9; j++) {
            ck_assert_float_eq_tol(scene.out[row * scene.n_channels + j],
                                   0.3f * scene.x[row * scene.n_channels + 16 + j], 1e-5f);
        }
    }
    unmake(&scene);
}
END_TEST

START_TEST(the_sigmoid_gate_is_the_same_in_every_set_and_near_the_truth)
{
    const struct kern_ops *ops = fixture_set(1 + _i / 2);
    struct fixture_random random = { 41 };

    for (uint32_t n = 0; ops && n <= 70; n++) {
        float *gate = filled(n, _i % 2 ? FIXTURE_EXTREME : FIXTURE_ORDINARY, &random);
        float *x = filled(n, FIXTURE_ORDINARY, &random);
        float *expected = fixture_guarded(n);
        float *got = fixture_guarded(n);

        fixture_set(0)->sigmoid_mul(expected, gate, x, n);
        ops->sigmoid_mul(got, gate, x, n);
        fixture_same(got, expected, n, "sigmoid_mul");
        for (uint32_t i = 0; _i % 2 == 0 && i < n; i++) {
            ck_assert_double_eq_tol((double)got[i], (double)x[i] / (1.0 + exp(-(double)gate[i])), 1e-6);
        }
        ops->sigmoid_mul(gate, gate, x, n);
        fixture_same(gate, expected, n, "in place");
        fixture_free_guarded(gate, n);
        fixture_free_guarded(x, n);
        fixture_free_guarded(expected, n);
        fixture_free_guarded(got, n);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kern-delta");
    TCase *tcase = tcase_create("delta");

    tcase_add_loop_test(tcase, sets_convolve_and_learn_alike, 0, 2 * N_FAST);
    tcase_add_loop_test(tcase, steps_laps_and_ranges_may_be_cut_anywhere, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, what_a_head_reads_is_near_the_truth, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, what_a_channel_gives_is_near_the_truth, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, a_head_that_forgets_nothing_and_learns_all_repeats_what_it_was_told, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, the_sigmoid_gate_is_the_same_in_every_set_and_near_the_truth, 0, 2 * N_FAST);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
