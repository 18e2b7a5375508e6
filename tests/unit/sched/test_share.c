/* Shares: what accounts and classes get of a machine that is asked for more than it has. */
#include "base/num.h"
#include "fixture.h"
#include "unit.h"
#include <math.h>

#define SECOND_US 1000000u
#define N_ASKS    64u

static struct fixture fixture;

/* A user with always @n live requests. */
struct user {
    uint32_t uid;
    uint32_t weight;
    uint32_t n;
    uint32_t n_prompt;
    uint32_t n_answer;
    struct fixture_request requests[N_ASKS];
};

static void ask_again(struct user *user)
{
    for (uint32_t i = 0; i < user->n; i++) {
        if (user->requests[i].asked_us == 0 || fixture_is_over(&user->requests[i])) {
            fixture_add(&fixture, &user->requests[i], user->uid, user->weight, PRIORITY_INTERACTIVE, user->n_prompt,
                        user->n_answer);
        }
    }
}

static void live(struct user *users, uint32_t n_users, uint64_t us)
{
    uint64_t until_us = fixture.in.now_us + us;

    while (fixture.in.now_us < until_us) {
        for (uint32_t i = 0; i < n_users; i++) {
            ask_again(&users[i]);
        }
        fixture_step(&fixture);
    }
}

/* Over @n_windows of ten seconds: the least and the greatest part of the first user in what both had, in permille. */
static void watch(struct user *users, uint32_t n_windows, double *ret_least, double *ret_most)
{
    *ret_least = 1000.0;
    *ret_most = 0.0;
    for (uint32_t i = 0; i < n_windows; i++) {
        uint64_t first = fixture.n_served[users[0].uid];
        uint64_t second = fixture.n_served[users[1].uid];
        double part;

        live(users, 2, 10 * SECOND_US);
        first = fixture.n_served[users[0].uid] - first;
        second = fixture.n_served[users[1].uid] - second;
        part = 1000.0 * (double)first / (double)(first + second);
        *ret_least = fmin(*ret_least, part);
        *ret_most = fmax(*ret_most, part);
    }
}

static void check_shares(struct user *users, double permille)
{
    double least;
    double most;

    live(users, 2, 5 * SECOND_US); /* to settle */
    watch(users, 6, &least, &most);

    ck_assert_double_ge(least, permille - 50.0);
    ck_assert_double_le(most, permille + 50.0);
}

static void setup(void)
{
    fixture_init(&fixture, 16);
    fixture.pipelined = true;
}

static void teardown(void)
{
    fixture_finish(&fixture);
}

START_TEST(fifty_requests_get_no_more_than_one)
{
    struct user users[2] = {
        { .uid = 1, .n = 50, .n_prompt = 3000, .n_answer = 20 },
        { .uid = 2, .n = 1, .n_prompt = 30000, .n_answer = 20 },
    };

    check_shares(users, 500.0);
}
END_TEST

START_TEST(long_prompts_get_no_more_than_short_ones)
{
    struct user users[2] = {
        { .uid = 1, .n = 16, .n_prompt = 8000, .n_answer = 4 },
        { .uid = 2, .n = 16, .n_prompt = 40, .n_answer = 4 },
    };

    check_shares(users, 500.0);
}
END_TEST

START_TEST(answers_get_no_more_than_prompts)
{
    struct user users[2] = {
        { .uid = 1, .n = 60, .n_prompt = 4, .n_answer = 400 },
        { .uid = 2, .n = 1, .n_prompt = 100000, .n_answer = 4 },
    };

    fixture.eq.n_slots = 64;
    check_shares(users, 500.0);
}
END_TEST

START_TEST(answers_share_slots_by_weight)
{
    struct user users[2] = {
        { .uid = 1, .weight = 3000, .n = 40, .n_prompt = 20, .n_answer = 150 },
        { .uid = 2, .weight = 1000, .n = 40, .n_prompt = 20, .n_answer = 150 },
    };

    check_shares(users, 750.0);
}
END_TEST

START_TEST(prompts_share_rows_by_weight)
{
    static const uint32_t weights[][2] = {
        { 1, 1 }, { 1000, 3000 }, { 1, 1000000 }, { 1000000, 999999 }, { 700000, 300000 }, { 2, 5 },
    };

    for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
        struct user users[2] = {
            { .uid = 1, .weight = weights[i][0], .n = 4, .n_prompt = 2000, .n_answer = 2 },
            { .uid = 2, .weight = weights[i][1], .n = 4, .n_prompt = 2000, .n_answer = 2 },
        };

        teardown();
        setup();
        check_shares(users, 1000.0 * weights[i][0] / ((double)weights[i][0] + weights[i][1]));
    }
}
END_TEST

START_TEST(steps_of_a_second_are_shared_as_well)
{
    const uint64_t slow_ns[COST_PART_COUNT] = { 500000000, 10000000, 5000000, 1 };
    struct user users[2] = {
        { .uid = 1, .n = 4, .n_prompt = 2000, .n_answer = 2 },
        { .uid = 2, .n = 4, .n_prompt = 2000, .n_answer = 2 },
    };

    cost_init(&fixture.eq.cost, slow_ns);
    check_shares(users, 500.0);
}
END_TEST

/* Returns the part of a newcomer to a busy machine in its first two seconds, in permille of both. */
static double part_of_newcomer(struct user *users)
{
    uint64_t first;
    uint64_t second;

    first = fixture.n_served[users[0].uid];
    second = fixture.n_served[users[1].uid];
    live(users, 2, 2 * SECOND_US);
    first = fixture.n_served[users[0].uid] - first;
    second = fixture.n_served[users[1].uid] - second;
    return 1000.0 * (double)second / (double)(first + second);
}

START_TEST(idling_saves_nothing_up)
{
    struct user users[2] = {
        { .uid = 1, .n = 4, .n_prompt = 4000, .n_answer = 2 },
        { .uid = 2, .n = 4, .n_prompt = 4000, .n_answer = 2 },
    };

    live(users, 1, 60 * SECOND_US);

    ck_assert_double_eq_tol(part_of_newcomer(users), 500.0, 60.0);
}
END_TEST

START_TEST(wanting_little_saves_nothing_up)
{
    struct user users[2] = {
        { .uid = 1, .n = 4, .n_prompt = 4000, .n_answer = 2 },
        { .uid = 2, .n = 1, .n_prompt = 4, .n_answer = 100000 }, /* speaks: a token a step */
    };

    live(users, 2, 60 * SECOND_US);
    users[1].n = 5;
    users[1].n_prompt = 4000;

    ck_assert_double_eq_tol(part_of_newcomer(users), 500.0, 60.0);
}
END_TEST

START_TEST(a_newcomer_is_not_put_behind_either)
{
    struct user users[2] = {
        { .uid = 1, .weight = 1, .n = 4, .n_prompt = 4000, .n_answer = 2 },
        { .uid = 2, .weight = 1000000, .n = 4, .n_prompt = 4000, .n_answer = 2 },
    };

    live(users, 1, 60 * SECOND_US);

    ck_assert_double_ge(part_of_newcomer(users), 940.0);
}
END_TEST

START_TEST(one_request_finds_a_slot_among_fifty)
{
    struct user crowd = { .uid = 1, .n = 50, .n_prompt = 20, .n_answer = 5000 };
    struct fixture_request one;

    live(&crowd, 1, 5 * SECOND_US);
    fixture_add(&fixture, &one, 2, 0, PRIORITY_INTERACTIVE, 20, 20);
    live(&crowd, 1, 3 * SECOND_US);

    ck_assert(one.first_us > 0);
    ck_assert_uint_le(one.first_us - one.asked_us, QUEUE_PATIENCE_US + 200000);
}
END_TEST

START_TEST(two_users_do_not_take_slots_back_and_forth)
{
    struct user users[2] = {
        { .uid = 1, .n = 40, .n_prompt = 20, .n_answer = 5000 },
        { .uid = 2, .n = 40, .n_prompt = 20, .n_answer = 5000 },
    };
    uint32_t n_preempted = 0;

    live(users, 1, 1 * SECOND_US);
    live(users, 2, 6 * SECOND_US); /* less than a quantum */
    for (uint32_t i = 0; i < 40; i++) {
        n_preempted += users[0].requests[i].job.n_preempted + users[1].requests[i].job.n_preempted;
    }

    ck_assert_uint_eq(n_preempted, 8); /* half of the slots, once */
}
END_TEST

/* With one slot, shares can't be cut finer than whole requests. But no account may be left behind for good, however
 * different their lengths and however long they wait: each has its part, but for two of the longest requests on
 * either side. */
static void check_one_slot(struct user *users, uint32_t n)
{
    uint32_t n_longest = 0;
    uint64_t weights = 0;
    uint64_t sum = 0;

    fixture.eq.n_slots = 1;
    live(users, n, 300 * SECOND_US);
    for (uint32_t i = 0; i < n; i++) {
        sum += fixture.n_served[users[i].uid];
        weights += users[i].weight;
        n_longest = (uint32_t)num_max(n_longest, users[i].n_prompt + users[i].n_answer);
    }
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_double_eq_tol((double)fixture.n_served[users[i].uid], (double)sum * users[i].weight / (double)weights,
                                2.0 * n_longest);
    }
}

START_TEST(one_slot_goes_round_by_weight)
{
    struct user users[4] = {
        { .uid = 1, .weight = 4000, .n = 8, .n_prompt = 700, .n_answer = 2 },
        { .uid = 2, .weight = 4000, .n = 8, .n_prompt = 300, .n_answer = 30 },
        { .uid = 3, .weight = 2000, .n = 8, .n_prompt = 1500, .n_answer = 150 },
        { .uid = 4, .weight = 1000, .n = 8, .n_prompt = 300, .n_answer = 120 },
    };

    check_one_slot(users, 4);
}
END_TEST

START_TEST(a_long_wait_is_no_claim_inside_a_class)
{
    struct user users[3] = {
        { .uid = 1, .weight = 1000, .n = 16, .n_prompt = 200, .n_answer = 9 },
        { .uid = 2, .weight = 1000, .n = 16, .n_prompt = 900, .n_answer = 4 },
        { .uid = 3, .weight = 4000, .n = 2, .n_prompt = 40, .n_answer = 2 }, /* waits for less than a second */
    };

    check_one_slot(users, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-share");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, fifty_requests_get_no_more_than_one);
    tcase_add_test(tcase, long_prompts_get_no_more_than_short_ones);
    tcase_add_test(tcase, answers_get_no_more_than_prompts);
    tcase_add_test(tcase, answers_share_slots_by_weight);
    tcase_add_test(tcase, prompts_share_rows_by_weight);
    tcase_add_test(tcase, steps_of_a_second_are_shared_as_well);
    tcase_add_test(tcase, idling_saves_nothing_up);
    tcase_add_test(tcase, wanting_little_saves_nothing_up);
    tcase_add_test(tcase, a_newcomer_is_not_put_behind_either);
    tcase_add_test(tcase, one_request_finds_a_slot_among_fifty);
    tcase_add_test(tcase, two_users_do_not_take_slots_back_and_forth);
    tcase_add_test(tcase, one_slot_goes_round_by_weight);
    tcase_add_test(tcase, a_long_wait_is_no_claim_inside_a_class);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
