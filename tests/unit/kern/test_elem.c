/*
 * Norms, rotation, gates and the like: the same bits in every set, at any length and address, in place or not; and
 * the definition near the truth
 */
#include "fixture.h"
#include "unit.h"

#include "base/clean.h"
#include "kern/half.h"
#include "kern/rope.h"
#include "tensor/real.h"

#include <math.h>
#include <string.h>

#define N_FAST  (FIXTURE_N_SETS - 1)
#define MAX_LEN 70

/* Hash of the table of 512 positions by 64 columns with base 10000: every machine must give the same. */
#define ROPE_HASH 17724596575815471180u

struct vectors {
    float *a, *b, *expected, *got;
    uint32_t n;
};

static void make(struct vectors *v, uint32_t n, enum fixture_kind kind, struct fixture_random *random)
{
    v->n = n;
    v->a = fixture_guarded(n);
    v->b = fixture_guarded(n);
    v->expected = fixture_guarded(n);
    v->got = fixture_guarded(n);
    fixture_fill(v->a, n, kind, random);
    fixture_fill(v->b, n, kind, random);
}

static void unmake(struct vectors *v)
{
    fixture_free_guarded(v->a, v->n);
    fixture_free_guarded(v->b, v->n);
    fixture_free_guarded(v->expected, v->n);
    fixture_free_guarded(v->got, v->n);
}

START_TEST(sets_norm_gate_and_add_alike)
{
    const struct kern_ops *ref = fixture_set(0);
    const struct kern_ops *ops = fixture_set(1 + _i / 2);
    struct fixture_random random = { 23 + (uint64_t)_i };

    for (uint32_t n = 0; ops && n <= MAX_LEN; n++) {
        struct vectors v;

        make(&v, n, (enum fixture_kind)(_i % 2), &random);

        ref->rms_norm(v.expected, v.a, v.b, 1e-5f, n);
        ops->rms_norm(v.got, v.a, v.b, 1e-5f, n);
        fixture_same(v.got, v.expected, n, "rms_norm");

        ref->silu_mul(v.expected, v.a, v.b, n);
        ops->silu_mul(v.got, v.a, v.b, n);
        fixture_same(v.got, v.expected, n, "silu_mul");

        ref->gelu_mul(v.expected, v.a, v.b, n);
        ops->gelu_mul(v.got, v.a, v.b, n);
        fixture_same(v.got, v.expected, n, "gelu_mul");

        ref->scale(v.expected, v.a, 25.3f, n);
        ops->scale(v.got, v.a, 25.3f, n);
        fixture_same(v.got, v.expected, n, "scale");

        ref->cap(v.expected, v.a, 0.75f, n);
        ops->cap(v.got, v.a, 0.75f, n);
        fixture_same(v.got, v.expected, n, "cap");

        ref->add(v.expected, v.a, v.b, n);
        ops->add(v.got, v.a, v.b, n);
        fixture_same(v.got, v.expected, n, "add");

        ck_assert_uint_eq(ops->argmax(v.a, n), ref->argmax(v.a, n));
        unmake(&v);
    }
}
END_TEST

START_TEST(working_in_place_changes_nothing)
{
    const struct kern_ops *ops = fixture_set(_i);
    struct fixture_random random = { 29 };
    struct vectors v;

    if (!ops) {
        return;
    }
    make(&v, 37, FIXTURE_ORDINARY, &random);

    ops->rms_norm(v.expected, v.a, v.b, 1e-5f, 37);
    memcpy(v.got, v.a, 37 * sizeof(float));
    ops->rms_norm(v.got, v.got, v.b, 1e-5f, 37);
    fixture_same(v.got, v.expected, 37, "rms_norm");

    ops->silu_mul(v.expected, v.a, v.b, 37);
    memcpy(v.got, v.a, 37 * sizeof(float));
    ops->silu_mul(v.got, v.got, v.b, 37);
    fixture_same(v.got, v.expected, 37, "silu_mul");

    ops->gelu_mul(v.expected, v.a, v.b, 37);
    memcpy(v.got, v.a, 37 * sizeof(float));
    ops->gelu_mul(v.got, v.got, v.b, 37);
    fixture_same(v.got, v.expected, 37, "gelu_mul");

    ops->scale(v.expected, v.a, 3.0f, 37);
    memcpy(v.got, v.a, 37 * sizeof(float));
    ops->scale(v.got, v.got, 3.0f, 37);
    fixture_same(v.got, v.expected, 37, "scale");

    ops->cap(v.expected, v.a, 0.5f, 37);
    memcpy(v.got, v.a, 37 * sizeof(float));
    ops->cap(v.got, v.got, 0.5f, 37);
    fixture_same(v.got, v.expected, 37, "cap");

    ops->add(v.expected, v.a, v.b, 37);
    memcpy(v.got, v.a, 37 * sizeof(float));
    ops->add(v.got, v.got, v.b, 37);
    fixture_same(v.got, v.expected, 37, "add");
    unmake(&v);
}
END_TEST

START_TEST(norm_and_gate_are_near_the_truth)
{
    const struct kern_ops *ops = fixture_set(_i);
    struct fixture_random random = { 31 };
    struct vectors v;
    double squares = 0;

    if (!ops) {
        return;
    }
    make(&v, 577, FIXTURE_ORDINARY, &random);
    for (uint32_t i = 0; i < v.n; i++) {
        squares += (double)v.a[i] * (double)v.a[i];
    }

    ops->rms_norm(v.got, v.a, v.b, 1e-5f, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        double truth = (double)v.a[i] / sqrt(squares / v.n + 1e-5) * (double)v.b[i];

        ck_assert_double_le(fabs((double)v.got[i] - truth), 1e-6 * fabs(truth));
    }
    ops->silu_mul(v.got, v.a, v.b, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        double truth = (double)v.a[i] / (1 + exp(-(double)v.a[i])) * (double)v.b[i];

        ck_assert_double_le(fabs((double)v.got[i] - truth), 5e-7 * fabs(truth));
    }
    unmake(&v);
}
END_TEST

/* Numbers from -8 to 8 against the formulas as papers write them. */
START_TEST(gelu_and_soft_limit_are_near_the_truth)
{
    const struct kern_ops *ops = fixture_set(_i);
    struct vectors v;

    if (!ops) {
        return;
    }
    make(&v, 1601, FIXTURE_ORDINARY, &(struct fixture_random){ 33 });
    for (uint32_t i = 0; i < v.n; i++) {
        v.a[i] = (float)i / 100.0f - 8.0f;
    }

    ops->gelu_mul(v.got, v.a, v.b, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        double x = (double)v.a[i];
        double truth = 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979324) * (x + 0.044715 * x * x * x)));

        ck_assert_double_le(fabs((double)v.got[i] - truth * (double)v.b[i]), 5e-7 * fabs(x));
    }
    ops->cap(v.got, v.a, 2.5f, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        double truth = 2.5 * tanh((double)v.a[i] / 2.5);

        ck_assert_double_le(fabs((double)v.got[i] - truth), 4e-7 * fabs(truth));
    }
    unmake(&v);
}
END_TEST

START_TEST(gates_at_the_ends_of_the_range_are_zero_or_the_gate)
{
    const struct kern_ops *ops = fixture_set(_i / 2);
    const float gate[10] = { -1000.0f, -89.0f, -88.0f, -87.4f, 0.0f, -0.0f, 87.4f, 89.0f, 3e38f, -3e38f };
    float up[10], out[10];

    if (!ops) {
        return;
    }
    for (uint32_t i = 0; i < 10; i++) {
        up[i] = 1.0f;
    }

    (_i % 2 == 0 ? ops->silu_mul : ops->gelu_mul)(out, gate, up, 10);

    for (uint32_t i = 0; i < 10; i++) {
        const float expected = gate[i] > 0.0f ? gate[i] : 0.0f;

        ck_assert_float_eq_tol(out[i], expected, 1e-30f);
    }
}
END_TEST

START_TEST(argmax_takes_the_lowest_of_equals_and_never_nan)
{
    const struct kern_ops *ops = fixture_set(_i);
    float x[40];

    if (!ops) {
        return;
    }
    for (uint32_t i = 0; i < 40; i++) {
        x[i] = -1.0f;
    }
    x[0] = NAN;
    x[33] = x[21] = x[9] = 2.0f;
    x[39] = NAN;

    ck_assert_uint_eq(ops->argmax(x, 40), 9);
    ck_assert_uint_eq(ops->argmax(x + 22, 17), 11);
    ck_assert_uint_eq(ops->argmax(x, 1), 1);
    ck_assert_uint_eq(ops->argmax(x, 0), 0);
    x[5] = INFINITY;
    ck_assert_uint_eq(ops->argmax(x, 40), 5);
    for (uint32_t i = 0; i < 40; i++) {
        x[i] = -INFINITY;
    }
    ck_assert_uint_eq(ops->argmax(x, 40), 40);
}
END_TEST

/* Rotates @n_rows rows of two heads of @head_dim, the first n_rot of each, by @ops. */
static float *rotated(const struct kern_ops *ops, enum kern_rope_order order, uint32_t head_dim, uint32_t n_rot,
                      const float *x, const float *table)
{
    static const uint32_t pos[3] = { 5, 0, 2 };
    struct kern_rope op = { .order = order, .n_heads = 2, .head_dim = head_dim, .n_rot = n_rot, .table = table };
    const uint32_t n = 3 * (2 * head_dim + 1);
    float *copy = fixture_guarded(n);

    memcpy(copy, x, n * sizeof(float));
    op.pos = pos;
    op.x = copy;
    op.stride = 2 * (size_t)head_dim + 1;
    ops->rope(&op, 0, 2);
    ops->rope(&op, 2, 1);
    return copy;
}

START_TEST(sets_rotate_alike_and_leave_the_rest_of_a_head)
{
    const enum kern_rope_order order = _i % 2 == 0 ? KERN_ROPE_ADJACENT : KERN_ROPE_HALVES;
    const struct kern_ops *ops = fixture_set(1 + _i / 2);
    struct fixture_random random = { 37 };
    float x[3 * 513];
    float table[6 * 256];

    for (uint32_t head_dim = 2; ops && head_dim <= 80; head_dim += 2) {
        for (uint32_t n_rot = head_dim; n_rot + 10 >= head_dim && n_rot >= 2; n_rot -= 2) {
            const struct rope_shape shape = { .n_rot = n_rot, .base = 10000, .scale = 1, .magnitude = 1 };
            const uint32_t n = 3 * (2 * head_dim + 1);
            float *expected, *got;

            rope_table(&shape, 0, 6, table);
            fixture_fill(x, n, FIXTURE_EXTREME, &random);
            expected = rotated(fixture_set(0), order, head_dim, n_rot, x, table);
            got = rotated(ops, order, head_dim, n_rot, x, table);

            fixture_same(got, expected, n, "rope");
            for (uint32_t i = n_rot; i < head_dim; i++) {
                ck_assert(memcmp(&got[i], &x[i], sizeof(float)) == 0);
            }
            fixture_free_guarded(expected, n);
            fixture_free_guarded(got, n);
        }
    }
}
END_TEST

START_TEST(rotation_follows_the_order_of_pairs)
{
    const struct kern_ops *ops = fixture_set(_i / 2);
    const bool adjacent = _i % 2 == 0;
    const struct rope_shape shape = { .n_rot = 4, .base = 100, .scale = 1, .magnitude = 1 };
    const float head[4] = { 1, 2, 3, 4 };
    const double angle[2] = { 5.0, 0.5 }; /* of position 5: base^0 and base^-(1/2) times it */
    float x[4];
    float table[6 * 4];
    const uint32_t pos = 5;
    const struct kern_rope op = { .order = adjacent ? KERN_ROPE_ADJACENT : KERN_ROPE_HALVES,
                                  .n_heads = 1,
                                  .head_dim = 4,
                                  .n_rot = 4,
                                  .table = table,
                                  .pos = &pos,
                                  .x = x,
                                  .stride = 4 };

    if (!ops) {
        return;
    }
    rope_table(&shape, 0, 6, table);
    memcpy(x, head, sizeof(x));
    ops->rope(&op, 0, 1);

    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t at = adjacent ? 2 * i : i;
        const uint32_t other = adjacent ? 2 * i + 1 : i + 2;
        const double a = (double)head[at], b = (double)head[other];

        ck_assert_double_eq_tol((double)x[at], a * cos(angle[i]) - b * sin(angle[i]), 1e-6);
        ck_assert_double_eq_tol((double)x[other], a * sin(angle[i]) + b * cos(angle[i]), 1e-6);
    }
}
END_TEST

START_TEST(rope_table_follows_base_scale_divisors_and_magnitude)
{
    const double divisors[4] = { 1, 2, 4, 8 };
    const struct rope_shape shape = {
        .n_rot = 8, .base = 500000, .scale = 0.25, .magnitude = 1.5, .divisors = divisors
    };
    float table[3 * 8];

    rope_table(&shape, 8191, 3, table);

    for (uint32_t p = 0; p < 3; p++) {
        for (uint32_t i = 0; i < 4; i++) {
            double angle = (8191 + p) * 0.25 * pow(500000, -2.0 * i / 8) / divisors[i];

            ck_assert_double_eq_tol((double)table[8 * p + 2 * i], 1.5 * cos(angle), 2e-7);
            ck_assert_double_eq_tol((double)table[8 * p + 2 * i + 1], 1.5 * sin(angle), 2e-7);
        }
    }
}
END_TEST

START_TEST(rope_table_has_known_bits)
{
    const struct rope_shape shape = { .n_rot = 64, .base = 10000, .scale = 1, .magnitude = 1 };
    static float table[512 * 64];
    uint64_t hash = 0xcbf29ce484222325;

    rope_table(&shape, 0, 512, table);

    for (size_t i = 0; i < sizeof(table); i++) {
        hash = (hash ^ ((const uint8_t *)table)[i]) * 0x100000001b3; /* FNV-1a */
    }
    ck_assert_uint_eq(hash, ROPE_HASH);
}
END_TEST

START_TEST(halves_survive_the_way_there_and_back)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float x = half_to_float((uint16_t)bits);

        if (isnan(x)) {
            ck_assert((half_from_float(x) & 0x7c00) == 0x7c00 && (half_from_float(x) & 0x3ff) != 0);
        } else {
            ck_assert_uint_eq(half_from_float(x), bits);
        }
    }
    ck_assert_uint_eq(half_from_float(65519.0f), 0x7bff);
    ck_assert_uint_eq(half_from_float(65520.0f), 0x7c00);
    ck_assert_uint_eq(half_from_float(0x1p-25f), 0);   /* a tie goes to the even zero */
    ck_assert_uint_eq(half_from_float(0x1.8p-24f), 2); /* a tie between 1 and 2 */
    ck_assert_uint_eq(half_from_float(-0x1.001p-25f), 0x8001);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kern-elem");
    TCase *tcase = tcase_create("elem");

    tcase_add_loop_test(tcase, sets_norm_gate_and_add_alike, 0, 2 * N_FAST);
    tcase_add_loop_test(tcase, working_in_place_changes_nothing, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, norm_and_gate_are_near_the_truth, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, gelu_and_soft_limit_are_near_the_truth, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, gates_at_the_ends_of_the_range_are_zero_or_the_gate, 0, 2 * FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, argmax_takes_the_lowest_of_equals_and_never_nan, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, sets_rotate_alike_and_leave_the_rest_of_a_head, 0, 2 * N_FAST);
    tcase_add_loop_test(tcase, rotation_follows_the_order_of_pairs, 0, 2 * FIXTURE_N_SETS);
    unit_add(tcase, rope_table_follows_base_scale_divisors_and_magnitude, rope_table_has_known_bits,
             halves_survive_the_way_there_and_back);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
