/* A request is refused for want of room: the reported time holds, for it and for others. */
#include "base/num.h"
#include "sched/retry.h"
#include "unit.h"

#define SECOND_US UINT64_C(1000000)

static struct retry_list retry_list;
static struct service service;
static struct retry_request request;
static uint64_t now_us;
static uint64_t reported_us;

/* There are eight requests, which is the limit; lately one ended each second. */
static void setup(void)
{
    retry_list_init(&retry_list);
    now_us = 100 * SECOND_US;
    service_begin(&service, now_us - 20 * SECOND_US);
    for (uint64_t i = 1; i <= 20; i++) {
        service_end(&service, now_us - (20 - i) * SECOND_US);
    }
    request = (struct retry_request){
        .uid = 1000,
        .own = { .n_most = 8, .service = &service },
        .shared = { .n_free = UINT32_MAX, .n_most = UINT32_MAX },
    };
}

static bool arrive(uint64_t key)
{
    request.key = key;
    return retry_admit(&retry_list, &request, now_us, &reported_us);
}

START_TEST(with_room_everybody_comes_in)
{
    request.own.n_free = 1;

    ck_assert(arrive(1));
    ck_assert_uint_eq(retry_list.n, 0);
}
END_TEST

START_TEST(each_refusal_takes_the_next_position_in_time)
{
    uint64_t last_us = 0;

    for (uint64_t key = 1; key <= 10; key++) {
        ck_assert(!arrive(key));
        ck_assert_uint_ge(reported_us, key * SECOND_US); /* no two for one end */
        ck_assert_uint_le(reported_us, (key + 2) * SECOND_US);
        ck_assert_uint_gt(reported_us, last_us);
        last_us = reported_us;
    }
}
END_TEST

START_TEST(room_is_reserved_for_requests_that_were_told_to_return)
{
    ck_assert(!arrive(1));
    now_us += reported_us;
    request.own.n_free = 1;

    ck_assert(!arrive(2));
    ck_assert(arrive(1));
}
END_TEST

START_TEST(at_most_half_of_the_room_is_reserved)
{
    for (uint64_t key = 1; key <= 100; key++) {
        ck_assert(!arrive(key));
    }
    request.own.n_free = 4;
    ck_assert(!arrive(1000));
    request.own.n_free = 5;

    ck_assert(arrive(1001));
}
END_TEST

START_TEST(a_request_that_does_not_return_is_forgotten)
{
    ck_assert(!arrive(1));
    now_us += reported_us + RETRY_GRACE_US + 1;
    request.own.n_free = 1;

    ck_assert(arrive(2));
    ck_assert_uint_eq(retry_list.n, 0);
}
END_TEST

START_TEST(a_request_that_returns_early_gains_nothing)
{
    uint64_t first_us;

    ck_assert(!arrive(1));
    first_us = now_us + reported_us;
    for (uint32_t i = 0; i < 50; i++) {
        now_us += 10000;
        ck_assert(!arrive(1));
        ck_assert_uint_eq(now_us + reported_us, first_us);
    }
    ck_assert_uint_eq(retry_list.n, 1);
}
END_TEST

START_TEST(a_request_without_room_at_its_time_keeps_its_position)
{
    uint64_t again_us;

    ck_assert(!arrive(1));
    now_us += reported_us;
    ck_assert(!arrive(2));
    ck_assert(!arrive(1));
    again_us = reported_us;
    ck_assert(!arrive(3));

    ck_assert_uint_lt(again_us, reported_us);
}
END_TEST

START_TEST(a_wrong_time_is_not_reported_again)
{
    uint64_t waited_us = 0;

    /* No request ends any more. */
    ck_assert(!arrive(1));
    for (uint32_t i = 0; i < 5; i++) {
        waited_us += reported_us;
        now_us += reported_us;
        ck_assert(!arrive(1));
        ck_assert_uint_ge(reported_us, waited_us);
    }
}
END_TEST

START_TEST(a_line_of_which_few_come_moves_faster)
{
    uint64_t before_us;

    for (uint64_t key = 1; key <= 20; key++) {
        ck_assert(!arrive(key));
    }
    before_us = reported_us;
    retry_list_init(&retry_list);
    retry_list.return_rate = 0.1;
    for (uint64_t key = 1; key <= 20; key++) {
        ck_assert(!arrive(key));
    }

    ck_assert_uint_lt(reported_us, before_us / 3);
}
END_TEST

/* Tells @n more requests to return, which do not. */
static void miss_return(uint64_t n)
{
    uint64_t latest_us = 0;

    for (uint64_t key = 1; key <= n; key++) {
        ck_assert(!arrive(1000 * now_us + key));
        latest_us = num_max(latest_us, reported_us);
        service_end(&service, now_us);
    }
    now_us += latest_us + RETRY_GRACE_US + 1;
}

START_TEST(requests_that_never_return_are_learnt)
{
    miss_return(500);
    ck_assert(!arrive(1));
    ck_assert_double_lt(retry_list.return_rate, 0.2);
}
END_TEST

START_TEST(a_storm_that_is_over_says_nothing_of_the_next)
{
    miss_return(500);
    request.own.n_free = 8;
    ck_assert(arrive(1));

    ck_assert_double_eq(retry_list.return_rate, 1.0);
}
END_TEST

START_TEST(users_have_lines_of_their_own)
{
    for (uint64_t key = 1; key <= 20; key++) {
        ck_assert(!arrive(key));
    }
    request.uid = 1001;
    ck_assert(!arrive(1));

    ck_assert_uint_le(reported_us, 3 * SECOND_US);
}
END_TEST

START_TEST(a_request_behind_two_limits_waits_for_both)
{
    request.shared = (struct retry_bound){ .n_most = 100, .service = &service };
    request.uid = 1001;
    for (uint64_t key = 1; key <= 20; key++) {
        ck_assert(!arrive(key));
    }
    request.uid = 1000;
    ck_assert(!arrive(1));

    ck_assert_uint_ge(reported_us, 20 * SECOND_US);
}
END_TEST

START_TEST(a_user_fills_no_more_than_its_part_of_the_line)
{
    for (uint64_t key = 1; key <= RETRY_MOST_A_UID + 10; key++) {
        ck_assert(!arrive(key));
        ck_assert_uint_le(reported_us, RETRY_MOST_US);
    }

    ck_assert_uint_eq(retry_list.n, RETRY_MOST_A_UID);
}
END_TEST

START_TEST(before_the_first_end_the_time_is_estimated)
{
    service_begin(&service, now_us);
    request.own.first_us = 3e6;
    request.own.gap_us = 5e5;
    ck_assert(!arrive(1));
    ck_assert_uint_ge(reported_us, 3 * SECOND_US);
    ck_assert(!arrive(2));
    ck_assert_uint_ge(reported_us, 3 * SECOND_US + SECOND_US / 2);
    ck_assert_uint_le(reported_us, 5 * SECOND_US);
}
END_TEST

/* ---- how fast requests end */

START_TEST(the_slowest_service_is_reported)
{
    service_begin(&service, 0);
    service_end(&service, SECOND_US);
    service_end(&service, 5 * SECOND_US); /* four seconds */
    service_end(&service, 6 * SECOND_US);

    ck_assert_double_eq(service_wait_us(&service, 1.0, 6 * SECOND_US), 4e6);
    ck_assert_double_eq(service_wait_us(&service, 2.0, 6 * SECOND_US), 5e6);
}
END_TEST

START_TEST(a_burst_is_no_pace)
{
    service_begin(&service, 0);
    for (uint64_t burst = 1; burst <= 4; burst++) {
        for (uint32_t i = 0; i < 10; i++) {
            service_end(&service, burst * 10 * SECOND_US);
        }
    }

    /* Ten at once each ten seconds: only the last of them would end within the mean of a second. */
    ck_assert_double_eq(service_wait_us(&service, 1.0, 40 * SECOND_US), 1e7);
    ck_assert_double_eq(service_wait_us(&service, 10.0, 40 * SECOND_US), 1e7);
    ck_assert_double_eq(service_wait_us(&service, 11.0, 40 * SECOND_US), 2e7);
}
END_TEST

START_TEST(what_takes_longer_already_counts)
{
    service_begin(&service, 0);
    service_end(&service, SECOND_US);

    ck_assert_double_ge(service_wait_us(&service, 1.0, 9 * SECOND_US), 8e6);
}
END_TEST

START_TEST(more_than_is_remembered_takes_in_proportion)
{
    service_begin(&service, 0);
    for (uint64_t i = 1; i <= 1000; i++) {
        service_end(&service, i * SECOND_US);
    }

    ck_assert_double_eq(service_wait_us(&service, 128.0, 1000 * SECOND_US), 128e6);
    ck_assert_double_eq(service_wait_us(&service, 30.0, 1000 * SECOND_US), 30e6);
}
END_TEST

START_TEST(what_is_forgotten_says_nothing)
{
    service_begin(&service, 0);
    service_end(&service, SECOND_US);
    service_forget(&service);

    ck_assert_double_eq(service_wait_us(&service, 3.0, 9 * SECOND_US), 0.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-retry");
    TCase *tcase = tcase_create("line");
    TCase *pace = tcase_create("pace");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, with_room_everybody_comes_in);
    tcase_add_test(tcase, each_refusal_takes_the_next_position_in_time);
    tcase_add_test(tcase, room_is_reserved_for_requests_that_were_told_to_return);
    tcase_add_test(tcase, at_most_half_of_the_room_is_reserved);
    tcase_add_test(tcase, a_request_that_does_not_return_is_forgotten);
    tcase_add_test(tcase, a_request_that_returns_early_gains_nothing);
    tcase_add_test(tcase, a_request_without_room_at_its_time_keeps_its_position);
    tcase_add_test(tcase, a_wrong_time_is_not_reported_again);
    tcase_add_test(tcase, a_line_of_which_few_come_moves_faster);
    tcase_add_test(tcase, requests_that_never_return_are_learnt);
    tcase_add_test(tcase, a_storm_that_is_over_says_nothing_of_the_next);
    tcase_add_test(tcase, users_have_lines_of_their_own);
    tcase_add_test(tcase, a_request_behind_two_limits_waits_for_both);
    tcase_add_test(tcase, a_user_fills_no_more_than_its_part_of_the_line);
    tcase_add_test(tcase, before_the_first_end_the_time_is_estimated);
    suite_add_tcase(suite, tcase);
    tcase_add_test(pace, the_slowest_service_is_reported);
    tcase_add_test(pace, a_burst_is_no_pace);
    tcase_add_test(pace, what_takes_longer_already_counts);
    tcase_add_test(pace, more_than_is_remembered_takes_in_proportion);
    tcase_add_test(pace, what_is_forgotten_says_nothing);
    suite_add_tcase(suite, pace);
    return unit_run(suite);
}
