/* Joules out of counters that run round, and out of watts. */
#include "power/energy.h"
#include "unit.h"

START_TEST(first_count_is_zero)
{
    struct energy_counter counter;

    energy_counter_init(&counter, 0);

    ck_assert_uint_eq(energy_count(&counter, 987654321), 0);
    ck_assert_uint_eq(energy_count(&counter, 987654400), 79);
}
END_TEST

START_TEST(counter_that_wraps_goes_on)
{
    struct energy_counter counter;

    energy_counter_init(&counter, 262143328850u);
    energy_count(&counter, 262143328000u);

    ck_assert_uint_eq(energy_count(&counter, 150), 1000);
    ck_assert_uint_eq(energy_count(&counter, 160), 1010);
}
END_TEST

START_TEST(counter_without_a_range_that_runs_back_was_restarted)
{
    struct energy_counter counter;

    energy_counter_init(&counter, 0);
    energy_count(&counter, 1000);
    energy_count(&counter, 5000);

    ck_assert_uint_eq(energy_count(&counter, 10), 4000);
    ck_assert_uint_eq(energy_count(&counter, 30), 4020);
}
END_TEST

START_TEST(counter_above_its_own_range_that_runs_back_was_restarted)
{
    struct energy_counter counter;

    energy_counter_init(&counter, 100);
    energy_count(&counter, 500);

    ck_assert_uint_eq(energy_count(&counter, 20), 0);
}
END_TEST

START_TEST(watts_over_a_second_are_joules)
{
    struct energy_integral integral = { 0 };

    ck_assert_uint_eq(energy_integrate(&integral, 2000, 1000000), 0);
    ck_assert_uint_eq(energy_integrate(&integral, 2000, 2000000), 2000000);
    ck_assert_uint_eq(energy_integrate(&integral, 4000, 2500000), 3500000);
}
END_TEST

START_TEST(small_steps_lose_nothing)
{
    struct energy_integral integral = { 0 };

    for (uint64_t i = 0; i <= 1000; i++) {
        energy_integrate(&integral, 1, i);
    }

    ck_assert_uint_eq(integral.total_nj, 1000);
}
END_TEST

START_TEST(gap_adds_nothing)
{
    struct energy_integral integral = { 0 };

    energy_integrate(&integral, 2000, 1000000);

    ck_assert_uint_eq(energy_integrate(&integral, 2000, 1000001 + ENERGY_GAP_US), 0);
    ck_assert_uint_eq(energy_integrate(&integral, 2000, 2000001 + ENERGY_GAP_US), 2000000);
}
END_TEST

START_TEST(time_that_runs_back_and_charging_add_nothing)
{
    struct energy_integral integral = { 0 };

    energy_integrate(&integral, 2000, 1000000);

    ck_assert_uint_eq(energy_integrate(&integral, 2000, 900000), 0);
    ck_assert_uint_eq(energy_integrate(&integral, -2000, 1900000), 1000000);
    ck_assert_uint_eq(energy_integrate(&integral, -2000, 2900000), 1000000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("energy");
    TCase *tcase = tcase_create("energy");

    tcase_add_test(tcase, first_count_is_zero);
    tcase_add_test(tcase, counter_that_wraps_goes_on);
    tcase_add_test(tcase, counter_without_a_range_that_runs_back_was_restarted);
    tcase_add_test(tcase, counter_above_its_own_range_that_runs_back_was_restarted);
    tcase_add_test(tcase, watts_over_a_second_are_joules);
    tcase_add_test(tcase, small_steps_lose_nothing);
    tcase_add_test(tcase, gap_adds_nothing);
    tcase_add_test(tcase, time_that_runs_back_and_charging_add_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
