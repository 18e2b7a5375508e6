/* Deadlines beside slots, other engines, budgets and hints: what bounds a promise apart from the work of others. */
#include "admit_fixture.h"

/* Fills @n slots with long answers. */
static void occupy_slots(struct fixture_request *requests, uint32_t n, enum priority priority)
{
    for (uint32_t i = 0; i < n; i++) {
        fixture_add(&fixture, &requests[i], 2 + i, 0, priority, 10, 2000);
    }
    fixture_until(&fixture, fixture.in.now_us + 200000);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_int_eq(requests[i].job.state, JOB_ASSIGNED);
    }
}

/* User 1 asks for promises of long answers within @by_us, user 2 for short ones, which must be given, and all kept.
 * Returns how many are given to user 1. */
static uint32_t promise_beside(uint64_t by_us)
{
    static struct fixture_request many[60];
    struct fixture_request few[3];
    uint32_t n = 0;

    for (size_t i = 0; i < 60; i++) {
        n += try_arrive(&many[n], 1, PRIORITY_INTERACTIVE, 30, 512, 0, by_us);
        fixture_step(&fixture);
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert(try_arrive(&few[i], 2, PRIORITY_INTERACTIVE, 30, 20, 0, 3 * SECOND_US));
        fixture_until(&fixture, fixture.in.now_us + 2 * SECOND_US);
    }
    fixture_until(&fixture, fixture.in.now_us + by_us);
    for (size_t i = 0; i < n; i++) {
        ck_assert(fixture_is_over(&many[i]) && !many[i].expired);
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert(fixture_is_over(&few[i]) && !few[i].expired);
    }
    return n;
}

START_TEST(a_promise_counts_on_the_share_of_slots)
{
    ck_assert_uint_eq(promise_beside(120 * SECOND_US), 60);
}
END_TEST

START_TEST(promises_of_one_user_leave_time_for_those_of_another)
{
    uint32_t n = promise_beside(25 * SECOND_US);

    ck_assert_uint_gt(n, 16); /* more than have slots at once */
    ck_assert_uint_lt(n, 60);
}
END_TEST

START_TEST(a_slot_that_its_class_keeps_is_not_promised)
{
    struct fixture_request low[2];
    struct fixture_request high[3];
    struct fixture_request request;

    fixture.eq.n_slots = 4;
    occupy_slots(low, 1, PRIORITY_BACKGROUND);
    occupy_slots(high, 3, PRIORITY_INTERACTIVE);

    ck_assert(!try_arrive(&request, 1, PRIORITY_INTERACTIVE, 20, 2, 2 * SECOND_US, 0));
    ck_assert_uint_gt(verdict.first_us, 10 * SECOND_US); /* two thousand tokens of others */

    fixture.eq.n_slots = 5;
    fixture_add(&fixture, &low[1], 6, 0, PRIORITY_BACKGROUND, 10, 2000);
    fixture_until(&fixture, fixture.in.now_us + 100000);
    ck_assert(try_arrive(&request, 1, PRIORITY_INTERACTIVE, 20, 2, 2 * SECOND_US, 0));
    fixture_until(&fixture, fixture.in.now_us + 3 * SECOND_US);
    ck_assert(!request.expired && request.first_us > 0);
}
END_TEST

START_TEST(one_slot_is_not_promised_twice)
{
    struct fixture_request high[3];
    struct fixture_request first;
    struct fixture_request second;

    fixture.eq.n_slots = 4;
    occupy_slots(high, 3, PRIORITY_INTERACTIVE);
    prepare(&first, 1, PRIORITY_INTERACTIVE, 20, 1000, 2 * SECOND_US, 0);
    ck_assert_int_eq(admit(&first), ADMIT_OK);
    fixture_arrive(&fixture, &first);

    ck_assert(!try_arrive(&second, 5, PRIORITY_INTERACTIVE, 20, 2, 3 * SECOND_US, 0));
}
END_TEST

START_TEST(a_higher_class_at_another_model_has_the_chip_to_its_last_token)
{
    struct engine_queue other = fixture.eq;
    struct fixture_request voice;
    struct fixture_request request;

    fixture_request(&fixture, &voice, 2, PRIORITY_REALTIME, 1, 400);
    voice.job.eq = &other;
    fixture_arrive(&fixture, &voice);
    job_move(&voice.job, JOB_OPENING, fixture.in.now_us);
    job_move(&voice.job, JOB_ASSIGNED, fixture.in.now_us);

    ck_assert(!try_arrive(&request, 1, PRIORITY_INTERACTIVE, 20, 2, 2 * SECOND_US, 0));
    ck_assert(try_arrive(&request, 1, PRIORITY_INTERACTIVE, 20, 2, 20 * SECOND_US, 0));
}
END_TEST

START_TEST(a_budget_that_others_of_the_user_will_spend_is_not_promised)
{
    struct fixture_request others;
    struct fixture_request request;

    /* Ten a second; of the six hundred that are there, five hundred are taken. */
    fixture_request(&fixture, &others, 1, PRIORITY_INTERACTIVE, 100, 400);
    others.job.limits.tokens_a_minute = 600;
    fixture_arrive(&fixture, &others);
    prepare(&request, 1, PRIORITY_INTERACTIVE, 200, 10, 5 * SECOND_US, 0);
    request.job.limits.tokens_a_minute = 600;

    ck_assert_int_eq(admit(&request), ADMIT_LATE);
    ck_assert_uint_ge(verdict.first_us, 9 * SECOND_US);
    prepare(&request, 1, PRIORITY_INTERACTIVE, 50, 10, 5 * SECOND_US, 0);
    request.job.limits.tokens_a_minute = 600;
    ck_assert_int_eq(admit(&request), ADMIT_OK);
}
END_TEST

START_TEST(a_hint_of_some_milliseconds_refuses_no_deadline_behind_it)
{
    struct governor_limits *limits = &fixture.in.limits[fixture.eq.processor];
    struct governor_limits usual[PROCESSOR_COUNT];
    struct fixture_request request;

    limits->duty_permille = 0;
    limits->class_gate = PRIORITY_REALTIME;
    limits->cause = GOVERNOR_HINT;
    limits->usual_permille = 800;
    limits->busy_until_us = fixture.in.now_us + 5000;
    prepare(&request, 1, PRIORITY_INTERACTIVE, 20, 10, 200000, 0);
    admit_limits(fixture.in.limits, fixture.in.now_us, fixture.in.boot_us, usual);
    ck_assert_int_eq(admit_check(&fixture.queue, &request.job, usual, fixture.in.boot_us, &verdict), ADMIT_OK);
    ck_assert_uint_ge(verdict.first_us, 5000);

    /* A hint that is longer than the deadline delays it. */
    limits->busy_until_us = fixture.in.now_us + 300000;
    admit_limits(fixture.in.limits, fixture.in.now_us, fixture.in.boot_us, usual);
    ck_assert_int_eq(admit_check(&fixture.queue, &request.job, usual, fixture.in.boot_us, &verdict), ADMIT_LATE);

    /* Whatever else shuts the gate does not end with the hint. */
    limits->busy_until_us = fixture.in.now_us + 5000;
    limits->cause = GOVERNOR_HEAT;
    admit_limits(fixture.in.limits, fixture.in.now_us, fixture.in.boot_us, usual);
    ck_assert_int_eq(admit_check(&fixture.queue, &request.job, usual, fixture.in.boot_us, &verdict), ADMIT_LATE);
}
END_TEST

START_TEST(a_moment_of_full_duty_is_not_reckoned_with)
{
    struct governor_limits *limits = &fixture.in.limits[fixture.eq.processor];
    struct governor_limits usual[PROCESSOR_COUNT];

    limits->usual_permille = 200;
    limits->duty_permille = 900;
    admit_limits(fixture.in.limits, fixture.in.now_us, fixture.in.boot_us, usual);
    ck_assert_uint_eq(usual[fixture.eq.processor].duty_permille, 200);
    limits->duty_permille = 100;
    admit_limits(fixture.in.limits, fixture.in.now_us, fixture.in.boot_us, usual);
    ck_assert_uint_eq(usual[fixture.eq.processor].duty_permille, 100);
}
END_TEST

START_TEST(an_idle_machine_admits_what_it_could_clearly_do)
{
    struct fixture_request request;

    /* Any class, any length: twice the time that it takes alone. */
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t n_prompt = 10 + 60 * i;
        uint64_t first_us = 2 * (1000ull * n_prompt + 10000ull * (n_prompt / 40 + 2)) + 100000;

        prepare(&request, 1, (enum priority)(i % PRIORITY_COUNT), n_prompt, 20, first_us, first_us + 2 * 20 * 11000);
        ck_assert_int_eq(admit(&request), ADMIT_OK);
    }
}
END_TEST

/* An estimate counts what is there: an answer that has ended, at an engine that is gone, is nothing to wait for. */
START_TEST(a_step_holds_no_more_rows_than_the_engine_takes)
{
    struct fixture_request request;

    fixture.eq.n_rows = 4; /* 100 rows: 100 ms, and 25 readings of the weights of 10 ms */
    prepare(&request, 1, PRIORITY_INTERACTIVE, 100, 2, 300000, 0);

    ck_assert_int_eq(admit(&request), ADMIT_LATE);
    ck_assert_uint_ge(verdict.first_us, 350000);
    ck_assert_uint_le(verdict.first_us, 700000);
}
END_TEST

START_TEST(an_answer_that_is_over_delays_no_deadline)
{
    struct engine_queue gone = fixture.eq;
    struct fixture_request answer;
    struct fixture_request request;

    fixture_request(&fixture, &answer, 1, PRIORITY_INTERACTIVE, 20, 5000);
    answer.job.eq = &gone;
    fixture_arrive(&fixture, &answer);
    queue_remove(&fixture.queue, &answer.job, fixture.in.now_us);
    gone = (struct engine_queue){ 0 };

    ck_assert(try_arrive(&request, 2, PRIORITY_BACKGROUND, 20, 2, 2 * SECOND_US, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-admit-bounds");
    TCase *tcase = tcase_create("bounds");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_promise_counts_on_the_share_of_slots);
    tcase_add_test(tcase, promises_of_one_user_leave_time_for_those_of_another);
    tcase_add_test(tcase, a_slot_that_its_class_keeps_is_not_promised);
    tcase_add_test(tcase, one_slot_is_not_promised_twice);
    tcase_add_test(tcase, a_higher_class_at_another_model_has_the_chip_to_its_last_token);
    tcase_add_test(tcase, a_budget_that_others_of_the_user_will_spend_is_not_promised);
    tcase_add_test(tcase, a_hint_of_some_milliseconds_refuses_no_deadline_behind_it);
    tcase_add_test(tcase, a_moment_of_full_duty_is_not_reckoned_with);
    tcase_add_test(tcase, an_idle_machine_admits_what_it_could_clearly_do);
    tcase_add_test(tcase, an_answer_that_is_over_delays_no_deadline);
    tcase_add_test(tcase, a_step_holds_no_more_rows_than_the_engine_takes);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
