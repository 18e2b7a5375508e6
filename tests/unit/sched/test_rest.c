/* Who rests for its tokens a minute, and its seat. */
#include "fixture.h"
#include "unit.h"

#define SECOND_US 1000000u

static struct fixture fixture;

static void setup(void)
{
    fixture_init(&fixture, 1);
}

static void teardown(void)
{
    fixture_finish(&fixture);
}

static void add_seated(struct fixture_request *ask, enum priority priority)
{
    fixture_add(&fixture, ask, 1, 0, priority, 10, 100);
    fixture_assign(&fixture, ask);
}

/* It has spent what it may of the minute, and two minutes more. */
static void spend(struct fixture_request *ask)
{
    ask->job.limits.tokens_a_minute = 1000;
    account_spend(ask->job.account, 1000, 3000, fixture.in.boot_us);
}

START_TEST(who_rests_for_its_budget_gives_the_only_seat_to_its_own_class)
{
    struct fixture_request spent;
    struct fixture_request next;

    add_seated(&spent, PRIORITY_INTERACTIVE);
    fixture_add(&fixture, &next, 2, 0, PRIORITY_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(fixture_victim(&fixture));
    spend(&spent);

    ck_assert_ptr_eq(fixture_victim(&fixture), &spent.job);
    fixture_preempt(&fixture, &spent.job);
    ck_assert_ptr_null(fixture_victim(&fixture));
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &next.job);
}
END_TEST

START_TEST(who_rests_for_its_budget_gives_its_seat_to_a_lower_class_and_takes_it_back)
{
    struct fixture_request spent;
    struct fixture_request low;

    add_seated(&spent, PRIORITY_REALTIME);
    spend(&spent);
    fixture_add(&fixture, &low, 2, 0, PRIORITY_BACKGROUND, 10, 10);
    fixture_preempt(&fixture, fixture_victim(&fixture));
    job_move(fixture_next_slot(&fixture), JOB_OPENING, fixture.in.now_us);
    job_move(&low.job, JOB_ASSIGNED, fixture.in.now_us);
    fixture.eq.n_taken++;
    ck_assert_ptr_null(fixture_victim(&fixture));

    fixture.in.now_us += 121 * SECOND_US;
    fixture.in.boot_us += 121 * SECOND_US;
    fixture.eq.served_us[PRIORITY_BACKGROUND] = fixture.in.now_us;
    ck_assert_ptr_eq(fixture_victim(&fixture), &low.job);
    fixture_preempt(&fixture, &low.job);
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &spent.job);
}
END_TEST

START_TEST(who_rests_keeps_its_seat_while_nobody_wants_it_or_a_step_names_it)
{
    struct fixture_request spent;
    struct fixture_request next;

    add_seated(&spent, PRIORITY_INTERACTIVE);
    spend(&spent);
    ck_assert_ptr_null(fixture_victim(&fixture));
    fixture_add(&fixture, &next, 2, 0, PRIORITY_INTERACTIVE, 10, 10);
    job_send(&spent.job, 1, 1);
    ck_assert_ptr_null(fixture_victim(&fixture));

    job_settle(&spent.job, 1, 1);
    ck_assert_ptr_eq(fixture_victim(&fixture), &spent.job);
}
END_TEST

START_TEST(a_rest_too_short_for_what_it_would_lose_takes_no_seat)
{
    struct fixture_request spent;
    struct fixture_request next;

    add_seated(&spent, PRIORITY_INTERACTIVE);
    spend(&spent);
    spent.job.n_known = 200000;
    spent.job.n_done = 150000; /* 150 s at 1 ms a row; it rests for 120 */
    fixture_add(&fixture, &next, 2, 0, PRIORITY_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(fixture_victim(&fixture));

    spent.job.n_done = 50000;
    ck_assert_ptr_eq(fixture_victim(&fixture), &spent.job);
    spent.job.n_preempted = 2; /* more each time */
    ck_assert_ptr_null(fixture_victim(&fixture));
}
END_TEST

START_TEST(who_rests_and_was_promised_a_deadline_keeps_its_seat_until_that_is_met)
{
    struct fixture_request spent;
    struct fixture_request next;

    add_seated(&spent, PRIORITY_INTERACTIVE);
    spend(&spent);
    spent.job.first_by_us = fixture.in.boot_us + 200 * SECOND_US;
    fixture_add(&fixture, &next, 2, 0, PRIORITY_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(fixture_victim(&fixture));

    spent.job.has_first = true;
    ck_assert_ptr_eq(fixture_victim(&fixture), &spent.job);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-rest");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, who_rests_for_its_budget_gives_the_only_seat_to_its_own_class);
    tcase_add_test(tcase, who_rests_for_its_budget_gives_its_seat_to_a_lower_class_and_takes_it_back);
    tcase_add_test(tcase, who_rests_keeps_its_seat_while_nobody_wants_it_or_a_step_names_it);
    tcase_add_test(tcase, a_rest_too_short_for_what_it_would_lose_takes_no_seat);
    tcase_add_test(tcase, who_rests_and_was_promised_a_deadline_keeps_its_seat_until_that_is_met);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
