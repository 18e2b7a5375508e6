/*
 * Real: near the truth everywhere, right at the edges, and the same bits on every machine
 */
#include "unit.h"

#include "tensor/real.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Every 40,009th float: some 107,000 of them, of all sizes and both signs. */
#define STRIDE 40009

/* Hashes of exp, log and tanh over these floats: every machine must give the same. */
#define EXP_HASH  9126632994126215435u
#define LOG_HASH  3659231319276739067u
#define TANH_HASH 8880764415870727848u

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Returns the distance of @got from @truth in units of the last place of @truth. */
static double units(float got, double truth)
{
    int exponent;

    frexp(truth, &exponent);
    return fabs((double)got - truth) / ldexp(1.0, exponent - 24);
}

START_TEST(exp_errs_by_less_than_1_1_units)
{
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
        const float x = float_of((uint32_t)bits);

        if (x >= REAL_EXP_MIN && x <= 88.72f) {
            ck_assert_double_lt(units(real_exp(x), exp((double)x)), 1.1);
        }
    }
}
END_TEST

START_TEST(exp_is_right_at_the_edges)
{
    ck_assert_float_eq(real_exp(0.0f), 1.0f);
    ck_assert_float_eq(real_exp(-0.0f), 1.0f);
    ck_assert_float_eq(real_exp(-INFINITY), 0.0f);
    ck_assert_float_eq(real_exp(-87.34f), 0.0f);
    ck_assert_float_gt(real_exp(REAL_EXP_MIN), 0.0f);
    ck_assert(isinf(real_exp(INFINITY)));
    ck_assert(isinf(real_exp(88.73f)));
    ck_assert(isfinite(real_exp(REAL_EXP_MAX)));
    ck_assert(isnan(real_exp(NAN)));
}
END_TEST

START_TEST(log_errs_by_less_than_a_unit)
{
    for (uint32_t bits = 1; bits < 0x7f800000; bits += STRIDE / 4) {
        const float x = float_of(bits);

        if (x != 1.0f) {
            ck_assert_double_lt(units(real_log(x), log((double)x)), 1.0);
        }
    }
}
END_TEST

START_TEST(log_is_right_at_the_edges)
{
    ck_assert_float_eq(real_log(1.0f), 0.0f);
    ck_assert(isinf(real_log(0.0f)) && real_log(0.0f) < 0.0f);
    ck_assert(isinf(real_log(-0.0f)) && real_log(-0.0f) < 0.0f);
    ck_assert(isinf(real_log(INFINITY)) && real_log(INFINITY) > 0.0f);
    ck_assert(isnan(real_log(-1.0f)));
    ck_assert(isnan(real_log(NAN)));
    ck_assert_double_lt(units(real_log(0x1p-149f), log(0x1p-149)), 1.0);
}
END_TEST

START_TEST(tanh_errs_by_less_than_2_units_and_is_odd)
{
    for (uint32_t bits = 0; bits < 0x7f800000; bits += STRIDE / 4) {
        const float x = float_of(bits);

        if (x >= 0x1p-126f) {
            ck_assert_double_lt(units(real_tanh(x), tanh((double)x)), 2.0);
        }
        ck_assert_float_eq(real_tanh(-x), -real_tanh(x));
    }
}
END_TEST

START_TEST(tanh_is_right_at_the_edges)
{
    const float split = REAL_TANH_SPLIT;

    ck_assert(real_tanh(0.0f) == 0.0f && !signbit(real_tanh(0.0f)));
    ck_assert(real_tanh(-0.0f) == 0.0f && signbit(real_tanh(-0.0f)));
    ck_assert_float_eq(real_tanh(INFINITY), 1.0f);
    ck_assert_float_eq(real_tanh(-INFINITY), -1.0f);
    ck_assert_float_eq(real_tanh(3e38f), 1.0f);
    ck_assert(isnan(real_tanh(NAN)));
    ck_assert_double_lt(units(real_tanh(split), tanh((double)split)), 2.0);
    ck_assert_float_le(real_tanh(nextafterf(split, 0.0f)), real_tanh(split));
}
END_TEST

START_TEST(wide_functions_are_near_the_truth)
{
    for (double x = -690; x < 690; x += 1.37) {
        double s, c;

        ck_assert_double_lt(fabs(real_exp_wide(x) / exp(x) - 1), 1e-14);
        ck_assert_double_lt(fabs(real_log_wide(exp(x)) - x), 1e-14 * fabs(x) + 1e-15);
        real_sincos_wide(x * 24000, &s, &c);
        ck_assert_double_lt(fabs(s - sin(x * 24000)), 1e-10);
        ck_assert_double_lt(fabs(c - cos(x * 24000)), 1e-10);
    }
}
END_TEST

static uint64_t hash_of(float (*fn)(float x))
{
    uint64_t hash = 0xcbf29ce484222325;

    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
        const float y = fn(float_of((uint32_t)bits));
        uint32_t word = 0x7fc00000; /* any NaN */

        if (!isnan(y)) {
            memcpy(&word, &y, sizeof(word));
        }
        hash = (hash ^ word) * 0x100000001b3; /* FNV-1a, by words */
    }
    return hash;
}

START_TEST(exp_log_and_tanh_have_known_bits)
{
    ck_assert_uint_eq(hash_of(real_tanh), TANH_HASH);
    ck_assert_uint_eq(hash_of(real_exp), EXP_HASH);
    ck_assert_uint_eq(hash_of(real_log), LOG_HASH);
}
END_TEST

int main(void)
{
    return unit_facts("tensor-real", exp_errs_by_less_than_1_1_units, exp_is_right_at_the_edges,
                      log_errs_by_less_than_a_unit, log_is_right_at_the_edges, wide_functions_are_near_the_truth,
                      tanh_errs_by_less_than_2_units_and_is_odd, tanh_is_right_at_the_edges,
                      exp_log_and_tanh_have_known_bits);
}
