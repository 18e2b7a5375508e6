/*
 * Steps and sequences, over scripted logits: the fake backend's token is a hash of all tokens before it, kept in the
 * pages, so a wrong row, page or position changes the answer.
 */
#include "base/clean.h"
#include "base/err.h"
#include "rig.h"
#include "tiny.h"
#include "unit.h"
#include <string.h>

static const uint32_t prompt[] = {
    1, 50, 7, 123, 9, 77, 250, 3, 18, 4, 5, 6, 111, 99, 42, 31, 8, 200, 13, 17
};
#define N_PROMPT COUNTOF(prompt)

static struct model *open_fake(const struct rig_setup *setup)
{
    struct rig_setup mine = *setup;
    char path[64];

    tiny_file(&(struct tiny){ .arch = NULL }, path, sizeof(path));
    mine.backend = mine.backend ? mine.backend : "fake";
    mine.kv_format = "f16";
    return rig_open(path, &mine);
}

/* Writes @text to a file that the fake backend can play; gives its path. */
static const char *script_of(const char *text)
{
    static char path[64];
    char name[] = "/tmp/sotto-script-XXXXXX";
    int fd = mkstemp(name);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    unlink(name);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}

static int open_seq(struct model *model, uint32_t id, uint32_t n_tokens, uint32_t n_reserve,
                    struct seq_room *room)
{
    static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    uint32_t tokens[TINY_CONTEXT * 2];

    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = prompt[i % N_PROMPT];
    }
    return seq_open(model,
                    &(struct seq_ask){ .id = id,
                                       .tokens = tokens,
                                       .n_tokens = n_tokens,
                                       .n_prompt = n_tokens,
                                       .n_reserve = n_reserve,
                                       .params = &greedy },
                    room);
}

static void must_open(struct model *model, uint32_t id, uint32_t n_tokens, uint32_t n_reserve)
{
    struct seq_room room;

    ck_assert_int_eq(open_seq(model, id, n_tokens, n_reserve, &room), SEQ_OK);
}

/* Runs one step to its end. */
static struct step_report run(struct model *model, const struct step_entry *entries, uint32_t n,
                              step_poll_fn poll, void *owner)
{
    struct step_report report;
    struct diag diag = DIAG_INIT;
    char trail[256];
    int r;

    ck_assert_msg(step_begin(model, entries, n, &diag) == 0, "%s", diag.text);
    do {
        r = step_run(model, poll, owner, &report);
    } while (r == STEP_SUSPENDED);
    ck_assert_msg(r == STEP_DONE, "%d: %s", r, err_trail(trail, sizeof(trail)));
    return report;
}

static struct step_result run_one(struct model *model, uint32_t id, uint32_t n_prefill)
{
    const struct step_entry entry = { .seq = id, .n_prefill = n_prefill, .n_decode = n_prefill ? 0 : 1 };

    return run(model, &entry, 1, NULL, NULL).results[0];
}

START_TEST(a_piece_of_a_prompt_gives_no_token_and_its_end_gives_one)
{
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    struct step_result result;

    must_open(model, 1, N_PROMPT, 8);

    result = run_one(model, 1, 7);
    ck_assert_int_eq(result.outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(result.n_rows, 7);
    ck_assert_uint_eq(result.n_tokens, 0);

    result = run_one(model, 1, 100);
    ck_assert_int_eq(result.outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(result.n_rows, N_PROMPT - 7);
    ck_assert_uint_eq(result.n_tokens, 1);

    result = run_one(model, 1, 0);
    ck_assert_uint_eq(result.n_rows, 1);
    ck_assert_uint_eq(result.n_tokens, 1);
    model_close(model);
}
END_TEST

START_TEST(a_decode_before_the_prompt_is_computed_is_unfinished)
{
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    struct step_result result;

    must_open(model, 1, N_PROMPT, 8);

    result = run_one(model, 1, 0);

    ck_assert_int_eq(result.outcome, STEP_ENTRY_UNFINISHED);
    ck_assert_uint_eq(result.n_rows, 1);
    ck_assert_uint_eq(result.n_tokens, 0);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_rebuilt_from_its_tokens_goes_on_the_same)
{
    static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    uint32_t tokens[N_PROMPT + 12];
    struct seq_room room;

    must_open(model, 1, N_PROMPT, 16);
    memcpy(tokens, prompt, sizeof(prompt));
    tokens[N_PROMPT] = run_one(model, 1, N_PROMPT).tokens[0];
    for (uint32_t i = N_PROMPT + 1; i < COUNTOF(tokens); i++) {
        tokens[i] = run_one(model, 1, 0).tokens[0];
    }

    ck_assert_int_eq(seq_open(model,
                              &(struct seq_ask){ .id = 2,
                                                 .tokens = tokens,
                                                 .n_tokens = COUNTOF(tokens),
                                                 .n_prompt = N_PROMPT,
                                                 .params = &greedy },
                              &room),
                     SEQ_OK);

    ck_assert_uint_eq(run_one(model, 2, COUNTOF(tokens)).tokens[0], run_one(model, 1, 0).tokens[0]);
    model_close(model);
}
END_TEST

START_TEST(a_trimmed_sequence_says_the_same_again)
{
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    uint32_t first;
    uint32_t second;

    must_open(model, 1, N_PROMPT, 16);
    first = run_one(model, 1, N_PROMPT).tokens[0];
    second = run_one(model, 1, 0).tokens[0];

    seq_trim(model, 1, N_PROMPT + 1);
    ck_assert_uint_eq(run_one(model, 1, 0).tokens[0], second);
    seq_trim(model, 1, N_PROMPT);
    ck_assert_uint_eq(run_one(model, 1, 0).tokens[0], first);
    seq_trim(model, 99, 1);
    model_close(model);
}
END_TEST

START_TEST(one_step_serves_prompts_and_answers_with_one_pass_over_the_weights)
{
    struct model *model = open_fake(&(struct rig_setup){ .backend = "cpu" });
    const struct step_entry entries[] = { { .seq = 1, .n_decode = 1 },
                                          { .seq = 2, .n_prefill = 9 },
                                          { .seq = 3, .n_prefill = 20 } };
    struct step_report report;
    struct model_figures figures;

    must_open(model, 1, N_PROMPT, 8);
    must_open(model, 2, N_PROMPT, 8);
    must_open(model, 3, N_PROMPT, 8);
    run_one(model, 1, N_PROMPT);

    report = run(model, entries, COUNTOF(entries), NULL, NULL);

    ck_assert_uint_eq(report.n_results, 3);
    ck_assert_uint_eq(report.results[0].n_tokens, 1);
    ck_assert_uint_eq(report.results[1].n_tokens, 0);
    ck_assert_uint_eq(report.results[2].n_tokens, 1);
    ck_assert_uint_eq(report.n_weight_passes, 1);
    ck_assert_uint_eq(report.n_allocs, 0);
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_steps, 2);
    ck_assert_uint_eq(figures.n_weight_passes, 2);
    ck_assert_uint_eq(figures.n_rows, N_PROMPT + 1 + 9 + 20);
    ck_assert_uint_eq(figures.n_tokens, 3);
    model_close(model);
}
END_TEST

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
    struct model *model = open_fake(&(struct rig_setup){ .n_rows = 32 });
    struct diag diag = DIAG_INIT;

    must_open(model, 1, N_PROMPT, 8);

    ck_assert_int_eq(step_begin(model, bad->entries, bad->n, &diag), STEP_REFUSED);

    ck_assert_msg(strstr(diag.text, bad->says), "%s", diag.text);
    ck_assert_uint_eq(run_one(model, 1, N_PROMPT).n_tokens, 1);
    model_close(model);
}
END_TEST

START_TEST(a_second_step_is_refused_while_one_is_begun)
{
    const struct step_entry entry = { .seq = 1, .n_prefill = 4 };
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    struct diag diag = DIAG_INIT;

    must_open(model, 1, N_PROMPT, 8);
    ck_assert_int_eq(step_begin(model, &entry, 1, &diag), 0);

    ck_assert_int_eq(step_begin(model, &entry, 1, &diag), STEP_REFUSED);

    step_withdraw(model);
    ck_assert_uint_eq(run_one(model, 1, N_PROMPT).n_rows, N_PROMPT);
    model_close(model);
}
END_TEST

START_TEST(an_unknown_sequence_is_told_and_harms_nobody)
{
    const struct step_entry entries[] = { { .seq = 7, .n_decode = 1 }, { .seq = 1, .n_prefill = N_PROMPT } };
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    struct step_report report;

    must_open(model, 1, N_PROMPT, 8);

    report = run(model, entries, 2, NULL, NULL);

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
    const struct step_entry entries[] = { { .seq = 1, .n_prefill = N_PROMPT },
                                          { .seq = 2, .n_prefill = N_PROMPT } };
    struct model *model = open_fake(&(struct rig_setup){ .n_parts = 1 });
    struct stopper stopper = { .model = model, .id = 1 };
    struct step_report report;

    must_open(model, 1, N_PROMPT, 8);
    must_open(model, 2, N_PROMPT, 8);

    report = run(model, entries, 2, stop_at_third, &stopper);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_STOPPED);
    ck_assert_uint_eq(report.results[0].n_tokens, 0);
    ck_assert_int_eq(report.results[1].outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(report.results[1].n_tokens, 1);
    ck_assert_int_eq(run_one(model, 1, 1).outcome, STEP_ENTRY_STOPPED);
    model_close(model);
}
END_TEST

START_TEST(a_step_of_which_nobody_is_left_ends_at_the_next_part)
{
    const struct step_entry entry = { .seq = 1, .n_prefill = N_PROMPT };
    struct model *model = open_fake(&(struct rig_setup){ .n_parts = 1 });
    struct stopper stopper = { .model = model, .id = 1 };
    struct step_report report;

    must_open(model, 1, N_PROMPT, 8);

    report = run(model, &entry, 1, stop_at_third, &stopper);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_STOPPED);
    ck_assert_uint_eq(report.results[0].n_rows, 0);
    ck_assert_uint_eq(stopper.n_asked, 3);
    model_close(model);
}
END_TEST

START_TEST(pages_of_a_sequence_closed_in_the_step_come_back_when_it_ends)
{
    const struct step_entry entries[] = { { .seq = 1, .n_prefill = N_PROMPT },
                                          { .seq = 2, .n_prefill = N_PROMPT } };
    struct model *model = open_fake(&(struct rig_setup){ .n_parts = 1 });
    struct stopper stopper = { .model = model, .id = 1, .closes = true };
    struct model_figures figures;
    struct step_report report;

    must_open(model, 1, N_PROMPT, 8);
    must_open(model, 2, N_PROMPT, 8);

    report = run(model, entries, 2, stop_at_third, &stopper);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_STOPPED);
    ck_assert_uint_eq(report.results[1].n_tokens, 1);
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_held, 2);
    ck_assert_uint_eq(figures.n_seqs, 1);
    ck_assert(model_check(model));
    model_close(model);
}
END_TEST

/* ---- room ---- */

START_TEST(a_full_context_gives_no_token)
{
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    struct step_result result;

    must_open(model, 1, TINY_CONTEXT - 1, 1);
    ck_assert_uint_eq(run_one(model, 1, TINY_CONTEXT).n_tokens, 1);

    result = run_one(model, 1, 0);

    ck_assert_int_eq(result.outcome, STEP_ENTRY_NO_ROOM);
    ck_assert_uint_eq(result.n_rows, 0);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_grows_beyond_its_promise_while_there_are_pages)
{
    struct model *model = open_fake(&(struct rig_setup){ .kv_bytes = 3 * TINY_PAGE_BYTES });
    struct model_figures figures;
    struct step_result result;

    must_open(model, 1, 16, 0);
    ck_assert_uint_eq(run_one(model, 1, 16).n_tokens, 1);

    for (int i = 0; i < 16; i++) {
        ck_assert_uint_eq(run_one(model, 1, 0).n_tokens, 1);
    }
    model_limit_kv(model, 2 * TINY_PAGE_BYTES);
    result = run_one(model, 1, 0);

    ck_assert_int_eq(result.outcome, STEP_ENTRY_NO_ROOM);
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_held, 2);
    model_limit_kv(model, 0);
    ck_assert_uint_eq(run_one(model, 1, 0).n_tokens, 1);
    model_close(model);
}
END_TEST

START_TEST(what_does_not_fit_is_refused_at_opening_with_both_numbers)
{
    struct model *model = open_fake(&(struct rig_setup){ .kv_bytes = 9 * TINY_PAGE_BYTES, .n_sequences = 2 });
    struct seq_room room;

    must_open(model, 1, 20, 60);

    ck_assert_int_eq(open_seq(model, 2, 60, 20, &room), SEQ_NO_PAGES);
    ck_assert_uint_eq(room.n_needed, 5);
    ck_assert_uint_eq(room.n_free, 4);
    ck_assert_int_eq(open_seq(model, 2, TINY_CONTEXT, 0, &room), SEQ_NEVER_FITS);
    ck_assert_int_eq(open_seq(model, 2, 100, 100, &room), SEQ_NEVER_FITS);
    must_open(model, 2, 10, 5);
    ck_assert_int_eq(open_seq(model, 3, 1, 0, &room), SEQ_TOO_MANY);
    seq_close(model, 1, false);
    seq_close(model, 1, false);
    must_open(model, 3, 60, 20);
    model_close(model);
}
END_TEST

START_TEST(an_id_outside_the_vocabulary_is_refused)
{
    static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    const uint32_t tokens[] = { 1, TINY_TOKENS };
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    struct seq_ask ask = { .id = 1, .tokens = tokens, .n_tokens = 2, .n_prompt = 2, .params = &greedy };
    struct seq_room room;

    ck_assert_int_eq(seq_open(model, &ask, &room), SEQ_BAD_TOKEN);
    ask.n_tokens = 0;
    ask.n_prompt = 0;
    ck_assert_int_eq(seq_open(model, &ask, &room), SEQ_BAD_TOKEN);
    model_close(model);
}
END_TEST

START_TEST(pages_are_all_back_after_the_last_close)
{
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    struct model_figures before;
    struct model_figures after;

    model_figures(model, &before);
    for (uint32_t id = 1; id <= 5; id++) {
        must_open(model, id, N_PROMPT + id, id);
        run_one(model, id, N_PROMPT);
    }
    for (uint32_t id = 1; id <= 5; id++) {
        seq_close(model, id, id % 2);
    }
    model_figures(model, &after);

    ck_assert_uint_eq(after.n_free, before.n_free);
    ck_assert_uint_eq(after.n_seqs, 0);
    ck_assert(model_check(model));
    model_close(model);
}
END_TEST

START_TEST(pages_cost_memory_once_their_rows_are_computed)
{
    struct model *model = open_fake(&(struct rig_setup){ .n_threads = 1 });
    struct mem_account opened;
    struct mem_account promised;
    struct mem_account computed;

    mem_read(MEM_KV, &opened);
    must_open(model, 1, N_PROMPT, 64);
    mem_read(MEM_KV, &promised);
    run_one(model, 1, N_PROMPT);
    mem_read(MEM_KV, &computed);

    ck_assert_uint_lt(promised.bytes - opened.bytes, TINY_PAGE_BYTES);
    /* The second page: warming up had touched the first. */
    ck_assert_uint_eq(computed.bytes - promised.bytes, TINY_PAGE_BYTES);
    model_close(model);
}
END_TEST

/* ---- numbers gone wrong ---- */

START_TEST(a_row_without_a_finite_logit_is_numeric_and_its_neighbours_are_unharmed)
{
    const struct step_entry entries[] = { { .seq = 1, .n_prefill = 3 }, { .seq = 2, .n_prefill = 4 } };
    struct model *model =
        open_fake(&(struct rig_setup){ .script = script_of("after 7 nan # the third token\n") });
    struct model *plain = open_fake(&(struct rig_setup){ .n_threads = 1 });
    struct step_report report;

    must_open(model, 1, 3, 4);
    must_open(model, 2, 4, 4);
    must_open(plain, 2, 4, 4);

    report = run(model, entries, 2, NULL, NULL);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_NUMERIC);
    ck_assert_uint_eq(report.results[0].n_tokens, 0);
    ck_assert_int_eq(report.results[1].outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(report.results[1].tokens[0], run_one(plain, 2, 4).tokens[0]);
    ck_assert_int_eq(run_one(model, 1, 1).outcome, STEP_ENTRY_NUMERIC);
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
    tcase_add_test(tcase, a_second_step_is_refused_while_one_is_begun);
    tcase_add_test(tcase, an_unknown_sequence_is_told_and_harms_nobody);
    tcase_add_test(tcase, a_sequence_stopped_in_the_step_gets_no_token_and_the_others_do);
    tcase_add_test(tcase, a_step_of_which_nobody_is_left_ends_at_the_next_part);
    tcase_add_test(tcase, pages_of_a_sequence_closed_in_the_step_come_back_when_it_ends);
    tcase_add_test(tcase, a_full_context_gives_no_token);
    tcase_add_test(tcase, a_sequence_grows_beyond_its_promise_while_there_are_pages);
    tcase_add_test(tcase, what_does_not_fit_is_refused_at_opening_with_both_numbers);
    tcase_add_test(tcase, an_id_outside_the_vocabulary_is_refused);
    tcase_add_test(tcase, pages_are_all_back_after_the_last_close);
    tcase_add_test(tcase, pages_cost_memory_once_their_rows_are_computed);
    tcase_add_test(tcase, a_row_without_a_finite_logit_is_numeric_and_its_neighbours_are_unharmed);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
