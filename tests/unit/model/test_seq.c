/* Sequences: what they are promised when they open, what they grow into, and that everything comes back. */
#include "failed_alloc.h"
#include "scripted.h"
#include "tiny.h"
#include "unit.h"
#include <errno.h>

START_TEST(a_full_context_gives_no_token)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct step_result result;

    scripted_seq(model, 1, TINY_CONTEXT - 1, 1);
    ck_assert_uint_eq(scripted_run_one(model, 1, TINY_CONTEXT).n_tokens, 1);

    result = scripted_run_one(model, 1, 0);

    ck_assert_int_eq(result.outcome, STEP_ENTRY_NO_ROOM);
    ck_assert_uint_eq(result.n_rows, 0);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_grows_beyond_its_promise_while_there_are_pages)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .kv_bytes = 3 * TINY_PAGE_BYTES });
    struct model_figures figures;
    struct step_result result;

    scripted_seq(model, 1, 16, 0);
    ck_assert_uint_eq(scripted_run_one(model, 1, 16).n_tokens, 1);

    for (int i = 0; i < 16; i++) {
        ck_assert_uint_eq(scripted_run_one(model, 1, 0).n_tokens, 1);
    }
    model_limit_kv(model, 2 * TINY_PAGE_BYTES);
    result = scripted_run_one(model, 1, 0);

    ck_assert_int_eq(result.outcome, STEP_ENTRY_NO_ROOM);
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_held, 2);
    model_limit_kv(model, 0);
    ck_assert_uint_eq(scripted_run_one(model, 1, 0).n_tokens, 1);
    model_close(model);
}
END_TEST

START_TEST(what_does_not_fit_is_refused_at_opening_with_both_numbers)
{
    struct model *model =
        scripted_open(&(struct model_fixture_setup){ .kv_bytes = 9 * TINY_PAGE_BYTES, .n_sequences = 2 });
    struct seq_room room;

    scripted_seq(model, 1, 20, 60);

    ck_assert_int_eq(scripted_try(model, 2, 60, 20, &room), SEQ_NO_PAGES);
    ck_assert_uint_eq(room.n_needed, 5);
    ck_assert_uint_eq(room.n_free, 4);
    ck_assert_int_eq(scripted_try(model, 2, TINY_CONTEXT, 0, &room), SEQ_NEVER_FITS);
    ck_assert_int_eq(scripted_try(model, 2, 100, 100, &room), SEQ_NEVER_FITS);
    scripted_seq(model, 2, 10, 5);
    ck_assert_int_eq(scripted_try(model, 3, 1, 0, &room), SEQ_TOO_MANY);
    seq_close(model, 1, false);
    seq_close(model, 1, false);
    scripted_seq(model, 3, 60, 20);
    model_close(model);
}
END_TEST

START_TEST(an_id_outside_the_vocabulary_is_refused)
{
    static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    const uint32_t tokens[] = { 1, TINY_TOKENS };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct seq_request request = { .id = 1, .tokens = tokens, .n_tokens = 2, .n_prompt = 2, .params = &greedy };
    struct seq_room room;

    ck_assert_int_eq(seq_open(model, &request, &room), SEQ_BAD_TOKEN);
    request.n_tokens = 0;
    request.n_prompt = 0;
    ck_assert_int_eq(seq_open(model, &request, &room), SEQ_BAD_TOKEN);
    model_close(model);
}
END_TEST

START_TEST(pages_are_all_back_after_the_last_close)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct model_figures before;
    struct model_figures after;

    model_figures(model, &before);
    for (uint32_t id = 1; id <= 5; id++) {
        scripted_seq(model, id, SCRIPTED_PROMPT + id, id);
        scripted_run_one(model, id, SCRIPTED_PROMPT);
    }
    for (uint32_t id = 1; id <= 5; id++) {
        seq_close(model, id, id % 2);
    }
    model_figures(model, &after);

    ck_assert_uint_eq(after.n_free + after.n_cached, before.n_free);
    ck_assert_uint_eq(after.n_seqs, 0);
    ck_assert(model_check(model));
    model_close(model);
}
END_TEST

START_TEST(pages_cost_memory_once_their_rows_are_computed)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct mem_account opened;
    struct mem_account promised;
    struct mem_account computed;

    mem_read(MEM_KV, &opened);
    scripted_seq(model, 1, SCRIPTED_PROMPT, 64);
    mem_read(MEM_KV, &promised);
    scripted_run_one(model, 1, SCRIPTED_PROMPT);
    mem_read(MEM_KV, &computed);

    ck_assert_uint_lt(promised.bytes - opened.bytes, TINY_PAGE_BYTES);
    /* The second page: warming up had touched the first. */
    ck_assert_uint_eq(computed.bytes - promised.bytes, TINY_PAGE_BYTES);
    model_close(model);
}
END_TEST

START_TEST(an_id_in_use_is_a_fault)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct seq_room room;

    scripted_seq(model, 1, SCRIPTED_PROMPT, 8);

    ck_assert_int_eq(scripted_try(model, 1, SCRIPTED_PROMPT, 8, &room), -EEXIST);

    ck_assert(model_check(model));
    ck_assert_uint_eq(scripted_run_one(model, 1, SCRIPTED_PROMPT).n_tokens, 1);
    model_close(model);
}
END_TEST

static int open_and_close(void *data)
{
    static const struct sample_bias bias = { .id = 3, .bias = 1.0f };
    static const uint32_t never[] = { 4 };
    const struct sample_params params = { .biases = &bias, .n_biases = 1, .never = never, .n_never = 1, .n_top = 5 };
    const struct step_entry entry = { .seq = 1, .n_prefill = 1 };
    const struct step_entry other = { .seq = 2, .n_prefill = 1 };
    struct seq_request request = {
        .id = 1, .tokens = scripted_prompt, .n_tokens = SCRIPTED_PROMPT, .n_prompt = SCRIPTED_PROMPT, .params = &params
    };
    struct model *model = data;
    struct seq_room room;
    int r = seq_open(model, &request, &room);

    if (r) {
        return r;
    }
    scripted_run(model, &entry, 1, NULL, NULL);
    seq_close(model, 1, false);
    scripted_run(model, &other, 1, NULL, NULL); /* with the next step all of it has gone */
    return 0;
}

START_TEST(an_allocation_that_fails_while_a_sequence_opens_leaves_nothing_behind)
{
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });

    open_and_close(model);

    for_each_failed_alloc(open_and_close, model);
    ck_assert(model_check(model));
    model_close(model);
}
END_TEST

/* The first token drawn after the puppet's prompt, as token @index of the answer. */
static uint32_t draw_at(uint32_t n_prompt, uint32_t n_slid)
{
    const struct sample_params warm = { .temperature = 1.0f, .top_p = 1.0f, .repetition_penalty = 1.0f, .seed = 3 };
    struct model *model = scripted_open(&(struct model_fixture_setup){ .n_threads = 1 });
    struct seq_room room;
    struct step_result result;
    uint32_t token;

    ck_assert_int_eq(seq_open(model,
                              &(struct seq_request){ .id = 1,
                                                     .tokens = scripted_prompt,
                                                     .n_tokens = SCRIPTED_PROMPT,
                                                     .n_prompt = n_prompt,
                                                     .n_slid = n_slid,
                                                     .n_reserve = 4,
                                                     .params = &warm },
                              &room),
                     SEQ_OK);
    result = scripted_run_one(model, 1, SCRIPTED_PROMPT);
    ck_assert_uint_eq(result.n_tokens, 1);
    token = result.tokens[0];
    model_close(model);
    return token;
}

START_TEST(tokens_that_slid_away_count_for_the_draw)
{
    uint32_t n_same = 0;

    for (uint32_t n = 1; n < SCRIPTED_PROMPT; n++) {
        /* Token n of the answer, with the tokens there and with some of them gone. */
        ck_assert_uint_eq(draw_at(SCRIPTED_PROMPT, n), draw_at(SCRIPTED_PROMPT - n, 0));
        n_same += draw_at(SCRIPTED_PROMPT, n) == draw_at(SCRIPTED_PROMPT, 0);
    }
    ck_assert_uint_lt(n_same, SCRIPTED_PROMPT - 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-seq");
    TCase *tcase = tcase_create("seq");

    tcase_add_test(tcase, a_full_context_gives_no_token);
    tcase_add_test(tcase, a_sequence_grows_beyond_its_promise_while_there_are_pages);
    tcase_add_test(tcase, what_does_not_fit_is_refused_at_opening_with_both_numbers);
    tcase_add_test(tcase, an_id_outside_the_vocabulary_is_refused);
    tcase_add_test(tcase, pages_are_all_back_after_the_last_close);
    tcase_add_test(tcase, pages_cost_memory_once_their_rows_are_computed);
    tcase_add_test(tcase, an_id_in_use_is_a_fault);
    tcase_add_test(tcase, an_allocation_that_fails_while_a_sequence_opens_leaves_nothing_behind);
    tcase_add_test(tcase, tokens_that_slid_away_count_for_the_draw);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
