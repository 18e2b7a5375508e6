/*
 * Steps: answered, refused, suspended, with the scripted model. In it a step that is `slow`
 * has a part each millisecond.
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

/* The first token of an answer that nothing interrupts. */
static bool undisturbed(const uint32_t *tokens, size_t n, uint32_t *ret_token)
{
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return false;
    }
    fixture_open_plain(&fixture, 1, tokens, n);
    fixture_step(&fixture, 1, 1, (uint32_t)n, 0);
    *ret_token = fixture_get_token(&fixture, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
    return true;
}

static void send_step(struct fixture *fixture, uint64_t id, Sotto__Engine__Entry **entries, size_t n)
{
    Sotto__Engine__Step step = SOTTO__ENGINE__STEP__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;

    step.id = id;
    step.n_entries = n;
    step.entries = entries;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STEP;
    order.step = &step;
    fixture_send(fixture, &order);
}

static Sotto__Engine__Entry prefill(uint32_t seq, uint32_t n)
{
    Sotto__Engine__Entry entry = SOTTO__ENGINE__ENTRY__INIT;

    entry.sequence = seq;
    entry.work_case = SOTTO__ENGINE__ENTRY__WORK_PREFILL;
    entry.prefill = n;
    return entry;
}

/* ---- answers */

START_TEST(entries_are_answered_in_their_order)
{
    Sotto__Engine__Entry rows[3] = { prefill(2, 2), prefill(9, 1), prefill(1, 3) };
    Sotto__Engine__Entry *entries[3] = { &rows[0], &rows[1], &rows[2] };
    const Sotto__Engine__StepDone *done;
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));
    fixture_open_plain(&fixture, 2, prompt, COUNTOF(prompt));

    send_step(&fixture, 5, entries, 3);

    done = fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done;
    ck_assert_uint_eq(done->id, 5);
    ck_assert_uint_eq(done->n_entries, 3);
    ck_assert_uint_eq(done->entries[0]->sequence, 2);
    ck_assert_uint_eq(done->entries[0]->rows, 2);
    ck_assert_uint_eq(done->entries[0]->n_tokens, 0); /* the third row of the prompt is still to come */
    ck_assert_int_eq(done->entries[1]->outcome, SOTTO__ENGINE__OUTCOME__OUTCOME_UNKNOWN);
    ck_assert_uint_eq(done->entries[2]->n_tokens, 1);
    ck_assert_uint_eq(done->entries[2]->n_logprobs, 0);
    ck_assert_uint_eq(done->weight_passes, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(logprobs_come_where_they_were_asked_for)
{
    const Sotto__Engine__EntryDone *entry;
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));
    sampler.logprobs = true;
    sampler.top_logprobs = 3;
    fixture_open(&fixture, &open);
    fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED);

    fixture_step(&fixture, 1, 1, COUNTOF(prompt), 0);

    entry = fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done->entries[0];
    ck_assert_uint_eq(entry->n_logprobs, 1);
    ck_assert_uint_eq(entry->logprobs[0]->n_top_ids, 3);
    ck_assert_uint_eq(entry->logprobs[0]->n_top_logprobs, 3);
    ck_assert_uint_eq(entry->logprobs[0]->top_ids[0], entry->tokens[0]);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(numeric_outcome_is_its_sequences_alone)
{
    Sotto__Engine__Entry rows[2] = { prefill(1, 3), prefill(2, 2) };
    Sotto__Engine__Entry *entries[2] = { &rows[0], &rows[1] };
    const Sotto__Engine__StepDone *done;
    struct fixture fixture;

    if (!ready(&fixture, "when 300 at 0 do numeric\n")) {
        return;
    }
    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));
    fixture_open_plain(&fixture, 2, slow_prompt, COUNTOF(slow_prompt));

    send_step(&fixture, 1, entries, 2);

    done = fixture_get(&fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done;
    ck_assert_int_eq(done->entries[0]->outcome, SOTTO__ENGINE__OUTCOME__OUTCOME_NUMERIC);
    ck_assert_uint_eq(done->entries[0]->n_tokens, 0);
    ck_assert_uint_eq(done->entries[1]->n_tokens, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(fault_within_a_step_is_logged_and_told)
{
    struct fixture fixture;

    if (!ready(&fixture, "always do fault the roof is on fire\n")) {
        return;
    }
    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));

    fixture_step(&fixture, 1, 1, COUNTOF(prompt), 0);

    fixture_expect_fault(&fixture, "a step failed", false);
    ck_assert_uint_eq(fixture.n_logs, 1);
}
END_TEST

START_TEST(step_that_makes_no_sense_is_a_fault)
{
    static const char *const words[] = { "that there is not", "that there is not", "more entries", "twice", "rows" };
    Sotto__Engine__Entry rows[65];
    Sotto__Engine__Entry *entries[65];
    size_t n = 1;
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        rows[i] = prefill(_i == 3 ? 1 : (uint32_t)i + 1, 1);
        entries[i] = &rows[i];
    }
    switch (_i) {
    case 0:
        rows[0].work_case = SOTTO__ENGINE__ENTRY__WORK__NOT_SET;
        break;
    case 1:
        rows[0].prefill = 0;
        break;
    case 2:
        n = 65;
        break;
    case 3:
        n = 2;
        break;
    default:
        rows[0].prefill = 65;
        break;
    }

    send_step(&fixture, 1, entries, n);

    fixture_expect_fault(&fixture, words[_i], false);
}
END_TEST

/* ---- suspended */

START_TEST(slice_suspends_and_continue_gives_the_same_token)
{
    struct fixture fixture;
    uint32_t token;

    if (!undisturbed(slow_prompt, COUNTOF(slow_prompt), &token) || !ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));

    fixture_step(&fixture, 1, 1, COUNTOF(slow_prompt), 5000);
    check_suspended(&fixture, 1);
    fixture_continue(&fixture, 1, 5000);
    check_suspended(&fixture, 1);
    fixture_continue(&fixture, 1, 0);

    ck_assert_uint_eq(fixture_get_token(&fixture, 1), token);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(suspend_stops_within_a_part)
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

    fixture_suspend(&fixture, 1);

    check_suspended(&fixture, 1);
    ck_assert_uint_lt(ms_since(from_us), 1000);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(other_orders_are_obeyed_while_a_step_stands_still)
{
    struct fixture fixture;
    uint32_t token;

    if (!undisturbed(slow_prompt, COUNTOF(slow_prompt), &token) || !ready(&fixture, slow_script)) {
        return;
    }
    fixture_open_plain(&fixture, 1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(slow_prompt), 5000);
    check_suspended(&fixture, 1);

    fixture_open_plain(&fixture, 2, prompt, COUNTOF(prompt));
    ck_assert_uint_eq(fixture_query(&fixture)->sequences, 2);
    fixture_close(&fixture, 2);
    fixture_continue(&fixture, 1, 0);

    ck_assert_uint_eq(fixture_get_token(&fixture, 1), token);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(suspend_of_a_step_that_ended_is_ignored)
{
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));
    fixture_step(&fixture, 1, 1, COUNTOF(prompt), 0);
    fixture_get_token(&fixture, 1);

    fixture_suspend(&fixture, 1);

    ck_assert_uint_eq(fixture_query(&fixture)->sequences, 1);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(continue_of_what_does_not_stand_still_is_a_fault)
{
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }

    fixture_continue(&fixture, 1, 0);

    fixture_expect_fault(&fixture, "does not stand still", false);
}
END_TEST

static void add_suspended(TCase *tests)
{
    tcase_add_test(tests, slice_suspends_and_continue_gives_the_same_token);
    tcase_add_test(tests, suspend_stops_within_a_part);
    tcase_add_test(tests, other_orders_are_obeyed_while_a_step_stands_still);
    tcase_add_test(tests, suspend_of_a_step_that_ended_is_ignored);
    tcase_add_test(tests, continue_of_what_does_not_stand_still_is_a_fault);
}

int main(void)
{
    Suite *suite = suite_create("steps");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, entries_are_answered_in_their_order);
    tcase_add_test(tests, logprobs_come_where_they_were_asked_for);
    tcase_add_test(tests, numeric_outcome_is_its_sequences_alone);
    tcase_add_test(tests, fault_within_a_step_is_logged_and_told);
    tcase_add_loop_test(tests, step_that_makes_no_sense_is_a_fault, 0, 5);
    add_suspended(tests);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
