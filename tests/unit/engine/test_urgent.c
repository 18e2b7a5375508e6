/*
 * Orders that act between the parts of a step (Stop, Withdraw, Limits, the end of the file) and orders that wait, with
 * the scripted model.
 */
#include "fixture.h"

#include "base/clean.h"
#include "unit.h"

/* ---- withdrawn */

START_TEST(waiting_step_is_withdrawn)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step_endless(1, 1);
    fixture_step(2, 1, 0, 0);

    fixture_withdraw(2);

    fixture_get_withdrawn(2, true);
    fixture_stop(1);
    fixture_get_outcome(1, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);
    ck_assert_uint_eq(fixture_query()->steps, 1);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(running_step_is_not_withdrawn)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step_endless(1, 1);

    fixture_withdraw(1);

    fixture_get_withdrawn(1, false);
    fixture_stop(1);
    fixture_get_outcome(1, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(suspended_or_ended_step_is_not_withdrawn)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(1, 1, COUNTOF(slow_prompt), 5000);
    fixture_get_suspended(1);

    fixture_withdraw(1);
    fixture_get_withdrawn(1, false);
    fixture_continue(1, 0);
    fixture_get_token(1);
    fixture_withdraw(1);
    fixture_get_withdrawn(1, false);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

/* ---- stopped */

START_TEST(stop_acts_within_a_part_of_the_running_step)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step_endless(1, 1);

    fixture_stop(1);

    fixture_get_outcome(1, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(stop_holds_for_a_sequence_that_is_not_open_yet)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(1, 1, COUNTOF(slow_prompt), 0);
    fixture_fill_open(&open, &sampler, 2, prompt, COUNTOF(prompt));

    fixture_open(&open);
    fixture_stop(2);
    fixture_step(2, 2, COUNTOF(prompt), 0);

    fixture_get_token(1);
    fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED);
    fixture_get_outcome(2, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(end_of_file_ends_a_running_step)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step_endless(1, 1);

    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(garbage_within_a_step_is_a_fault)
{
    static const uint8_t garbage[] = { 2, 0, 0, 0, 0xff, 0xff };

    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step_endless(1, 1);

    fixture_bytes(garbage, sizeof(garbage));

    fixture_expect_fault("not one of this build's schema", false);
}
END_TEST

/* ---- limited */

START_TEST(slice_of_limits_holds_for_the_running_step)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step(1, 1, COUNTOF(endless_prompt), 0);

    fixture_limit(3000, 0);

    fixture_get_suspended(1);
    fixture_continue(1, 0);
    fixture_get_suspended(1);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(kv_limit_refuses_until_it_is_lifted)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted("pages 10\n");
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt)); /* 3 pages of 4 KiB */

    fixture_limit(0, 8192);
    fixture_open(&open);
    ck_assert_int_eq(fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED)->refused->why,
                     SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES);
    fixture_limit(0, 0);

    fixture_open_plain(1, prompt, COUNTOF(prompt));
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

/* ---- order */

START_TEST(orders_that_are_not_urgent_wait_in_order)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(1, 1, COUNTOF(slow_prompt), 0);

    fixture_step(2, 1, 0, 5000); /* also slow, and cut into slices */
    fixture_suspend(2);

    fixture_get_token(1);
    fixture_get_suspended(2);
    fixture_continue(2, 0);
    fixture_get_token(2);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(long_orders_arrive_whole_behind_a_running_step)
{
    enum { N = 200000, N_ORDERS = 8 };
    uint32_t *tokens = calloc(N, sizeof(*tokens));
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted("when 310 do slow 60\ncontext 1000000\npages 100000\n");
    for (size_t i = 0; i < N; i++) {
        tokens[i] = 200 + (uint32_t)(i % 100);
    }
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(1, 1, COUNTOF(slow_prompt), 0);

    for (uint32_t seq = 2; seq < 2 + N_ORDERS; seq++) {
        fixture_fill_open(&open, &sampler, seq, tokens, N);
        fixture_open(&open);
        fixture_close(seq);
    }

    fixture_get_token(1);
    for (uint32_t seq = 2; seq < 2 + N_ORDERS; seq++) {
        ck_assert_uint_eq(fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED)->opened->sequence, seq);
    }
    ck_assert_uint_eq(fixture_query()->sequences, 1);
    ck_assert_int_eq(fixture_end(), 0);
    free(tokens);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("urgent");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, waiting_step_is_withdrawn);
    tcase_add_test(tests, running_step_is_not_withdrawn);
    tcase_add_test(tests, suspended_or_ended_step_is_not_withdrawn);
    tcase_add_test(tests, stop_acts_within_a_part_of_the_running_step);
    tcase_add_test(tests, stop_holds_for_a_sequence_that_is_not_open_yet);
    tcase_add_test(tests, end_of_file_ends_a_running_step);
    tcase_add_test(tests, garbage_within_a_step_is_a_fault);
    tcase_add_test(tests, slice_of_limits_holds_for_the_running_step);
    tcase_add_test(tests, kv_limit_refuses_until_it_is_lifted);
    tcase_add_test(tests, orders_that_are_not_urgent_wait_in_order);
    tcase_add_test(tests, long_orders_arrive_whole_behind_a_running_step);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
