/* Victims: which job leaves first when pages are taken back, and idle sessions at two models. */
#include "fixture.h"
#include "unit.h"

#define N_SLOTS 4u

static struct fixture fixture;

static void setup(void)
{
    fixture_init(&fixture, N_SLOTS);
    fixture.eq.n_pages = 100;
}

static void teardown(void)
{
    fixture_finish(&fixture);
}

static void add_assigned(struct fixture_request *request, enum priority priority)
{
    fixture_add(&fixture, request, 1, 0, priority, 10, 100);
    request->job.n_pages = 20;
    fixture_assign(&fixture, request);
}

/* The governor leaves half of the pages, of which @requests hold 80. */
static void take_pages_back(struct fixture_request *requests)
{
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        add_assigned(&requests[i], PRIORITY_INTERACTIVE);
    }
    fixture.in.limits[fixture.eq.processor].kv_permille = 500;
}

START_TEST(a_parked_job_gives_its_pages_back_before_running_ones)
{
    struct fixture_request requests[N_SLOTS];

    take_pages_back(requests);
    requests[1].job.parked = true;

    ck_assert_ptr_eq(fixture_victim(&fixture), &requests[1].job);
}
END_TEST

START_TEST(of_parked_jobs_the_one_that_waits_for_longest_goes_first)
{
    struct fixture_request requests[N_SLOTS];

    take_pages_back(requests);
    requests[1].job.parked = true;
    requests[2].job.parked = true;
    requests[1].job.since_us = 2000;
    requests[2].job.since_us = 1000;
    ck_assert_ptr_eq(fixture_victim(&fixture), &requests[2].job);

    requests[2].job.since_us = 3000;
    ck_assert_ptr_eq(fixture_victim(&fixture), &requests[1].job);
}
END_TEST

START_TEST(a_job_that_yields_goes_before_all_others)
{
    struct fixture_request requests[N_SLOTS];

    take_pages_back(requests);
    requests[1].job.parked = true;
    requests[2].job.yields = true;

    ck_assert_ptr_eq(fixture_victim(&fixture), &requests[2].job);
}
END_TEST

START_TEST(of_running_jobs_the_lowest_class_goes_first_then_the_last_without_urgency)
{
    struct fixture_request requests[N_SLOTS];

    take_pages_back(requests);
    ck_assert_ptr_eq(fixture_victim(&fixture), &requests[3].job); /* the last to arrive */

    requests[3].job.urgent = true;
    ck_assert_ptr_eq(fixture_victim(&fixture), &requests[2].job);

    requests[0].job.priority = PRIORITY_BACKGROUND;
    requests[0].job.urgent = true;
    ck_assert_ptr_eq(fixture_victim(&fixture), &requests[0].job);
    requests[0].job.priority = PRIORITY_INTERACTIVE; /* the class that its account counts it in */
}
END_TEST

START_TEST(pages_that_are_taken_back_are_those_of_idle_sessions_first)
{
    struct job idle[2] = { { .eq = &fixture.eq, .n_pages = 10 }, { .eq = &fixture.eq, .n_pages = 20 } };
    struct fixture_request requests[N_SLOTS];

    queue_retain(&fixture.queue, &idle[0]);
    queue_retain(&fixture.queue, &idle[1]);
    fixture.eq.n_taken += 2;
    take_pages_back(requests);
    requests[1].job.parked = true;

    ck_assert_ptr_eq(fixture_victim(&fixture), &idle[0]);
    queue_release(&idle[0]);
    queue_release(&idle[1]);
}
END_TEST

START_TEST(an_idle_session_makes_room_at_its_own_model_only)
{
    struct engine_queue other = fixture.eq;
    struct job idle = { .eq = &other, .n_pages = 30 };
    struct fixture_request requests[N_SLOTS];
    struct fixture_request high;
    uint64_t n_pages = 0;

    queue_retain(&fixture.queue, &idle);
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        add_assigned(&requests[i], PRIORITY_BACKGROUND);
    }
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 10, 10);

    ck_assert_ptr_ne(fixture_victim(&fixture), &idle);
    ck_assert_ptr_nonnull(fixture_victim(&fixture));
    ck_assert_uint_eq(queue_count_retained(&fixture.queue, &fixture.eq, &n_pages), 0);
    ck_assert_uint_eq(n_pages, 0);
    ck_assert_uint_eq(queue_count_retained(&fixture.queue, &other, &n_pages), 1);
    ck_assert_uint_eq(n_pages, 30);
    queue_release(&idle);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-victim");
    TCase *tcase = tcase_create("facts");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_parked_job_gives_its_pages_back_before_running_ones);
    tcase_add_test(tcase, of_parked_jobs_the_one_that_waits_for_longest_goes_first);
    tcase_add_test(tcase, a_job_that_yields_goes_before_all_others);
    tcase_add_test(tcase, of_running_jobs_the_lowest_class_goes_first_then_the_last_without_urgency);
    tcase_add_test(tcase, pages_that_are_taken_back_are_those_of_idle_sessions_first);
    tcase_add_test(tcase, an_idle_session_makes_room_at_its_own_model_only);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
