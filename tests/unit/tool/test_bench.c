/*
 * Figures, table, JSON and picture follow from fixed measurements; and the plan of cases.
 */
#include "base/clean.h"
#include "base/mem.h"
#include "tool/bench.h"
#include "tool/bench_run.h"
#include "unit.h"
#include <string.h>

#define KV_BYTES 1000.0

static const struct bench_sizes sizes = {
    .layer_bytes = 80e6, .layer_elems = 100e6, .head_bytes = 20e6, .head_elems = 25e6, .attend_ops = 4000
};

static struct ceiling limits_of(double read, double int8)
{
    return (struct ceiling){ .read_bytes_s = read, .ops_s = { int8, 100e9, 0 } };
}

/* A model with two rows: a decode at 10 GB/s of 20, and a prompt at 100 Gop/s of 400. */
static struct bench *some_results(void)
{
    struct bench *bench = mem_calloc(MEM_MISC, 1, sizeof(*bench));
    struct bench_model *model = &bench->models[0];

    bench->n_models = 1;
    *model = (struct bench_model){ .path = "/models/a<b>.gguf",
                                   .architecture = "llama",
                                   .format = "Q4_0",
                                   .backend = "cpu/avx2",
                                   .n_parameters = 125000000,
                                   .file_bytes = 100u << 20,
                                   .arithmetic = PEAK_INT8,
                                   .open_s = 0.25,
                                   .resident_bytes = 120u << 20,
                                   .kv_bytes = 8u << 20,
                                   .n_rows = 2,
                                   .n_gaps = 1 };
    model->rows[0] = (struct bench_row){ .what = { BENCH_DECODE, 2, 1, 64, "f16" },
                                         .n_tokens = 10,
                                         .n_bytes = 1e9,
                                         .n_ops = 10e9,
                                         .n_samples = 1,
                                         .samples = { { 0.1, limits_of(20e9, 400e9) } } };
    model->rows[1] = (struct bench_row){ .what = { BENCH_PROMPT, 2, 1, 512, "f16" },
                                         .n_tokens = 512,
                                         .n_bytes = 0.1e9,
                                         .n_ops = 100e9,
                                         .n_samples = 1,
                                         .samples = { { 1, limits_of(20e9, 400e9) } } };
    model->gaps[0] = (struct bench_gap){ { BENCH_DECODE, 1, 1, 64, "f16" }, "no time" };
    return bench;
}

/* Returns what @put writes about the results; the caller frees it. */
static char *written(void (*put)(const struct bench *bench, FILE *out))
{
    struct bench *bench = some_results();
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);

    put(bench, out);
    fclose(out);
    mem_free(bench);
    return text;
}

START_TEST(a_decode_reads_all_weights_once_a_step_and_the_keys_of_each_sequence)
{
    struct bench_row row = { .what = { BENCH_DECODE, 1, 4, 60, "f16" } };

    bench_weigh(&row, &sizes, KV_BYTES, 8, 256);

    ck_assert_double_eq(row.n_tokens, 32);
    ck_assert_double_eq(row.n_bytes, 8 * (100e6 + 4 * 64 * KV_BYTES)); /* 64: positions seen on average */
    ck_assert_double_eq(row.n_ops, 32 * (2 * 125e6 + 64 * 4000.0));
}
END_TEST

START_TEST(a_prompt_reads_the_layers_once_a_step_and_the_head_once)
{
    struct bench_row row = { .what = { BENCH_PROMPT, 1, 1, 512, "f16" } };

    bench_weigh(&row, &sizes, KV_BYTES, 8, 256);

    ck_assert_double_eq(row.n_tokens, 512);
    ck_assert_double_eq(row.n_bytes, 2 * 80e6 + 20e6 + 512 * KV_BYTES);
    ck_assert_double_eq(row.n_ops, 2 * (512 * 100e6 + 25e6) + 512.0 * 256 * 4000);
}
END_TEST

START_TEST(a_share_is_of_the_limits_of_its_own_sample)
{
    struct bench_row row = { .n_tokens = 10, .n_bytes = 1e9, .n_ops = 1, .n_samples = 3 };
    struct bench_figures figures;

    /* The machine halves its bandwidth, and then doubles it: the share stays 50 %. */
    row.samples[0] = (struct bench_sample){ 0.1, limits_of(20e9, 1e12) };
    row.samples[1] = (struct bench_sample){ 0.2, limits_of(10e9, 1e12) };
    row.samples[2] = (struct bench_sample){ 0.05, limits_of(40e9, 1e12) };
    bench_figure(&row, PEAK_INT8, &figures);

    ck_assert_double_eq_tol(figures.share, 0.5, 1e-9);
    ck_assert(figures.is_memory_bound);
    ck_assert_double_eq_tol(figures.rate, 100, 1e-9);
    ck_assert_double_eq_tol(figures.lowest, 50, 1e-9);
    ck_assert_double_eq_tol(figures.highest, 200, 1e-9);
    ck_assert_double_eq_tol(figures.read_bytes_s, 20e9, 1);
}
END_TEST

START_TEST(the_tighter_limit_binds)
{
    struct bench_row row = { .n_tokens = 1, .n_bytes = 1e9, .n_ops = 400e9, .n_samples = 1 };
    struct bench_figures figures;

    row.samples[0] = (struct bench_sample){ 2, limits_of(10e9, 400e9) };
    bench_figure(&row, PEAK_INT8, &figures);
    ck_assert(!figures.is_memory_bound);
    ck_assert_double_eq_tol(figures.share, 0.5, 1e-9);

    row.samples[0].limits.ops_s[PEAK_INT8] = 0; /* unknown: memory is left */
    bench_figure(&row, PEAK_INT8, &figures);
    ck_assert(figures.is_memory_bound);
    ck_assert_double_eq_tol(figures.share, 0.05, 1e-9);
}
END_TEST

START_TEST(limits_of_a_model_are_those_of_its_usual_threads)
{
    struct bench *bench = some_results();
    struct bench_model *model = &bench->models[0];

    model->rows[1].what.n_threads = 1;
    model->rows[1].samples[0].limits.read_bytes_s = 5e9;

    ck_assert_double_eq(bench_ceiling(model).read_bytes_s, 20e9);
    ck_assert_double_eq(bench_ceiling(model).ops_s[PEAK_BF16], 0);
    mem_free(bench);
}
END_TEST

START_TEST(a_plan_varies_one_thing_at_a_time)
{
    const struct bench_options options = { .threads = { 2, { 2, 1 }, { NULL } },
                                           .batches = { 2, { 1, 4 }, { NULL } },
                                           .contexts = { 2, { 64, 2048 }, { NULL } },
                                           .kv_formats = { 2, { 0 }, { "f16", "q8" } },
                                           .n_prompt = 512 };
    static const struct bench_case wanted[] = {
        { BENCH_PROMPT, 2, 1, 512, "f16" },  { BENCH_DECODE, 2, 1, 64, "f16" },  { BENCH_DECODE, 2, 4, 64, "f16" },
        { BENCH_DECODE, 2, 1, 2048, "f16" }, { BENCH_PROMPT, 1, 1, 512, "f16" }, { BENCH_DECODE, 1, 1, 64, "f16" },
        { BENCH_DECODE, 2, 1, 2048, "q8" },
    };
    struct bench_case cases[16];

    ck_assert_uint_eq(bench_plan(&options, cases, COUNTOF(cases)), COUNTOF(wanted));
    for (size_t i = 0; i < COUNTOF(wanted); i++) {
        ck_assert_int_eq(cases[i].work, wanted[i].work);
        ck_assert_uint_eq(cases[i].n_threads, wanted[i].n_threads);
        ck_assert_uint_eq(cases[i].n_batch, wanted[i].n_batch);
        ck_assert_uint_eq(cases[i].n_context, wanted[i].n_context);
        ck_assert_str_eq(cases[i].kv_format, wanted[i].kv_format);
    }
    ck_assert_uint_eq(bench_plan(&options, cases, 3), 3);
}
END_TEST

START_TEST(the_table_has_rates_shares_and_what_was_left_out)
{
    char *text = written(bench_text);

    ck_assert_str_eq(text, "a<b>.gguf  llama, Q4_0, 125 M parameters, 100.0 MiB, on cpu/avx2\n"
                           "ready in 0.25 s; resident 120.0 MiB, of it 8.0 MiB of keys and values\n"
                           "limits of 2 threads beside it: memory 20.0 GB/s, int8 400 Gop/s, fp32 100 Gop/s\n"
                           "\n"
                           "work    threads  batch  context  KV    tokens/s     least  greatest  of the limit\n"
                           "decode        2      1       64  f16      100.0     100.0     100.0   50 % of memory\n"
                           "prompt        2      1      512  f16      512.0     512.0     512.0   25 % of int8\n"
                           "left out:\n"
                           "decode        1      1       64  f16   no time\n");
    free(text);
}
END_TEST

START_TEST(json_has_each_sample_with_its_limits)
{
    struct bench *bench = some_results();
    json_t *object = bench_json(bench);
    json_t *model = json_array_get(json_object_get(object, "models"), 0);
    json_t *row = json_array_get(json_object_get(model, "rows"), 0);
    json_t *sample = json_array_get(json_object_get(row, "samples"), 0);
    json_t *limits = json_object_get(sample, "limits");

    ck_assert_double_eq_tol(json_real_value(json_object_get(row, "tokens_per_second")), 100, 1e-9);
    ck_assert_double_eq_tol(json_real_value(json_object_get(row, "share_of_bound")), 0.5, 1e-9);
    ck_assert_str_eq(json_string_value(json_object_get(row, "bound")), "memory");
    ck_assert_double_eq(json_real_value(json_object_get(sample, "seconds")), 0.1);
    ck_assert_double_eq(json_real_value(json_object_get(limits, "memory_bytes_per_second")), 20e9);
    ck_assert(json_is_null(json_object_get(limits, "bf16_ops_per_second")));
    json_decref(object);
    mem_free(bench);
}
END_TEST

START_TEST(first_tokens_at_the_daemon_come_before_the_files)
{
    struct bench *bench = some_results();
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    json_t *object;
    json_t *all;

    bench->n_models = 0;
    memcpy(bench->served, "voice", 6);
    bench->firsts[0] = (struct bench_firsts){ .n_beside = 0, .n = 4, .ms = { 4, 1, 9, 2 } };
    bench->firsts[1] = (struct bench_firsts){ .n_beside = 8, .n = 4, .ms = { 40, 10, 90, 20 } };
    bench_text(bench, out);
    fclose(out);
    all = bench_json(bench);

    ck_assert_str_eq(text, "first token at the daemon (voice), of 4 short prompts:\n"
                           "                          median  greatest\n"
                           "beside  0 long answers       3.0       9.0 ms\n"
                           "beside  8 long answers      30.0      90.0 ms\n");
    object = json_object_get(all, "daemon");
    ck_assert_str_eq(json_string_value(json_object_get(object, "model")), "voice");
    object = json_array_get(json_object_get(object, "first_tokens"), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(object, "beside")), 8);
    ck_assert_double_eq(json_real_value(json_object_get(object, "median_ms")), 30);
    json_decref(all);
    free(text);
    mem_free(bench);
}
END_TEST

START_TEST(the_picture_has_each_row_at_its_place_below_the_roof)
{
    char *svg = written(bench_plot);

    /* Ten operations a byte, 100 Gop/s: a quarter and two thirds of the axes. */
    ck_assert_ptr_nonnull(strstr(svg, "<circle cx=\"177.5\" cy=\"156.7\""));
    /* A thousand operations a byte, 100 Gop/s. */
    ck_assert_ptr_nonnull(strstr(svg, "<rect x=\"389.0\" y=\"153.2\" width=\"7\""));
    /* The roof of int8: from 20 Gop/s at one operation a byte to 400 Gop/s. */
    ck_assert_ptr_nonnull(strstr(svg, "points=\"70.0,231.2 209.9,92.4 500.0,92.4\""));
    ck_assert_ptr_nonnull(strstr(svg, ">a&lt;b&gt;.gguf<"));
    ck_assert_str_eq(svg + strlen(svg) - strlen("</svg>\n"), "</svg>\n");
    free(svg);
}
END_TEST

int main(void)
{
    return unit_facts("tool-bench", a_decode_reads_all_weights_once_a_step_and_the_keys_of_each_sequence,
                      a_prompt_reads_the_layers_once_a_step_and_the_head_once,
                      a_share_is_of_the_limits_of_its_own_sample, the_tighter_limit_binds,
                      limits_of_a_model_are_those_of_its_usual_threads, a_plan_varies_one_thing_at_a_time,
                      the_table_has_rates_shares_and_what_was_left_out, json_has_each_sample_with_its_limits,
                      first_tokens_at_the_daemon_come_before_the_files,
                      the_picture_has_each_row_at_its_place_below_the_roof);
}
