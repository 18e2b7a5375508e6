/* Suspend and resume, in every order of events. */
#include "app/suspend.h"
#include "unit.h"

#define NOW UINT64_C(1000000)

static struct suspend state;

static void setup(void)
{
    suspend_init(&state);
    suspend_on_locked(&state);
}

START_TEST(an_announced_sleep_stops_work_and_then_releases_the_lock)
{
    ck_assert_int_eq(suspend_on_announced(&state, true, NOW), SUSPEND_DO_STOP);
    ck_assert_int_eq(suspend_on_look(&state, false, NOW + 5000), SUSPEND_DO_NOTHING);

    ck_assert_int_eq(suspend_on_look(&state, true, NOW + 10000), SUSPEND_DO_RELEASE);
    ck_assert_int_eq(state.state, SUSPEND_GONE);
}
END_TEST

START_TEST(a_step_that_hangs_does_not_delay_the_suspend)
{
    suspend_on_announced(&state, true, NOW);

    ck_assert_int_eq(suspend_on_look(&state, false, NOW + SUSPEND_MOST_US - 1), SUSPEND_DO_NOTHING);
    ck_assert_int_eq(suspend_on_look(&state, false, NOW + SUSPEND_MOST_US), SUSPEND_DO_RELEASE);
    ck_assert_uint_lt(SUSPEND_MOST_US, 500000);
}
END_TEST

START_TEST(the_lock_is_taken_again_after_a_sleep)
{
    suspend_on_announced(&state, true, NOW);
    suspend_on_look(&state, true, NOW);

    ck_assert_int_eq(suspend_on_announced(&state, false, NOW + 60000000), SUSPEND_DO_WAKE);
    suspend_on_locked(&state);
    ck_assert_int_eq(state.state, SUSPEND_AWAKE);
}
END_TEST

START_TEST(a_cancelled_sleep_wakes_at_once)
{
    suspend_on_announced(&state, true, NOW);

    ck_assert_int_eq(suspend_on_announced(&state, false, NOW + 1000), SUSPEND_DO_WAKE);
    ck_assert_int_eq(suspend_on_look(&state, true, NOW + 2000), SUSPEND_DO_NOTHING);
}
END_TEST

START_TEST(announcements_are_idempotent)
{
    ck_assert_int_eq(suspend_on_announced(&state, false, NOW), SUSPEND_DO_NOTHING);
    suspend_on_announced(&state, true, NOW);

    ck_assert_int_eq(suspend_on_announced(&state, true, NOW), SUSPEND_DO_NOTHING);
}
END_TEST

START_TEST(suspend_is_obeyed_without_a_lock_too)
{
    suspend_init(&state);

    ck_assert_int_eq(suspend_on_announced(&state, true, NOW), SUSPEND_DO_STOP);
    ck_assert_int_eq(suspend_on_look(&state, true, NOW), SUSPEND_DO_RELEASE);
}
END_TEST

START_TEST(a_lock_that_comes_too_late_changes_nothing)
{
    suspend_init(&state);
    suspend_on_announced(&state, true, NOW);
    suspend_on_locked(&state);

    ck_assert_int_eq(state.state, SUSPEND_GOING);
}
END_TEST

START_TEST(losing_logind_counts_as_being_awake)
{
    suspend_on_announced(&state, true, NOW);
    suspend_on_look(&state, true, NOW);

    ck_assert_int_eq(suspend_on_lost(&state), SUSPEND_DO_WAKE);
    ck_assert_int_eq(suspend_on_lost(&state), SUSPEND_DO_NOTHING);
}
END_TEST

START_TEST(the_lock_is_not_released_while_awake)
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
    unit_add(facts, an_announced_sleep_stops_work_and_then_releases_the_lock,
             a_step_that_hangs_does_not_delay_the_suspend, the_lock_is_taken_again_after_a_sleep,
             a_cancelled_sleep_wakes_at_once, announcements_are_idempotent, suspend_is_obeyed_without_a_lock_too,
             a_lock_that_comes_too_late_changes_nothing, losing_logind_counts_as_being_awake,
             the_lock_is_not_released_while_awake);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
