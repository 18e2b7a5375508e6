/* What is done when the machine goes to sleep and comes back, in every order. */
#include "app/suspend.h"
#include "unit.h"

#define NOW UINT64_C(1000000)

static struct suspend state;

static void setup(void)
{
    suspend_init(&state);
    suspend_on_locked(&state);
}

START_TEST(told_of_sleep_work_is_stopped_and_the_lock_goes_when_all_stands_still)
{
    ck_assert_int_eq(suspend_on_told(&state, true, NOW), SUSPEND_DO_STOP);
    ck_assert_int_eq(suspend_on_look(&state, false, NOW + 5000), SUSPEND_DO_NOTHING);

    ck_assert_int_eq(suspend_on_look(&state, true, NOW + 10000), SUSPEND_DO_RELEASE);
    ck_assert_int_eq(state.state, SUSPEND_GONE);
}
END_TEST

START_TEST(what_hangs_holds_up_no_suspend)
{
    suspend_on_told(&state, true, NOW);

    ck_assert_int_eq(suspend_on_look(&state, false, NOW + SUSPEND_MOST_US - 1), SUSPEND_DO_NOTHING);
    ck_assert_int_eq(suspend_on_look(&state, false, NOW + SUSPEND_MOST_US), SUSPEND_DO_RELEASE);
    ck_assert_uint_lt(SUSPEND_MOST_US, 500000);
}
END_TEST

START_TEST(awake_a_lock_is_taken_again)
{
    suspend_on_told(&state, true, NOW);
    suspend_on_look(&state, true, NOW);

    ck_assert_int_eq(suspend_on_told(&state, false, NOW + 60000000), SUSPEND_DO_WAKE);
    suspend_on_locked(&state);
    ck_assert_int_eq(state.state, SUSPEND_AWAKE);
}
END_TEST

START_TEST(a_sleep_called_off_wakes_at_once)
{
    suspend_on_told(&state, true, NOW);

    ck_assert_int_eq(suspend_on_told(&state, false, NOW + 1000), SUSPEND_DO_WAKE);
    ck_assert_int_eq(suspend_on_look(&state, true, NOW + 2000), SUSPEND_DO_NOTHING);
}
END_TEST

START_TEST(told_twice_is_told_once)
{
    ck_assert_int_eq(suspend_on_told(&state, false, NOW), SUSPEND_DO_NOTHING);
    suspend_on_told(&state, true, NOW);

    ck_assert_int_eq(suspend_on_told(&state, true, NOW), SUSPEND_DO_NOTHING);
}
END_TEST

START_TEST(suspend_is_heeded_without_a_lock_too)
{
    suspend_init(&state);

    ck_assert_int_eq(suspend_on_told(&state, true, NOW), SUSPEND_DO_STOP);
    ck_assert_int_eq(suspend_on_look(&state, true, NOW), SUSPEND_DO_RELEASE);
}
END_TEST

START_TEST(a_lock_that_comes_too_late_changes_nothing)
{
    suspend_init(&state);
    suspend_on_told(&state, true, NOW);
    suspend_on_locked(&state);

    ck_assert_int_eq(state.state, SUSPEND_GOING);
}
END_TEST

START_TEST(without_logind_nobody_would_wake_us_so_we_are_awake)
{
    suspend_on_told(&state, true, NOW);
    suspend_on_look(&state, true, NOW);

    ck_assert_int_eq(suspend_on_lost(&state), SUSPEND_DO_WAKE);
    ck_assert_int_eq(suspend_on_lost(&state), SUSPEND_DO_NOTHING);
}
END_TEST

START_TEST(nobody_gives_back_a_lock_while_awake)
{
    ck_assert(!suspend_may_move(SUSPEND_AWAKE, SUSPEND_GONE));
    ck_assert(suspend_may_move(SUSPEND_GOING, SUSPEND_GONE));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sleep");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, NULL);
    tcase_add_test(facts, told_of_sleep_work_is_stopped_and_the_lock_goes_when_all_stands_still);
    tcase_add_test(facts, what_hangs_holds_up_no_suspend);
    tcase_add_test(facts, awake_a_lock_is_taken_again);
    tcase_add_test(facts, a_sleep_called_off_wakes_at_once);
    tcase_add_test(facts, told_twice_is_told_once);
    tcase_add_test(facts, suspend_is_heeded_without_a_lock_too);
    tcase_add_test(facts, a_lock_that_comes_too_late_changes_nothing);
    tcase_add_test(facts, without_logind_nobody_would_wake_us_so_we_are_awake);
    tcase_add_test(facts, nobody_gives_back_a_lock_while_awake);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
