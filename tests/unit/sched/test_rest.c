/* A job out of budget, and its slot. */
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

static void add_assigned(struct fixture_request *request, enum priority priority)
{
    fixture_add(&fixture, request, 1, 0, priority, 10, 100);
    fixture_assign(&fixture, request);
}

/* Spends the budget of the minute, and of two more. */
static void spend(struct fixture_request *request)
{
    request->job.limits.tokens_a_minute = 1000;
    account_spend(request->job.account, 1000, 3000, fixture.in.boot_us);
}

START_TEST(a_job_out_of_budget_gives_the_only_slot_to_its_own_class)
{
    struct fixture_request spent;
    struct fixture_request next;

    add_assigned(&spent, PRIORITY_INTERACTIVE);
    fixture_add(&fixture, &next, 2, 0, PRIORITY_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(fixture_victim(&fixture));
    spend(&spent);

    ck_assert_ptr_eq(fixture_victim(&fixture), &spent.job);
    fixture_preempt(&fixture, &spent.job);
    ck_assert_ptr_null(fixture_victim(&fixture));
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &next.job);
}
END_TEST

START_TEST(a_job_out_of_budget_gives_its_slot_to_a_lower_class_and_takes_it_back)
{
    struct fixture_request spent;
    struct fixture_request low;

    add_assigned(&spent, PRIORITY_REALTIME);
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

START_TEST(a_job_out_of_budget_keeps_its_slot_while_it_is_not_wanted_or_in_a_step)
{
    struct fixture_request spent;
    struct fixture_request next;

    add_assigned(&spent, PRIORITY_INTERACTIVE);
    spend(&spent);
    ck_assert_ptr_null(fixture_victim(&fixture));
    fixture_add(&fixture, &next, 2, 0, PRIORITY_INTERACTIVE, 10, 10);
    job_send(&spent.job, 1, 1, 0);
    ck_assert_ptr_null(fixture_victim(&fixture));

    job_settle(&spent.job, 1, 1, 0);
    ck_assert_ptr_eq(fixture_victim(&fixture), &spent.job);
}
END_TEST

START_TEST(a_wait_too_short_for_the_loss_takes_no_slot)
{
    struct fixture_request spent;
    struct fixture_request next;

    add_assigned(&spent, PRIORITY_INTERACTIVE);
    spend(&spent);
    spent.job.n_known = 200000;
    spent.job.n_done = 150000; /* 150 s at 1 ms a row; it is out of budget for 120 */
    fixture_add(&fixture, &next, 2, 0, PRIORITY_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(fixture_victim(&fixture));

    spent.job.n_done = 50000;
    ck_assert_ptr_eq(fixture_victim(&fixture), &spent.job);
    spent.job.n_preempted = 2; /* the loss grows with each preemption */
    ck_assert_ptr_null(fixture_victim(&fixture));
}
END_TEST

START_TEST(a_job_out_of_budget_with_a_deadline_keeps_its_slot_until_that_is_met)
{
    struct fixture_request spent;
    struct fixture_request next;

    add_assigned(&spent, PRIORITY_INTERACTIVE);
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
    tcase_add_test(tcase, a_job_out_of_budget_gives_the_only_slot_to_its_own_class);
    tcase_add_test(tcase, a_job_out_of_budget_gives_its_slot_to_a_lower_class_and_takes_it_back);
    tcase_add_test(tcase, a_job_out_of_budget_keeps_its_slot_while_it_is_not_wanted_or_in_a_step);
    tcase_add_test(tcase, a_wait_too_short_for_the_loss_takes_no_slot);
    tcase_add_test(tcase, a_job_out_of_budget_with_a_deadline_keeps_its_slot_until_that_is_met);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
