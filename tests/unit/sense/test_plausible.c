/* What is believed of a sensor, and what is set aside. */
#include "base/clean.h"
#include "sense/plausible.h"
#include "unit.h"
#include <errno.h>

static struct plausible heat;
static struct reading reading;
static uint64_t now_us;

static void make(void)
{
    plausible_init_temperature(&heat, -40000, 150000, 1000);
    now_us = 1000000;
}

static enum reading_state take(int64_t value)
{
    now_us += 1000000;
    plausible_take(&heat, value, now_us, &reading);
    ck_assert((reading.state == READING_OK) == (reading.why[0] == '\0'));
    return reading.state;
}

START_TEST(frost_is_a_temperature)
{
    ck_assert_int_eq(take(-30000), READING_OK);
    ck_assert_int_eq(reading.value, -30000);
    ck_assert_uint_eq(reading.at_us, now_us);
}
END_TEST

START_TEST(range_is_inclusive)
{
    ck_assert_int_eq(take(-40000), READING_OK);
    ck_assert_int_eq(take(-40001), READING_IMPLAUSIBLE);
    plausible_init_temperature(&heat, -40000, 150000, 1000);
    ck_assert_int_eq(take(150000), READING_OK);
    ck_assert_int_eq(take(150001), READING_IMPLAUSIBLE);
}
END_TEST

START_TEST(nonsense_keeps_the_last_good_value_and_its_time)
{
    static const int64_t nonsense[] = { -650788984, -32768000, INT64_MIN, INT64_MAX, -274000 };
    uint64_t good_us;

    take(45000);
    good_us = now_us;
    for (size_t i = 0; i < COUNTOF(nonsense); i++) {
        ck_assert_int_eq(take(nonsense[i]), READING_IMPLAUSIBLE);
        ck_assert_int_eq(reading.value, 45000);
        ck_assert_uint_eq(reading.at_us, good_us);
    }
    ck_assert_int_eq(take(46000), READING_OK);
}
END_TEST

START_TEST(nonsense_is_not_believed_twice_either)
{
    take(45000);
    ck_assert_int_eq(take(-650788984), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(-650788984), READING_IMPLAUSIBLE);
}
END_TEST

START_TEST(nonsense_without_an_earlier_good_value_has_time_zero)
{
    ck_assert_int_eq(take(-650788984), READING_IMPLAUSIBLE);
    ck_assert_int_eq(reading.value, 0);
    ck_assert_uint_eq(reading.at_us, 0);
}
END_TEST

START_TEST(one_85_among_45s_is_set_aside)
{
    take(45000);

    ck_assert_int_eq(take(85000), READING_IMPLAUSIBLE);
    ck_assert_int_eq(reading.value, 45000);
    ck_assert_int_eq(take(45200), READING_OK);
    ck_assert_int_eq(reading.value, 45200);
}
END_TEST

START_TEST(two_85s_in_a_row_are_believed)
{
    take(45000);
    take(85000);

    ck_assert_int_eq(take(84000), READING_OK);
    ck_assert_int_eq(reading.value, 84000);
}
END_TEST

START_TEST(two_jumps_to_different_places_are_no_agreement)
{
    take(45000);

    ck_assert_int_eq(take(85000), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(5000), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(86000), READING_IMPLAUSIBLE);
}
END_TEST

START_TEST(jumps_with_nonsense_or_a_failure_between_are_not_in_a_row)
{
    take(45000);

    take(85000);
    take(-650788984);
    ck_assert_int_eq(take(85000), READING_IMPLAUSIBLE);
    plausible_fail(&heat, -EIO, &reading);
    ck_assert_int_eq(reading.state, READING_STALE);
    ck_assert_int_eq(reading.value, 45000);
    ck_assert_int_eq(take(85000), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(85000), READING_OK);
}
END_TEST

START_TEST(step_of_fifteen_degrees_is_no_jump)
{
    take(45000);
    ck_assert_int_eq(take(60000), READING_OK);
    ck_assert_int_eq(take(75001), READING_IMPLAUSIBLE);
}
END_TEST

START_TEST(whole_degrees_are_not_guessed_at)
{
    ck_assert_int_eq(take(45), READING_IMPLAUSIBLE);
    ck_assert_int_eq(reading.value, 0);
    ck_assert_ptr_nonnull(strstr(reading.why, "whole degrees"));
    ck_assert_int_eq(take(46), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(-40), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(0), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(150), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(151), READING_OK);
}
END_TEST

START_TEST(chip_that_thaws_is_believed_at_zero)
{
    take(-2000);
    ck_assert_int_eq(take(0), READING_OK);
    ck_assert_int_eq(take(45), READING_OK);
    ck_assert_int_eq(take(1000), READING_OK);
}
END_TEST

START_TEST(warm_chip_that_reads_45_is_not_cold)
{
    take(45000);
    ck_assert_int_eq(take(45), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(45), READING_IMPLAUSIBLE);
    ck_assert_int_eq(reading.value, 45000);
}
END_TEST

START_TEST(multiplier_makes_degrees_into_thousandths)
{
    plausible_init_temperature(&heat, -40000, 150000, 1000000);

    ck_assert_int_eq(take(45), READING_OK);
    ck_assert_int_eq(reading.value, 45000);
    ck_assert_int_eq(take(INT64_MAX), READING_IMPLAUSIBLE);
    ck_assert_int_eq(take(85000), READING_IMPLAUSIBLE);
}
END_TEST

START_TEST(power_may_jump_within_two_kilowatts)
{
    plausible_init_power(&heat);

    ck_assert_int_eq(take(3), READING_OK);
    ck_assert_int_eq(take(300000), READING_OK);
    ck_assert_int_eq(take(-15000), READING_OK);
    ck_assert_int_eq(take(2000001), READING_IMPLAUSIBLE);
    ck_assert_int_eq(reading.value, -15000);
}
END_TEST

START_TEST(each_fault_has_its_state)
{
    static const struct {
        int fault;
        enum reading_state state;
        int64_t value;
    } rows[] = {
        { -EACCES, READING_FORBIDDEN, 0 },       { -EPERM, READING_FORBIDDEN, 0 },
        { -ENOENT, READING_ABSENT, 0 },          { -ENODATA, READING_ABSENT, 0 },
        { -EINVAL, READING_ABSENT, 0 },          { -ENODEV, READING_ABSENT, 0 },
        { -EAGAIN, READING_STALE, 45000 },       { -EIO, READING_STALE, 45000 },
        { -ETIMEDOUT, READING_STALE, 45000 },    { -ENOMEM, READING_STALE, 45000 },
        { -EPROTO, READING_IMPLAUSIBLE, 45000 }, { -EFBIG, READING_IMPLAUSIBLE, 45000 },
    };

    take(45000);
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        plausible_fail(&heat, rows[i].fault, &reading);
        ck_assert_int_eq(reading.state, rows[i].state);
        ck_assert_int_eq(reading.value, rows[i].value);
        ck_assert_str_ne(reading.why, "");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plausible");
    TCase *tcase = tcase_create("plausible");

    tcase_add_checked_fixture(tcase, make, NULL);
    tcase_add_test(tcase, frost_is_a_temperature);
    tcase_add_test(tcase, range_is_inclusive);
    tcase_add_test(tcase, nonsense_keeps_the_last_good_value_and_its_time);
    tcase_add_test(tcase, nonsense_is_not_believed_twice_either);
    tcase_add_test(tcase, nonsense_without_an_earlier_good_value_has_time_zero);
    tcase_add_test(tcase, one_85_among_45s_is_set_aside);
    tcase_add_test(tcase, two_85s_in_a_row_are_believed);
    tcase_add_test(tcase, two_jumps_to_different_places_are_no_agreement);
    tcase_add_test(tcase, jumps_with_nonsense_or_a_failure_between_are_not_in_a_row);
    tcase_add_test(tcase, step_of_fifteen_degrees_is_no_jump);
    tcase_add_test(tcase, whole_degrees_are_not_guessed_at);
    tcase_add_test(tcase, chip_that_thaws_is_believed_at_zero);
    tcase_add_test(tcase, warm_chip_that_reads_45_is_not_cold);
    tcase_add_test(tcase, multiplier_makes_degrees_into_thousandths);
    tcase_add_test(tcase, power_may_jump_within_two_kilowatts);
    tcase_add_test(tcase, each_fault_has_its_state);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
