/* Seats and pages: who takes them from whom, and that everybody gets done all the same. */
#include "base/num.h"
#include "play.h"
#include "unit.h"

#define SECOND_US 1000000u
#define N_SEATS   4u

static struct play play;

static void setup(void)
{
    play_init(&play, N_SEATS);
}

static void teardown(void)
{
    play_finish(&play);
}

static void add_seated(struct play_ask *ask, uint32_t uid, enum sched_class class)
{
    play_add(&play, ask, uid, 0, class, 10, 100);
    play_seat(&play, ask);
}

START_TEST(a_higher_class_takes_a_seat_of_the_lowest)
{
    struct play_ask low[3];
    struct play_ask middle;
    struct play_ask high;

    add_seated(&middle, 1, SCHED_INTERACTIVE);
    for (size_t i = 0; i < 3; i++) {
        add_seated(&low[i], 1, SCHED_BACKGROUND);
        low[i].job.n_done = 8;
    }
    ck_assert_ptr_null(play_victim(&play));
    play_add(&play, &high, 2, 0, SCHED_REALTIME, 10, 10);

    ck_assert_ptr_eq(play_victim(&play), &low[2].job);
    play_put_aside(&play, &low[2].job);
    ck_assert_ptr_null(play_victim(&play));
    ck_assert_ptr_eq(play_next_seat(&play), &high.job);
}
END_TEST

START_TEST(who_has_computed_least_loses_its_seat)
{
    struct play_ask low[N_SEATS];
    struct play_ask high;

    for (size_t i = 0; i < N_SEATS; i++) {
        add_seated(&low[i], 1, SCHED_BACKGROUND);
        low[i].job.n_known = 1000;
        low[i].job.n_done = 900;
    }
    low[1].job.n_done = 100;
    play_add(&play, &high, 2, 0, SCHED_REALTIME, 10, 10);

    ck_assert_ptr_eq(play_victim(&play), &low[1].job);
}
END_TEST

START_TEST(nobody_is_always_the_one_who_is_put_aside)
{
    struct play_ask low[N_SEATS];
    struct play_ask high;

    for (size_t i = 0; i < N_SEATS; i++) {
        add_seated(&low[i], 1, SCHED_BACKGROUND);
        low[i].job.n_known = 1000;
        low[i].job.n_done = 900;
    }
    low[1].job.n_done = 100;
    low[1].job.n_aside = 10;
    play_add(&play, &high, 2, 0, SCHED_REALTIME, 10, 10);

    ck_assert_ptr_eq(play_victim(&play), &low[3].job);
}
END_TEST

START_TEST(a_parked_job_goes_before_a_running_one)
{
    struct play_ask seated[N_SEATS];
    struct play_ask high;

    for (size_t i = 0; i < N_SEATS; i++) {
        add_seated(&seated[i], 1, i == 2 ? SCHED_REALTIME : SCHED_BACKGROUND);
    }
    seated[2].job.parked = true;
    play_add(&play, &high, 2, 0, SCHED_REALTIME, 10, 10);

    ck_assert_ptr_eq(play_victim(&play), &seated[2].job);
    play_put_aside(&play, &seated[2].job);
    ck_assert_uint_eq(seated[2].job.n_aside, 0);
}
END_TEST

START_TEST(equals_do_not_take_each_others_seats)
{
    struct play_ask seated[N_SEATS];
    struct play_ask late;

    for (size_t i = 0; i < N_SEATS; i++) {
        add_seated(&seated[i], 1 + (uint32_t)i, SCHED_INTERACTIVE);
    }
    play_add(&play, &late, 7, 0, SCHED_INTERACTIVE, 10, 10);
    play.in.now_us += 60 * SECOND_US;

    ck_assert_ptr_null(play_victim(&play));
}
END_TEST

START_TEST(an_account_without_a_seat_is_patient_first)
{
    struct play_ask seated[N_SEATS];
    struct play_ask late;

    for (size_t i = 0; i < N_SEATS; i++) {
        add_seated(&seated[i], 1, SCHED_INTERACTIVE);
    }
    play_add(&play, &late, 2, 0, SCHED_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(play_victim(&play));
    play.in.now_us += QUEUE_PATIENCE_US;

    ck_assert_ptr_eq(play_victim(&play), &seated[3].job);
    play_put_aside(&play, &seated[3].job);
    ck_assert_ptr_eq(play_next_seat(&play), &late.job);
}
END_TEST

START_TEST(who_had_more_takes_nobodys_seat)
{
    struct play_ask seated[N_SEATS];
    struct play_ask late;

    for (size_t i = 0; i < N_SEATS; i++) {
        add_seated(&seated[i], 1, SCHED_INTERACTIVE);
    }
    play_add(&play, &late, 2, 0, SCHED_INTERACTIVE, 10, 10);
    play.accounts[2]->served[SCHED_INTERACTIVE] += 1;
    play.in.now_us += QUEUE_PATIENCE_US;

    ck_assert_ptr_null(play_victim(&play));
}
END_TEST

START_TEST(a_class_without_a_seat_takes_one_when_it_has_waited_long)
{
    struct play_ask seated[N_SEATS];
    struct play_ask low;

    for (size_t i = 0; i < N_SEATS; i++) {
        add_seated(&seated[i], 1, SCHED_REALTIME);
        seated[i].job.has_first = i < 2;
    }
    play_add(&play, &low, 2, 0, SCHED_BACKGROUND, 10, 10);
    play.in.now_us += 2 * QUEUE_AGE_WAITING_US - 1;
    ck_assert_ptr_null(play_victim(&play));
    play.in.now_us += 1;

    /* Of those who have begun to answer. */
    ck_assert_ptr_eq(play_victim(&play), &seated[1].job);
    play_put_aside(&play, &seated[1].job);
    ck_assert_ptr_eq(play_next_seat(&play), &low.job);
}
END_TEST

START_TEST(who_got_a_seat_by_age_keeps_it_until_it_got_further)
{
    struct play_ask seated[N_SEATS];
    struct play_ask low;
    struct play_ask high;

    play.lane.n_seats = QUEUE_MANY_SEATS - 1;
    for (size_t i = 0; i < QUEUE_MANY_SEATS - 2; i++) {
        add_seated(&seated[i], 1, SCHED_REALTIME);
    }
    play_add(&play, &low, 2, 0, SCHED_BACKGROUND, 10, 10);
    play.in.now_us += 2 * QUEUE_AGE_WAITING_US;
    job_move(&low.job, JOB_OPENING, play.in.now_us);
    job_move(&low.job, JOB_SEATED, play.in.now_us);
    play.lane.n_taken++;
    play_add(&play, &high, 3, 0, SCHED_REALTIME, 10, 10);
    ck_assert_ptr_null(play_victim(&play));
    low.job.n_done = 4;
    queue_charge(&play.queue, &low.job, 4, 0, play.in.now_us, play.in.boot_us);

    ck_assert_ptr_eq(play_victim(&play), &low.job);
}
END_TEST

START_TEST(tenure_ends)
{
    struct play_ask seated[N_SEATS];
    struct play_ask low;
    struct play_ask high;

    play.lane.n_seats = QUEUE_MANY_SEATS - 1;
    for (size_t i = 0; i < QUEUE_MANY_SEATS - 2; i++) {
        add_seated(&seated[i], 1, SCHED_REALTIME);
    }
    play_add(&play, &low, 2, 0, SCHED_BACKGROUND, 10, 10);
    play.in.now_us += 2 * QUEUE_AGE_WAITING_US;
    job_move(&low.job, JOB_OPENING, play.in.now_us);
    job_move(&low.job, JOB_SEATED, play.in.now_us);
    play.lane.n_taken++;
    play_add(&play, &high, 3, 0, SCHED_REALTIME, 10, 10);
    play.in.now_us += QUEUE_TENURE_US;

    ck_assert_ptr_eq(play_victim(&play), &low.job);
}
END_TEST

START_TEST(of_many_seats_each_class_keeps_its_last)
{
    struct play_ask low[2];
    struct play_ask seated[2];
    struct play_ask another;
    struct play_ask high;

    for (size_t i = 0; i < 2; i++) {
        add_seated(&low[i], 1, SCHED_BACKGROUND);
        add_seated(&seated[i], 1, SCHED_REALTIME);
    }
    play_add(&play, &high, 3, 0, SCHED_REALTIME, 10, 10);
    ck_assert_ptr_eq(play_victim(&play), &low[1].job);
    play_put_aside(&play, &low[1].job);
    add_seated(&another, 1, SCHED_REALTIME);

    ck_assert_ptr_null(play_victim(&play));
}
END_TEST

/* ---- pages */

static void hold_pages(struct play_ask *ask, uint32_t uid, enum sched_class class, uint32_t n_pages)
{
    play_add(&play, ask, uid, 0, class, 10, 100);
    job_move(&ask->job, JOB_OPENING, play.in.now_us);
    ask->job.n_pages = n_pages;
    job_move(&ask->job, JOB_SEATED, play.in.now_us);
    play.lane.n_taken++;
}

START_TEST(pages_are_given_up_only_if_that_helps)
{
    struct play_ask low;
    struct play_ask middle;
    struct play_ask high;

    play.lane.n_pages = 100;
    hold_pages(&low, 1, SCHED_BACKGROUND, 30);
    hold_pages(&middle, 1, SCHED_REALTIME, 60);
    play_add(&play, &high, 2, 0, SCHED_REALTIME, 10, 10);
    high.job.n_pages = 50; /* as the engine said; 10 are free */
    play.lane.no_room = true;
    ck_assert_ptr_null(play_victim(&play));
    high.job.n_pages = 40;

    ck_assert_ptr_eq(play_victim(&play), &low.job);
}
END_TEST

START_TEST(the_last_seat_of_a_class_may_hold_its_part_of_the_pages)
{
    struct play_ask low;
    struct play_ask middle;
    struct play_ask high;

    play.lane.n_pages = 100;
    hold_pages(&low, 1, SCHED_BACKGROUND, 100 / QUEUE_LAST_PART);
    hold_pages(&middle, 1, SCHED_REALTIME, 70);
    play_add(&play, &high, 2, 0, SCHED_REALTIME, 10, 10);
    high.job.n_pages = 30;
    play.lane.no_room = true;

    ck_assert_ptr_null(play_victim(&play));
}
END_TEST

START_TEST(what_sessions_keep_goes_first_and_whose_it_is_needs_no_room)
{
    struct job kept[2] = { { .lane = &play.lane, .n_pages = 30 }, { .lane = &play.lane, .n_pages = 5 } };
    struct play_ask low;
    struct play_ask high;
    struct play_ask turn;

    play.lane.n_pages = 100;
    queue_keep(&play.queue, &kept[0]);
    queue_keep(&play.queue, &kept[1]);
    play.lane.n_taken += 2;
    hold_pages(&low, 1, SCHED_BACKGROUND, 60);
    ck_assert_uint_eq(play.lane.n_pages_promised, 95);
    ck_assert_ptr_null(play_victim(&play)); /* nobody wants it */
    play_add(&play, &high, 2, 0, SCHED_REALTIME, 10, 10);
    high.job.n_pages = 20;
    play.lane.no_room = true;
    ck_assert_ptr_eq(play_victim(&play), &kept[0]);

    play_add(&play, &turn, 3, 0, SCHED_BACKGROUND, 10, 10);
    turn.job.owns_seat = true;
    ck_assert_ptr_eq(play_next_seat(&play), &turn.job);
    turn.job.passed_over = true;
    ck_assert_ptr_null(play_next_seat(&play));
    queue_unkeep(&kept[0]);
    queue_unkeep(&kept[1]);
    ck_assert_uint_eq(play.lane.n_pages_promised, 60);
}
END_TEST

START_TEST(nobody_takes_pages_that_are_freed_for_who_is_before_it)
{
    struct play_ask low[2];
    struct play_ask high;

    play.lane.n_pages = 100;
    hold_pages(&low[0], 1, SCHED_BACKGROUND, 40);
    hold_pages(&low[1], 1, SCHED_BACKGROUND, 40);
    play_add(&play, &high, 2, 0, SCHED_REALTIME, 10, 10);
    high.job.n_pages = 90;
    play.lane.no_room = true;

    play_put_aside(&play, play_victim(&play));
    play.lane.no_room = false; /* as one was closed: it may ask again */
    ck_assert_ptr_eq(play_next_seat(&play), &high.job);
    job_move(&high.job, JOB_OPENING, play.in.now_us);
    ck_assert_ptr_null(play_next_seat(&play));
    job_move(&high.job, JOB_WAITING, play.in.now_us); /* refused once more */
    play.lane.no_room = true;
    play_put_aside(&play, play_victim(&play));
    play.lane.no_room = false;
    ck_assert_ptr_eq(play_next_seat(&play), &high.job);
}
END_TEST

START_TEST(who_is_small_or_first_may_pass_who_was_refused)
{
    struct play_ask seated;
    struct play_ask large;
    struct play_ask small;
    struct play_ask first;

    play.lane.n_pages = 100;
    hold_pages(&seated, 1, SCHED_INTERACTIVE, 70);
    play_add(&play, &large, 2, 0, SCHED_INTERACTIVE, 10, 10);
    large.job.n_pages = 50;
    play.lane.no_room = true;
    play_add(&play, &small, 3, 0, SCHED_INTERACTIVE, 100, 200);
    ck_assert_ptr_null(play_next_seat(&play)); /* an equal, and later */
    play_add(&play, &first, 4, 0, SCHED_REALTIME, 100, 500);
    ck_assert_ptr_null(play_next_seat(&play)); /* 38 pages are too many */
    first.job.n_most = 300;

    ck_assert_ptr_eq(play_next_seat(&play), &first.job);
}
END_TEST

START_TEST(shared_pages_are_counted_once_and_put_nobody_aside)
{
    struct play_ask seated[2];

    play.lane.n_pages = 100;
    hold_pages(&seated[0], 1, SCHED_BACKGROUND, 70);
    hold_pages(&seated[1], 1, SCHED_BACKGROUND, 70);
    ck_assert_ptr_null(play_victim(&play)); /* the engine has opened both: it has room */
    play.in.limits[play.lane.place].kv_permille = 900;
    ck_assert_ptr_nonnull(play_victim(&play));
    play.lane.n_pages_shared = 50;

    ck_assert_ptr_null(play_victim(&play));
}
END_TEST

START_TEST(pages_that_the_governor_takes_back_are_the_lowest_class_s)
{
    struct play_ask low;
    struct play_ask high;

    play.lane.n_pages = 100;
    hold_pages(&high, 1, SCHED_REALTIME, 40);
    hold_pages(&low, 1, SCHED_BACKGROUND, 30);
    ck_assert_ptr_null(play_victim(&play));
    play.in.limits[play.lane.place].kv_permille = 500;

    ck_assert_ptr_eq(play_victim(&play), &low.job);
    play_put_aside(&play, &low.job);
    ck_assert_ptr_null(play_victim(&play));
    ck_assert_ptr_null(play_next_seat(&play)); /* its thirty don't fit beside the other's */
    play.in.limits[play.lane.place].kv_permille = 1000;
    ck_assert_ptr_eq(play_next_seat(&play), &low.job);
}
END_TEST

START_TEST(the_last_sequence_stays_however_few_pages_there_are)
{
    struct play_ask low;

    play.lane.n_pages = 100;
    hold_pages(&low, 1, SCHED_BACKGROUND, 80);
    play.in.limits[play.lane.place].kv_permille = 100;

    ck_assert_ptr_null(play_victim(&play));
}
END_TEST

/* ---- played: what users see */

START_TEST(an_urgent_request_does_not_wait_for_a_place)
{
    struct play_ask low[8];
    struct play_ask high;

    for (size_t i = 0; i < 8; i++) {
        play_add(&play, &low[i], 1, 0, SCHED_BACKGROUND, 2000, 2000);
    }
    play_until(&play, 10 * SECOND_US);
    play_add(&play, &high, 2, 0, SCHED_REALTIME, 100, 20);
    play_until(&play, play.in.now_us + SECOND_US);

    /* 100 rows are three steps of 50 ms. */
    ck_assert(high.first_us > 0);
    ck_assert_uint_le(high.first_us - high.asked_us, 200000);
}
END_TEST

/* An unending supply of urgent requests, as many as there are seats, each of @n_answer tokens. */
static void press(struct play_ask *urgent, uint32_t n_answer)
{
    for (uint32_t i = 0; i < 2 * N_SEATS; i++) {
        if (urgent[i].asked_us == 0 || play_is_over(&urgent[i])) {
            play_add(&play, &urgent[i], 1, 0, SCHED_REALTIME, 60, n_answer);
        }
    }
}

/* Plays until @low ends; the longest time without a token or a row for it. */
static uint64_t longest_wait_us(struct play_ask *low, struct play_ask *urgent, uint32_t n_answer)
{
    uint64_t since_us = play.in.now_us;
    uint64_t longest_us = 0;
    uint32_t n_paid = 0;

    while (!play_is_over(low)) {
        press(urgent, n_answer);
        play_step(&play);
        longest_us = num_max(longest_us, play.in.now_us - since_us);
        if (low->job.n_paid > n_paid) {
            n_paid = low->job.n_paid;
            since_us = play.in.now_us;
        }
        ck_assert_uint_lt(play.in.now_us, 3600u * (uint64_t)SECOND_US);
    }
    return longest_us;
}

START_TEST(background_moves_every_five_seconds_beside_endless_urgent_requests)
{
    struct play_ask urgent[2 * N_SEATS] = { 0 };
    struct play_ask low;

    press(urgent, 50);
    play_step(&play);
    play_add(&play, &low, 2, 0, SCHED_BACKGROUND, 300, 20);

    ck_assert_uint_le(longest_wait_us(&low, urgent, 50), 5 * SECOND_US);
}
END_TEST

START_TEST(background_moves_beside_urgent_answers_that_never_end)
{
    struct play_ask urgent[2 * N_SEATS] = { 0 };
    struct play_ask low;

    press(urgent, 1000000);
    play_step(&play);
    play_add(&play, &low, 2, 0, SCHED_BACKGROUND, 300, 20);

    ck_assert_uint_le(longest_wait_us(&low, urgent, 1000000), 5 * SECOND_US);
}
END_TEST

START_TEST(who_loses_all_each_time_it_is_put_aside_still_ends)
{
    struct play_ask urgent[2 * N_SEATS] = { 0 };
    struct play_ask low;

    play.lane.n_seats = QUEUE_MANY_SEATS - 1;
    play.n_seat_cached = 0; /* no page is ever kept */
    press(urgent, 1000000);
    play_step(&play);
    play_add(&play, &low, 2, 0, SCHED_BACKGROUND, 40, 30);
    longest_wait_us(&low, urgent, 1000000);

    ck_assert_uint_ge(low.job.n_aside, 20);
    ck_assert_uint_eq(low.job.n_known, 70);
}
END_TEST

START_TEST(who_was_put_aside_is_not_passed_by_newer_work_of_its_own)
{
    struct play_ask low[8];
    struct play_ask high[4];

    for (size_t i = 0; i < 4; i++) {
        play_add(&play, &low[i], 1, 0, SCHED_BACKGROUND, 200, 500);
    }
    play_until(&play, 4 * SECOND_US);
    for (size_t i = 0; i < 4; i++) {
        play_add(&play, &high[i], 2, 0, SCHED_REALTIME, 60, 20);
        play_step(&play);
        play_add(&play, &low[4 + i], 1, 0, SCHED_BACKGROUND, 20, 20);
        play_until(&play, play.in.now_us + 3 * SECOND_US);
    }
    play_until(&play, 120 * SECOND_US);

    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 4; k < 8; k++) {
            ck_assert(play_is_over(&low[i]) && play_is_over(&low[k]));
            ck_assert_uint_le(low[i].first_us, low[k].first_us);
        }
    }
}
END_TEST

START_TEST(an_answer_goes_on_while_a_long_prompt_comes_in)
{
    struct play_ask speaks;
    struct play_ask asks;

    play.pipelined = true;
    play_add(&play, &speaks, 1, 0, SCHED_INTERACTIVE, 20, 200);
    play_until(&play, 2 * SECOND_US);
    play_add(&play, &asks, 2, 0, SCHED_INTERACTIVE, 4000, 10);
    play_until(&play, 30 * SECOND_US);

    /* Each step takes it along, and none is longer than that. */
    ck_assert(play_is_over(&speaks) && play_is_over(&asks));
    ck_assert_uint_le(speaks.gap_us, PLAN_STEP_US + 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-seat");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_higher_class_takes_a_seat_of_the_lowest);
    tcase_add_test(tcase, who_has_computed_least_loses_its_seat);
    tcase_add_test(tcase, nobody_is_always_the_one_who_is_put_aside);
    tcase_add_test(tcase, a_parked_job_goes_before_a_running_one);
    tcase_add_test(tcase, equals_do_not_take_each_others_seats);
    tcase_add_test(tcase, an_account_without_a_seat_is_patient_first);
    tcase_add_test(tcase, who_had_more_takes_nobodys_seat);
    tcase_add_test(tcase, a_class_without_a_seat_takes_one_when_it_has_waited_long);
    tcase_add_test(tcase, who_got_a_seat_by_age_keeps_it_until_it_got_further);
    tcase_add_test(tcase, tenure_ends);
    tcase_add_test(tcase, of_many_seats_each_class_keeps_its_last);
    tcase_add_test(tcase, pages_are_given_up_only_if_that_helps);
    tcase_add_test(tcase, the_last_seat_of_a_class_may_hold_its_part_of_the_pages);
    tcase_add_test(tcase, what_sessions_keep_goes_first_and_whose_it_is_needs_no_room);
    tcase_add_test(tcase, nobody_takes_pages_that_are_freed_for_who_is_before_it);
    tcase_add_test(tcase, who_is_small_or_first_may_pass_who_was_refused);
    tcase_add_test(tcase, shared_pages_are_counted_once_and_put_nobody_aside);
    tcase_add_test(tcase, pages_that_the_governor_takes_back_are_the_lowest_class_s);
    tcase_add_test(tcase, the_last_sequence_stays_however_few_pages_there_are);
    tcase_add_test(tcase, an_urgent_request_does_not_wait_for_a_place);
    tcase_add_test(tcase, background_moves_every_five_seconds_beside_endless_urgent_requests);
    tcase_add_test(tcase, background_moves_beside_urgent_answers_that_never_end);
    tcase_add_test(tcase, who_loses_all_each_time_it_is_put_aside_still_ends);
    tcase_add_test(tcase, who_was_put_aside_is_not_passed_by_newer_work_of_its_own);
    tcase_add_test(tcase, an_answer_goes_on_while_a_long_prompt_comes_in);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
