/*
 * Two begun steps, with the scripted model: one stands still while the other runs, and either goes on when it is
 * told to. A step that is `slow` has a part each millisecond.
 */
#include "fixture.h"

#include "base/clean.h"
#include "unit.h"

#define MODEL    "models/stories260K-f32.gguf"
#define SLICE_US 5000

static const char slow_script[] = "when 310 do slow 40\nwhen 311 do slow 5000\n";

static const uint32_t prompt[] = { 1, 300, 301 };
static const uint32_t slow_prompt[] = { 1, 310 };
static const uint32_t other_slow_prompt[] = { 1, 310, 300 };
static const uint32_t endless_prompt[] = { 1, 311 };

static const Sotto__Engine__Suspended *get_suspended(struct fixture *fixture, uint64_t step)
{
    const Sotto__Engine__Suspended *suspended =
        fixture_get(fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED)->suspended;

    ck_assert_uint_eq(suspended->step, step);
    return suspended;
}

static void check_withdrawn(struct fixture *fixture, uint64_t step, bool done)
{
    const Sotto__Engine__Withdrawn *withdrawn =
        fixture_get(fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN)->withdrawn;

    ck_assert_uint_eq(withdrawn->step, step);
    ck_assert_int_eq(withdrawn->done, done);
}

static bool undisturbed(const uint32_t *tokens, size_t n, uint32_t *ret_token)
{
    struct fixture fixture;

    if (!fixture_ready(&fixture, "fake", MODEL, NULL)) {
        return false;
    }
    fixture_open_plain(&fixture, 1, tokens, n);
    fixture_step(&fixture, 1, 1, (uint32_t)n, 0);
    *ret_token = fixture_get_token(&fixture, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
    return true;
}

/* An engine in which step 1, of sequence 1, stands still, and sequences 2 (@second) and 3 (quick) are open. False:
 * the model is not here. */
static bool one_stands_still(struct fixture *fixture, const uint32_t *second, size_t n_second)
{
    if (!fixture_ready(fixture, "fake", MODEL, slow_script)) {
        return false;
    }
    fixture_open_plain(fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    fixture_open_plain(fixture, 2, second, n_second);
    fixture_open_plain(fixture, 3, prompt, COUNTOF(prompt));
    fixture_step(fixture, 1, 1, COUNTOF(slow_prompt), SLICE_US);
    get_suspended(fixture, 1);
    return true;
}

START_TEST(a_second_step_runs_while_the_first_stands_still)
{
    struct fixture fixture;
    uint32_t tokens[2];

    if (!undisturbed(slow_prompt, COUNTOF(slow_prompt), &tokens[0]) ||
        !undisturbed(prompt, COUNTOF(prompt), &tokens[1]) || !one_stands_still(&fixture, prompt, COUNTOF(prompt))) {
        return;
    }

    fixture_step(&fixture, 2, 2, COUNTOF(prompt), 0);

    ck_assert_uint_eq(fixture_get_token(&fixture, 2), tokens[1]);
    fixture_continue(&fixture, 1, 0);
    ck_assert_uint_eq(fixture_get_token(&fixture, 1), tokens[0]);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(either_goes_on_in_any_order)
{
    struct fixture fixture;
    uint32_t tokens[2];

    if (!undisturbed(slow_prompt, COUNTOF(slow_prompt), &tokens[0]) ||
        !undisturbed(other_slow_prompt, COUNTOF(other_slow_prompt), &tokens[1]) ||
        !one_stands_still(&fixture, other_slow_prompt, COUNTOF(other_slow_prompt))) {
        return;
    }
    fixture_step(&fixture, 2, 2, COUNTOF(other_slow_prompt), SLICE_US);
    get_suspended(&fixture, 2);

    for (uint64_t i = 0; i < 6; i++) {
        fixture_continue(&fixture, 1 + i % 2, SLICE_US);
        get_suspended(&fixture, 1 + i % 2);
    }
    fixture_continue(&fixture, 1, 0);
    ck_assert_uint_eq(fixture_get_token(&fixture, 1), tokens[0]);
    fixture_continue(&fixture, 2, 0);
    ck_assert_uint_eq(fixture_get_token(&fixture, 2), tokens[1]);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(a_step_that_ended_leaves_its_place_to_the_next)
{
    struct fixture fixture;

    if (!one_stands_still(&fixture, prompt, COUNTOF(prompt))) {
        return;
    }

    fixture_step(&fixture, 2, 2, COUNTOF(prompt), 0);
    fixture_get_token(&fixture, 2);
    for (uint64_t id = 3; id < 8; id++) {
        fixture_step(&fixture, id, 2, 0, 0);
        fixture_get_token(&fixture, id);
    }

    fixture_continue(&fixture, 1, 0);
    fixture_get_token(&fixture, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(a_step_beyond_the_two_goes_back_unbegun)
{
    struct fixture fixture;

    if (!one_stands_still(&fixture, endless_prompt, COUNTOF(endless_prompt))) {
        return;
    }
    fixture_step(&fixture, 2, 2, COUNTOF(endless_prompt), SLICE_US);
    get_suspended(&fixture, 2);

    fixture_step(&fixture, 3, 3, COUNTOF(prompt), 0);

    check_withdrawn(&fixture, 3, true);
    fixture_continue(&fixture, 1, 0);
    fixture_get_token(&fixture, 1);
    fixture_step(&fixture, 3, 3, COUNTOF(prompt), 0);
    fixture_get_token(&fixture, 3);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(a_step_of_a_sequence_that_stands_in_another_goes_back_unbegun)
{
    struct fixture fixture;

    if (!one_stands_still(&fixture, prompt, COUNTOF(prompt))) {
        return;
    }

    fixture_step(&fixture, 2, 1, 0, 0);

    check_withdrawn(&fixture, 2, true);
    fixture_continue(&fixture, 1, 0);
    fixture_get_token(&fixture, 1);
    fixture_step(&fixture, 2, 1, 0, 0);
    fixture_get_token(&fixture, 2);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(a_begun_step_of_the_same_id_is_a_fault)
{
    struct fixture fixture;

    if (!one_stands_still(&fixture, prompt, COUNTOF(prompt))) {
        return;
    }

    fixture_step(&fixture, 1, 2, COUNTOF(prompt), 0);

    fixture_expect_fault(&fixture, "step 1 is begun already", false);
}
END_TEST

START_TEST(a_begun_step_that_ran_no_part_is_withdrawn_beside_another)
{
    struct fixture fixture;

    if (!one_stands_still(&fixture, slow_prompt, COUNTOF(slow_prompt))) {
        return;
    }
    /* Its Suspend waits behind it until it is begun, and is looked at before its first part. */
    fixture_continue(&fixture, 1, 20000);
    fixture_step(&fixture, 2, 2, COUNTOF(slow_prompt), 0);
    fixture_suspend(&fixture, 2);
    get_suspended(&fixture, 1);
    ck_assert_uint_lt(get_suspended(&fixture, 2)->held_us, SLICE_US);

    fixture_withdraw(&fixture, 2);

    check_withdrawn(&fixture, 2, true);
    fixture_step(&fixture, 3, 2, COUNTOF(slow_prompt), 0);
    fixture_get_token(&fixture, 3);
    fixture_continue(&fixture, 1, 0);
    fixture_get_token(&fixture, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(a_sequence_closed_in_a_step_that_stands_still_goes_when_it_ends)
{
    struct fixture fixture;
    uint32_t n_free;

    if (!one_stands_still(&fixture, prompt, COUNTOF(prompt))) {
        return;
    }
    n_free = fixture_query(&fixture)->pages_free;

    fixture_close(&fixture, 1);
    ck_assert_uint_eq(fixture_query(&fixture)->pages_free, n_free);
    fixture_step(&fixture, 2, 2, COUNTOF(prompt), 0);
    fixture_get_token(&fixture, 2);
    fixture_continue(&fixture, 1, 0);

    fixture_get_outcome(&fixture, 1, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);
    ck_assert_uint_gt(fixture_query(&fixture)->pages_free, n_free);
    ck_assert_uint_eq(fixture_query(&fixture)->sequences, 2);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(quit_with_steps_that_stand_still_ends_in_good_order)
{
    struct fixture fixture;

    if (!one_stands_still(&fixture, endless_prompt, COUNTOF(endless_prompt))) {
        return;
    }
    fixture_step(&fixture, 2, 2, COUNTOF(endless_prompt), SLICE_US);
    get_suspended(&fixture, 2);

    fixture_quit(&fixture);

    fixture_expect_end(&fixture);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(held_time_is_that_of_this_run_alone)
{
    const Sotto__Engine__StepDone *done;
    struct fixture fixture;

    if (!one_stands_still(&fixture, prompt, COUNTOF(prompt))) {
        return;
    }
    usleep(100000);

    fixture_continue(&fixture, 1, 10000);
    ck_assert_uint_ge(get_suspended(&fixture, 1)->held_us, 6000);
    fixture_continue(&fixture, 1, 0);
    done = fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done;

    ck_assert_uint_ge(done->held_us, 15000);
    ck_assert_uint_ge(done->host_us, done->held_us + 8000);
    ck_assert_uint_ge(done->longest_us, 1000);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(a_step_far_slower_than_foretold_is_told_once)
{
    Sotto__Engine__Step step = SOTTO__ENGINE__STEP__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Entry entry = SOTTO__ENGINE__ENTRY__INIT;
    Sotto__Engine__Entry *entries[] = { &entry };
    const Sotto__Engine__FromEngine *answer;
    struct fixture fixture;

    if (!fixture_ready(&fixture, "fake", MODEL, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    entry.sequence = 1;
    entry.work_case = SOTTO__ENGINE__ENTRY__WORK_PREFILL;
    entry.prefill = COUNTOF(slow_prompt);
    step.id = 7;
    step.n_entries = 1;
    step.entries = entries;
    step.estimated_us = 5000;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STEP;
    order.step = &step;

    fixture_send(&fixture, &order);

    answer = fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_SLOW);
    ck_assert_uint_eq(answer->slow->step, 7);
    ck_assert_uint_eq(answer->slow->estimated_us, 5000);
    ck_assert_uint_gt(answer->slow->took_us, 10000);
    fixture_get_token(&fixture, 7);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("two");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, a_second_step_runs_while_the_first_stands_still);
    tcase_add_test(tests, either_goes_on_in_any_order);
    tcase_add_test(tests, a_step_that_ended_leaves_its_place_to_the_next);
    tcase_add_test(tests, a_step_beyond_the_two_goes_back_unbegun);
    tcase_add_test(tests, a_step_of_a_sequence_that_stands_in_another_goes_back_unbegun);
    tcase_add_test(tests, a_begun_step_of_the_same_id_is_a_fault);
    tcase_add_test(tests, a_begun_step_that_ran_no_part_is_withdrawn_beside_another);
    tcase_add_test(tests, a_sequence_closed_in_a_step_that_stands_still_goes_when_it_ends);
    tcase_add_test(tests, quit_with_steps_that_stand_still_ends_in_good_order);
    tcase_add_test(tests, held_time_is_that_of_this_run_alone);
    tcase_add_test(tests, a_step_far_slower_than_foretold_is_told_once);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
