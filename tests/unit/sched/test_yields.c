/* Work of the daemon's own: it uses what is left, and is never in the way. */
#include "base/clean.h"
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

/* A long prompt of uid 8, as a pin is. */
static void come(struct play_ask *own)
{
    play_ask(&play, own, 8, SCHED_BACKGROUND, 2000, 1);
    own->job.yields = true;
    play_come(&play, own);
}

START_TEST(it_gets_all_that_nobody_wants)
{
    struct play_ask own;

    come(&own);
    play_until(&play, 20 * SECOND_US);

    ck_assert(play_is_over(&own));
}
END_TEST

/* Of four seats a class keeps its last one; not this. */
START_TEST(anybody_takes_its_seat)
{
    static const enum sched_class classes[] = { SCHED_BACKGROUND, SCHED_INTERACTIVE, SCHED_REALTIME };
    struct play_ask others[N_SEATS];
    struct play_ask own;

    come(&own);
    for (size_t i = 0; i + 1 < N_SEATS; i++) {
        play_add(&play, &others[i], 1, 0, classes[_i], 10, 1000);
    }
    play_step(&play);
    ck_assert_int_eq(own.job.state, JOB_SEATED);
    ck_assert_ptr_null(play_victim(&play));
    play_add(&play, &others[N_SEATS - 1], 1, 0, SCHED_BACKGROUND, 10, 1000);

    ck_assert_ptr_eq(play_victim(&play), &own.job);
}
END_TEST

/* Not even that of a parked request. */
START_TEST(it_takes_a_seat_from_nobody)
{
    struct play_ask others[N_SEATS];
    struct play_ask own;

    for (size_t i = 0; i < N_SEATS; i++) {
        play_add(&play, &others[i], 1, 0, SCHED_BACKGROUND, 10, 1000);
    }
    play_step(&play);
    others[0].job.parked = true;
    come(&own);
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert_ptr_null(play_victim(&play));
        play.in.now_us += SECOND_US;
        play.in.boot_us += SECOND_US;
    }
}
END_TEST

/* Half of 20 pages are promised, to two who share most of theirs; it needs 12. */
START_TEST(it_asks_for_pages_that_are_free_in_any_case)
{
    struct play_ask others[2];
    struct play_ask own;

    play.lane.n_pages = 20;
    play.lane.page_tokens = 16;
    for (size_t i = 0; i < COUNTOF(others); i++) {
        play_add(&play, &others[i], 1, 0, SCHED_INTERACTIVE, 10, 1000);
        others[i].job.n_pages = 5;
        job_move(&others[i].job, JOB_OPENING, play.in.now_us);
        job_move(&others[i].job, JOB_SEATED, play.in.now_us);
        play.lane.n_taken++;
    }
    play.lane.n_pages_shared = 4;
    play_ask(&play, &own, 8, SCHED_BACKGROUND, 170, 1);
    own.job.n_most = 171;
    own.job.yields = true;
    play_come(&play, &own);
    ck_assert_ptr_null(queue_next_seat(&play.queue, play.in.limits, play.in.now_us, play.in.boot_us));
    ck_assert_ptr_null(play_victim(&play));
    queue_remove(&play.queue, &others[0].job, play.in.now_us);
    play.lane.n_taken--;

    ck_assert_ptr_eq(queue_next_seat(&play.queue, play.in.limits, play.in.now_us, play.in.boot_us), &own.job);
}
END_TEST

START_TEST(it_never_ages)
{
    struct play_ask own;

    come(&own);
    ck_assert_int_eq(queue_rank(&own.job, play.in.now_us + 1000 * (uint64_t)SECOND_US), SCHED_BACKGROUND);
    play_step(&play);
    ck_assert_int_eq(own.job.state, JOB_SEATED);
    ck_assert_int_eq(queue_rank(&own.job, play.in.now_us + 1000 * (uint64_t)SECOND_US), SCHED_BACKGROUND);
}
END_TEST

/* Of one class, and came first: the other's prompt takes as long as alone. */
START_TEST(a_background_request_goes_before_it)
{
    struct play_ask own;
    struct play_ask other;
    uint64_t alone_us;

    play_add(&play, &other, 1, 0, SCHED_BACKGROUND, 1000, 1);
    play_until(&play, 10 * SECOND_US);
    ck_assert(play_is_over(&other));
    alone_us = other.first_us - other.asked_us;
    play_finish(&play);

    play_init(&play, N_SEATS);
    come(&own);
    play_step(&play);
    play_add(&play, &other, 1, 0, SCHED_BACKGROUND, 1000, 1);
    play_until(&play, play.in.now_us + 10 * (uint64_t)SECOND_US);

    ck_assert(play_is_over(&other));
    ck_assert_uint_le(other.first_us - other.asked_us, alone_us + alone_us / 10);
}
END_TEST

/* What it was served is no service of its class: a request that waits ages all the same. */
START_TEST(what_it_is_served_makes_nobody_wait_longer)
{
    struct play_ask own;

    come(&own);
    play_step(&play);
    play_step(&play);

    ck_assert_uint_gt(own.job.n_done, 0);
    ck_assert_uint_eq(play.lane.served_us[SCHED_BACKGROUND], 0);
}
END_TEST

/* A deadline that could be promised without it can be promised. */
START_TEST(it_counts_for_nothing_where_a_deadline_is_asked_for)
{
    struct admit_verdict without;
    struct admit_verdict with;
    struct play_ask other;
    struct play_ask own;

    play_ask(&play, &other, 1, SCHED_BACKGROUND, 100, 10);
    other.job.first_by_us = play.in.boot_us + 10 * (uint64_t)SECOND_US;
    ck_assert_int_eq(admit_ask(&play.queue, &other.job, play.in.limits, play.in.boot_us, &without), ADMIT_OK);
    come(&own);
    ck_assert_int_eq(admit_ask(&play.queue, &other.job, play.in.limits, play.in.boot_us, &with), ADMIT_OK);

    ck_assert_uint_eq(with.first_us, without.first_us);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-yields");
    TCase *tcase = tcase_create("yields");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, it_gets_all_that_nobody_wants);
    tcase_add_loop_test(tcase, anybody_takes_its_seat, 0, SCHED_CLASS_COUNT);
    tcase_add_test(tcase, it_takes_a_seat_from_nobody);
    tcase_add_test(tcase, it_asks_for_pages_that_are_free_in_any_case);
    tcase_add_test(tcase, it_never_ages);
    tcase_add_test(tcase, a_background_request_goes_before_it);
    tcase_add_test(tcase, what_it_is_served_makes_nobody_wait_longer);
    tcase_add_test(tcase, it_counts_for_nothing_where_a_deadline_is_asked_for);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
