/* A suspension shows as a difference of two clocks. */
#include "sensor/suspend_time.h"
#include "unit.h"

START_TEST(first_check_is_no_suspension)
{
    struct suspend_time suspend = { 0 };

    ck_assert_uint_eq(suspend_time_check(&suspend, 1000, 900000000), 0);
}
END_TEST

START_TEST(boot_clock_that_ran_ahead_is_a_suspension_reported_once)
{
    struct suspend_time suspend = { 0 };

    suspend_time_check(&suspend, 1000000, 1000000);

    ck_assert_uint_eq(suspend_time_check(&suspend, 2000000, 62000000), 60000000);
    ck_assert_uint_eq(suspend_time_check(&suspend, 3000000, 63000000), 0);
    ck_assert_uint_eq(suspend_time_check(&suspend, 4000000, 164000000), 100000000);
    ck_assert_uint_eq(suspend.total_us, 160000000);
}
END_TEST

START_TEST(delay_between_the_clocks_is_no_suspension)
{
    struct suspend_time suspend = { 0 };

    suspend_time_check(&suspend, 1000000, 1090000); /* delayed for 90 ms between the two */

    ck_assert_uint_eq(suspend_time_check(&suspend, 2000000, 2000010), 0);
    ck_assert_uint_eq(suspend_time_check(&suspend, 3000000, 3000000 + SUSPEND_TIME_LEAST_US - 1), 0);
    ck_assert_uint_eq(suspend_time_check(&suspend, 4000000, 4000000 + SUSPEND_TIME_LEAST_US + 10),
                      SUSPEND_TIME_LEAST_US);
}
END_TEST

START_TEST(short_suspensions_add_up)
{
    struct suspend_time suspend = { 0 };

    suspend_time_check(&suspend, 1000000, 1000000);
    ck_assert_uint_eq(suspend_time_check(&suspend, 2000000, 2060000), 0);

    ck_assert_uint_eq(suspend_time_check(&suspend, 3000000, 3120000), 120000);
}
END_TEST

START_TEST(boot_clock_behind_the_other_is_no_suspension)
{
    struct suspend_time suspend = { 0 };

    suspend_time_check(&suspend, 1000000, 1000000);

    ck_assert_uint_eq(suspend_time_check(&suspend, 2000000, 1000000), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("suspend-time");
    TCase *tcase = tcase_create("suspend-time");

    tcase_add_test(tcase, first_check_is_no_suspension);
    tcase_add_test(tcase, boot_clock_that_ran_ahead_is_a_suspension_reported_once);
    tcase_add_test(tcase, delay_between_the_clocks_is_no_suspension);
    tcase_add_test(tcase, short_suspensions_add_up);
    tcase_add_test(tcase, boot_clock_behind_the_other_is_no_suspension);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
