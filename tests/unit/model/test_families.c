/*
 * Every family against its paper: logits after each token of a text that grows through every edge of a page and of a
 * window, and the same bits when the same text comes as a prompt.
 */
#include "base/clean.h"
#include "reference.h"
#include "unit.h"
#include <math.h>
#include <string.h>

#define N_TEXT 100
#define BOUND  1e-4 /* of a log-probability, in parts of the largest logit where that is above 1 */

static double of_largest(const double *logits)
{
    double most = 1.0;

    for (uint32_t i = 0; i < REFERENCE_TOKENS; i++) {
        most = fmax(most, fabs(logits[i]));
    }
    return most;
}

static double difference(const double *logits, const float *logprobs)
{
    double top = -INFINITY;
    double sum = 0.0;
    double worst = 0.0;

    for (uint32_t i = 0; i < REFERENCE_TOKENS; i++) {
        top = fmax(top, logits[i]);
    }
    for (uint32_t i = 0; i < REFERENCE_TOKENS; i++) {
        sum += exp(logits[i] - top);
    }
    for (uint32_t i = 0; i < REFERENCE_TOKENS; i++) {
        worst = fmax(worst, fabs(logits[i] - top - log(sum) - (double)logprobs[i]));
    }
    return worst / of_largest(logits);
}

/* What the model says after one token, token by token. */
static struct model_fixture_stream *grow(struct model *model)
{
    struct model_fixture_stream *stream = calloc(1, sizeof(*stream));

    *stream =
        (struct model_fixture_stream){ .id = 1, .n_prompt = 1, .n_wanted = N_TEXT, .temperature = 1.5f, .seed = 7 };
    stream->prompt[0] = 3;
    stream->logprobs = calloc((size_t)N_TEXT * MODEL_FIXTURE_VOCAB, sizeof(float));
    model_fixture_drive(model, stream, 1, 1, NULL, NULL);
    return stream;
}

START_TEST(logits_at_every_length_are_those_of_the_paper)
{
    static struct reference_model reference;
    double *expected = calloc((size_t)N_TEXT * REFERENCE_TOKENS, sizeof(*expected));
    uint32_t text[N_TEXT] = { 3 };
    struct model_fixture_stream *stream;
    struct model *model;
    double worst = 0.0;

    reference_make(&reference, &references[_i]);
    model = model_fixture_open(reference.path, &(struct model_fixture_setup){ .kv_format = "f32" });
    stream = grow(model);
    memcpy(text + 1, stream->answer, (N_TEXT - 1) * sizeof(*text));
    reference_logits(&reference, text, N_TEXT, REFERENCE_CONTEXT, expected);

    for (uint32_t i = 0; i < N_TEXT; i++) {
        double now =
            difference(expected + (size_t)i * REFERENCE_TOKENS, stream->logprobs + (size_t)i * MODEL_FIXTURE_VOCAB);

        ck_assert_msg(now <= BOUND, "%s: after %u tokens a log-probability is %.3g of the largest logit away",
                      references[_i].name, i + 1, now);
        worst = fmax(worst, now);
    }

    fprintf(stderr, "%s: largest difference %.2g\n", references[_i].name, worst);
    model_close(model);
    free(stream->logprobs);
    free(stream);
    free(expected);
    reference_free(&reference);
}
END_TEST

START_TEST(a_prompt_of_any_length_gives_the_bits_of_single_tokens)
{
    static const uint32_t lengths[] = { 1, 2, 15, 16, 17, 18, 19, 20, 21, 22, 31, 32, 33, 34, 48, 49, 99, 100 };
    static struct reference_model reference;
    struct model_fixture_stream *single;
    struct model *model;

    reference_make(&reference, &references[_i]);
    model = model_fixture_open(reference.path, &(struct model_fixture_setup){ .kv_format = "f16" });
    single = grow(model);

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct model_fixture_stream *whole = calloc(1, sizeof(*whole));
        const float *expected = single->logprobs + (size_t)(lengths[i] - 1) * MODEL_FIXTURE_VOCAB;

        *whole = (struct model_fixture_stream){ .id = 2, .n_prompt = lengths[i], .n_wanted = 1 };
        whole->prompt[0] = 3;
        memcpy(whole->prompt + 1, single->answer, (lengths[i] - 1) * sizeof(uint32_t));
        whole->logprobs = calloc(MODEL_FIXTURE_VOCAB, sizeof(float));
        model_fixture_drive(model, whole, 1, 512, NULL, NULL);
        ck_assert_msg(memcmp(whole->logprobs, expected, MODEL_FIXTURE_VOCAB * sizeof(float)) == 0,
                      "%s: a prompt of %u tokens has other bits", references[_i].name, lengths[i]);
        free(whole->logprobs);
        free(whole);
    }

    model_close(model);
    free(single->logprobs);
    free(single);
    reference_free(&reference);
}
END_TEST

START_TEST(the_context_in_force_chooses_the_factors_and_names_them)
{
    static const struct reference lists = {
        .family = "phi3", .n_layers = 1, .is_fused = true, .has_lists = true, .n_original = 64
    };
    static struct reference_model reference;
    struct model_facts facts;
    struct model *model;

    reference_make(&reference, &lists);

    model = model_fixture_open(reference.path, &(struct model_fixture_setup){ .n_context = 64 });
    model_facts(model, &facts);
    ck_assert_str_eq(facts.numerics, "1/cpu/q8a/kv-f32/rope-short");
    model_close(model);
    model = model_fixture_open(reference.path, &(struct model_fixture_setup){ .n_context = 65 });
    model_facts(model, &facts);
    ck_assert_str_eq(facts.numerics, "1/cpu/q8a/kv-f32/rope-long");
    model_close(model);
    reference_free(&reference);
}
END_TEST

static const struct refusal {
    struct reference reference;
    const char *says;
} refusals[] = {
    { { .family = "qwen3", .n_layers = 2, .norms_heads = true, .omits = { "blk.1.attn_k_norm.weight" } },
      "lacks tensors: blk.1.attn_k_norm.weight" },
    { { .family = "qwen2", .n_layers = 2, .norms_heads = true }, "blk.0.attn_q_norm.weight belongs to no model" },
    { { .family = "gemma2", .n_layers = 2, .norms_back = true, .omits = { "blk.0.post_ffw_norm.weight" } },
      "lacks tensors: blk.0.post_ffw_norm.weight" },
    { { .family = "gemma3", .n_layers = 1, .norms_back = true },
      "lacks tensors: blk.0.attn_q_norm.weight, blk.0.attn_k_norm.weight" },
    { { .family = "phi3",
        .n_layers = 1,
        .is_fused = true,
        .omits = { "blk.0.attn_qkv.weight", "blk.0.ffn_up.weight" } },
      "lacks tensors: blk.0.attn_qkv.weight, blk.0.ffn_up.weight" },
    { { .family = "phi3", .n_layers = 1 }, "tensor blk.0.ffn_up.weight is 32 x 48" },
    { { .family = "phi3",
        .n_layers = 1,
        .is_fused = true,
        .has_lists = true,
        .omits = { "rope_factors_short.weight" } },
      "only one is there" },
    { { .family = "phi3", .n_layers = 1, .is_fused = true, .scaling = "longrope" }, "rope_factors_long.weight" },
    { { .family = "llama", .n_layers = 1, .scaling = "dynamic" }, "rope.scaling.type is \"dynamic\"" },
    { { .family = "llama", .n_layers = 1, .factor = 0.5f }, "rope.scaling.factor is 0.5" },
    { { .family = "llama", .n_layers = 1, .base = 0.25f }, "rope.freq_base is 0.25" },
    { { .family = "gemma2", .n_layers = 1, .norms_back = true, .attn_cap = -50.0f },
      "gemma2.attn_logit_softcapping is -50" },
    { { .family = "llama", .n_layers = 1, .attn_scale = -1.0f }, "attention.scale is -1" },
    { { .family = "gemma3", .n_layers = 2, .norms_back = true, .norms_heads = true, .window = 9, .pattern_key = 3 },
      "one bool for each of the 2 layers" },
    { { .family = "qwen35", .n_layers = 2, .norms_heads = true },
      "lacks keys: qwen35.ssm.conv_kernel, qwen35.ssm.group_count, qwen35.ssm.time_step_rank, "
      "qwen35.ssm.state_size, qwen35.ssm.inner_size" },
    { { .family = "qwen35", .n_layers = 2, .attends_every = 2, .n_values = 3 }, "3 heads of values" },
    { { .family = "qwen35", .n_layers = 2, .attends_every = 2, .n_values = 10 }, "10 heads of values" },
    { { .family = "qwen35", .n_layers = 2, .attends_every = 3 }, "none of the 2 layers attends" },
    { { .family = "qwen35", .n_layers = 2, .attends_every = 2, .omits = { "blk.0.ssm_a" } },
      "lacks tensors: blk.0.ssm_a" },
    { { .family = "qwen35", .n_layers = 2, .attends_every = 2, .omits = { "blk.1.attn_q.weight" } },
      "lacks tensors: blk.1.attn_q.weight" },
    { { .family = "mamba", .n_layers = 1 }, "gemma, gemma2, gemma3, llama, phi3, qwen2, qwen3" },
};

START_TEST(what_does_not_belong_to_a_family_is_refused_by_name)
{
    const struct refusal *refusal = &refusals[_i];
    static struct reference_model reference;
    struct model *model = NULL;
    struct diag diag = DIAG_INIT;

    reference_make(&reference, &refusal->reference);

    ck_assert_int_eq(model_fixture_try(&model, reference.path, &(struct model_fixture_setup){ .backend = "cpu" },
                                       &diag),
                     MODEL_REFUSED);

    ck_assert_msg(strstr(diag.text, refusal->says), "\"%s\" does not say %s", diag.text, refusal->says);
    reference_free(&reference);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-families");
    TCase *tcase = tcase_create("families");

    tcase_add_loop_test(tcase, logits_at_every_length_are_those_of_the_paper, 0, n_references);
    tcase_add_loop_test(tcase, a_prompt_of_any_length_gives_the_bits_of_single_tokens, 0, n_references);
    tcase_add_test(tcase, the_context_in_force_chooses_the_factors_and_names_them);
    tcase_add_loop_test(tcase, what_does_not_belong_to_a_family_is_refused_by_name, 0, (int)COUNTOF(refusals));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
