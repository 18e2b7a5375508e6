/* Steps: entries to rows to tokens, and what stopping, closing, trimming and refusing leave behind. */
#include "base/clean.h"
#include "scripted.h"
#include "tensor/type.h"
#include "tiny.h"
#include "unit.h"
#include <string.h>

START_TEST(a_piece_of_a_prompt_gives_no_token_and_its_end_gives_one)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct step_result result;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);

    result = scripted_run_one(model, 1, 7);
    ck_assert_int_eq(result.outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(result.n_rows, 7);
    ck_assert_uint_eq(result.n_tokens, 0);

    result = scripted_run_one(model, 1, 100);
    ck_assert_int_eq(result.outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(result.n_rows, SCRIPTED_PROMPT - 7);
    ck_assert_uint_eq(result.n_tokens, 1);

    result = scripted_run_one(model, 1, 0);
    ck_assert_uint_eq(result.n_rows, 1);
    ck_assert_uint_eq(result.n_tokens, 1);
    model_close(model);
}
END_TEST

START_TEST(a_decode_before_the_prompt_is_computed_is_unfinished)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct step_result result;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);

    result = scripted_run_one(model, 1, 0);

    ck_assert_int_eq(result.outcome, STEP_ENTRY_UNFINISHED);
    ck_assert_uint_eq(result.n_rows, 1);
    ck_assert_uint_eq(result.n_tokens, 0);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_rebuilt_from_its_tokens_goes_on_the_same)
{
    static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    uint32_t tokens[SCRIPTED_PROMPT + 12];
    struct seq_room room;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 16);
    memcpy(tokens, scripted_prompt, sizeof(scripted_prompt));
    tokens[SCRIPTED_PROMPT] = scripted_run_one(model, 1, SCRIPTED_PROMPT).tokens[0];
    for (uint32_t i = SCRIPTED_PROMPT + 1; i < COUNTOF(tokens); i++) {
        tokens[i] = scripted_run_one(model, 1, 0).tokens[0];
    }

    ck_assert_int_eq(seq_open(model,
                              &(struct seq_request){ .id = 2,
                                                     .tokens = tokens,
                                                     .n_tokens = COUNTOF(tokens),
                                                     .n_prompt = SCRIPTED_PROMPT,
                                                     .params = &greedy },
                              &room),
                     SEQ_OK);

    ck_assert_uint_eq(scripted_run_one(model, 2, COUNTOF(tokens)).tokens[0], scripted_run_one(model, 1, 0).tokens[0]);
    model_close(model);
}
END_TEST

START_TEST(a_trimmed_sequence_says_the_same_again)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    uint32_t first;
    uint32_t second;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 16);
    first = scripted_run_one(model, 1, SCRIPTED_PROMPT).tokens[0];
    second = scripted_run_one(model, 1, 0).tokens[0];

    seq_trim(model, 1, SCRIPTED_PROMPT + 1);
    ck_assert_uint_eq(scripted_run_one(model, 1, 0).tokens[0], second);
    seq_trim(model, 1, SCRIPTED_PROMPT);
    ck_assert_uint_eq(scripted_run_one(model, 1, 0).tokens[0], first);
    seq_trim(model, 99, 1);
    model_close(model);
}
END_TEST

START_TEST(one_step_serves_prompts_and_answers_with_one_pass_over_the_weights)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .backend = "cpu" });
    const struct step_entry entries[] = { { .seq = 1, .n_decode = 1 },
                                          { .seq = 2, .n_prefill = 9 },
                                          { .seq = 3, .n_prefill = 20 } };
    struct step_report report;
    struct model_figures figures;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);
    scripted_seq(model, 2, SCRIPTED_PROMPT, 8);
    scripted_seq(model, 3, SCRIPTED_PROMPT, 8);
    scripted_run_one(model, 1, SCRIPTED_PROMPT);

    report = scripted_run(model, entries, COUNTOF(entries), NULL, NULL);

    ck_assert_uint_eq(report.n_results, 3);
    ck_assert_uint_eq(report.results[0].n_tokens, 1);
    ck_assert_uint_eq(report.results[1].n_tokens, 0);
    ck_assert_uint_eq(report.results[2].n_tokens, 1);
    ck_assert_uint_eq(report.n_weight_passes, 1);
    ck_assert_uint_eq(report.n_allocs, 0);
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_steps, 2);
    ck_assert_uint_eq(figures.n_weight_passes, 2);
    ck_assert_uint_eq(figures.n_rows, SCRIPTED_PROMPT + 1 + 9 + 20);
    ck_assert_uint_eq(figures.n_tokens, 3);
    model_close(model);
}
END_TEST

static bool never(void *owner)
{
    return false;
}

/* ---- refusals of a step ---- */

static const struct bad_step {
    struct step_entry entries[2];
    uint32_t n;
    const char *says;
} bad_steps[] = {
    { { { .seq = 1, .n_decode = 1 }, { .seq = 1, .n_prefill = 2 } }, 2, "twice" },
    { { { .seq = 1, .n_prefill = 33 } }, 1, "33 rows" },
    { { { .seq = 1 } }, 1, "neither" },
    { { { .seq = 1, .n_prefill = 1, .n_decode = 1 } }, 1, "both" },
    { { { .seq = 1 } }, 0, "0 entries" },
};

START_TEST(a_step_that_makes_no_sense_is_refused)
{
    const struct bad_step *bad = &bad_steps[_i];
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_rows = 32 });
    struct diag diag = DIAG_INIT;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);

    ck_assert_int_eq(step_begin(model, 1, bad->entries, bad->n, &diag), STEP_REFUSED);

    ck_assert_msg(strstr(diag.text, bad->says), "%s", diag.text);
    ck_assert_uint_eq(scripted_run_one(model, 1, SCRIPTED_PROMPT).n_tokens, 1);
    model_close(model);
}
END_TEST

/* Begins step @id of a prompt and runs one part of it. */
static void stand_still(struct model *model, uint64_t id, uint32_t seq)
{
    const struct step_entry entry = { .seq = seq, .n_prefill = SCRIPTED_PROMPT };
    struct step_report report;
    struct diag diag = DIAG_INIT;

    scripted_seq(model, seq, SCRIPTED_PROMPT, 8);
    ck_assert_msg(step_begin(model, id, &entry, 1, &diag) == 0, "%s", diag.text);
    ck_assert_int_eq(step_run(model, id, never, NULL, &report), STEP_SUSPENDED);
}

/* Runs step @id to its end. */
static struct step_result finish(struct model *model, uint64_t id)
{
    struct step_report report;

    ck_assert_int_eq(step_run(model, id, NULL, NULL, &report), STEP_DONE);
    ck_assert(model_check(model));
    return report.results[0];
}

START_TEST(a_step_beyond_those_that_may_be_begun_is_refused_for_now)
{
    const struct step_entry entry = { .seq = 1, .n_prefill = SCRIPTED_PROMPT };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_parts = 1 });
    struct diag diag = DIAG_INIT;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);
    stand_still(model, 7, 2);
    stand_still(model, 8, 3);

    ck_assert_int_eq(step_begin(model, 9, &entry, 1, &diag), STEP_BUSY);

    ck_assert_msg(strstr(diag.text, "2 steps"), "%s", diag.text);
    finish(model, 8);
    ck_assert_uint_eq(scripted_run_one(model, 1, SCRIPTED_PROMPT).n_tokens, 1);
    finish(model, 7);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_stands_in_one_begun_step_at_most)
{
    const struct step_entry entries[] = { { .seq = 1, .n_prefill = 4 }, { .seq = 2, .n_decode = 1 } };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_parts = 1 });
    struct diag diag = DIAG_INIT;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);
    stand_still(model, 7, 2);

    ck_assert_int_eq(step_begin(model, 8, entries, 2, &diag), STEP_BUSY);

    ck_assert_msg(strstr(diag.text, "sequence 2"), "%s", diag.text);
    ck_assert_int_eq(step_begin(model, 7, entries, 1, &diag), STEP_REFUSED);
    finish(model, 7);
    ck_assert_uint_eq(scripted_run(model, entries, 2, NULL, NULL).results[1].n_tokens, 1);
    model_close(model);
}
END_TEST

START_TEST(a_step_is_withdrawn_only_before_its_first_part)
{
    const struct step_entry entry = { .seq = 1, .n_prefill = 4 };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_parts = 1 });
    struct diag diag = DIAG_INIT;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);
    stand_still(model, 7, 2);
    ck_assert_int_eq(step_begin(model, 8, &entry, 1, &diag), 0);

    ck_assert(!step_withdraw(model, 7));
    ck_assert(!step_withdraw(model, 9));
    ck_assert(step_withdraw(model, 8));

    ck_assert_uint_eq(scripted_run_one(model, 1, SCRIPTED_PROMPT).n_rows, SCRIPTED_PROMPT);
    ck_assert_uint_eq(finish(model, 7).n_tokens, 1);
    model_close(model);
}
END_TEST

START_TEST(what_is_asked_of_a_sequence_that_stands_in_a_step_happens_at_its_end)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_parts = 1 });
    struct model_figures before;
    struct model_figures after;

    stand_still(model, 7, 1);
    scripted_seq(model, 2, SCRIPTED_PROMPT, 8);
    model_figures(model, &before);

    seq_trim(model, 1, 10);
    seq_trim(model, 1, 4);
    seq_trim(model, 1, 6);
    scripted_run_one(model, 2, SCRIPTED_PROMPT);
    seq_close(model, 2, false);
    ck_assert_uint_eq(finish(model, 7).n_tokens, 1);
    ck_assert_uint_eq(scripted_run_one(model, 1, SCRIPTED_PROMPT).n_rows, 1); /* the fourth, once more */

    seq_close(model, 1, false);
    model_figures(model, &after);
    ck_assert_uint_eq(after.n_held, 0);
    ck_assert_uint_gt(before.n_held, 0);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_closed_while_its_step_stands_still_gives_its_pages_back_at_the_end)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_parts = 1 });
    struct model_figures figures;

    stand_still(model, 7, 1);

    seq_close(model, 1, false);
    scripted_seq(model, 2, SCRIPTED_PROMPT, 8);
    scripted_run_one(model, 2, SCRIPTED_PROMPT);
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_held, 4);

    ck_assert_int_eq(finish(model, 7).outcome, STEP_ENTRY_STOPPED);
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_held, 2);
    model_close(model);
}
END_TEST

START_TEST(an_unknown_sequence_is_told_and_harms_nobody)
{
    const struct step_entry entries[] = { { .seq = 7, .n_decode = 1 }, { .seq = 1, .n_prefill = SCRIPTED_PROMPT } };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct step_report report;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);

    report = scripted_run(model, entries, 2, NULL, NULL);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_UNKNOWN);
    ck_assert_int_eq(report.results[1].outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(report.results[1].n_tokens, 1);
    model_close(model);
}
END_TEST

/* ---- stopping and closing ---- */

struct stopper {
    struct model *model;
    uint32_t id;
    uint32_t n_asked;
    bool closes;
};

/* At the third question the sequence is stopped, or closed; each time the step is suspended. */
static bool stop_at_third(void *owner)
{
    struct stopper *stopper = owner;

    if (++stopper->n_asked == 3 && stopper->closes) {
        seq_close(stopper->model, stopper->id, false);
    } else if (stopper->n_asked == 3) {
        seq_stop(stopper->model, stopper->id);
    }
    return false;
}

START_TEST(a_sequence_stopped_in_the_step_gets_no_token_and_the_others_do)
{
    const struct step_entry entries[] = { { .seq = 1, .n_prefill = SCRIPTED_PROMPT },
                                          { .seq = 2, .n_prefill = SCRIPTED_PROMPT } };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_parts = 1 });
    struct stopper stopper = { .model = model, .id = 1 };
    struct step_report report;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);
    scripted_seq(model, 2, SCRIPTED_PROMPT, 8);

    report = scripted_run(model, entries, 2, stop_at_third, &stopper);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_STOPPED);
    ck_assert_uint_eq(report.results[0].n_tokens, 0);
    ck_assert_int_eq(report.results[1].outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(report.results[1].n_tokens, 1);
    ck_assert_int_eq(scripted_run_one(model, 1, 1).outcome, STEP_ENTRY_STOPPED);
    model_close(model);
}
END_TEST

START_TEST(a_step_of_which_nobody_is_left_ends_at_the_next_part)
{
    const struct step_entry entry = { .seq = 1, .n_prefill = SCRIPTED_PROMPT };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_parts = 1 });
    struct stopper stopper = { .model = model, .id = 1 };
    struct step_report report;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);

    report = scripted_run(model, &entry, 1, stop_at_third, &stopper);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_STOPPED);
    ck_assert_uint_eq(report.results[0].n_rows, 0);
    ck_assert_uint_eq(stopper.n_asked, 3);
    model_close(model);
}
END_TEST

START_TEST(pages_of_a_sequence_closed_in_the_step_come_back_when_it_ends)
{
    const struct step_entry entries[] = { { .seq = 1, .n_prefill = SCRIPTED_PROMPT },
                                          { .seq = 2, .n_prefill = SCRIPTED_PROMPT } };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_parts = 1 });
    struct stopper stopper = { .model = model, .id = 1, .closes = true };
    struct model_figures figures;
    struct step_report report;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);
    scripted_seq(model, 2, SCRIPTED_PROMPT, 8);

    report = scripted_run(model, entries, 2, stop_at_third, &stopper);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_STOPPED);
    ck_assert_uint_eq(report.results[1].n_tokens, 1);
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_held, 2);
    ck_assert_uint_eq(figures.n_seqs, 1);
    ck_assert(model_check(model));
    model_close(model);
}
END_TEST

static const uint32_t formats[] = { ELEM_F32,  ELEM_F16,    ELEM_BF16,   ELEM_Q8_0, ELEM_Q4_0,
                                    ELEM_Q4_1, ELEM_Q5_0,   ELEM_Q5_1,   ELEM_Q4_K, ELEM_Q5_K,
                                    ELEM_Q6_K, ELEM_IQ4_NL, ELEM_IQ4_XS, ELEM_Q2_K, ELEM_Q3_K };

START_TEST(weights_of_every_format_run)
{
    struct model *model;
    char path[64];

    tiny_file(&(struct tiny){ .tensor = "blk.1.ffn_down.weight", .type = formats[_i], .n_cols = 512, .n_rows = 256 },
              path, sizeof(path));
    model = model_fixture_open(path, &(struct model_fixture_setup){ .kv_format = "f16" });
    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);

    ck_assert_uint_eq(scripted_run_one(model, 1, SCRIPTED_PROMPT).n_tokens, 1);
    ck_assert_uint_eq(scripted_run_one(model, 1, 0).n_tokens, 1);
    model_close(model);
}
END_TEST

/* ---- numbers gone wrong ---- */

START_TEST(a_row_without_a_finite_logit_is_numeric_and_its_neighbours_are_unharmed)
{
    const struct step_entry entries[] = { { .seq = 1, .n_prefill = 3 }, { .seq = 2, .n_prefill = 4 } };
    struct model *model =
        scripted_open(&(struct model_fixture_setup){ .script = scripted_script("after 7 nan # the third token\n") });
    struct model *plain = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct step_report report;

    scripted_seq(model, 1, 3, 4);
    scripted_seq(model, 2, 4, 4);
    scripted_seq(plain, 2, 4, 4);

    report = scripted_run(model, entries, 2, NULL, NULL);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_NUMERIC);
    ck_assert_uint_eq(report.results[0].n_tokens, 0);
    ck_assert_int_eq(report.results[1].outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(report.results[1].tokens[0], scripted_run_one(plain, 2, 4).tokens[0]);
    ck_assert_int_eq(scripted_run_one(model, 1, 1).outcome, STEP_ENTRY_NUMERIC);
    model_close(model);
    model_close(plain);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-step");
    TCase *tcase = tcase_create("step");

    tcase_add_test(tcase, a_piece_of_a_prompt_gives_no_token_and_its_end_gives_one);
    tcase_add_test(tcase, a_decode_before_the_prompt_is_computed_is_unfinished);
    tcase_add_test(tcase, a_sequence_rebuilt_from_its_tokens_goes_on_the_same);
    tcase_add_test(tcase, a_trimmed_sequence_says_the_same_again);
    tcase_add_test(tcase, one_step_serves_prompts_and_answers_with_one_pass_over_the_weights);
    tcase_add_loop_test(tcase, a_step_that_makes_no_sense_is_refused, 0, (int)COUNTOF(bad_steps));
    tcase_add_test(tcase, a_step_beyond_those_that_may_be_begun_is_refused_for_now);
    tcase_add_test(tcase, a_sequence_stands_in_one_begun_step_at_most);
    tcase_add_test(tcase, a_step_is_withdrawn_only_before_its_first_part);
    tcase_add_test(tcase, what_is_asked_of_a_sequence_that_stands_in_a_step_happens_at_its_end);
    tcase_add_test(tcase, a_sequence_closed_while_its_step_stands_still_gives_its_pages_back_at_the_end);
    tcase_add_test(tcase, an_unknown_sequence_is_told_and_harms_nobody);
    tcase_add_test(tcase, a_sequence_stopped_in_the_step_gets_no_token_and_the_others_do);
    tcase_add_test(tcase, a_step_of_which_nobody_is_left_ends_at_the_next_part);
    tcase_add_test(tcase, pages_of_a_sequence_closed_in_the_step_come_back_when_it_ends);
    tcase_add_loop_test(tcase, weights_of_every_format_run, 0, (int)COUNTOF(formats));
    tcase_add_test(tcase, a_row_without_a_finite_logit_is_numeric_and_its_neighbours_are_unharmed);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
