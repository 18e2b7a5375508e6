/* Quantum: of more answers without an end than slots, each goes on. */
#include "fixture.h"
#include "unit.h"

#define SECOND_US 1000000u
#define N_MOST    12u
#define LASTS_US  (120u * SECOND_US)

static struct fixture fixture;
static struct fixture_request requests[N_MOST];

static void setup(void)
{
    fixture_init(&fixture, 4);
    fixture.n_slot_cached = 1000; /* pages stay while there is room */
}

static void teardown(void)
{
    fixture_finish(&fixture);
}

/* Returns the longest time that one of the first @n requests waited for a token, to the present. */
static uint64_t longest_wait_us(uint32_t n)
{
    uint64_t most_us = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct fixture_request *request = &requests[i];
        uint64_t first_us = (request->first_us ? request->first_us : fixture.in.now_us) - request->asked_us;
        uint64_t last_us = fixture.in.now_us - (request->last_us ? request->last_us : request->asked_us);

        most_us = most_us > request->gap_us ? most_us : request->gap_us;
        most_us = most_us > first_us ? most_us : first_us;
        most_us = most_us > last_us ? most_us : last_us;
    }
    return most_us;
}

START_TEST(answers_of_one_user_go_round)
{
    for (uint32_t i = 0; i < 6; i++) {
        fixture_add(&fixture, &requests[i], 1, 0, PRIORITY_REALTIME, 20, 100000);
    }
    fixture_until(&fixture, LASTS_US);

    /* Six on four slots: each waits for one other, or two. */
    ck_assert_uint_le(longest_wait_us(6), 3u * QUEUE_QUANTUM_US);
}
END_TEST

START_TEST(answers_of_several_users_go_round)
{
    for (uint32_t i = 0; i < 6; i++) {
        fixture_add(&fixture, &requests[i], 1 + i, 0, PRIORITY_INTERACTIVE, 20, 100000);
    }
    fixture_until(&fixture, LASTS_US);

    ck_assert_uint_le(longest_wait_us(6), 3u * QUEUE_QUANTUM_US);
}
END_TEST

START_TEST(a_lower_class_goes_round_at_its_last_slot)
{
    for (uint32_t i = 0; i < 6; i++) {
        fixture_add(&fixture, &requests[3 + i], 1, 0, PRIORITY_REALTIME, 20, 100000);
    }
    for (uint32_t i = 0; i < 3; i++) {
        fixture_add(&fixture, &requests[i], 2, 0, PRIORITY_BACKGROUND, 20, 100000);
    }
    fixture_until(&fixture, LASTS_US);

    ck_assert_uint_le(longest_wait_us(3), 3u * QUEUE_QUANTUM_US + 5u * SECOND_US);
}
END_TEST

START_TEST(an_answer_that_ends_soon_is_not_interrupted)
{
    for (uint32_t i = 0; i < 8; i++) {
        fixture_add(&fixture, &requests[i], 1, 0, PRIORITY_INTERACTIVE, 20, 300); /* of some four seconds */
    }
    fixture_until(&fixture, 30u * SECOND_US);

    for (uint32_t i = 0; i < 8; i++) {
        ck_assert(fixture_is_over(&requests[i]));
        ck_assert_uint_eq(requests[i].job.n_preempted, 0);
    }
}
END_TEST

START_TEST(a_quantum_is_long_if_computing_again_takes_long)
{
    struct job *job = &requests[0].job;

    fixture_add(&fixture, &requests[0], 1, 0, PRIORITY_INTERACTIVE, 4000, 100000);
    ck_assert_uint_eq(queue_quantum_us(job), QUEUE_QUANTUM_US);
    fixture_until(&fixture, 10u * SECOND_US); /* a row takes a millisecond */

    ck_assert_uint_ge(queue_quantum_us(job), QUEUE_QUANTUM_AGAIN * 4000u * 1000u);
}
END_TEST

START_TEST(a_promise_gives_up_no_slot)
{
    for (uint32_t i = 0; i < 4; i++) {
        fixture_request(&fixture, &requests[i], 1, PRIORITY_INTERACTIVE, 20, 100000);
        fixture_promise(&fixture, &requests[i], 0, 10 * LASTS_US);
        fixture_arrive(&fixture, &requests[i]);
    }
    fixture_step(&fixture);
    fixture_add(&fixture, &requests[4], 1, 0, PRIORITY_INTERACTIVE, 20, 100);
    fixture_until(&fixture, 60u * SECOND_US);

    ck_assert_uint_eq(requests[4].first_us, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-quantum");
    TCase *tcase = tcase_create("quantum");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, answers_of_one_user_go_round);
    tcase_add_test(tcase, answers_of_several_users_go_round);
    tcase_add_test(tcase, a_lower_class_goes_round_at_its_last_slot);
    tcase_add_test(tcase, an_answer_that_ends_soon_is_not_interrupted);
    tcase_add_test(tcase, a_quantum_is_long_if_computing_again_takes_long);
    tcase_add_test(tcase, a_promise_gives_up_no_slot);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
