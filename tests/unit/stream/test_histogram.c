/* Percentiles of gaps from a fixed number of buckets. */
#include "stream/histogram.h"
#include "unit.h"

START_TEST(no_gap_has_no_percentile)
{
    struct pulse pulse = { 0 };

    ck_assert_uint_eq(pulse_at(&pulse, 500), 0);
}
END_TEST

START_TEST(small_gaps_are_exact)
{
    struct pulse pulse = { 0 };

    for (uint32_t us = 0; us < 8; us++) {
        pulse_add(&pulse, us);
    }

    ck_assert_uint_eq(pulse_at(&pulse, 500), 3);
    ck_assert_uint_eq(pulse_at(&pulse, 1000), 7);
}
END_TEST

START_TEST(any_gap_is_told_within_a_bucket)
{
    for (uint64_t us = 8; us < 4000000000u; us = us * 17 / 16 + 1) {
        struct pulse pulse = { 0 };
        uint32_t told;

        pulse_add(&pulse, us);
        told = pulse_at(&pulse, 500);

        ck_assert_uint_ge(told, us);
        ck_assert_uint_le(told, us + us / 8);
    }
}
END_TEST

START_TEST(one_slow_gap_in_a_hundred_shows_at_p99_and_not_at_p50)
{
    struct pulse pulse = { 0 };

    for (uint32_t i = 0; i < 196; i++) {
        pulse_add(&pulse, 1000);
    }
    for (uint32_t i = 0; i < 4; i++) {
        pulse_add(&pulse, 1000000);
    }

    ck_assert_uint_lt(pulse_at(&pulse, 500), 1200);
    ck_assert_uint_ge(pulse_at(&pulse, 990), 1000000);
}
END_TEST

START_TEST(a_gap_beyond_all_measure_is_counted_as_the_longest)
{
    struct pulse pulse = { 0 };

    pulse_add(&pulse, UINT64_MAX);

    ck_assert_uint_eq(pulse_at(&pulse, 500), UINT32_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-pulse");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, no_gap_has_no_percentile);
    tcase_add_test(tcase, small_gaps_are_exact);
    tcase_add_test(tcase, any_gap_is_told_within_a_bucket);
    tcase_add_test(tcase, one_slow_gap_in_a_hundred_shows_at_p99_and_not_at_p50);
    tcase_add_test(tcase, a_gap_beyond_all_measure_is_counted_as_the_longest);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
