/*
 * Gists: what the rows of a text come to, by the written definition, against the papers' formulas in float64, and with
 * the same bits however the text is served.
 */
#include "base/clean.h"
#include "model/pooling.h"
#include "reference.h"
#include "tiny.h"
#include "unit.h"
#include <math.h>
#include <string.h>

#define N_TEXT 100
#define BOUND  1e-4 /* of a value, in parts of the largest */

static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };

/* ---- the definition */

static const float rows[3][2] = { { 1.0f, 1e8f }, { 0.1f, 1.0f }, { 0.2f, -1e8f } };

static void add_rows(struct pooling *pooling)
{
    for (uint32_t i = 0; i < COUNTOF(rows); i++) {
        if (pooling_wants(pooling, i, COUNTOF(rows) - 1)) {
            memcpy(pooling->values, rows[i], sizeof(rows[i]));
            pooling_add(pooling);
        }
    }
}

START_TEST(a_mean_is_summed_in_float64_and_rounded_once)
{
    struct pooling *pooling = pooling_create(POOLING_MEAN, 2);

    add_rows(pooling);

    ck_assert(pooling_pool(pooling));
    ck_assert(pooling->values[0] == (float)(((double)1.0f + (double)0.1f + (double)0.2f) / 3));
    ck_assert(pooling->values[1] == (float)(1.0 / 3));
    pooling_destroy(pooling);
}
END_TEST

START_TEST(the_first_and_the_last_row_come_out_as_they_are)
{
    struct pooling *first = pooling_create(POOLING_FIRST, 2);
    struct pooling *last = pooling_create(POOLING_LAST, 2);

    add_rows(first);
    add_rows(last);

    ck_assert(pooling_pool(first) && pooling_pool(last));
    ck_assert_mem_eq(first->values, rows[0], sizeof(rows[0]));
    ck_assert_mem_eq(last->values, rows[2], sizeof(rows[2]));
    pooling_destroy(first);
    pooling_destroy(last);
}
END_TEST

START_TEST(what_is_not_finite_is_no_gist)
{
    struct pooling *pooling = pooling_create(POOLING_MEAN, 2);

    add_rows(pooling);
    pooling->values[1] = NAN;
    pooling_add(pooling);

    ck_assert(!pooling_pool(pooling));
    pooling_destroy(pooling);
    pooling_destroy(NULL);
}
END_TEST

/* ---- in a model */

static int open_hidden(struct model *model, uint32_t id, const uint32_t *tokens, uint32_t n)
{
    struct seq_room room;

    return seq_open(model,
                    &(struct seq_request){
                        .id = id, .tokens = tokens, .n_tokens = n, .n_prompt = n, .params = &greedy, .hidden = true },
                    &room);
}

static struct step_report run_step(struct model *model, const struct step_entry *entries, uint32_t n, step_poll_fn poll)
{
    struct step_report report;
    struct diag diag = DIAG_INIT;
    int r;

    ck_assert_msg(step_begin(model, 1, entries, n, &diag) == 0, "%s", diag.text);
    while ((r = step_run(model, 1, poll, NULL, &report)) == STEP_SUSPENDED) {
        continue;
    }
    ck_assert_int_eq(r, STEP_DONE);
    ck_assert_uint_eq(report.n_allocs, 0);
    return report;
}

/* Sequence @id to its end in pieces of @n_chunk rows, before it the rows of @n_others that are open. */
static void embed(struct model *model, uint32_t id, uint32_t n_text, uint32_t n_chunk, uint32_t n_others,
                  step_poll_fn poll, float *ret_values)
{
    struct step_entry entries[8] = { { .seq = 0 } };
    uint32_t done = 0;

    while (done < n_text) {
        struct step_report report;
        const struct step_result *result;
        uint32_t n = n_text - done < n_chunk ? n_text - done : n_chunk;

        for (uint32_t i = 0; i < n_others; i++) {
            entries[i] = (struct step_entry){ .seq = 100 + i, .n_decode = 1 };
        }
        entries[n_others] = (struct step_entry){ .seq = id, .n_prefill = n };
        report = run_step(model, entries, n_others + 1, poll);
        result = &report.results[n_others];
        done += n;
        ck_assert_int_eq(result->outcome, STEP_ENTRY_DONE);
        ck_assert_uint_eq(result->n_rows, n);
        ck_assert_uint_eq(result->n_tokens, 0);
        ck_assert_uint_eq(result->n_hidden, done == n_text ? REFERENCE_EMBD : 0);
        if (done == n_text) {
            memcpy(ret_values, result->hidden, REFERENCE_EMBD * sizeof(float));
        }
    }
}

static void fill_text(uint32_t *text)
{
    for (uint32_t i = 0; i < N_TEXT; i++) {
        text[i] = (i * 37 + 3) % REFERENCE_TOKENS;
    }
}

static struct model *open_paper(struct reference *reference, struct reference_model *made, enum pooling_kind pooling,
                                uint32_t n_threads)
{
    reference->pooling = pooling;
    reference_make(made, reference);
    return model_fixture_open(made->path, &(struct model_fixture_setup){
                                              .kv_format = "f32", .n_threads = n_threads, .n_rows = 256 });
}

static double expected_value(const double *hidden, enum pooling_kind pooling, uint32_t i)
{
    double sum = 0.0;

    if (pooling != POOLING_MEAN) {
        return hidden[(size_t)(pooling == POOLING_LAST ? N_TEXT - 1 : 0) * REFERENCE_EMBD + i];
    }
    for (uint32_t row = 0; row < N_TEXT; row++) {
        sum += hidden[(size_t)row * REFERENCE_EMBD + i];
    }
    return sum / N_TEXT;
}

/* _i: three poolings of each family. */
START_TEST(a_gist_is_that_of_the_papers_hidden_states)
{
    static struct reference_model made;
    static double hidden[N_TEXT * REFERENCE_EMBD];
    struct reference reference = references[_i / 3];
    enum pooling_kind pooling = (enum pooling_kind)(POOLING_MEAN + _i % 3);
    struct model *model = open_paper(&reference, &made, pooling, 1);
    float values[REFERENCE_EMBD];
    uint32_t text[N_TEXT];
    double worst = 0.0;
    double most = 0.0;

    fill_text(text);
    reference_hidden(&made, text, N_TEXT, REFERENCE_CONTEXT, hidden);
    ck_assert_int_eq(open_hidden(model, 1, text, N_TEXT), SEQ_OK);
    embed(model, 1, N_TEXT, 64, 0, NULL, values);

    for (uint32_t i = 0; i < REFERENCE_EMBD; i++) {
        double expected = expected_value(hidden, pooling, i);

        worst = fmax(worst, fabs(expected - (double)values[i]));
        most = fmax(most, fabs(expected));
    }
    ck_assert_msg(worst <= BOUND * most, "%s: %g of %g", reference.name, worst, most);
    model_close(model);
    reference_free(&made);
}
END_TEST

static bool stop_each_time(void *owner)
{
    return false;
}

START_TEST(a_gist_has_the_same_bits_however_it_is_served)
{
    static const uint32_t chunks[] = { 1, 7, 16, 64, 100 };
    static struct reference_model made;
    struct reference reference = references[0];
    uint32_t text[N_TEXT];
    float first[REFERENCE_EMBD];
    float values[REFERENCE_EMBD];

    fill_text(text);
    for (uint32_t n_threads = 1; n_threads <= 2; n_threads++) {
        struct model *model = open_paper(&reference, &made, POOLING_MEAN, n_threads);
        struct seq_room room;
        uint32_t id = 1;

        for (uint32_t i = 0; i < 3; i++) {
            ck_assert_int_eq(seq_open(model,
                                      &(struct seq_request){ .id = 100 + i,
                                                             .tokens = text,
                                                             .n_tokens = 5,
                                                             .n_prompt = 5,
                                                             .n_reserve = 120,
                                                             .params = &greedy },
                                      &room),
                             SEQ_OK);
        }
        for (uint32_t i = 0; i < 2 * COUNTOF(chunks); i++, id++) {
            bool is_first = n_threads == 1 && i == 0;

            ck_assert_int_eq(open_hidden(model, id, text, N_TEXT), SEQ_OK);
            embed(model, id, N_TEXT, chunks[i / 2], i % 2 && chunks[i / 2] > 1 ? 3 : 0, i % 2 ? stop_each_time : NULL,
                  is_first ? first : values);
            seq_close(model, id, true);
            ck_assert_msg(is_first || memcmp(first, values, sizeof(first)) == 0, "chunk %u, way %u", chunks[i / 2],
                          i % 2);
        }
        model_close(model);
        reference_free(&made);
    }
}
END_TEST

START_TEST(a_model_for_embedding_answers_with_the_bits_that_it_had)
{
    static struct reference_model made;
    struct reference reference = references[0];
    struct model_fixture_stream *streams = calloc(2, sizeof(*streams));

    for (uint32_t i = 0; i < 2; i++) {
        struct model *model = open_paper(&reference, &made, i ? POOLING_MEAN : POOLING_NONE, 1);

        streams[i] = (struct model_fixture_stream){ .id = 1, .n_prompt = 3, .prompt = { 3, 4, 5 }, .n_wanted = 20 };
        streams[i].logprobs = calloc((size_t)20 * MODEL_FIXTURE_VOCAB, sizeof(float));
        model_fixture_drive(model, &streams[i], 1, 3, NULL, NULL);
        model_close(model);
        reference_free(&made);
    }

    ck_assert_mem_eq(streams[0].answer, streams[1].answer, 20 * sizeof(uint32_t));
    ck_assert_mem_eq(streams[0].logprobs, streams[1].logprobs, (size_t)20 * MODEL_FIXTURE_VOCAB * sizeof(float));
    free(streams[0].logprobs);
    free(streams[1].logprobs);
    free(streams);
}
END_TEST

START_TEST(a_text_may_fill_the_context_and_leaves_nothing_behind)
{
    static struct reference_model made;
    struct reference reference = references[0];
    struct model *model = open_paper(&reference, &made, POOLING_LAST, 1);
    uint32_t text[REFERENCE_CONTEXT + 1] = { 3 };
    struct model_figures figures;
    float values[REFERENCE_EMBD];

    ck_assert_int_eq(open_hidden(model, 1, text, REFERENCE_CONTEXT + 1), SEQ_NEVER_FITS);
    ck_assert_int_eq(open_hidden(model, 1, text, REFERENCE_CONTEXT), SEQ_OK);
    embed(model, 1, REFERENCE_CONTEXT, 50, 0, NULL, values);
    seq_trim(model, 1, 5); /* nothing: what was pooled stays */
    seq_close(model, 1, true);

    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_held, 0);
    ck_assert_uint_eq(figures.n_cached, 0);
    ck_assert(model_check(model));
    model_close(model);
    reference_free(&made);
}
END_TEST

START_TEST(a_stopped_text_gives_nothing)
{
    static struct reference_model made;
    struct reference reference = references[0];
    struct model *model = open_paper(&reference, &made, POOLING_MEAN, 1);
    struct step_report report;
    uint32_t text[N_TEXT];

    fill_text(text);
    ck_assert_int_eq(open_hidden(model, 1, text, N_TEXT), SEQ_OK);
    seq_stop(model, 1);
    report = run_step(model, &(struct step_entry){ .seq = 1, .n_prefill = N_TEXT }, 1, NULL);

    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_STOPPED);
    ck_assert_uint_eq(report.results[0].n_hidden, 0);
    model_close(model);
    reference_free(&made);
}
END_TEST

START_TEST(a_text_is_not_embedded_by_a_model_that_is_not_made_for_it_or_shared)
{
    static struct reference_model made;
    struct reference reference = references[0];
    struct model *model = open_paper(&reference, &made, POOLING_NONE, 1);
    uint32_t text[N_TEXT];
    struct seq_room room;

    fill_text(text);
    ck_assert_int_eq(open_hidden(model, 1, text, N_TEXT), SEQ_UNSUPPORTED);
    model_close(model);
    reference_free(&made);
    model = open_paper(&reference, &made, POOLING_MEAN, 1);
    ck_assert_int_eq(seq_open(model,
                              &(struct seq_request){ .id = 1,
                                                     .tokens = text,
                                                     .n_tokens = 5,
                                                     .n_prompt = 5,
                                                     .params = &greedy,
                                                     .salt = (const uint8_t *)"s",
                                                     .n_salt = 1,
                                                     .hidden = true },
                              &room),
                     SEQ_UNSUPPORTED);
    model_close(model);
    reference_free(&made);
}
END_TEST

/* ---- the keys */

START_TEST(a_file_says_how_it_is_pooled)
{
    static const uint32_t n_hidden[] = { 0, 256, 256, 256, 0 };
    struct model_facts facts;
    struct model *model;
    char path[64];

    tiny_file(&(struct tiny){ .key = "llama.pooling_type", .value = (uint32_t)_i }, path, sizeof(path));
    model = model_fixture_open(path, &(struct model_fixture_setup){ .n_threads = 1 });
    model_facts(model, &facts);

    ck_assert_uint_eq(facts.n_hidden, n_hidden[_i]);
    model_close(model);
}
END_TEST

START_TEST(a_pooling_that_nobody_knows_and_rows_that_see_ahead_are_refused)
{
    static const char *const keys[] = { "llama.pooling_type", "llama.attention.causal" };
    struct diag diag = DIAG_INIT;
    struct model *model;
    char path[64];

    tiny_file(&(struct tiny){ .key = keys[_i], .value = 5 }, path, sizeof(path));

    ck_assert_int_eq(model_fixture_try(&model, path, &(struct model_fixture_setup){ .n_threads = 1 }, &diag),
                     MODEL_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, keys[_i]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gist");
    TCase *facts = tcase_create("facts");

    tcase_set_timeout(facts, 120);
    tcase_add_test(facts, a_mean_is_summed_in_float64_and_rounded_once);
    tcase_add_test(facts, the_first_and_the_last_row_come_out_as_they_are);
    tcase_add_test(facts, what_is_not_finite_is_no_gist);
    tcase_add_loop_test(facts, a_gist_is_that_of_the_papers_hidden_states, 0, 3 * n_references);
    tcase_add_test(facts, a_gist_has_the_same_bits_however_it_is_served);
    tcase_add_test(facts, a_model_for_embedding_answers_with_the_bits_that_it_had);
    tcase_add_test(facts, a_text_may_fill_the_context_and_leaves_nothing_behind);
    tcase_add_test(facts, a_stopped_text_gives_nothing);
    tcase_add_test(facts, a_text_is_not_embedded_by_a_model_that_is_not_made_for_it_or_shared);
    tcase_add_loop_test(facts, a_file_says_how_it_is_pooled, 0, 5);
    tcase_add_loop_test(facts, a_pooling_that_nobody_knows_and_rows_that_see_ahead_are_refused, 0, 2);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
