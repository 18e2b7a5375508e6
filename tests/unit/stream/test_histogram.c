/* Percentiles of gaps from a fixed number of buckets. */
#include "stream/histogram.h"
#include "unit.h"

START_TEST(no_gap_has_no_percentile)
{
    struct histogram histogram = { 0 };

    ck_assert_uint_eq(histogram_at(&histogram, 500), 0);
}
END_TEST

START_TEST(small_gaps_are_exact)
{
    struct histogram histogram = { 0 };

    for (uint32_t us = 0; us < 8; us++) {
        histogram_add(&histogram, us);
    }

    ck_assert_uint_eq(histogram_at(&histogram, 500), 3);
    ck_assert_uint_eq(histogram_at(&histogram, 1000), 7);
}
END_TEST

START_TEST(any_gap_is_exact_within_a_bucket)
{
    for (uint64_t us = 8; us < 4000000000u; us = us * 17 / 16 + 1) {
        struct histogram histogram = { 0 };
        uint32_t told;

        histogram_add(&histogram, us);
        told = histogram_at(&histogram, 500);

        ck_assert_uint_ge(told, us);
        ck_assert_uint_le(told, us + us / 8);
    }
}
END_TEST

START_TEST(one_slow_gap_in_a_hundred_shows_at_p99_and_not_at_p50)
{
    struct histogram histogram = { 0 };

    for (uint32_t i = 0; i < 196; i++) {
        histogram_add(&histogram, 1000);
    }
    for (uint32_t i = 0; i < 4; i++) {
        histogram_add(&histogram, 1000000);
    }

    ck_assert_uint_lt(histogram_at(&histogram, 500), 1200);
    ck_assert_uint_ge(histogram_at(&histogram, 990), 1000000);
}
END_TEST

START_TEST(a_gap_beyond_all_measure_is_counted_as_the_longest)
{
    struct histogram histogram = { 0 };

    histogram_add(&histogram, UINT64_MAX);

    ck_assert_uint_eq(histogram_at(&histogram, 500), UINT32_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-histogram");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, no_gap_has_no_percentile);
    tcase_add_test(tcase, small_gaps_are_exact);
    tcase_add_test(tcase, any_gap_is_exact_within_a_bucket);
    tcase_add_test(tcase, one_slow_gap_in_a_hundred_shows_at_p99_and_not_at_p50);
    tcase_add_test(tcase, a_gap_beyond_all_measure_is_counted_as_the_longest);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
