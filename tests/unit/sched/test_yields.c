/* The daemon's own work: it uses what is left, and is never in the way. */
#include "base/clean.h"
#include "fixture.h"
#include "unit.h"

#define SECOND_US 1000000u
#define N_SLOTS   4u

static struct fixture fixture;

static void setup(void)
{
    fixture_init(&fixture, N_SLOTS);
}

static void teardown(void)
{
    fixture_finish(&fixture);
}

/* Adds a long prompt of uid 8, as a pin is. */
static void arrive(struct fixture_request *own)
{
    fixture_request(&fixture, own, 8, PRIORITY_BACKGROUND, 2000, 1);
    own->job.yields = true;
    fixture_arrive(&fixture, own);
}

START_TEST(own_work_gets_all_that_is_left)
{
    struct fixture_request own;

    arrive(&own);
    fixture_until(&fixture, 20 * SECOND_US);

    ck_assert(fixture_is_over(&own));
}
END_TEST

/* Of four slots a class keeps its last one, but not this. */
START_TEST(any_job_takes_the_slot_of_own_work)
{
    static const enum priority classes[] = { PRIORITY_BACKGROUND, PRIORITY_INTERACTIVE, PRIORITY_REALTIME };
    struct fixture_request others[N_SLOTS];
    struct fixture_request own;

    arrive(&own);
    for (size_t i = 0; i + 1 < N_SLOTS; i++) {
        fixture_add(&fixture, &others[i], 1, 0, classes[_i], 10, 1000);
    }
    fixture_step(&fixture);
    ck_assert_int_eq(own.job.state, JOB_ASSIGNED);
    ck_assert_ptr_null(fixture_victim(&fixture));
    fixture_add(&fixture, &others[N_SLOTS - 1], 1, 0, PRIORITY_BACKGROUND, 10, 1000);

    ck_assert_ptr_eq(fixture_victim(&fixture), &own.job);
}
END_TEST

/* Not even from a parked request. */
START_TEST(own_work_takes_a_slot_from_no_job)
{
    struct fixture_request others[N_SLOTS];
    struct fixture_request own;

    for (size_t i = 0; i < N_SLOTS; i++) {
        fixture_add(&fixture, &others[i], 1, 0, PRIORITY_BACKGROUND, 10, 1000);
    }
    fixture_step(&fixture);
    others[0].job.parked = true;
    arrive(&own);
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert_ptr_null(fixture_victim(&fixture));
        fixture.in.now_us += SECOND_US;
        fixture.in.boot_us += SECOND_US;
    }
}
END_TEST

/* Half of 20 pages are promised to two that share most of theirs; it needs 12. */
START_TEST(it_asks_for_pages_that_are_free_in_any_case)
{
    struct fixture_request others[2];
    struct fixture_request own;

    fixture.eq.n_pages = 20;
    fixture.eq.page_tokens = 16;
    for (size_t i = 0; i < COUNTOF(others); i++) {
        fixture_add(&fixture, &others[i], 1, 0, PRIORITY_INTERACTIVE, 10, 1000);
        others[i].job.n_pages = 5;
        job_move(&others[i].job, JOB_OPENING, fixture.in.now_us);
        job_move(&others[i].job, JOB_ASSIGNED, fixture.in.now_us);
        fixture.eq.n_taken++;
    }
    fixture.eq.n_pages_shared = 4;
    fixture_request(&fixture, &own, 8, PRIORITY_BACKGROUND, 170, 1);
    own.job.n_most = 171;
    own.job.yields = true;
    fixture_arrive(&fixture, &own);
    ck_assert_ptr_null(queue_next_slot(&fixture.queue, fixture.in.limits, fixture.in.now_us, fixture.in.boot_us));
    ck_assert_ptr_null(fixture_victim(&fixture));
    queue_remove(&fixture.queue, &others[0].job, fixture.in.now_us);
    fixture.eq.n_taken--;

    ck_assert_ptr_eq(queue_next_slot(&fixture.queue, fixture.in.limits, fixture.in.now_us, fixture.in.boot_us),
                     &own.job);
}
END_TEST

START_TEST(it_never_ages)
{
    struct fixture_request own;

    arrive(&own);
    ck_assert_int_eq(queue_rank(&own.job, fixture.in.now_us + 1000 * (uint64_t)SECOND_US), PRIORITY_BACKGROUND);
    fixture_step(&fixture);
    ck_assert_int_eq(own.job.state, JOB_ASSIGNED);
    ck_assert_int_eq(queue_rank(&own.job, fixture.in.now_us + 1000 * (uint64_t)SECOND_US), PRIORITY_BACKGROUND);
}
END_TEST

/* It is of the same class, and earlier: the other's prompt takes as long as alone. */
START_TEST(a_background_request_goes_before_it)
{
    struct fixture_request own;
    struct fixture_request other;
    uint64_t alone_us;

    fixture_add(&fixture, &other, 1, 0, PRIORITY_BACKGROUND, 1000, 1);
    fixture_until(&fixture, 10 * SECOND_US);
    ck_assert(fixture_is_over(&other));
    alone_us = other.first_us - other.asked_us;
    fixture_finish(&fixture);

    fixture_init(&fixture, N_SLOTS);
    arrive(&own);
    fixture_step(&fixture);
    fixture_add(&fixture, &other, 1, 0, PRIORITY_BACKGROUND, 1000, 1);
    fixture_until(&fixture, fixture.in.now_us + 10 * (uint64_t)SECOND_US);

    ck_assert(fixture_is_over(&other));
    ck_assert_uint_le(other.first_us - other.asked_us, alone_us + alone_us / 10);
}
END_TEST

/* The service of own work does not count for its class: a waiting request ages all the same. */
START_TEST(service_of_own_work_delays_no_class)
{
    struct fixture_request own;

    arrive(&own);
    fixture_step(&fixture);
    fixture_step(&fixture);

    ck_assert_uint_gt(own.job.n_done, 0);
    ck_assert_uint_eq(fixture.eq.served_us[PRIORITY_BACKGROUND], 0);
}
END_TEST

/* A deadline that could be promised without it is promised. */
START_TEST(it_counts_for_nothing_where_a_deadline_is_asked_for)
{
    struct admit_verdict without;
    struct admit_verdict with;
    struct fixture_request other;
    struct fixture_request own;

    fixture_request(&fixture, &other, 1, PRIORITY_BACKGROUND, 100, 10);
    other.job.first_by_us = fixture.in.boot_us + 10 * (uint64_t)SECOND_US;
    ck_assert_int_eq(admit_check(&fixture.queue, &other.job, fixture.in.limits, fixture.in.boot_us, &without),
                     ADMIT_OK);
    arrive(&own);
    ck_assert_int_eq(admit_check(&fixture.queue, &other.job, fixture.in.limits, fixture.in.boot_us, &with), ADMIT_OK);

    ck_assert_uint_eq(with.first_us, without.first_us);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-yields");
    TCase *tcase = tcase_create("yields");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, own_work_gets_all_that_is_left);
    tcase_add_loop_test(tcase, any_job_takes_the_slot_of_own_work, 0, PRIORITY_COUNT);
    tcase_add_test(tcase, own_work_takes_a_slot_from_no_job);
    tcase_add_test(tcase, it_asks_for_pages_that_are_free_in_any_case);
    tcase_add_test(tcase, it_never_ages);
    tcase_add_test(tcase, a_background_request_goes_before_it);
    tcase_add_test(tcase, service_of_own_work_delays_no_class);
    tcase_add_test(tcase, it_counts_for_nothing_where_a_deadline_is_asked_for);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
