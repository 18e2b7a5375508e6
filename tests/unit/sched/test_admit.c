/* Deadlines: what is promised is kept, what can't be is refused with numbers, and nobody gains a share by one. */
#include "base/num.h"
#include "fixture.h"
#include "unit.h"

#define SECOND_US 1000000u

static struct fixture fixture;
static struct admit_verdict verdict;

static void setup(void)
{
    fixture_init(&fixture, 16);
    fixture.pipelined = true;
    fixture.eq.cost.n_learnt = COST_YOUNG; /* the machine takes what is foretold */
}

static void teardown(void)
{
    fixture_finish(&fixture);
}

static int admit(struct fixture_request *ask)
{
    return admit_check(&fixture.queue, &ask->job, fixture.in.limits, fixture.in.boot_us, &verdict);
}

/* Fills in a request with deadlines from now on, in us; 0: none. */
static void prepare(struct fixture_request *ask, uint32_t uid, enum priority priority, uint32_t n_prompt,
                    uint32_t n_answer, uint64_t first_us, uint64_t finish_us)
{
    fixture_request(&fixture, ask, uid, priority, n_prompt, n_answer);
    fixture_promise(&fixture, ask, first_us, finish_us);
}

/* Asks, and comes if it may. */
static bool try_come(struct fixture_request *ask, uint32_t uid, enum priority priority, uint32_t n_prompt,
                     uint32_t n_answer, uint64_t first_us, uint64_t finish_us)
{
    prepare(ask, uid, priority, n_prompt, n_answer, first_us, finish_us);
    if (admit(ask) != ADMIT_OK) {
        return false;
    }
    fixture_arrive(&fixture, ask);
    return true;
}

/* ---- what is told */

START_TEST(without_a_deadline_nothing_is_late)
{
    struct fixture_request many[50];
    struct fixture_request ask;

    for (size_t i = 0; i < 50; i++) {
        fixture_add(&fixture, &many[i], 1, 0, PRIORITY_INTERACTIVE, 4000, 100);
    }
    prepare(&ask, 2, PRIORITY_INTERACTIVE, 4000, 100, 0, 0);

    ck_assert_int_eq(admit(&ask), ADMIT_OK);
    ck_assert_uint_gt(verdict.first_us, 0);
    ck_assert_uint_gt(verdict.finish_us, verdict.first_us);
}
END_TEST

START_TEST(a_deadline_that_an_idle_machine_meets_is_promised)
{
    struct fixture_request ask;

    /* 100 rows: 100 ms and three readings of the weights. */
    ck_assert(try_come(&ask, 1, PRIORITY_INTERACTIVE, 100, 10, 300000, 1000000));
    fixture_until(&fixture, 3 * SECOND_US);

    ck_assert(fixture_is_over(&ask) && !ask.expired);
}
END_TEST

START_TEST(what_not_even_an_idle_machine_can_do_is_refused_without_a_retry)
{
    struct fixture_request ask;

    prepare(&ask, 1, PRIORITY_INTERACTIVE, 1000, 10, 300000, 0);

    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ck_assert(verdict.is_first);
    ck_assert_uint_eq(verdict.deadline_us, 300000);
    ck_assert_uint_ge(verdict.first_us, 1000000);
    ck_assert_uint_eq(verdict.retry_us, 0);
}
END_TEST

START_TEST(a_refusal_says_which_deadline_and_when_to_come_again)
{
    struct fixture_request elder[4];
    struct fixture_request ask;

    for (size_t i = 0; i < 4; i++) {
        fixture_add(&fixture, &elder[i], 1, 0, PRIORITY_REALTIME, 2000, 2);
    }
    prepare(&ask, 2, PRIORITY_INTERACTIVE, 100, 50, 60 * SECOND_US, 5 * SECOND_US);
    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ck_assert(!verdict.is_first);
    ck_assert_uint_eq(verdict.deadline_us, 5 * SECOND_US);
    ck_assert_uint_gt(verdict.retry_us, 0);

    /* It is honest: then the same request is promised, and kept. */
    fixture_until(&fixture, fixture.in.now_us + verdict.retry_us);
    ck_assert(try_come(&ask, 2, PRIORITY_INTERACTIVE, 100, 50, 60 * SECOND_US, 5 * SECOND_US));
    fixture_until(&fixture, fixture.in.now_us + 6 * SECOND_US);
    ck_assert(fixture_is_over(&ask) && !ask.expired);
}
END_TEST

START_TEST(half_the_duty_takes_twice_the_time)
{
    struct fixture_request ask;
    uint64_t first_us;

    prepare(&ask, 1, PRIORITY_INTERACTIVE, 1000, 50, 0, 60 * SECOND_US);
    ck_assert_int_eq(admit(&ask), ADMIT_OK);
    first_us = verdict.finish_us;
    fixture.in.limits[fixture.eq.processor].duty_permille = 500;
    ck_assert_int_eq(admit(&ask), ADMIT_OK);

    ck_assert_double_ge((double)verdict.finish_us, 1.9 * (double)first_us);
}
END_TEST

START_TEST(a_closed_gate_promises_nothing)
{
    struct fixture_request ask;

    prepare(&ask, 1, PRIORITY_INTERACTIVE, 10, 10, SECOND_US, 0);
    fixture.in.limits[fixture.eq.processor].class_gate = PRIORITY_REALTIME;
    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ck_assert_uint_eq(verdict.first_us, ADMIT_NO_TIME);
    ck_assert_uint_gt(verdict.retry_us, 0);
    fixture.in.limits[fixture.eq.processor].class_gate = PRIORITY_BACKGROUND;
    fixture.in.limits[fixture.eq.processor].duty_permille = 0;
    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ask.job.first_by_us = 0;

    ck_assert_int_eq(admit(&ask), ADMIT_OK); /* it may wait */
}
END_TEST

START_TEST(what_can_never_fit_is_refused_at_once)
{
    struct fixture_request ask;

    fixture.eq.n_context = 1000;
    fixture.eq.n_pages = 50;
    prepare(&ask, 1, PRIORITY_INTERACTIVE, 1000, 10, 0, 0);
    ck_assert_int_eq(admit(&ask), ADMIT_NEVER);
    ck_assert_int_eq(verdict.bound, ADMIT_CONTEXT);
    ck_assert_uint_eq(verdict.n_has, 1000);
    prepare(&ask, 1, PRIORITY_INTERACTIVE, 700, 200, 0, 0);
    ck_assert_int_eq(admit(&ask), ADMIT_NEVER);
    ck_assert_int_eq(verdict.bound, ADMIT_PAGES);
    ck_assert_uint_eq(verdict.n_needs, 57);
    ck_assert_uint_eq(verdict.n_has, 50);
    prepare(&ask, 1, PRIORITY_INTERACTIVE, 700, 100, 0, 0);

    ck_assert_int_eq(admit(&ask), ADMIT_OK);
}
END_TEST

START_TEST(a_budget_that_is_spent_is_foretold)
{
    struct fixture_request ask;

    prepare(&ask, 1, PRIORITY_INTERACTIVE, 100, 500, 2 * SECOND_US, 0);
    ask.job.limits.tokens_a_minute = 600; /* ten a second */
    account_spend(fixture.accounts[1], 600, 600, fixture.in.boot_us);

    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ck_assert_uint_ge(verdict.first_us, 10 * SECOND_US);
    ck_assert_uint_ge(verdict.finish_us, 60 * SECOND_US);
}
END_TEST

/* ---- what is reserved */

START_TEST(what_was_promised_is_counted)
{
    struct fixture_request asks[20];
    uint32_t n = 0;

    /* Each is a second of work, due in five. */
    while (n < 20 && try_come(&asks[n], 1 + n % 4, PRIORITY_INTERACTIVE, 780, 2, 5 * SECOND_US, 0)) {
        n++;
    }
    fixture_until(&fixture, fixture.in.now_us + 8 * SECOND_US);

    ck_assert_uint_ge(n, 3);
    ck_assert_uint_le(n, 5);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert(!asks[i].expired);
    }
}
END_TEST

START_TEST(a_later_promise_does_not_break_an_earlier_one)
{
    struct fixture_request first;
    struct fixture_request second;

    ck_assert(try_come(&first, 1, PRIORITY_INTERACTIVE, 1500, 2, 3 * SECOND_US, 0));

    /* Alone it could: but then the first would be late. */
    ck_assert(!try_come(&second, 2, PRIORITY_REALTIME, 1500, 2, 3 * SECOND_US, 0));
    fixture_until(&fixture, 5 * SECOND_US);
    ck_assert(!first.expired);
}
END_TEST

START_TEST(a_deadline_is_met_out_of_the_accounts_own_share)
{
    struct fixture_request others[3];
    struct fixture_request ask;

    for (uint32_t i = 0; i < 3; i++) {
        fixture_add(&fixture, &others[i], 2 + i, 0, PRIORITY_INTERACTIVE, 8000, 2);
    }

    /* 800 rows are one second of four. */
    ck_assert(!try_come(&ask, 1, PRIORITY_INTERACTIVE, 800, 2, 3 * SECOND_US, 0));
    ck_assert(try_come(&ask, 1, PRIORITY_INTERACTIVE, 800, 2, 7 * SECOND_US, 0));
    fixture_until(&fixture, fixture.in.now_us + 8 * SECOND_US);
    ck_assert(ask.first_us > 0 && !ask.expired);
}
END_TEST

START_TEST(a_deadline_buys_no_share)
{
    struct fixture_request others;
    struct fixture_request asks[200];
    uint64_t until_us = fixture.in.now_us + 20 * SECOND_US;
    uint32_t n = 0;

    fixture_add(&fixture, &others, 2, 0, PRIORITY_INTERACTIVE, 100000, 2);
    while (fixture.in.now_us < until_us && n < 200) {
        n += try_come(&asks[n], 1, PRIORITY_INTERACTIVE, 300, 2, 2 * SECOND_US, 0);
        fixture_until(&fixture, fixture.in.now_us + 50000);
    }

    for (uint32_t i = 0; i < n; i++) {
        ck_assert(!asks[i].expired);
    }
    ck_assert_uint_ge(n, 5);
    ck_assert_double_le((double)fixture.n_served[1], 1.1 * (double)fixture.n_served[2]);
}
END_TEST

/* ---- order */

START_TEST(who_would_be_late_goes_before_its_class_the_earliest_first)
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

START_TEST(who_is_in_time_anyway_keeps_its_fair_place)
{
    struct fixture_request ask;

    prepare(&ask, 1, PRIORITY_INTERACTIVE, 100, 2, 60 * SECOND_US, 0);
    fixture_arrive(&fixture, &ask);
    admit_mark_urgent(&fixture.queue, fixture.in.limits, fixture.in.boot_us);

    ck_assert(!ask.job.urgent);
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

    ck_assert(try_come(&answer, 1, PRIORITY_INTERACTIVE, 20, 100, 0, 3 * SECOND_US));
    fixture_add(&fixture, &prompt, 2, 0, PRIORITY_INTERACTIVE, 8000, 2);
    fixture_until(&fixture, 6 * SECOND_US);

    /* 100 steps of 50 ms would be five seconds. */
    ck_assert(fixture_is_over(&answer) && !answer.expired);
}
END_TEST

/* ---- the end */

START_TEST(who_is_too_late_ends)
{
    struct fixture_request ask;

    prepare(&ask, 1, PRIORITY_INTERACTIVE, 1000, 2, 100000, 0);
    fixture_arrive(&fixture, &ask);
    ck_assert_uint_eq(queue_next_deadline_us(&fixture.queue), ask.job.first_by_us);
    ck_assert_ptr_null(queue_next_expired(&fixture.queue, ask.job.first_by_us - 1));

    ck_assert_ptr_eq(queue_next_expired(&fixture.queue, ask.job.first_by_us), &ask.job);
}
END_TEST

START_TEST(a_first_token_in_time_leaves_the_last_ones_deadline)
{
    struct fixture_request ask;

    prepare(&ask, 1, PRIORITY_INTERACTIVE, 10, 2, 100000, 200000);
    fixture_arrive(&fixture, &ask);
    ask.job.has_first = true;

    ck_assert_uint_eq(queue_deadline_us(&ask.job), ask.job.finish_by_us);
    ck_assert_ptr_null(queue_next_expired(&fixture.queue, ask.job.first_by_us));
    ck_assert_ptr_eq(queue_next_expired(&fixture.queue, ask.job.finish_by_us), &ask.job);
}
END_TEST

START_TEST(what_ran_out_in_sleep_never_starts)
{
    struct fixture_request ask;

    prepare(&ask, 1, PRIORITY_INTERACTIVE, 10, 2, SECOND_US, 0);
    fixture_arrive(&fixture, &ask);
    fixture.in.boot_us += 3600u * (uint64_t)SECOND_US; /* the boot clock runs on, the other does not */
    fixture_step(&fixture);

    ck_assert(ask.expired && ask.first_us == 0);
    ck_assert_uint_eq(fixture.n_steps, 0);
}
END_TEST

START_TEST(the_plan_wakes_for_the_next_deadline)
{
    struct fixture_request ask;
    struct plan plan;

    prepare(&ask, 1, PRIORITY_INTERACTIVE, 10, 2, SECOND_US, 0);
    fixture_arrive(&fixture, &ask);
    fixture.in.limits[fixture.eq.processor].duty_permille = 0;
    plan_make(&fixture.planner, &fixture.queue, &fixture.in, &plan);

    ck_assert_ptr_null(plan.eq);
    ck_assert_uint_eq(plan.wake_us, ask.job.first_by_us);
}
END_TEST

START_TEST(a_broken_promise_makes_the_next_ones_careful)
{
    struct fixture_request asks[2];
    uint64_t before_us;

    prepare(&asks[0], 1, PRIORITY_INTERACTIVE, 100, 10, 10 * SECOND_US, 0);
    ck_assert_int_eq(admit(&asks[0]), ADMIT_OK);
    before_us = verdict.first_us;
    prepare(&asks[1], 1, PRIORITY_INTERACTIVE, 1000, 10, 100000, 0);
    fixture_arrive(&fixture, &asks[1]);
    fixture_until(&fixture, fixture.in.now_us + SECOND_US);
    ck_assert(asks[1].expired);
    ck_assert_int_eq(admit(&asks[0]), ADMIT_OK);

    ck_assert_double_ge((double)verdict.first_us, 1.4 * (double)before_us);
}
END_TEST

/* ---- places */

START_TEST(before_anything_was_measured_places_are_foretold)
{
    struct fixture_request asks[2];
    double first_us;
    double gap_us;

    fixture_add(&fixture, &asks[0], 1, 0, PRIORITY_INTERACTIVE, 20, 100);
    fixture_add(&fixture, &asks[1], 2, 0, PRIORITY_INTERACTIVE, 20, 100);
    fixture_step(&fixture);
    gap_us = queue_estimate_us(&fixture.queue, fixture.accounts[1], PRIORITY_INTERACTIVE, fixture.in.limits, &first_us);

    /* A hundred steps of some ten milliseconds for both. */
    ck_assert_double_ge(first_us, 900000.0);
    ck_assert_double_le(first_us, 1500000.0);
    ck_assert_double_eq(gap_us, first_us); /* it has one of the two: the other's come between */
    ck_assert_double_ge(queue_estimate_us(&fixture.queue, fixture.accounts[1], PRIORITY_BACKGROUND, fixture.in.limits,
                                          &first_us),
                        gap_us);
}
END_TEST

START_TEST(ends_are_timed_while_somebody_waits)
{
    struct fixture_request asks[40];

    for (size_t i = 0; i < 40; i++) {
        fixture_add(&fixture, &asks[i], 1, 0, PRIORITY_INTERACTIVE, 400, 2);
    }
    while (!fixture_is_over(&asks[5])) {
        fixture_step(&fixture);
    }

    /* 400 rows take 400 ms and some readings of the weights. */
    ck_assert_uint_gt(fixture.accounts[1]->service.n, 4);
    ck_assert_double_ge(service_wait_us(&fixture.queue.service, 1.0, fixture.in.now_us), 350000.0);
    ck_assert_double_le(service_wait_us(&fixture.accounts[1]->service, 1.0, fixture.in.now_us), 900000.0);
    fixture_until(&fixture, fixture.in.now_us + 60 * SECOND_US);
    ck_assert_uint_eq(fixture.accounts[1]->service.n, 0); /* nobody waited for the last ones */
    ck_assert_uint_eq(fixture.queue.service.n, 0);
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
    tcase_add_test(tcase, a_budget_that_is_spent_is_foretold);
    tcase_add_test(tcase, what_was_promised_is_counted);
    tcase_add_test(tcase, a_later_promise_does_not_break_an_earlier_one);
    tcase_add_test(tcase, a_deadline_is_met_out_of_the_accounts_own_share);
    tcase_add_test(tcase, a_deadline_buys_no_share);
    tcase_add_test(tcase, a_broken_promise_makes_the_next_ones_careful);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("sched-admit");
    TCase *tcase = tcase_create("order");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, who_would_be_late_goes_before_its_class_the_earliest_first);
    tcase_add_test(tcase, who_is_in_time_anyway_keeps_its_fair_place);
    tcase_add_test(tcase, a_deadline_passes_no_higher_class);
    tcase_add_test(tcase, pieces_of_prompts_make_way_for_an_answer_that_has_to_hurry);
    tcase_add_test(tcase, who_is_too_late_ends);
    tcase_add_test(tcase, a_first_token_in_time_leaves_the_last_ones_deadline);
    tcase_add_test(tcase, what_ran_out_in_sleep_never_starts);
    tcase_add_test(tcase, the_plan_wakes_for_the_next_deadline);
    tcase_add_test(tcase, before_anything_was_measured_places_are_foretold);
    tcase_add_test(tcase, ends_are_timed_while_somebody_waits);
    suite_add_tcase(suite, tcase_of_promises());
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
