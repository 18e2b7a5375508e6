/* Who rests for its tokens a minute, and its seat. */
#include "play.h"
#include "unit.h"

#define SECOND_US 1000000u

static struct play play;

static void setup(void)
{
    play_init(&play, 1);
}

static void teardown(void)
{
    play_finish(&play);
}

static void add_seated(struct play_ask *ask, enum sched_class class)
{
    play_add(&play, ask, 1, 0, class, 10, 100);
    play_seat(&play, ask);
}

/* It has spent what it may of the minute, and two minutes more. */
static void spend(struct play_ask *ask)
{
    ask->job.limits.tokens_a_minute = 1000;
    account_spend(ask->job.account, 1000, 3000, play.in.boot_us);
}

START_TEST(who_rests_for_its_budget_gives_the_only_seat_to_its_own_class)
{
    struct play_ask spent;
    struct play_ask next;

    add_seated(&spent, SCHED_INTERACTIVE);
    play_add(&play, &next, 2, 0, SCHED_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(play_victim(&play));
    spend(&spent);

    ck_assert_ptr_eq(play_victim(&play), &spent.job);
    play_put_aside(&play, &spent.job);
    ck_assert_ptr_null(play_victim(&play));
    ck_assert_ptr_eq(play_next_seat(&play), &next.job);
}
END_TEST

START_TEST(who_rests_for_its_budget_gives_its_seat_to_a_lower_class_and_takes_it_back)
{
    struct play_ask spent;
    struct play_ask low;

    add_seated(&spent, SCHED_REALTIME);
    spend(&spent);
    play_add(&play, &low, 2, 0, SCHED_BACKGROUND, 10, 10);
    play_put_aside(&play, play_victim(&play));
    job_move(play_next_seat(&play), JOB_OPENING, play.in.now_us);
    job_move(&low.job, JOB_SEATED, play.in.now_us);
    play.lane.n_taken++;
    ck_assert_ptr_null(play_victim(&play));

    play.in.now_us += 121 * SECOND_US;
    play.in.boot_us += 121 * SECOND_US;
    play.lane.served_us[SCHED_BACKGROUND] = play.in.now_us;
    ck_assert_ptr_eq(play_victim(&play), &low.job);
    play_put_aside(&play, &low.job);
    ck_assert_ptr_eq(play_next_seat(&play), &spent.job);
}
END_TEST

START_TEST(who_rests_keeps_its_seat_while_nobody_wants_it_or_a_step_names_it)
{
    struct play_ask spent;
    struct play_ask next;

    add_seated(&spent, SCHED_INTERACTIVE);
    spend(&spent);
    ck_assert_ptr_null(play_victim(&play));
    play_add(&play, &next, 2, 0, SCHED_INTERACTIVE, 10, 10);
    job_send(&spent.job, 1, 1);
    ck_assert_ptr_null(play_victim(&play));

    job_settle(&spent.job, 1, 1);
    ck_assert_ptr_eq(play_victim(&play), &spent.job);
}
END_TEST

START_TEST(a_rest_too_short_for_what_it_would_lose_takes_no_seat)
{
    struct play_ask spent;
    struct play_ask next;

    add_seated(&spent, SCHED_INTERACTIVE);
    spend(&spent);
    spent.job.n_known = 200000;
    spent.job.n_done = 150000; /* 150 s at 1 ms a row; it rests for 120 */
    play_add(&play, &next, 2, 0, SCHED_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(play_victim(&play));

    spent.job.n_done = 50000;
    ck_assert_ptr_eq(play_victim(&play), &spent.job);
    spent.job.n_aside = 2; /* more each time */
    ck_assert_ptr_null(play_victim(&play));
}
END_TEST

START_TEST(who_rests_and_was_promised_a_deadline_keeps_its_seat_until_that_is_met)
{
    struct play_ask spent;
    struct play_ask next;

    add_seated(&spent, SCHED_INTERACTIVE);
    spend(&spent);
    spent.job.first_by_us = play.in.boot_us + 200 * SECOND_US;
    play_add(&play, &next, 2, 0, SCHED_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(play_victim(&play));

    spent.job.has_first = true;
    ck_assert_ptr_eq(play_victim(&play), &spent.job);
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
