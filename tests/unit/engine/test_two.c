/* Two begun steps, with the scripted model: one is suspended while the other runs, and either is continued on order. */
#include "fixture.h"

#include "base/clean.h"
#include "base/clock.h"
#include "unit.h"

#define SLICE_US 5000

/* Starts an engine in which step 1, of sequence 1, is suspended, and sequences 2 (@second) and 3 (quick) are open. */
static void suspend_one(const uint32_t *second, size_t n_second)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));
    fixture_open_plain(2, second, n_second);
    fixture_open_plain(3, prompt, COUNTOF(prompt));
    fixture_step(1, 1, COUNTOF(slow_prompt), SLICE_US);
    fixture_get_suspended(1);
}

START_TEST(a_second_step_runs_while_the_first_is_suspended)
{
    uint32_t tokens[2];

    tokens[0] = fixture_first_token(slow_prompt, COUNTOF(slow_prompt));
    tokens[1] = fixture_first_token(prompt, COUNTOF(prompt));
    suspend_one(prompt, COUNTOF(prompt));

    fixture_step(2, 2, COUNTOF(prompt), 0);

    ck_assert_uint_eq(fixture_get_token(2), tokens[1]);
    fixture_continue(1, 0);
    ck_assert_uint_eq(fixture_get_token(1), tokens[0]);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(either_goes_on_in_any_order)
{
    uint32_t tokens[2];

    tokens[0] = fixture_first_token(slow_prompt, COUNTOF(slow_prompt));
    tokens[1] = fixture_first_token(other_slow_prompt, COUNTOF(other_slow_prompt));
    suspend_one(other_slow_prompt, COUNTOF(other_slow_prompt));
    fixture_step(2, 2, COUNTOF(other_slow_prompt), SLICE_US);
    fixture_get_suspended(2);

    for (uint64_t i = 0; i < 6; i++) {
        fixture_continue(1 + i % 2, SLICE_US);
        fixture_get_suspended(1 + i % 2);
    }
    fixture_continue(1, 0);
    ck_assert_uint_eq(fixture_get_token(1), tokens[0]);
    fixture_continue(2, 0);
    ck_assert_uint_eq(fixture_get_token(2), tokens[1]);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(a_step_that_ended_leaves_its_place_to_the_next)
{
    suspend_one(prompt, COUNTOF(prompt));

    fixture_step(2, 2, COUNTOF(prompt), 0);
    fixture_get_token(2);
    for (uint64_t id = 3; id < 8; id++) {
        fixture_step(id, 2, 0, 0);
        fixture_get_token(id);
    }

    fixture_continue(1, 0);
    fixture_get_token(1);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(a_third_step_is_returned_unbegun)
{
    suspend_one(endless_prompt, COUNTOF(endless_prompt));
    fixture_step(2, 2, COUNTOF(endless_prompt), SLICE_US);
    fixture_get_suspended(2);

    fixture_step(3, 3, COUNTOF(prompt), 0);

    fixture_get_withdrawn(3, true);
    fixture_continue(1, 0);
    fixture_get_token(1);
    fixture_step(3, 3, COUNTOF(prompt), 0);
    fixture_get_token(3);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(a_step_of_a_sequence_in_another_step_is_returned_unbegun)
{
    suspend_one(prompt, COUNTOF(prompt));

    fixture_step(2, 1, 0, 0);

    fixture_get_withdrawn(2, true);
    fixture_continue(1, 0);
    fixture_get_token(1);
    fixture_step(2, 1, 0, 0);
    fixture_get_token(2);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(a_begun_step_of_the_same_id_is_a_fault)
{
    suspend_one(prompt, COUNTOF(prompt));

    fixture_step(1, 2, COUNTOF(prompt), 0);

    fixture_expect_fault("step 1 is begun already", false);
}
END_TEST

START_TEST(a_begun_step_that_ran_no_part_can_be_withdrawn_beside_another)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, endless_prompt, COUNTOF(endless_prompt));
    fixture_open_plain(2, slow_prompt, COUNTOF(slow_prompt));
    fixture_step_endless(1, 1);
    /* The Suspend of 2 waits until that step is begun, and is seen before its first part. */
    fixture_step(2, 2, COUNTOF(slow_prompt), 0);
    fixture_suspend(2);
    fixture_suspend(1);
    fixture_get_suspended(1);
    fixture_get_suspended(2);

    fixture_withdraw(2);

    fixture_get_withdrawn(2, true);
    fixture_step(3, 2, COUNTOF(slow_prompt), 0);
    fixture_get_token(3);
    fixture_stop(1);
    fixture_continue(1, 0);
    fixture_get_outcome(1, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(a_sequence_closed_in_a_suspended_step_ends_with_it)
{
    uint32_t n_free;

    suspend_one(prompt, COUNTOF(prompt));
    n_free = fixture_query()->pages_free;

    fixture_close(1);
    ck_assert_uint_eq(fixture_query()->pages_free, n_free);
    fixture_step(2, 2, COUNTOF(prompt), 0);
    fixture_get_token(2);
    fixture_continue(1, 0);

    fixture_get_outcome(1, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);
    ck_assert_uint_gt(fixture_query()->pages_free, n_free);
    ck_assert_uint_eq(fixture_query()->sequences, 2);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(quit_with_suspended_steps_ends_in_order)
{
    suspend_one(endless_prompt, COUNTOF(endless_prompt));
    fixture_step(2, 2, COUNTOF(endless_prompt), SLICE_US);
    fixture_get_suspended(2);

    fixture_quit();

    fixture_expect_end();
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(held_time_is_that_of_this_run_alone)
{
    const Sotto__Engine__StepDone *done;

    suspend_one(prompt, COUNTOF(prompt));
    usleep(100000);

    fixture_continue(1, 10000);
    ck_assert_uint_ge(fixture_get_suspended(1)->held_us, 6000);
    fixture_continue(1, 0);
    done = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done;

    ck_assert_uint_ge(done->held_us, 15000);
    ck_assert_uint_ge(done->longest_us, 1000);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(waiting_for_others_is_not_held_time)
{
    const Sotto__Engine__StepDone *done;
    uint64_t from_us;

    fixture_scripted("when 310 do wait 200\nwhen 310 do slow 3\n");
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));

    from_us = clock_mono_us();
    fixture_step(1, 1, COUNTOF(slow_prompt), 0);
    done = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done;

    ck_assert_uint_ge(done->waited_us, 200000);
    ck_assert_uint_ge(done->held_us, 3000);
    ck_assert_uint_le(done->held_us + done->waited_us, clock_mono_us() - from_us);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(a_suspended_step_has_waited_in_the_run_in_which_it_did)
{
    const Sotto__Engine__Suspended *suspended;
    const Sotto__Engine__StepDone *done;

    fixture_scripted("when 310 do wait 20\nwhen 310 do slow 3\n");
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));

    fixture_step(1, 1, COUNTOF(slow_prompt), 2000);
    suspended = fixture_get_suspended(1);
    ck_assert_uint_ge(suspended->waited_us, 20000);
    fixture_continue(1, 0);
    done = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done;

    ck_assert_uint_eq(done->waited_us, 0);
    ck_assert_uint_ge(done->held_us, 3000);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(a_step_far_slower_than_estimated_is_reported_once)
{
    Sotto__Engine__Step step = SOTTO__ENGINE__STEP__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Entry entry = SOTTO__ENGINE__ENTRY__INIT;
    Sotto__Engine__Entry *entries[] = { &entry };
    const Sotto__Engine__FromEngine *answer;

    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));
    entry.sequence = 1;
    entry.work_case = SOTTO__ENGINE__ENTRY__WORK_PREFILL;
    entry.prefill = COUNTOF(slow_prompt);
    step.id = 7;
    step.n_entries = 1;
    step.entries = entries;
    step.estimated_us = 5000;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STEP;
    order.step = &step;

    fixture_send(&order);

    answer = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_SLOW);
    ck_assert_uint_eq(answer->slow->step, 7);
    ck_assert_uint_eq(answer->slow->estimated_us, 5000);
    ck_assert_uint_gt(answer->slow->took_us, 10000);
    fixture_get_token(7);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("two");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, a_second_step_runs_while_the_first_is_suspended);
    tcase_add_test(tests, either_goes_on_in_any_order);
    tcase_add_test(tests, a_step_that_ended_leaves_its_place_to_the_next);
    tcase_add_test(tests, a_third_step_is_returned_unbegun);
    tcase_add_test(tests, a_step_of_a_sequence_in_another_step_is_returned_unbegun);
    tcase_add_test(tests, a_begun_step_of_the_same_id_is_a_fault);
    tcase_add_test(tests, a_begun_step_that_ran_no_part_can_be_withdrawn_beside_another);
    tcase_add_test(tests, a_sequence_closed_in_a_suspended_step_ends_with_it);
    tcase_add_test(tests, quit_with_suspended_steps_ends_in_order);
    tcase_add_test(tests, held_time_is_that_of_this_run_alone);
    tcase_add_test(tests, waiting_for_others_is_not_held_time);
    tcase_add_test(tests, a_suspended_step_has_waited_in_the_run_in_which_it_did);
    tcase_add_test(tests, a_step_far_slower_than_estimated_is_reported_once);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
