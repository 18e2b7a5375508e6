/* Steps that are answered, refused and suspended, with the scripted model. */
#include "fixture.h"

#include "base/clean.h"
#include "unit.h"

static void send_step(uint64_t id, Sotto__Engine__Entry **entries, size_t n)
{
    Sotto__Engine__Step step = SOTTO__ENGINE__STEP__INIT;

    step.id = id;
    step.n_entries = n;
    step.entries = entries;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_STEP, &step);
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

    fixture_scripted(NULL);
    fixture_open_plain(1, prompt, COUNTOF(prompt));
    fixture_open_plain(2, prompt, COUNTOF(prompt));

    send_step(5, entries, 3);

    done = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done;
    ck_assert_uint_eq(done->id, 5);
    ck_assert_uint_eq(done->n_entries, 3);
    ck_assert_uint_eq(done->entries[0]->sequence, 2);
    ck_assert_uint_eq(done->entries[0]->rows, 2);
    ck_assert_uint_eq(done->entries[0]->n_tokens, 0); /* the third row of the prompt is still to come */
    ck_assert_int_eq(done->entries[1]->outcome, SOTTO__ENGINE__OUTCOME__OUTCOME_UNKNOWN);
    ck_assert_uint_eq(done->entries[2]->n_tokens, 1);
    ck_assert_uint_eq(done->entries[2]->n_logprobs, 0);
    ck_assert_uint_eq(done->weight_passes, 1);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(logprobs_come_where_they_were_asked_for)
{
    const Sotto__Engine__EntryDone *entry;
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted(NULL);
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));
    sampler.logprobs = true;
    sampler.top_logprobs = 3;
    fixture_open(&open);
    fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED);

    fixture_step(1, 1, COUNTOF(prompt), 0);

    entry = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done->entries[0];
    ck_assert_uint_eq(entry->n_logprobs, 1);
    ck_assert_uint_eq(entry->logprobs[0]->n_top_ids, 3);
    ck_assert_uint_eq(entry->logprobs[0]->n_top_logprobs, 3);
    ck_assert_uint_eq(entry->logprobs[0]->top_ids[0], entry->tokens[0]);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(numeric_outcome_is_its_sequences_alone)
{
    Sotto__Engine__Entry rows[2] = { prefill(1, 3), prefill(2, 2) };
    Sotto__Engine__Entry *entries[2] = { &rows[0], &rows[1] };
    const Sotto__Engine__StepDone *done;

    fixture_scripted("when 300 at 0 do numeric\n");
    fixture_open_plain(1, prompt, COUNTOF(prompt));
    fixture_open_plain(2, slow_prompt, COUNTOF(slow_prompt));

    send_step(1, entries, 2);

    done = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done;
    ck_assert_int_eq(done->entries[0]->outcome, SOTTO__ENGINE__OUTCOME__OUTCOME_NUMERIC);
    ck_assert_uint_eq(done->entries[0]->n_tokens, 0);
    ck_assert_uint_eq(done->entries[1]->n_tokens, 1);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(fault_within_a_step_is_logged_and_reported)
{
    fixture_scripted("always do fault the roof is on fire\n");
    fixture_open_plain(1, prompt, COUNTOF(prompt));

    fixture_step(1, 1, COUNTOF(prompt), 0);

    fixture_expect_fault("a step failed", false);
    ck_assert_uint_eq(fixture.n_logs, 1);
}
END_TEST

START_TEST(step_that_makes_no_sense_is_a_fault)
{
    static const char *const words[] = { "without valid work", "without valid work", "more entries", "twice", "rows" };
    Sotto__Engine__Entry rows[65];
    Sotto__Engine__Entry *entries[65];
    size_t n = 1;

    fixture_scripted(NULL);
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

    send_step(1, entries, n);

    fixture_expect_fault(words[_i], false);
}
END_TEST

/* ---- suspended */

START_TEST(slice_suspends_and_continue_gives_the_same_token)
{
    uint32_t token;

    token = fixture_first_token(slow_prompt, COUNTOF(slow_prompt));
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));

    fixture_step(1, 1, COUNTOF(slow_prompt), 5000);
    fixture_get_suspended(1);
    fixture_continue(1, 5000);
    fixture_get_suspended(1);
    fixture_continue(1, 0);

    ck_assert_uint_eq(fixture_get_token(1), token);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(suspend_stops_within_a_part)
{
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, endless_prompt, COUNTOF(endless_prompt));
    fixture_step_endless(1, 1);

    fixture_suspend(1);

    fixture_get_suspended(1);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(other_orders_are_obeyed_while_a_step_is_suspended)
{
    uint32_t token;

    token = fixture_first_token(slow_prompt, COUNTOF(slow_prompt));
    fixture_scripted(FIXTURE_SLOW_SCRIPT);
    fixture_open_plain(1, slow_prompt, COUNTOF(slow_prompt));
    fixture_step(1, 1, COUNTOF(slow_prompt), 5000);
    fixture_get_suspended(1);

    fixture_open_plain(2, prompt, COUNTOF(prompt));
    ck_assert_uint_eq(fixture_query()->sequences, 2);
    fixture_close(2);
    fixture_continue(1, 0);

    ck_assert_uint_eq(fixture_get_token(1), token);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(suspend_of_a_step_that_ended_is_ignored)
{
    fixture_scripted(NULL);
    fixture_open_plain(1, prompt, COUNTOF(prompt));
    fixture_step(1, 1, COUNTOF(prompt), 0);
    fixture_get_token(1);

    fixture_suspend(1);

    ck_assert_uint_eq(fixture_query()->sequences, 1);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(continue_of_a_step_that_is_not_suspended_is_a_fault)
{
    fixture_scripted(NULL);

    fixture_continue(1, 0);

    fixture_expect_fault("is not suspended", false);
}
END_TEST

static void add_suspended(TCase *tests)
{
    tcase_add_test(tests, slice_suspends_and_continue_gives_the_same_token);
    tcase_add_test(tests, suspend_stops_within_a_part);
    tcase_add_test(tests, other_orders_are_obeyed_while_a_step_is_suspended);
    tcase_add_test(tests, suspend_of_a_step_that_ended_is_ignored);
    tcase_add_test(tests, continue_of_a_step_that_is_not_suspended_is_a_fault);
}

int main(void)
{
    Suite *suite = suite_create("steps");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, entries_are_answered_in_their_order);
    tcase_add_test(tests, logprobs_come_where_they_were_asked_for);
    tcase_add_test(tests, numeric_outcome_is_its_sequences_alone);
    tcase_add_test(tests, fault_within_a_step_is_logged_and_reported);
    tcase_add_loop_test(tests, step_that_makes_no_sense_is_a_fault, 0, 5);
    add_suspended(tests);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
