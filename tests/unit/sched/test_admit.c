/* Deadlines: what is promised is kept, what can't be is refused with numbers, and nobody gains a share by one. */
#include "base/num.h"
#include "play.h"
#include "unit.h"

#define SECOND_US 1000000u

static struct play play;
static struct admit_verdict verdict;

static void setup(void)
{
    play_init(&play, 16);
    play.pipelined = true;
    play.lane.cost.n_learnt = COST_YOUNG; /* the machine takes what is foretold */
}

static void teardown(void)
{
    play_finish(&play);
}

static int admit(struct play_ask *ask)
{
    return admit_ask(&play.queue, &ask->job, play.in.limits, play.in.boot_us, &verdict);
}

/* Fills in a request with deadlines from now on, in us; 0: none. */
static void prepare(struct play_ask *ask, uint32_t uid, enum sched_class class, uint32_t n_prompt, uint32_t n_answer,
                    uint64_t first_us, uint64_t finish_us)
{
    play_ask(&play, ask, uid, class, n_prompt, n_answer);
    play_promise(&play, ask, first_us, finish_us);
}

/* Asks, and comes if it may. */
static bool try_come(struct play_ask *ask, uint32_t uid, enum sched_class class, uint32_t n_prompt, uint32_t n_answer,
                     uint64_t first_us, uint64_t finish_us)
{
    prepare(ask, uid, class, n_prompt, n_answer, first_us, finish_us);
    if (admit(ask) != ADMIT_OK) {
        return false;
    }
    play_come(&play, ask);
    return true;
}

/* ---- what is told */

START_TEST(without_a_deadline_nothing_is_late)
{
    struct play_ask many[50];
    struct play_ask ask;

    for (size_t i = 0; i < 50; i++) {
        play_add(&play, &many[i], 1, 0, SCHED_INTERACTIVE, 4000, 100);
    }
    prepare(&ask, 2, SCHED_INTERACTIVE, 4000, 100, 0, 0);

    ck_assert_int_eq(admit(&ask), ADMIT_OK);
    ck_assert_uint_gt(verdict.first_us, 0);
    ck_assert_uint_gt(verdict.finish_us, verdict.first_us);
}
END_TEST

START_TEST(a_deadline_that_an_idle_machine_meets_is_promised)
{
    struct play_ask ask;

    /* 100 rows: 100 ms and three readings of the weights. */
    ck_assert(try_come(&ask, 1, SCHED_INTERACTIVE, 100, 10, 300000, 1000000));
    play_until(&play, 3 * SECOND_US);

    ck_assert(play_is_over(&ask) && !ask.expired);
}
END_TEST

START_TEST(what_not_even_an_idle_machine_can_do_is_refused_without_a_retry)
{
    struct play_ask ask;

    prepare(&ask, 1, SCHED_INTERACTIVE, 1000, 10, 300000, 0);

    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ck_assert(verdict.is_first);
    ck_assert_uint_eq(verdict.deadline_us, 300000);
    ck_assert_uint_ge(verdict.first_us, 1000000);
    ck_assert_uint_eq(verdict.retry_us, 0);
}
END_TEST

START_TEST(a_refusal_says_which_deadline_and_when_to_come_again)
{
    struct play_ask elder[4];
    struct play_ask ask;

    for (size_t i = 0; i < 4; i++) {
        play_add(&play, &elder[i], 1, 0, SCHED_REALTIME, 2000, 2);
    }
    prepare(&ask, 2, SCHED_INTERACTIVE, 100, 50, 60 * SECOND_US, 5 * SECOND_US);
    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ck_assert(!verdict.is_first);
    ck_assert_uint_eq(verdict.deadline_us, 5 * SECOND_US);
    ck_assert_uint_gt(verdict.retry_us, 0);

    /* It is honest: then the same request is promised, and kept. */
    play_until(&play, play.in.now_us + verdict.retry_us);
    ck_assert(try_come(&ask, 2, SCHED_INTERACTIVE, 100, 50, 60 * SECOND_US, 5 * SECOND_US));
    play_until(&play, play.in.now_us + 6 * SECOND_US);
    ck_assert(play_is_over(&ask) && !ask.expired);
}
END_TEST

START_TEST(half_the_duty_takes_twice_the_time)
{
    struct play_ask ask;
    uint64_t first_us;

    prepare(&ask, 1, SCHED_INTERACTIVE, 1000, 50, 0, 60 * SECOND_US);
    ck_assert_int_eq(admit(&ask), ADMIT_OK);
    first_us = verdict.finish_us;
    play.in.limits[play.lane.place].duty_permille = 500;
    ck_assert_int_eq(admit(&ask), ADMIT_OK);

    ck_assert_double_ge((double)verdict.finish_us, 1.9 * (double)first_us);
}
END_TEST

START_TEST(a_closed_gate_promises_nothing)
{
    struct play_ask ask;

    prepare(&ask, 1, SCHED_INTERACTIVE, 10, 10, SECOND_US, 0);
    play.in.limits[play.lane.place].class_gate = SCHED_REALTIME;
    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ck_assert_uint_eq(verdict.first_us, ADMIT_NO_TIME);
    ck_assert_uint_gt(verdict.retry_us, 0);
    play.in.limits[play.lane.place].class_gate = SCHED_BACKGROUND;
    play.in.limits[play.lane.place].duty_permille = 0;
    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ask.job.first_by_us = 0;

    ck_assert_int_eq(admit(&ask), ADMIT_OK); /* it may wait */
}
END_TEST

START_TEST(what_can_never_fit_is_refused_at_once)
{
    struct play_ask ask;

    play.lane.n_context = 1000;
    play.lane.n_pages = 50;
    prepare(&ask, 1, SCHED_INTERACTIVE, 1000, 10, 0, 0);
    ck_assert_int_eq(admit(&ask), ADMIT_NEVER);
    ck_assert_int_eq(verdict.bound, ADMIT_CONTEXT);
    ck_assert_uint_eq(verdict.n_has, 1000);
    prepare(&ask, 1, SCHED_INTERACTIVE, 700, 200, 0, 0);
    ck_assert_int_eq(admit(&ask), ADMIT_NEVER);
    ck_assert_int_eq(verdict.bound, ADMIT_PAGES);
    ck_assert_uint_eq(verdict.n_needs, 57);
    ck_assert_uint_eq(verdict.n_has, 50);
    prepare(&ask, 1, SCHED_INTERACTIVE, 700, 100, 0, 0);

    ck_assert_int_eq(admit(&ask), ADMIT_OK);
}
END_TEST

START_TEST(a_budget_that_is_spent_is_foretold)
{
    struct play_ask ask;

    prepare(&ask, 1, SCHED_INTERACTIVE, 100, 500, 2 * SECOND_US, 0);
    ask.job.limits.tokens_a_minute = 600; /* ten a second */
    account_spend(play.accounts[1], 600, 600, play.in.boot_us);

    ck_assert_int_eq(admit(&ask), ADMIT_LATE);
    ck_assert_uint_ge(verdict.first_us, 10 * SECOND_US);
    ck_assert_uint_ge(verdict.finish_us, 60 * SECOND_US);
}
END_TEST

/* ---- what is reserved */

START_TEST(what_was_promised_is_counted)
{
    struct play_ask asks[20];
    uint32_t n = 0;

    /* Each is a second of work, due in five. */
    while (n < 20 && try_come(&asks[n], 1 + n % 4, SCHED_INTERACTIVE, 780, 2, 5 * SECOND_US, 0)) {
        n++;
    }
    play_until(&play, play.in.now_us + 8 * SECOND_US);

    ck_assert_uint_ge(n, 3);
    ck_assert_uint_le(n, 5);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert(!asks[i].expired);
    }
}
END_TEST

START_TEST(a_later_promise_does_not_break_an_earlier_one)
{
    struct play_ask first;
    struct play_ask second;

    ck_assert(try_come(&first, 1, SCHED_INTERACTIVE, 1500, 2, 3 * SECOND_US, 0));

    /* Alone it could: but then the first would be late. */
    ck_assert(!try_come(&second, 2, SCHED_REALTIME, 1500, 2, 3 * SECOND_US, 0));
    play_until(&play, 5 * SECOND_US);
    ck_assert(!first.expired);
}
END_TEST

START_TEST(a_deadline_is_met_out_of_the_accounts_own_share)
{
    struct play_ask others[3];
    struct play_ask ask;

    for (uint32_t i = 0; i < 3; i++) {
        play_add(&play, &others[i], 2 + i, 0, SCHED_INTERACTIVE, 8000, 2);
    }

    /* 800 rows are one second of four. */
    ck_assert(!try_come(&ask, 1, SCHED_INTERACTIVE, 800, 2, 3 * SECOND_US, 0));
    ck_assert(try_come(&ask, 1, SCHED_INTERACTIVE, 800, 2, 7 * SECOND_US, 0));
    play_until(&play, play.in.now_us + 8 * SECOND_US);
    ck_assert(ask.first_us > 0 && !ask.expired);
}
END_TEST

START_TEST(a_deadline_buys_no_share)
{
    struct play_ask others;
    struct play_ask asks[200];
    uint64_t until_us = play.in.now_us + 20 * SECOND_US;
    uint32_t n = 0;

    play_add(&play, &others, 2, 0, SCHED_INTERACTIVE, 100000, 2);
    while (play.in.now_us < until_us && n < 200) {
        n += try_come(&asks[n], 1, SCHED_INTERACTIVE, 300, 2, 2 * SECOND_US, 0);
        play_until(&play, play.in.now_us + 50000);
    }

    for (uint32_t i = 0; i < n; i++) {
        ck_assert(!asks[i].expired);
    }
    ck_assert_uint_ge(n, 5);
    ck_assert_double_le((double)play.n_served[1], 1.1 * (double)play.n_served[2]);
}
END_TEST

/* ---- order */

START_TEST(who_would_be_late_goes_before_its_class_the_earliest_first)
{
    struct play_ask fair;
    struct play_ask soon;
    struct play_ask sooner;

    play_add(&play, &fair, 1, 0, SCHED_INTERACTIVE, 1000, 2);
    prepare(&soon, 2, SCHED_INTERACTIVE, 200, 2, 600000, 0);
    play_come(&play, &soon);
    prepare(&sooner, 2, SCHED_INTERACTIVE, 200, 2, 500000, 0);
    play_come(&play, &sooner);
    admit_look(&play.queue, play.in.limits, play.in.boot_us);

    ck_assert(soon.job.urgent && sooner.job.urgent && !fair.job.urgent);
    ck_assert(queue_before(&sooner.job, &soon.job, play.in.now_us));
    ck_assert(queue_before(&soon.job, &fair.job, play.in.now_us));
}
END_TEST

START_TEST(who_is_in_time_anyway_keeps_its_fair_place)
{
    struct play_ask ask;

    prepare(&ask, 1, SCHED_INTERACTIVE, 100, 2, 60 * SECOND_US, 0);
    play_come(&play, &ask);
    admit_look(&play.queue, play.in.limits, play.in.boot_us);

    ck_assert(!ask.job.urgent);
}
END_TEST

START_TEST(a_deadline_passes_no_higher_class)
{
    struct play_ask low;
    struct play_ask high;

    play_add(&play, &high, 1, 0, SCHED_REALTIME, 1000, 2);
    prepare(&low, 2, SCHED_BACKGROUND, 200, 2, 600000, 0);
    play_come(&play, &low);
    admit_look(&play.queue, play.in.limits, play.in.boot_us);

    ck_assert(low.job.urgent);
    ck_assert(queue_before(&high.job, &low.job, play.in.now_us));
}
END_TEST

START_TEST(pieces_of_prompts_make_way_for_an_answer_that_has_to_hurry)
{
    struct play_ask answer;
    struct play_ask prompt;

    ck_assert(try_come(&answer, 1, SCHED_INTERACTIVE, 20, 100, 0, 3 * SECOND_US));
    play_add(&play, &prompt, 2, 0, SCHED_INTERACTIVE, 8000, 2);
    play_until(&play, 6 * SECOND_US);

    /* 100 steps of 50 ms would be five seconds. */
    ck_assert(play_is_over(&answer) && !answer.expired);
}
END_TEST

/* ---- the end */

START_TEST(who_is_too_late_ends)
{
    struct play_ask ask;

    prepare(&ask, 1, SCHED_INTERACTIVE, 1000, 2, 100000, 0);
    play_come(&play, &ask);
    ck_assert_uint_eq(queue_next_deadline_us(&play.queue), ask.job.first_by_us);
    ck_assert_ptr_null(queue_next_expired(&play.queue, ask.job.first_by_us - 1));

    ck_assert_ptr_eq(queue_next_expired(&play.queue, ask.job.first_by_us), &ask.job);
}
END_TEST

START_TEST(a_first_token_in_time_leaves_the_last_ones_deadline)
{
    struct play_ask ask;

    prepare(&ask, 1, SCHED_INTERACTIVE, 10, 2, 100000, 200000);
    play_come(&play, &ask);
    ask.job.has_first = true;

    ck_assert_uint_eq(queue_deadline_us(&ask.job), ask.job.finish_by_us);
    ck_assert_ptr_null(queue_next_expired(&play.queue, ask.job.first_by_us));
    ck_assert_ptr_eq(queue_next_expired(&play.queue, ask.job.finish_by_us), &ask.job);
}
END_TEST

START_TEST(what_ran_out_in_sleep_never_starts)
{
    struct play_ask ask;

    prepare(&ask, 1, SCHED_INTERACTIVE, 10, 2, SECOND_US, 0);
    play_come(&play, &ask);
    play.in.boot_us += 3600u * (uint64_t)SECOND_US; /* the boot clock runs on, the other does not */
    play_step(&play);

    ck_assert(ask.expired && ask.first_us == 0);
    ck_assert_uint_eq(play.n_steps, 0);
}
END_TEST

START_TEST(the_plan_wakes_for_the_next_deadline)
{
    struct play_ask ask;
    struct plan plan;

    prepare(&ask, 1, SCHED_INTERACTIVE, 10, 2, SECOND_US, 0);
    play_come(&play, &ask);
    play.in.limits[play.lane.place].duty_permille = 0;
    plan_make(&play.planner, &play.queue, &play.in, &plan);

    ck_assert_ptr_null(plan.lane);
    ck_assert_uint_eq(plan.wake_us, ask.job.first_by_us);
}
END_TEST

START_TEST(a_broken_promise_makes_the_next_ones_careful)
{
    struct play_ask asks[2];
    uint64_t before_us;

    prepare(&asks[0], 1, SCHED_INTERACTIVE, 100, 10, 10 * SECOND_US, 0);
    ck_assert_int_eq(admit(&asks[0]), ADMIT_OK);
    before_us = verdict.first_us;
    prepare(&asks[1], 1, SCHED_INTERACTIVE, 1000, 10, 100000, 0);
    play_come(&play, &asks[1]);
    play_until(&play, play.in.now_us + SECOND_US);
    ck_assert(asks[1].expired);
    ck_assert_int_eq(admit(&asks[0]), ADMIT_OK);

    ck_assert_double_ge((double)verdict.first_us, 1.4 * (double)before_us);
}
END_TEST

/* ---- places */

START_TEST(before_anything_was_measured_places_are_foretold)
{
    struct play_ask asks[2];
    double first_us;
    double gap_us;

    play_add(&play, &asks[0], 1, 0, SCHED_INTERACTIVE, 20, 100);
    play_add(&play, &asks[1], 2, 0, SCHED_INTERACTIVE, 20, 100);
    play_step(&play);
    gap_us = queue_foretell_us(&play.queue, play.accounts[1], SCHED_INTERACTIVE, play.in.limits, &first_us);

    /* A hundred steps of some ten milliseconds for both. */
    ck_assert_double_ge(first_us, 900000.0);
    ck_assert_double_le(first_us, 1500000.0);
    ck_assert_double_eq(gap_us, first_us); /* it has one of the two: the other's come between */
    ck_assert_double_ge(queue_foretell_us(&play.queue, play.accounts[1], SCHED_BACKGROUND, play.in.limits, &first_us),
                        gap_us);
}
END_TEST

START_TEST(ends_are_timed_while_somebody_waits)
{
    struct play_ask asks[40];

    for (size_t i = 0; i < 40; i++) {
        play_add(&play, &asks[i], 1, 0, SCHED_INTERACTIVE, 400, 2);
    }
    while (!play_is_over(&asks[5])) {
        play_step(&play);
    }

    /* 400 rows take 400 ms and some readings of the weights. */
    ck_assert_uint_gt(play.accounts[1]->service.n, 4);
    ck_assert_double_ge(service_wait_us(&play.queue.service, 1.0, play.in.now_us), 350000.0);
    ck_assert_double_le(service_wait_us(&play.accounts[1]->service, 1.0, play.in.now_us), 900000.0);
    play_until(&play, play.in.now_us + 60 * SECOND_US);
    ck_assert_uint_eq(play.accounts[1]->service.n, 0); /* nobody waited for the last ones */
    ck_assert_uint_eq(play.queue.service.n, 0);
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
