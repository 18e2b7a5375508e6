/*
 * What acts between the parts of a step (Stop, Withdraw, Limits, the end of the file) and what waits its turn, with the
 * scripted model. In it a step that is `slow` has a part each millisecond.
 */
#include "fixture.h"

#include "base/clean.h"
#include "base/clock.h"
#include "unit.h"

#define MODEL "models/stories260K-f32.gguf"

/* Sequences of this prompt take their time. */
#define SLOW 310
static const char slow_script[] = "when 310 do slow 60\nwhen 311 do slow 5000\n";

static const uint32_t prompt[] = { 1, 300, 301 };
static const uint32_t slow_prompt[] = { 1, SLOW };
static const uint32_t endless_prompt[] = { 1, 311 };

static bool ready(struct fixture *fixture, const char *script)
{
    return fixture_ready(fixture, "fake", MODEL, script);
}

static uint64_t ms_since(uint64_t from_us)
{
    return (clock_mono_us() - from_us) / 1000;
}

static void check_suspended(struct fixture *fixture, uint64_t step)
{
    ck_assert_uint_eq(fixture_get(fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED)->suspended->step, step);
}

static void check_withdrawn(struct fixture *fixture, uint64_t step, bool done)
{
    const Sotto__Engine__Withdrawn *withdrawn =
        fixture_get(fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN)->withdrawn;

    ck_assert_uint_eq(withdrawn->step, step);
    ck_assert_int_eq(withdrawn->done, done);
}

/* ---- withdrawn */

START_TEST(waiting_step_is_withdrawn)
{
    struct fixture fixture;

    if (!ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(slow_prompt), 0);
    fixture_step(&fixture, 2, 1, 0, 0);
    usleep(10000);

    fixture_withdraw(&fixture, 2);

    check_withdrawn(&fixture, 2, true);
    fixture_get_token(&fixture, 1);
    ck_assert_uint_eq(fixture_query(&fixture)->steps, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(running_step_is_not_withdrawn)
{
    struct fixture fixture;

    if (!ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(slow_prompt), 0);
    usleep(10000);

    fixture_withdraw(&fixture, 1);

    check_withdrawn(&fixture, 1, false);
    fixture_get_token(&fixture, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(suspended_or_ended_step_is_not_withdrawn)
{
    struct fixture fixture;

    if (!ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(slow_prompt), 5000);
    check_suspended(&fixture, 1);

    fixture_withdraw(&fixture, 1);
    check_withdrawn(&fixture, 1, false);
    fixture_continue(&fixture, 1, 0);
    fixture_get_token(&fixture, 1);
    fixture_withdraw(&fixture, 1);
    check_withdrawn(&fixture, 1, false);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

/* ---- stopped */

START_TEST(stop_acts_within_a_part_of_the_running_step)
{
    uint64_t from_us;
    struct fixture fixture;

    if (!ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(endless_prompt), 0);
    usleep(20000);
    from_us = clock_mono_us();

    fixture_stop(&fixture, 1);

    fixture_get_outcome(&fixture, 1, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);
    ck_assert_uint_lt(ms_since(from_us), 1000);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(stop_holds_for_a_sequence_whose_open_still_waits)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(slow_prompt), 0);
    fixture_fill_open(&open, &sampler, 2, prompt, COUNTOF(prompt));

    fixture_open(&fixture, &open);
    fixture_stop(&fixture, 2);
    fixture_step(&fixture, 2, 2, COUNTOF(prompt), 0);

    fixture_get_token(&fixture, 1);
    fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED);
    fixture_get_outcome(&fixture, 2, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(end_of_file_ends_a_running_step_soon)
{
    uint64_t from_us;
    struct fixture fixture;

    if (!ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(endless_prompt), 0);
    usleep(20000);
    from_us = clock_mono_us();

    ck_assert_int_eq(fixture_end(&fixture), 0);

    ck_assert_uint_lt(ms_since(from_us), 1000);
}
END_TEST

START_TEST(garbage_within_a_step_is_a_fault)
{
    static const uint8_t garbage[] = { 2, 0, 0, 0, 0xff, 0xff };
    struct fixture fixture;

    if (!ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(endless_prompt), 0);
    usleep(20000);

    fixture_bytes(&fixture, garbage, sizeof(garbage));

    fixture_expect_fault(&fixture, "not one of this build's schema", false);
}
END_TEST

/* ---- limited */

START_TEST(slice_of_limits_holds_for_the_running_step)
{
    struct fixture fixture;

    if (!ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(endless_prompt), 0);

    fixture_limit(&fixture, 3000, 0);

    check_suspended(&fixture, 1);
    fixture_continue(&fixture, 1, 0);
    check_suspended(&fixture, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(kv_limit_refuses_until_it_is_lifted)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, "pages 10\n")) {
        return;
    }
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt)); /* 3 pages of 4 KiB */

    fixture_limit(&fixture, 0, 8192);
    fixture_open(&fixture, &open);
    ck_assert_int_eq(fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED)->refused->why,
                     SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES);
    fixture_limit(&fixture, 0, 0);

    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

/* ---- order */

START_TEST(what_is_not_urgent_waits_in_its_order)
{
    struct fixture fixture;

    if (!ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(slow_prompt), 0);

    fixture_step(&fixture, 2, 1, 0, 5000); /* slow as well, and in slices */
    fixture_suspend(&fixture, 2);

    fixture_get_token(&fixture, 1);
    check_suspended(&fixture, 2);
    fixture_continue(&fixture, 2, 0);
    fixture_get_token(&fixture, 2);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(long_orders_arrive_whole_behind_a_running_step)
{
    enum { N = 200000, N_ORDERS = 8 };
    uint32_t *tokens = calloc(N, sizeof(*tokens));
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, "when 310 do slow 60\ncontext 1000000\npages 100000\n")) {
        free(tokens);
        return;
    }
    for (size_t i = 0; i < N; i++) {
        tokens[i] = 200 + (uint32_t)(i % 100);
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(slow_prompt), 0);

    for (uint32_t seq = 2; seq < 2 + N_ORDERS; seq++) {
        fixture_fill_open(&open, &sampler, seq, tokens, N);
        fixture_open(&fixture, &open);
        fixture_close(&fixture, seq);
    }

    fixture_get_token(&fixture, 1);
    for (uint32_t seq = 2; seq < 2 + N_ORDERS; seq++) {
        ck_assert_uint_eq(fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED)->opened->sequence, seq);
    }
    ck_assert_uint_eq(fixture_query(&fixture)->sequences, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
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
    tcase_add_test(tests, stop_holds_for_a_sequence_whose_open_still_waits);
    tcase_add_test(tests, end_of_file_ends_a_running_step_soon);
    tcase_add_test(tests, garbage_within_a_step_is_a_fault);
    tcase_add_test(tests, slice_of_limits_holds_for_the_running_step);
    tcase_add_test(tests, kv_limit_refuses_until_it_is_lifted);
    tcase_add_test(tests, what_is_not_urgent_waits_in_its_order);
    tcase_add_test(tests, long_orders_arrive_whole_behind_a_running_step);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
