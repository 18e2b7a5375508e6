/* Arithmetic that says when the result does not fit. */
#include "base/num.h"
#include "unit.h"

START_TEST(sum_that_wraps_is_refused_and_leaves_the_result)
{
    uint64_t ret = 7;

    ck_assert(!num_add(UINT64_MAX, 1, &ret));
    ck_assert_uint_eq(ret, 7);
    ck_assert(num_add(UINT64_MAX, 0, &ret));
    ck_assert_uint_eq(ret, UINT64_MAX);
}
END_TEST

START_TEST(product_that_wraps_is_refused_and_leaves_the_result)
{
    uint64_t ret = 7;

    ck_assert(!num_mul((uint64_t)1 << 32, (uint64_t)1 << 32, &ret));
    ck_assert_uint_eq(ret, 7);
    ck_assert(num_mul(UINT64_MAX, 1, &ret));
    ck_assert(num_mul(UINT64_MAX, 0, &ret));
    ck_assert_uint_eq(ret, 0);
}
END_TEST

START_TEST(rounding_up_refuses_to_wrap)
{
    uint64_t ret;

    ck_assert(num_align(33, 32, &ret));
    ck_assert_uint_eq(ret, 64);
    ck_assert(num_align(64, 32, &ret));
    ck_assert_uint_eq(ret, 64);
    ck_assert(!num_align(UINT64_MAX, 32, &ret));
}
END_TEST

START_TEST(quotient_is_rounded_up)
{
    ck_assert_uint_eq(num_div_up(0, 16), 0);
    ck_assert_uint_eq(num_div_up(1, 16), 1);
    ck_assert_uint_eq(num_div_up(16, 16), 1);
    ck_assert_uint_eq(num_div_up(UINT64_MAX, 2), (uint64_t)1 << 63);
}
END_TEST

START_TEST(sum_stops_at_the_cap)
{
    ck_assert_uint_eq(num_saturate(3, 4, 10), 7);
    ck_assert_uint_eq(num_saturate(3, 8, 10), 10);
    ck_assert_uint_eq(num_saturate(12, 0, 10), 10);
    ck_assert_uint_eq(num_saturate(5, UINT64_MAX, 10), 10);
}
END_TEST

int main(void)
{
    return unit_facts("num", sum_that_wraps_is_refused_and_leaves_the_result,
                      product_that_wraps_is_refused_and_leaves_the_result, rounding_up_refuses_to_wrap,
                      quotient_is_rounded_up, sum_stops_at_the_cap);
}
