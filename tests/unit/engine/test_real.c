/*
 * The engine around a real model: the published answers, however its steps are cut, stopped or shared.
 */
#include "fixture.h"

#include "base/clean.h"
#include "unit.h"
#include <jansson.h>
#include <string.h>

#define MODEL "models/stories260K-f32.gguf"
#define TRUTH "models/stories260K-f32.expected.json"

#define N_ANSWER 24

/* Results of another program for one prompt. */
struct truth {
    uint32_t prompt[16];
    uint32_t n_prompt;
    uint32_t answer[N_ANSWER];
};

/* Reads the prompt of the published text. Returns false if the data is missing. */
static bool read_truth(struct truth *truth)
{
    char path[512];
    json_t *root;
    json_t *row;
    json_t *id;
    size_t i;

    if (!unit_truth(TRUTH, path, sizeof(path))) {
        return false;
    }
    root = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(root);
    row = json_array_get(json_object_get(root, "cases"), 1);
    truth->n_prompt = (uint32_t)json_array_size(json_object_get(row, "prompt_ids"));
    ck_assert_uint_le(truth->n_prompt, COUNTOF(truth->prompt));
    json_array_foreach(json_object_get(row, "prompt_ids"), i, id)
    {
        truth->prompt[i] = (uint32_t)json_integer_value(id);
    }
    ck_assert_uint_ge(json_array_size(json_object_get(row, "greedy_ids")), N_ANSWER);
    for (i = 0; i < N_ANSWER; i++) {
        truth->answer[i] = (uint32_t)json_integer_value(json_array_get(json_object_get(row, "greedy_ids"), i));
    }
    json_decref(root);
    return true;
}

static void check_answer(const uint32_t *tokens, const struct truth *truth, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(tokens[i], truth->answer[i]);
    }
}

START_TEST(answer_is_the_published_one)
{
    uint32_t tokens[N_ANSWER];
    struct truth truth;

    if (!read_truth(&truth) || !fixture_ready("cpu", MODEL, NULL)) {
        return;
    }
    fixture_open_plain(1, truth.prompt, truth.n_prompt);

    fixture_answer(1, 1, truth.n_prompt, tokens, N_ANSWER);

    check_answer(tokens, &truth, N_ANSWER);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(prompt_cut_into_rows_gives_the_same_answer)
{
    struct truth truth;

    if (!read_truth(&truth) || !fixture_ready("cpu", MODEL, NULL)) {
        return;
    }
    fixture_open_plain(1, truth.prompt, truth.n_prompt);

    for (uint32_t i = 0; i + 1 < truth.n_prompt; i++) {
        fixture_step(i + 1, 1, 1, 0);
        fixture_get_outcome(i + 1, SOTTO__ENGINE__OUTCOME__OUTCOME_DONE);
    }
    fixture_step(truth.n_prompt, 1, 1, 0);

    ck_assert_uint_eq(fixture_get_token(truth.n_prompt), truth.answer[0]);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

/* Continues the step a part at a time. Returns how often it was suspended. */
static unsigned crawl(uint64_t id, uint32_t *ret_token)
{
    unsigned n_stops = 0;

    while (n_stops < 100000) {
        const Sotto__Engine__EntryDone *entry;
        const Sotto__Engine__FromEngine *answer = fixture_get_any();

        if (answer->body_case == SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED) {
            n_stops++;
            fixture_continue(id, 1);
            continue;
        }
        ck_assert_int_eq(answer->body_case, SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE);
        entry = answer->step_done->entries[0];
        ck_assert_uint_eq(entry->n_tokens, 1);
        *ret_token = entry->tokens[0];
        break;
    }
    return n_stops;
}

START_TEST(step_suspended_after_every_part_gives_the_same_answer)
{
    unsigned n_stops = 0;
    struct truth truth;

    if (!read_truth(&truth) || !fixture_ready("cpu", MODEL, NULL)) {
        return;
    }
    fixture_open_plain(1, truth.prompt, truth.n_prompt);

    for (uint32_t i = 0; i < N_ANSWER; i++) {
        uint32_t token;

        fixture_step(i + 1, 1, i == 0 ? truth.n_prompt : 0, 1);
        n_stops += crawl(i + 1, &token);
        ck_assert_uint_eq(token, truth.answer[i]);
    }

    ck_assert_uint_gt(n_stops, N_ANSWER); /* a step is some submissions of 50 us */
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(sequence_rebuilt_in_mid_answer_goes_on_with_the_same_tokens)
{
    enum { N_KNOWN = 10 };
    uint32_t tokens[16 + N_KNOWN];
    uint32_t rest[N_ANSWER - N_KNOWN];
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct truth truth;

    if (!read_truth(&truth) || !fixture_ready("cpu", MODEL, NULL)) {
        return;
    }
    memcpy(tokens, truth.prompt, truth.n_prompt * sizeof(*tokens));
    memcpy(tokens + truth.n_prompt, truth.answer, N_KNOWN * sizeof(*tokens));
    fixture_fill_open(&open, &sampler, 1, tokens, truth.n_prompt + N_KNOWN);
    open.n_prompt = truth.n_prompt;
    fixture_open(&open);
    fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED);

    fixture_answer(1, 1, truth.n_prompt + N_KNOWN, rest, COUNTOF(rest));

    for (size_t i = 0; i < COUNTOF(rest); i++) {
        ck_assert_uint_eq(rest[i], truth.answer[N_KNOWN + i]);
    }
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

/* Draws 12 tokens at temperature 1 with seed 5, beside @n_others greedy sequences that decode in the same steps. */
static void draw_beside(uint32_t n_others, uint32_t *ret_tokens, const struct truth *truth)
{
    Sotto__Engine__Entry rows[4];
    Sotto__Engine__Entry *entries[4];
    Sotto__Engine__Step step = SOTTO__ENGINE__STEP__INIT;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    ck_assert(fixture_ready("cpu", MODEL, NULL));
    fixture_fill_open(&open, &sampler, 1, truth->prompt, truth->n_prompt);
    sampler.temperature = 1;
    sampler.seed = 5;
    fixture_open(&open);
    fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED);
    for (uint32_t i = 0; i < n_others; i++) {
        fixture_open_plain(2 + i, truth->answer + i, 3 + i);
    }
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STEP;
    order.step = &step;
    step.entries = entries;
    step.n_entries = 1 + n_others;
    for (uint32_t n = 0; n < 12; n++) {
        for (uint32_t i = 0; i <= n_others; i++) {
            sotto__engine__entry__init(&rows[i]);
            entries[i] = &rows[i];
            rows[i].sequence = 1 + i;
            rows[i].work_case = n == 0 ? SOTTO__ENGINE__ENTRY__WORK_PREFILL : SOTTO__ENGINE__ENTRY__WORK_DECODE;
            rows[i].prefill = n > 0 ? 1 : i == 0 ? truth->n_prompt : 2 + i; /* one field with decode */
        }
        step.id = n + 1;
        fixture_send(&order);
        ret_tokens[n] = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done->entries[0]->tokens[0];
        ck_assert_uint_eq(fixture.last->step_done->weight_passes, 1);
    }
    ck_assert_int_eq(fixture_end(), 0);
}

START_TEST(drawn_tokens_are_the_same_alone_and_beside_others)
{
    uint32_t alone[12];
    uint32_t beside[12];
    struct truth truth;

    if (!read_truth(&truth)) {
        return;
    }

    draw_beside(0, alone, &truth);
    draw_beside(3, beside, &truth);

    ck_assert_mem_eq(alone, beside, sizeof(alone));
}
END_TEST

START_TEST(everything_is_given_back_at_the_end_and_no_step_allocated)
{
    uint32_t tokens[N_ANSWER];
    const Sotto__Engine__Stats *stats;
    uint32_t n_free;
    struct truth truth;

    if (!read_truth(&truth) || !fixture_ready("cpu", MODEL, NULL)) {
        return;
    }
    n_free = fixture_query()->pages_free;
    for (uint32_t seq = 1; seq <= 20; seq++) {
        fixture_open_plain(seq, truth.prompt, truth.n_prompt);
        fixture_answer(seq * 100, seq, truth.n_prompt, tokens, N_ANSWER);
        fixture_close(seq);
    }

    stats = fixture_query();

    ck_assert_uint_eq(stats->sequences, 0);
    ck_assert_uint_eq(stats->pages_free, n_free);
    ck_assert_uint_eq(stats->pages_held, 0);
    ck_assert_uint_eq(stats->steps, 20 * N_ANSWER);
    ck_assert_uint_eq(stats->tokens, 20 * N_ANSWER);
    ck_assert_uint_eq(stats->weight_passes, 20 * N_ANSWER);
    ck_assert_uint_eq(stats->step_allocations, 0);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(stopped_sequence_leaves_the_others_of_its_step_alone)
{
    uint32_t tokens[2];
    struct truth truth;

    if (!read_truth(&truth) || !fixture_ready("cpu", MODEL, NULL)) {
        return;
    }
    fixture_open_plain(1, truth.prompt, truth.n_prompt);
    fixture_open_plain(2, truth.prompt, truth.n_prompt);

    fixture_stop(2);
    fixture_step(1, 2, truth.n_prompt, 0);
    fixture_get_outcome(1, SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED);

    fixture_answer(2, 1, truth.n_prompt, tokens, COUNTOF(tokens));
    check_answer(tokens, &truth, COUNTOF(tokens));
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("real");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, answer_is_the_published_one);
    tcase_add_test(tests, prompt_cut_into_rows_gives_the_same_answer);
    tcase_add_test(tests, step_suspended_after_every_part_gives_the_same_answer);
    tcase_add_test(tests, sequence_rebuilt_in_mid_answer_goes_on_with_the_same_tokens);
    tcase_add_test(tests, drawn_tokens_are_the_same_alone_and_beside_others);
    tcase_add_test(tests, everything_is_given_back_at_the_end_and_no_step_allocated);
    tcase_add_test(tests, stopped_sequence_leaves_the_others_of_its_step_alone);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
