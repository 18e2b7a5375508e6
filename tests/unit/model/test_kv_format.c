/*
 * What formats of keys and values cost: how far the next token's distribution moves, over texts, when heads are kept in
 * fewer bits. The measure is the mean divergence (Kullback-Leibler, in nats) from F32 pages.
 *
 * The model's heads have 8 elements, the worst case: of 64, as in SmolLM2-135M, q8 costs 0.0002 and q4 0.04, which are
 * 0.01 % and 2.6 % of perplexity.
 */
#include "fixture.h"
#include "unit.h"
#include <math.h>
#include <string.h>

#define N_CHUNK 32

static const struct row {
    const char *name;
    double bound;    /* about twice what was measured */
    double kv_bytes; /* of those of F16: a position may take no more */
} rows[] = {
    { "f16", 0.000003, 1.0 },
    { "q8", 0.002, 0.66 },
    { "q4", 0.6, 0.51 },
};

static void keep_logits(void *owner, uint32_t position, const float *logits, uint32_t n)
{
    memcpy((float *)owner + (size_t)position * MODEL_FIXTURE_VOCAB, logits, n * sizeof(*logits));
}

/* The logits after each of the @n tokens; free(). */
static float *all_logits(const char *path, const char *kv_format, const uint32_t *tokens, uint32_t n,
                         uint32_t *ret_kv_bytes)
{
    struct model *model =
        model_fixture_open(path, &(struct model_fixture_setup){ .kv_format = kv_format, .n_sequences = N_CHUNK });
    const struct sample_params params = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    float *logits = calloc((size_t)n * MODEL_FIXTURE_VOCAB, sizeof(*logits));
    const struct seq_request request = { .id = 1,
                                         .tokens = tokens,
                                         .n_tokens = n,
                                         .n_prompt = n,
                                         .params = &params,
                                         .watch = keep_logits,
                                         .watcher = logits };
    struct model_facts facts;
    struct seq_room room;

    ck_assert_int_eq(seq_open(model, &request, &room), SEQ_OK);
    for (uint32_t at = 0; at < n; at += N_CHUNK) {
        const struct step_entry entry = { .seq = 1, .n_prefill = n - at < N_CHUNK ? n - at : N_CHUNK };
        struct step_report report;
        struct diag diag = DIAG_INIT;

        ck_assert_int_eq(step_begin(model, 1, &entry, 1, &diag), 0);
        ck_assert_int_eq(step_run(model, 1, NULL, NULL, &report), STEP_DONE);
    }
    model_facts(model, &facts);
    *ret_kv_bytes = facts.kv_token_bytes;
    model_close(model);
    return logits;
}

/* Log-probabilities of @logits. */
static void normalise(const float *logits, double *out)
{
    double top = -INFINITY, sum = 0.0;

    for (int i = 0; i < MODEL_FIXTURE_VOCAB; i++) {
        top = fmax(top, (double)logits[i]);
    }
    for (int i = 0; i < MODEL_FIXTURE_VOCAB; i++) {
        sum += exp((double)logits[i] - top);
    }
    for (int i = 0; i < MODEL_FIXTURE_VOCAB; i++) {
        out[i] = (double)logits[i] - top - log(sum);
    }
}

static double divergence(const float *expected, const float *got)
{
    double p[MODEL_FIXTURE_VOCAB], q[MODEL_FIXTURE_VOCAB], sum = 0.0;

    normalise(expected, p);
    normalise(got, q);
    for (int i = 0; i < MODEL_FIXTURE_VOCAB; i++) {
        sum += exp(p[i]) * (p[i] - q[i]);
    }
    return sum;
}

START_TEST(fewer_bits_of_keys_and_values_cost_what_is_written)
{
    const struct row *row = &rows[_i];
    uint32_t f32_bytes, kv_bytes;
    uint32_t n_rows = 0;
    double sum = 0.0;
    struct model_fixture_case *text;
    char path[512];

    if (!unit_truth("models/stories260K-f32.gguf", path, sizeof(path))) {
        return;
    }
    for (size_t i = 0; (text = model_fixture_forced_case("stories260K-f32.gguf", i)); i++) {
        float *expected = all_logits(path, "f32", text->prompt, text->n_prompt, &f32_bytes);
        float *got = all_logits(path, row->name, text->prompt, text->n_prompt, &kv_bytes);

        for (uint32_t at = 0; at < text->n_prompt; at++, n_rows++) {
            sum += divergence(expected + (size_t)at * MODEL_FIXTURE_VOCAB, got + (size_t)at * MODEL_FIXTURE_VOCAB);
        }
        ck_assert_double_le(kv_bytes, row->kv_bytes * f32_bytes / 2.0);
        free(expected);
        free(got);
        free(text);
    }

    ck_assert_uint_gt(n_rows, 0);
    fprintf(stderr, "KV %s: mean divergence %.2g over %u tokens\n", row->name, sum / n_rows, n_rows);
    ck_assert_double_le(sum / n_rows, row->bound);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-kv-format");
    TCase *tcase = tcase_create("format");

    tcase_add_loop_test(tcase, fewer_bits_of_keys_and_values_cost_what_is_written, 0,
                        (int)(sizeof(rows) / sizeof(rows[0])));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
