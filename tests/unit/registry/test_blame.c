/* Suspects, strikes and the device; and a simulation: whatever the mixture, the guilty fail alone. */
#include "registry/blame.h"
#include "unit.h"

#define SECOND_US 1000000ull

static struct blame blame;
static struct blame_verdict verdict;

static void crash(struct blame_mark *a, struct blame_mark *b, uint64_t at_us)
{
    struct blame_mark *marks[2] = { a, b };

    blame_crash(&blame, marks, b ? 2 : (a ? 1 : 0), false, at_us, &verdict);
}

static void setup(void)
{
    blame = (struct blame){ 0 };
}

START_TEST(all_of_a_step_that_crashed_are_suspects_and_none_is_charged)
{
    struct blame_mark a = { 0 };
    struct blame_mark b = { 0 };

    crash(&a, &b, 0);

    ck_assert(a.suspect && b.suspect);
    ck_assert_ptr_null(verdict.charged);
    ck_assert_uint_eq(verdict.n_recent, 1);
}
END_TEST

START_TEST(the_second_crash_alone_fails_the_request_and_clears_the_device)
{
    struct blame_mark a = { 0 };

    crash(&a, NULL, 0);
    ck_assert_uint_eq(verdict.n_recent, 1);
    crash(&a, NULL, 1);
    ck_assert_ptr_eq(verdict.charged, &a);
    ck_assert(!verdict.fails);
    crash(&a, NULL, 2);

    ck_assert(verdict.fails);
    ck_assert_uint_eq(verdict.n_recent, 0);
    ck_assert(!verdict.device);
}
END_TEST

START_TEST(sixteen_tokens_alone_clear_a_suspect)
{
    struct blame_mark a = { 0 };

    crash(&a, NULL, 0);
    for (uint32_t i = 1; i < BLAME_CLEAR_TOK; i++) {
        ck_assert(!blame_served(&a, 1, true));
    }

    ck_assert(a.suspect);
    ck_assert(blame_served(&a, 1, true));
    ck_assert(!a.suspect);
    ck_assert_uint_eq(a.n_strikes, 0);
}
END_TEST

START_TEST(a_kill_from_outside_charges_no_request_but_counts)
{
    struct blame_mark a = { .suspect = true, .n_strikes = 1 };
    struct blame_mark *marks[1] = { &a };

    blame_crash(&blame, marks, 1, true, 0, &verdict);

    ck_assert_uint_eq(a.n_strikes, 1);
    ck_assert_ptr_null(verdict.charged);
    ck_assert_uint_eq(verdict.n_recent, 1);
}
END_TEST

START_TEST(a_strangers_kill_makes_no_suspect)
{
    struct blame_mark a = { 0 };
    struct blame_mark *marks[1] = { &a };

    blame_crash(&blame, marks, 1, true, 0, &verdict);

    ck_assert(!a.suspect);
}
END_TEST

static void stranger(struct blame_mark *a, struct blame_mark *b, uint64_t at_us)
{
    struct blame_mark *marks[2] = { a, b };

    blame_crash(&blame, marks, b ? 2 : 1, true, at_us, &verdict);
}

START_TEST(a_stranger_that_kills_the_same_request_again_and_again_is_none)
{
    struct blame_mark a = { 0 };
    struct blame_mark b = { 0 };

    stranger(&a, &b, 0);
    stranger(&a, NULL, 1);
    ck_assert(!a.suspect && !b.suspect);
    stranger(&a, &b, 2);
    ck_assert(a.suspect && b.suspect);

    stranger(&a, NULL, 3);
    ck_assert(!verdict.fails);
    stranger(&a, NULL, 4);
    ck_assert_ptr_eq(verdict.charged, &a);
    ck_assert(verdict.fails);
}
END_TEST

START_TEST(strangers_kills_with_an_answer_that_goes_on_between_do_not_add_up)
{
    struct blame_mark a = { 0 };

    for (uint64_t i = 0; i < 10; i++) {
        stranger(&a, NULL, i);
        ck_assert(!blame_served(&a, BLAME_CLEAR_TOK - 1, false));
        ck_assert(!blame_served(&a, 1, i % 2 == 0));
    }

    ck_assert(!a.suspect);
}
END_TEST

START_TEST(a_token_or_two_between_strangers_kills_are_no_going_on)
{
    struct blame_mark a = { 0 };

    for (uint64_t i = 0; i < BLAME_STRANGERS; i++) {
        ck_assert(!a.suspect);
        blame_served(&a, BLAME_CLEAR_TOK - 1, false);
        stranger(&a, NULL, i);
    }

    ck_assert(a.suspect);
}
END_TEST

START_TEST(three_crashes_without_a_guilty_request_in_a_minute_are_the_devices)
{
    crash(NULL, NULL, 0);
    crash(NULL, NULL, 1);
    ck_assert(!verdict.device);
    crash(NULL, NULL, 2);

    ck_assert(verdict.device);
}
END_TEST

START_TEST(crashes_a_minute_apart_do_not_add_up)
{
    crash(NULL, NULL, 0);
    crash(NULL, NULL, 30 * SECOND_US);
    crash(NULL, NULL, 61 * SECOND_US);

    ck_assert(!verdict.device);
    ck_assert_uint_eq(verdict.n_recent, 2);
}
END_TEST

START_TEST(a_request_of_a_suspect_account_has_two_strikes_as_well)
{
    struct blame_mark a = { 0 };

    blame_suspect(&a);
    crash(&a, NULL, 0);
    ck_assert(!verdict.fails);
    crash(&a, NULL, 1);

    ck_assert(verdict.fails);
}
END_TEST

/* Twelve requests, the @n_guilty first of which crash every step that they stand in. Each round runs one suspect
 * alone or all others together, in turns. Returns how many crashes it took. */
static uint32_t simulate(uint32_t n_guilty, struct blame_mark *marks, bool *failed)
{
    uint32_t n_crashes = 0;
    uint32_t next = 0;

    for (uint32_t round = 0; round < 2000; round++) {
        struct blame_mark *step[12];
        bool alone = round % 2 == 0;
        bool crashes = false;
        size_t n = 0;

        for (uint32_t k = 0; k < 12; k++) {
            uint32_t i = (next + k) % 12;

            if (!failed[i] && marks[i].suspect == alone && (!alone || n == 0)) {
                step[n++] = &marks[i];
                crashes = crashes || i < n_guilty;
                next = alone ? i + 1 : next;
            }
        }
        if (n > 0 && crashes) {
            n_crashes++;
            blame_crash(&blame, step, n, false, n_crashes, &verdict);
            if (verdict.fails) {
                failed[verdict.charged - marks] = true;
            }
        } else if (n == 1 && alone) {
            blame_served(step[0], 1, true);
        }
    }
    return n_crashes;
}

START_TEST(whatever_the_mixture_exactly_the_guilty_fail)
{
    for (uint32_t n_guilty = 0; n_guilty <= 12; n_guilty++) {
        struct blame_mark marks[12] = { 0 };
        bool failed[12] = { false };
        uint32_t n_crashes;

        setup();
        n_crashes = simulate(n_guilty, marks, failed);

        for (uint32_t i = 0; i < 12; i++) {
            ck_assert_int_eq(failed[i], i < n_guilty);
            ck_assert(failed[i] || !marks[i].suspect);
        }
        ck_assert_uint_eq(n_crashes, n_guilty ? 2 * n_guilty + 1 : 0);
    }
}
END_TEST

START_TEST(an_account_waits_from_its_second_guilty_request_on_twice_as_long_each_time)
{
    ck_assert_uint_eq(blame_bar_us(0), 0);
    ck_assert_uint_eq(blame_bar_us(1), 0);
    ck_assert_uint_eq(blame_bar_us(2), BLAME_BAR_US);
    ck_assert_uint_eq(blame_bar_us(3), 2 * BLAME_BAR_US);
    ck_assert_uint_eq(blame_bar_us(6), 16 * BLAME_BAR_US);
    ck_assert_uint_eq(blame_bar_us(7), BLAME_ACCOUNT_US);
    ck_assert_uint_eq(blame_bar_us(UINT32_MAX), BLAME_ACCOUNT_US);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry-blame");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, all_of_a_step_that_crashed_are_suspects_and_none_is_charged);
    tcase_add_test(tcase, the_second_crash_alone_fails_the_request_and_clears_the_device);
    tcase_add_test(tcase, sixteen_tokens_alone_clear_a_suspect);
    tcase_add_test(tcase, a_kill_from_outside_charges_no_request_but_counts);
    tcase_add_test(tcase, a_strangers_kill_makes_no_suspect);
    tcase_add_test(tcase, a_stranger_that_kills_the_same_request_again_and_again_is_none);
    tcase_add_test(tcase, strangers_kills_with_an_answer_that_goes_on_between_do_not_add_up);
    tcase_add_test(tcase, a_token_or_two_between_strangers_kills_are_no_going_on);
    tcase_add_test(tcase, three_crashes_without_a_guilty_request_in_a_minute_are_the_devices);
    tcase_add_test(tcase, crashes_a_minute_apart_do_not_add_up);
    tcase_add_test(tcase, a_request_of_a_suspect_account_has_two_strikes_as_well);
    tcase_add_test(tcase, whatever_the_mixture_exactly_the_guilty_fail);
    tcase_add_test(tcase, an_account_waits_from_its_second_guilty_request_on_twice_as_long_each_time);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
