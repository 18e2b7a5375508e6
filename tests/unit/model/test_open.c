/* What a model file must be, and the sentence that says what is wrong with it. */
#include "base/clean.h"
#include "failed_alloc.h"
#include "fixture.h"
#include "tensor/type.h"
#include "tiny.h"
#include "unit.h"
#include <errno.h>
#include <string.h>

/* Files that are refused, and what the sentence must contain. */
static const struct refusal {
    struct tiny tiny;
    const char *says[3];
} refusals[] = {
    { { .arch = "mamba" }, { "mamba", "llama" } },
    { { .omit = { "general.architecture" } }, { "general.architecture" } },
    { { .omit = { "blk.0.attn_q.weight", "blk.1.ffn_down.weight", "output_norm.weight" } },
      { "blk.0.attn_q.weight", "blk.1.ffn_down.weight", "output_norm.weight" } },
    { { .omit = { "llama.block_count", "llama.context_length" } }, { "llama.block_count", "llama.context_length" } },
    { { .omit = { "llama.attention.layer_norm_rms_epsilon" } }, { "rms_epsilon" } },
    { { .omit = { "tokenizer.ggml.tokens" } }, { "tokenizer.ggml.tokens" } },
    { { .key = "llama.block_count", .value = 3 }, { "blk.2.attn_q.weight" } },
    { { .key = "llama.block_count", .value = 4000000000 }, { "llama.block_count", "4000000000", "1024" } },
    { { .key = "llama.context_length", .value = 0 }, { "llama.context_length" } },
    { { .key = "llama.attention.head_count", .value = 3 }, { "256 columns", "3 heads" } },
    { { .key = "llama.attention.head_count_kv", .value = 3 }, { "4 heads", "3 heads" } },
    { { .key = "llama.attention.key_length", .value = 33 }, { "heads of 33" } },
    { { .key = "llama.attention.value_length", .value = 32 }, { "value_length" } },
    { { .key = "llama.rope.dimension_count", .value = 7 }, { "7 elements", "pairs" } },
    { { .key = "llama.rope.dimension_count", .value = 128 }, { "128 elements", "64" } },
    { { .key = "split.count", .value = 3 }, { "parts" } },
    { { .tensor = "rope_freqs.weight", .type = ELEM_F32, .n_cols = 32 }, { "rope_freqs.weight", "factor 0" } },
    { { .tensor = "rope_freqs.weight", .type = ELEM_F32, .n_cols = 64 }, { "rope_freqs.weight", "32 x 1" } },
    { { .tensor = "blk.1.attn_k.bias", .type = ELEM_F32, .n_cols = 256 }, { "blk.1.attn_k.bias", "128 x 1" } },
    { { .key = "llama.expert_count", .value = 8 }, { "mixture of experts" } },
    { { .key = "llama.vocab_size", .value = 299 }, { "llama.vocab_size", "299", "300" } },
    { { .text_key = "llama.rope.scaling.type", .text = "dynamic" }, { "dynamic", "yarn" } },
    { { .eps = -1.0f }, { "rms_epsilon" } },
    { { .tensor = "blk.1.attn_norm.bias", .type = ELEM_F32, .n_cols = 256 }, { "blk.1.attn_norm.bias", "llama" } },
    { { .tensor = "output_norm.bias", .type = ELEM_F32, .n_cols = 256 }, { "output_norm.bias" } },
    { { .text_key = "llama.rope.scaling.type", .text = "longrope" }, { "rope_factors_long" } },
    { { .n_listed = TINY_TOKENS + 1 }, { "token_embd.weight", "256 x 301" } },
    { { .tensor = "output.weight", .type = ELEM_F16, .n_cols = 256, .n_rows = TINY_TOKENS - 1 }, { "output.weight" } },
    { { .tensor = "blk.1.ffn_down.weight", .type = ELEM_F16, .n_cols = 256, .n_rows = 512 },
      { "blk.1.ffn_down.weight", "256 x 512", "512 x 256" } },
    { { .tensor = "blk.0.ffn_up.weight", .type = 17, .n_cols = 256, .n_rows = 512 },
      { "blk.0.ffn_up.weight", "IQ2_XS", "Q4_1" } },
    { { .tensor = "blk.0.attn_norm.weight", .type = ELEM_F16, .n_cols = 256 }, { "blk.0.attn_norm.weight", "F32" } },
};

START_TEST(a_file_that_does_not_hold_together_is_refused_by_name)
{
    const struct refusal *refusal = &refusals[_i];
    struct model *model = NULL;
    struct diag diag = DIAG_INIT;
    char path[64];
    int r;

    tiny_file(&refusal->tiny, path, sizeof(path));

    r = model_fixture_try(&model, path, &(struct model_fixture_setup){ .backend = "cpu" }, &diag);

    ck_assert_int_eq(r, MODEL_REFUSED);
    for (size_t i = 0; i < COUNTOF(refusal->says) && refusal->says[i]; i++) {
        ck_assert_msg(strstr(diag.text, refusal->says[i]), "\"%s\" does not say %s", diag.text, refusal->says[i]);
    }
}
END_TEST

START_TEST(a_list_too_long_for_a_sentence_is_counted)
{
    struct model *model = NULL;
    struct diag diag = DIAG_INIT;
    char path[64];

    tiny_file(&(struct tiny){ .key = "llama.block_count", .value = 100 }, path, sizeof(path));

    ck_assert_int_eq(model_fixture_try(&model, path, &(struct model_fixture_setup){ .backend = "cpu" }, &diag),
                     MODEL_REFUSED);

    ck_assert_msg(strstr(diag.text, " more"), "%s", diag.text);
    ck_assert_msg(strstr(diag.text, "blk.2.attn_norm.weight, blk.3"), "%s", diag.text);
}
END_TEST

static const struct model_fixture_setup bad_setups[] = {
    { .backend = "abacus" }, { .kv_format = "f8" },
    { .cpu_mask = "sse" },   { .kv_bytes = TINY_PAGE_BYTES - 1, .kv_format = "f16" },
    { .n_threads = 100000 },
};

START_TEST(an_impossible_setup_is_refused)
{
    struct model *model = NULL;
    struct diag diag = DIAG_INIT;
    char path[64];

    tiny_file(&(struct tiny){ .arch = NULL }, path, sizeof(path));

    ck_assert_int_eq(model_fixture_try(&model, path, &bad_setups[_i], &diag), MODEL_REFUSED);
    ck_assert(diag_is_set(&diag));
}
END_TEST

START_TEST(a_path_that_is_no_file_is_refused)
{
    struct model *model = NULL;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(model_fixture_try(&model, "/", &(struct model_fixture_setup){ .backend = "cpu" }, &diag),
                     MODEL_REFUSED);
    ck_assert_msg(strstr(diag.text, "regular"), "%s", diag.text);
    diag_clear(&diag);
    ck_assert_int_eq(model_fixture_try(&model, "/dev/null", &(struct model_fixture_setup){ .backend = "cpu" }, &diag),
                     MODEL_REFUSED);
}
END_TEST

START_TEST(facts_report_what_is_in_force)
{
    struct model_facts facts;
    struct model *model;
    char path[64];

    tiny_file(&(struct tiny){ .arch = NULL }, path, sizeof(path));
    model = model_fixture_open(path, &(struct model_fixture_setup){ .kv_format = "f16", .n_threads = 2 });
    model_facts(model, &facts);

    ck_assert_str_eq(facts.architecture, "llama");
    ck_assert_str_eq(facts.format, "F16");
    ck_assert_str_eq(facts.numerics, "1/cpu/q8a/kv-f16");
    ck_assert_uint_eq(facts.n_vocab, TINY_TOKENS);
    ck_assert_uint_eq(facts.n_context, TINY_CONTEXT);
    ck_assert_uint_eq(facts.n_pages, 4 * TINY_CONTEXT / 16);
    ck_assert_uint_eq(facts.kv_token_bytes, TINY_PAGE_BYTES / 16);
    ck_assert_msg(strncmp(facts.threads, "2 threads on core", 17) == 0, "%s", facts.threads);
    model_close(model);
}
END_TEST

START_TEST(the_context_is_limited_by_training_and_pool)
{
    struct model_facts facts;
    struct model *model;
    char path[64];

    tiny_file(&(struct tiny){ .arch = NULL }, path, sizeof(path));

    model = model_fixture_open(path, &(struct model_fixture_setup){ .n_context = 4096 });
    model_facts(model, &facts);
    ck_assert_uint_eq(facts.n_context, TINY_CONTEXT);
    model_close(model);

    model = model_fixture_open(path, &(struct model_fixture_setup){ .kv_format = "f16",
                                                                    .kv_bytes = 3 * TINY_PAGE_BYTES + 5 });
    model_facts(model, &facts);
    ck_assert_uint_eq(facts.n_pages, 3);
    ck_assert_uint_eq(facts.n_context, 48);
    model_close(model);
}
END_TEST

START_TEST(rows_beyond_the_vocabulary_are_never_sampled)
{
    struct model_facts facts;
    struct model *model;
    char path[64];

    tiny_file(&(struct tiny){ .n_listed = TINY_TOKENS - 10 }, path, sizeof(path));
    model = model_fixture_open(path, &(struct model_fixture_setup){ .backend = "cpu" });
    model_facts(model, &facts);

    ck_assert_uint_eq(facts.n_vocab, TINY_TOKENS - 10);
    model_close(model);
}
END_TEST

START_TEST(the_embedding_is_the_output_where_the_file_has_no_other)
{
    char path[64];

    tiny_file(&(struct tiny){ .omit = { "output.weight" } }, path, sizeof(path));

    model_close(model_fixture_open(path, &(struct model_fixture_setup){ .backend = "cpu" }));
}
END_TEST

START_TEST(biases_are_taken_where_the_file_has_them)
{
    char path[64];

    tiny_file(&(struct tiny){ .tensor = "blk.1.attn_k.bias", .type = ELEM_F32, .n_cols = 128 }, path, sizeof(path));

    model_close(model_fixture_open(path, &(struct model_fixture_setup){ .backend = "cpu" }));
}
END_TEST

static int open_and_close(void *data)
{
    struct model *model = NULL;
    struct diag diag = DIAG_INIT;
    int r = model_fixture_try(&model, data, &(struct model_fixture_setup){ .backend = "cpu" }, &diag);

    model_close(model);
    return r;
}

START_TEST(an_allocation_that_fails_while_opening_leaves_nothing_behind)
{
    char path[64];

    tiny_file(&(struct tiny){ .arch = NULL }, path, sizeof(path));

    for_each_failed_alloc(open_and_close, path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-open");
    TCase *tcase = tcase_create("open");

    tcase_add_loop_test(tcase, a_file_that_does_not_hold_together_is_refused_by_name, 0, (int)COUNTOF(refusals));
    tcase_add_test(tcase, a_list_too_long_for_a_sentence_is_counted);
    tcase_add_loop_test(tcase, an_impossible_setup_is_refused, 0, (int)COUNTOF(bad_setups));
    tcase_add_test(tcase, a_path_that_is_no_file_is_refused);
    tcase_add_test(tcase, facts_report_what_is_in_force);
    tcase_add_test(tcase, the_context_is_limited_by_training_and_pool);
    tcase_add_test(tcase, rows_beyond_the_vocabulary_are_never_sampled);
    tcase_add_test(tcase, the_embedding_is_the_output_where_the_file_has_no_other);
    tcase_add_test(tcase, biases_are_taken_where_the_file_has_them);
    tcase_add_test(tcase, an_allocation_that_fails_while_opening_leaves_nothing_behind);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
