/* Deadlines: promises are kept, what can't be kept is refused with numbers, and a deadline gains no share. */
#include "admit_fixture.h"
#include "base/num.h"

/* ---- answers */

START_TEST(without_a_deadline_nothing_is_late)
{
    struct fixture_request many[50];
    struct fixture_request request;

    for (size_t i = 0; i < 50; i++) {
        fixture_add(&fixture, &many[i], 1, 0, PRIORITY_INTERACTIVE, 4000, 100);
    }
    prepare(&request, 2, PRIORITY_INTERACTIVE, 4000, 100, 0, 0);

    ck_assert_int_eq(admit(&request), ADMIT_OK);
    ck_assert_uint_gt(verdict.first_us, 0);
    ck_assert_uint_gt(verdict.finish_us, verdict.first_us);
}
END_TEST

START_TEST(a_deadline_that_an_idle_machine_meets_is_promised)
{
    struct fixture_request request;

    /* 100 rows: 100 ms and three readings of the weights. */
    ck_assert(try_arrive(&request, 1, PRIORITY_INTERACTIVE, 100, 10, 300000, 1000000));
    fixture_until(&fixture, 3 * SECOND_US);

    ck_assert(fixture_is_over(&request) && !request.expired);
}
END_TEST

START_TEST(what_not_even_an_idle_machine_can_do_is_refused_without_a_retry)
{
    struct fixture_request request;

    prepare(&request, 1, PRIORITY_INTERACTIVE, 1000, 10, 300000, 0);

    ck_assert_int_eq(admit(&request), ADMIT_LATE);
    ck_assert(verdict.is_first);
    ck_assert_uint_eq(verdict.deadline_us, 300000);
    ck_assert_uint_ge(verdict.first_us, 1000000);
    ck_assert_uint_eq(verdict.retry_us, 0);
}
END_TEST

START_TEST(a_refusal_says_which_deadline_and_when_to_come_again)
{
    struct fixture_request elder[4];
    struct fixture_request request;

    for (size_t i = 0; i < 4; i++) {
        fixture_add(&fixture, &elder[i], 1, 0, PRIORITY_REALTIME, 2000, 2);
    }
    prepare(&request, 2, PRIORITY_INTERACTIVE, 100, 50, 60 * SECOND_US, 5 * SECOND_US);
    ck_assert_int_eq(admit(&request), ADMIT_LATE);
    ck_assert(!verdict.is_first);
    ck_assert_uint_eq(verdict.deadline_us, 5 * SECOND_US);
    ck_assert_uint_gt(verdict.retry_us, 0);

    /* The refusal is honest: the same request is promised then, and the promise kept. */
    fixture_until(&fixture, fixture.in.now_us + verdict.retry_us);
    ck_assert(try_arrive(&request, 2, PRIORITY_INTERACTIVE, 100, 50, 60 * SECOND_US, 5 * SECOND_US));
    fixture_until(&fixture, fixture.in.now_us + 6 * SECOND_US);
    ck_assert(fixture_is_over(&request) && !request.expired);
}
END_TEST

START_TEST(half_the_duty_takes_twice_the_time)
{
    struct fixture_request request;
    uint64_t first_us;

    prepare(&request, 1, PRIORITY_INTERACTIVE, 1000, 50, 0, 60 * SECOND_US);
    ck_assert_int_eq(admit(&request), ADMIT_OK);
    first_us = verdict.finish_us;
    fixture.in.limits[fixture.eq.processor].duty_permille = 500;
    ck_assert_int_eq(admit(&request), ADMIT_OK);

    ck_assert_double_ge((double)verdict.finish_us, 1.9 * (double)first_us);
}
END_TEST

START_TEST(a_closed_gate_promises_nothing)
{
    struct fixture_request request;

    prepare(&request, 1, PRIORITY_INTERACTIVE, 10, 10, SECOND_US, 0);
    fixture.in.limits[fixture.eq.processor].class_gate = PRIORITY_REALTIME;
    ck_assert_int_eq(admit(&request), ADMIT_LATE);
    ck_assert_uint_eq(verdict.first_us, ADMIT_NO_TIME);
    ck_assert_uint_gt(verdict.retry_us, 0);
    fixture.in.limits[fixture.eq.processor].class_gate = PRIORITY_BACKGROUND;
    fixture.in.limits[fixture.eq.processor].duty_permille = 0;
    ck_assert_int_eq(admit(&request), ADMIT_LATE);
    request.job.first_by_us = 0;

    ck_assert_int_eq(admit(&request), ADMIT_OK); /* it may wait */
}
END_TEST

START_TEST(what_can_never_fit_is_refused_at_once)
{
    struct fixture_request request;

    fixture.eq.n_context = 1000;
    fixture.eq.n_pages = 50;
    prepare(&request, 1, PRIORITY_INTERACTIVE, 1000, 10, 0, 0);
    ck_assert_int_eq(admit(&request), ADMIT_NEVER);
    ck_assert_int_eq(verdict.bound, ADMIT_CONTEXT);
    ck_assert_uint_eq(verdict.n_has, 1000);
    prepare(&request, 1, PRIORITY_INTERACTIVE, 700, 200, 0, 0);
    ck_assert_int_eq(admit(&request), ADMIT_NEVER);
    ck_assert_int_eq(verdict.bound, ADMIT_PAGES);
    ck_assert_uint_eq(verdict.n_needs, 57);
    ck_assert_uint_eq(verdict.n_has, 50);
    prepare(&request, 1, PRIORITY_INTERACTIVE, 700, 100, 0, 0);

    ck_assert_int_eq(admit(&request), ADMIT_OK);
}
END_TEST

START_TEST(a_spent_budget_is_in_the_estimate)
{
    struct fixture_request request;

    prepare(&request, 1, PRIORITY_INTERACTIVE, 100, 500, 2 * SECOND_US, 0);
    request.job.limits.tokens_a_minute = 600; /* ten a second */
    account_spend(fixture.accounts[1], 600, 600, fixture.in.boot_us);

    ck_assert_int_eq(admit(&request), ADMIT_LATE);
    ck_assert_uint_ge(verdict.first_us, 10 * SECOND_US);
    ck_assert_uint_ge(verdict.finish_us, 60 * SECOND_US);
}
END_TEST

/* ---- what is reserved */

START_TEST(what_was_promised_is_counted)
{
    struct fixture_request requests[20];
    uint32_t n = 0;

    /* Each is a second of work, due in five. */
    while (n < 20 && try_arrive(&requests[n], 1 + n % 4, PRIORITY_INTERACTIVE, 780, 2, 5 * SECOND_US, 0)) {
        n++;
    }
    fixture_until(&fixture, fixture.in.now_us + 8 * SECOND_US);

    ck_assert_uint_ge(n, 3);
    ck_assert_uint_le(n, 5);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert(!requests[i].expired);
    }
}
END_TEST

START_TEST(a_later_promise_does_not_break_an_earlier_one)
{
    struct fixture_request first;
    struct fixture_request second;

    ck_assert(try_arrive(&first, 1, PRIORITY_INTERACTIVE, 1500, 2, 3 * SECOND_US, 0));

    /* Alone it could be met, but then the first would be late. */
    ck_assert(!try_arrive(&second, 2, PRIORITY_REALTIME, 1500, 2, 3 * SECOND_US, 0));
    fixture_until(&fixture, 5 * SECOND_US);
    ck_assert(!first.expired);
}
END_TEST

START_TEST(a_deadline_is_met_out_of_the_accounts_own_share)
{
    struct fixture_request others[3];
    struct fixture_request request;

    for (uint32_t i = 0; i < 3; i++) {
        fixture_add(&fixture, &others[i], 2 + i, 0, PRIORITY_INTERACTIVE, 8000, 2);
    }

    /* 800 rows are one second of four. */
    ck_assert(!try_arrive(&request, 1, PRIORITY_INTERACTIVE, 800, 2, 3 * SECOND_US, 0));
    ck_assert(try_arrive(&request, 1, PRIORITY_INTERACTIVE, 800, 2, 7 * SECOND_US, 0));
    fixture_until(&fixture, fixture.in.now_us + 8 * SECOND_US);
    ck_assert(request.first_us > 0 && !request.expired);
}
END_TEST

START_TEST(a_deadline_buys_no_share)
{
    struct fixture_request others;
    struct fixture_request requests[200];
    uint64_t until_us = fixture.in.now_us + 20 * SECOND_US;
    uint32_t n = 0;

    fixture_add(&fixture, &others, 2, 0, PRIORITY_INTERACTIVE, 100000, 2);
    while (fixture.in.now_us < until_us && n < 200) {
        n += try_arrive(&requests[n], 1, PRIORITY_INTERACTIVE, 300, 2, 2 * SECOND_US, 0);
        fixture_until(&fixture, fixture.in.now_us + 50000);
    }

    for (uint32_t i = 0; i < n; i++) {
        ck_assert(!requests[i].expired);
    }
    ck_assert_uint_ge(n, 5);
    ck_assert_double_le((double)fixture.n_served[1], 1.1 * (double)fixture.n_served[2]);
}
END_TEST

/* ---- order */

START_TEST(a_job_that_would_be_late_goes_before_its_class_the_earliest_first)
{
    struct fixture_request fair;
    struct fixture_request soon;
    struct fixture_request sooner;

    fixture_add(&fixture, &fair, 1, 0, PRIORITY_INTERACTIVE, 1000, 2);
    prepare(&soon, 2, PRIORITY_INTERACTIVE, 200, 2, 600000, 0);
    fixture_arrive(&fixture, &soon);
    prepare(&sooner, 2, PRIORITY_INTERACTIVE, 200, 2, 500000, 0);
    fixture_arrive(&fixture, &sooner);
    admit_mark_urgent(&fixture.queue, fixture.in.limits, fixture.in.boot_us);

    ck_assert(soon.job.urgent && sooner.job.urgent && !fair.job.urgent);
    ck_assert(queue_before(&sooner.job, &soon.job, fixture.in.now_us));
    ck_assert(queue_before(&soon.job, &fair.job, fixture.in.now_us));
}
END_TEST

START_TEST(a_job_that_is_in_time_anyway_keeps_its_fair_position)
{
    struct fixture_request request;

    prepare(&request, 1, PRIORITY_INTERACTIVE, 100, 2, 60 * SECOND_US, 0);
    fixture_arrive(&fixture, &request);
    admit_mark_urgent(&fixture.queue, fixture.in.limits, fixture.in.boot_us);

    ck_assert(!request.job.urgent);
}
END_TEST

START_TEST(a_deadline_passes_no_higher_class)
{
    struct fixture_request low;
    struct fixture_request high;

    fixture_add(&fixture, &high, 1, 0, PRIORITY_REALTIME, 1000, 2);
    prepare(&low, 2, PRIORITY_BACKGROUND, 200, 2, 600000, 0);
    fixture_arrive(&fixture, &low);
    admit_mark_urgent(&fixture.queue, fixture.in.limits, fixture.in.boot_us);

    ck_assert(low.job.urgent);
    ck_assert(queue_before(&high.job, &low.job, fixture.in.now_us));
}
END_TEST

START_TEST(pieces_of_prompts_make_way_for_an_answer_that_has_to_hurry)
{
    struct fixture_request answer;
    struct fixture_request prompt;

    ck_assert(try_arrive(&answer, 1, PRIORITY_INTERACTIVE, 20, 100, 0, 3 * SECOND_US));
    fixture_add(&fixture, &prompt, 2, 0, PRIORITY_INTERACTIVE, 8000, 2);
    fixture_until(&fixture, 6 * SECOND_US);

    /* 100 steps of 50 ms would be five seconds. */
    ck_assert(fixture_is_over(&answer) && !answer.expired);
}
END_TEST

/* ---- ends */

START_TEST(a_job_that_is_too_late_ends)
{
    struct fixture_request request;

    prepare(&request, 1, PRIORITY_INTERACTIVE, 1000, 2, 100000, 0);
    fixture_arrive(&fixture, &request);
    ck_assert_uint_eq(queue_next_deadline_us(&fixture.queue), request.job.first_by_us);
    ck_assert_ptr_null(queue_next_expired(&fixture.queue, request.job.first_by_us - 1));

    ck_assert_ptr_eq(queue_next_expired(&fixture.queue, request.job.first_by_us), &request.job);
}
END_TEST

START_TEST(a_first_token_in_time_leaves_the_last_ones_deadline)
{
    struct fixture_request request;

    prepare(&request, 1, PRIORITY_INTERACTIVE, 10, 2, 100000, 200000);
    fixture_arrive(&fixture, &request);
    request.job.has_first = true;

    ck_assert_uint_eq(queue_deadline_us(&request.job), request.job.finish_by_us);
    ck_assert_ptr_null(queue_next_expired(&fixture.queue, request.job.first_by_us));
    ck_assert_ptr_eq(queue_next_expired(&fixture.queue, request.job.finish_by_us), &request.job);
}
END_TEST

START_TEST(what_ran_out_in_sleep_never_starts)
{
    struct fixture_request request;

    prepare(&request, 1, PRIORITY_INTERACTIVE, 10, 2, SECOND_US, 0);
    fixture_arrive(&fixture, &request);
    fixture.in.boot_us += 3600u * (uint64_t)SECOND_US; /* the boot clock runs on, the other one does not */
    fixture_step(&fixture);

    ck_assert(request.expired && request.first_us == 0);
    ck_assert_uint_eq(fixture.n_steps, 0);
}
END_TEST

START_TEST(the_plan_wakes_for_the_next_deadline)
{
    struct fixture_request request;
    struct plan plan;

    prepare(&request, 1, PRIORITY_INTERACTIVE, 10, 2, SECOND_US, 0);
    fixture_arrive(&fixture, &request);
    fixture.in.limits[fixture.eq.processor].duty_permille = 0;
    plan_make(&fixture.planner, &fixture.queue, &fixture.in, &plan);

    ck_assert_ptr_null(plan.eq);
    ck_assert_uint_eq(plan.wake_us, request.job.first_by_us);
}
END_TEST

/* ---- room */

/* Returns the time told to one more request of user @uid. */
static uint64_t told_us(uint32_t uid, enum priority priority)
{
    const struct account_limits limits = { .weight = ACCOUNT_WEIGHT_USUAL };
    struct account *account;

    ck_assert_int_eq(accounts_get(&fixture.queue.accounts, uid, &account), 0);
    return queue_retry_us(&fixture.queue, account, &limits, priority, fixture.in.limits);
}

START_TEST(a_refused_request_is_told_about_what_draining_takes)
{
    struct fixture_request requests[64];
    uint64_t told;
    uint64_t took_us;
    uint64_t from_us;

    for (size_t i = 0; i < 64; i++) {
        fixture_add(&fixture, &requests[i], 1, 0, PRIORITY_INTERACTIVE, 20, 30);
    }
    from_us = fixture.in.now_us;
    told = told_us(1, PRIORITY_INTERACTIVE);
    while (fixture.queue.n_live > 0) {
        fixture_step(&fixture);
    }
    took_us = fixture.in.now_us - from_us;

    ck_assert_uint_le(told, 2 * took_us);
    ck_assert_uint_ge(told, took_us / 2);
}
END_TEST

START_TEST(long_work_of_a_lower_class_or_another_user_makes_no_long_time_told)
{
    struct fixture_request requests[3];
    uint64_t alone_us;

    fixture_add(&fixture, &requests[0], 1, 0, PRIORITY_INTERACTIVE, 4000, 1);
    alone_us = told_us(1, PRIORITY_INTERACTIVE);
    fixture_add(&fixture, &requests[1], 2, 0, PRIORITY_BACKGROUND, 100000, 1);
    ck_assert_uint_le(told_us(1, PRIORITY_INTERACTIVE), alone_us * 5 / 4);
    fixture_add(&fixture, &requests[2], 3, 0, PRIORITY_INTERACTIVE, 100000, 1);

    ck_assert_uint_ge(told_us(1, PRIORITY_INTERACTIVE), alone_us * 3 / 2);
    ck_assert_uint_le(told_us(1, PRIORITY_INTERACTIVE), alone_us * 5 / 2);
    ck_assert_uint_ge(told_us(4, PRIORITY_INTERACTIVE), alone_us * 20);
    ck_assert_uint_ge(told_us(1, PRIORITY_BACKGROUND), alone_us * 2);
}
END_TEST

START_TEST(a_request_whose_text_is_not_read_yet_counts_with_its_answer)
{
    struct fixture_request requests[64];

    for (size_t i = 0; i < 64; i++) {
        fixture_request(&fixture, &requests[i], 1, PRIORITY_INTERACTIVE, 0, 0);
        requests[i].job.n_most = 0;
        queue_add(&fixture.queue, &requests[i].job, fixture.in.now_us);
        requests[i].job.n_left = 16;
    }

    /* 16 steps of 10 ms for each 16 of them, and 0.1 ms for each token. */
    ck_assert_uint_le(told_us(1, PRIORITY_INTERACTIVE), 64u * 16u * 10000u / 16u + 64u * 16u * 100u);
}
END_TEST

START_TEST(a_long_bound_is_no_long_answer)
{
    struct fixture_request request;

    fixture_add(&fixture, &request, 1, 0, PRIORITY_INTERACTIVE, 20, 100000);

    ck_assert_uint_le(told_us(1, PRIORITY_INTERACTIVE), 20u * 1000u + 256u * 10100u);
}
END_TEST

START_TEST(a_time_that_is_told_has_bounds)
{
    struct fixture_request requests[2];

    ck_assert_uint_eq(told_us(1, PRIORITY_INTERACTIVE), QUEUE_RETRY_LEAST_US);
    fixture_add(&fixture, &requests[0], 1, 0, PRIORITY_INTERACTIVE, 20, 1);
    ck_assert_uint_eq(told_us(1, PRIORITY_INTERACTIVE), QUEUE_RETRY_LEAST_US);
    fixture_add(&fixture, &requests[1], 1, 0, PRIORITY_INTERACTIVE, 1000000, 1);

    ck_assert_uint_eq(told_us(1, PRIORITY_INTERACTIVE), QUEUE_RETRY_MOST_US);
}
END_TEST

static TCase *tcase_of_promises(void)
{
    TCase *tcase = tcase_create("promises");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, without_a_deadline_nothing_is_late);
    tcase_add_test(tcase, a_deadline_that_an_idle_machine_meets_is_promised);
    tcase_add_test(tcase, what_not_even_an_idle_machine_can_do_is_refused_without_a_retry);
    tcase_add_test(tcase, a_refusal_says_which_deadline_and_when_to_come_again);
    tcase_add_test(tcase, half_the_duty_takes_twice_the_time);
    tcase_add_test(tcase, a_closed_gate_promises_nothing);
    tcase_add_test(tcase, what_can_never_fit_is_refused_at_once);
    tcase_add_test(tcase, a_spent_budget_is_in_the_estimate);
    tcase_add_test(tcase, what_was_promised_is_counted);
    tcase_add_test(tcase, a_later_promise_does_not_break_an_earlier_one);
    tcase_add_test(tcase, a_deadline_is_met_out_of_the_accounts_own_share);
    tcase_add_test(tcase, a_deadline_buys_no_share);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("sched-admit");
    TCase *tcase = tcase_create("order");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_job_that_would_be_late_goes_before_its_class_the_earliest_first);
    tcase_add_test(tcase, a_job_that_is_in_time_anyway_keeps_its_fair_position);
    tcase_add_test(tcase, a_deadline_passes_no_higher_class);
    tcase_add_test(tcase, pieces_of_prompts_make_way_for_an_answer_that_has_to_hurry);
    tcase_add_test(tcase, a_job_that_is_too_late_ends);
    tcase_add_test(tcase, a_first_token_in_time_leaves_the_last_ones_deadline);
    tcase_add_test(tcase, what_ran_out_in_sleep_never_starts);
    tcase_add_test(tcase, the_plan_wakes_for_the_next_deadline);
    tcase_add_test(tcase, a_refused_request_is_told_about_what_draining_takes);
    tcase_add_test(tcase, long_work_of_a_lower_class_or_another_user_makes_no_long_time_told);
    tcase_add_test(tcase, a_request_whose_text_is_not_read_yet_counts_with_its_answer);
    tcase_add_test(tcase, a_long_bound_is_no_long_answer);
    tcase_add_test(tcase, a_time_that_is_told_has_bounds);
    suite_add_tcase(suite, tcase_of_promises());
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
