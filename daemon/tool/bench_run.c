/*
 * Bench run: one model after its plan
 */
#include "tool/bench_run.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "exec/exec.h"
#include "memory/memory.h"
#include "tool/survey.h"
#include "tool/tool.h"
#include "tool/trial.h"
#include <assert.h>
#include <math.h>
#include <string.h>

#define WARM_TOKENS  32u  /* of the first prompt, which is not counted */
#define SEQUENCES    32u  /* of a model at least, as in an engine */
#define CONTEXTS     4u   /* full ones that the pool of a model holds */
#define PROMPT_SHARE 0.25 /* of the time, at most, for the first case */
#define PROMPT_LEAST 16u
#define STATUS_BYTES 8192

struct run {
    struct bench_model *model;
    const struct bench_options *options;
    uint64_t until_us;
    struct trial trial;
    struct ceiling_probe probe;
    struct ceiling limits;  /* the last measured */
    struct bench_case open; /* with what the trial is open; n_threads 0: it is not */
    double prompt_rate;     /* tokens a second, with the threads that are open */
    double step_rate;       /* steps of one sequence a second */
    struct bench_case cases[BENCH_ROWS];
    uint32_t n_cases;
    struct diag *diag;
};

/* ---- the plan ---- */

static void add_case(struct bench_case *cases, uint32_t cap, uint32_t *n, struct bench_case what)
{
    if (*n < cap) {
        cases[(*n)++] = what;
    }
}

uint32_t bench_plan(const struct bench_options *options, struct bench_case *cases, uint32_t cap)
{
    const struct bench_case base = { BENCH_DECODE, options->threads.numbers[0], options->batches.numbers[0],
                                     options->contexts.numbers[0], options->kv_formats.names[0] };
    struct bench_case prompt = { BENCH_PROMPT, base.n_threads, 1, options->n_prompt, base.kv_format };
    struct bench_case what = base;
    uint32_t n = 0;

    add_case(cases, cap, &n, prompt);
    add_case(cases, cap, &n, base);
    for (uint32_t i = 1; i < options->batches.n; i++, what = base) {
        what.n_batch = options->batches.numbers[i];
        add_case(cases, cap, &n, what);
    }
    for (uint32_t i = 1; i < options->contexts.n; i++, what = base) {
        what.n_context = options->contexts.numbers[i];
        add_case(cases, cap, &n, what);
    }
    for (uint32_t i = 1; i < options->threads.n; i++, what = base) {
        what.n_threads = prompt.n_threads = options->threads.numbers[i];
        add_case(cases, cap, &n, prompt);
        add_case(cases, cap, &n, what);
    }
    /* Formats of keys and values matter where there are many. */
    what.n_context = options->contexts.numbers[options->contexts.n - 1];
    for (uint32_t i = 1; i < options->kv_formats.n; i++) {
        what.kv_format = options->kv_formats.names[i];
        add_case(cases, cap, &n, what);
    }
    return n;
}

/* ---- the machine ---- */

/* Refuses a model that memory can't hold: its figures would be those of the disk. */
static int check_memory(const struct root *root, const struct survey *survey, struct diag *diag)
{
    const uint64_t n_needed = survey->n_bytes + CEILING_BLOCK;
    struct memory memory;

    if (memory_read(root, POLICY_OWN_PROCESS, &memory) == 0 && memory.available_kb < n_needed >> 10) {
        diag_set(diag,
                 "too little memory: %llu MiB are available, and %llu are needed (the weights, and %zu to measure the "
                 "bandwidth); end other programs, or measure a smaller model",
                 (unsigned long long)memory.available_kb >> 10, (unsigned long long)n_needed >> 20,
                 CEILING_BLOCK >> 20);
        return BENCH_RUN_REFUSED;
    }
    return BENCH_RUN_OK;
}

/* Returns the resident bytes of this process; 0 if they can't be read. */
static uint64_t resident(void)
{
    char text[STATUS_BYTES];
    struct root root;
    uint64_t n_kb = 0;
    size_t n;

    if (root_open(&root, "/")) {
        return 0;
    }
    if (root_read(&root, "/proc/self/status", text, sizeof(text), &n) || !memory_find(text, "VmRSS", &n_kb)) {
        n_kb = 0;
    }
    root_close(&root);
    return n_kb << 10;
}

static void note_memory(struct run *run)
{
    const uint64_t n_bytes = resident();
    struct mem_account kv;

    mem_read(MEM_KV, &kv);
    run->model->resident_bytes = n_bytes - num_min(n_bytes, CEILING_BLOCK);
    run->model->kv_bytes = kv.bytes;
}

/* ---- sizes ---- */

static bool is_named(const struct gguf_tensor *tensor, const char *name)
{
    return tensor->name.n == strlen(name) && memcmp(tensor->name.bytes, name, tensor->name.n) == 0;
}

/* Sums the matrices of layers and head. Without an output tensor the embedding is the output. */
static void size_up(struct bench_model *model, const struct survey *survey)
{
    const bool has_output = gguf_find_tensor(survey->gguf, "output.weight") != NULL;
    const uint32_t n_attend = survey->params.n_layers - survey->params.n_recurrent;
    struct bench_sizes *sizes = &model->sizes;

    for (size_t i = 0; i < gguf_n_tensors(survey->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(survey->gguf, i);
        const double n = (double)tensor->dims[0] * (double)tensor->dims[1];

        if (strcmp(survey_use(survey, tensor), "used") != 0 || tensor->n_dims != 2) {
            continue;
        }
        if (is_named(tensor, has_output ? "output.weight" : "token_embd.weight")) {
            sizes->head_bytes += (double)tensor->n_bytes;
            sizes->head_elems += n;
        } else if (!is_named(tensor, "token_embd.weight")) {
            sizes->layer_bytes += (double)tensor->n_bytes;
            sizes->layer_elems += n;
        }
    }
    /* A position costs a product with the key and one with the value, in each head. */
    sizes->attend_ops = 4.0 * n_attend * survey->params.n_heads * survey->params.head_dim;
}

static int survey_model(struct bench_model *model, const char *path, const struct root *root, struct diag *diag)
{
    struct model_file file = { .fd = -1 };
    struct survey survey;
    int r = model_file_open(&file, path, diag);

    if (r) {
        return r < 0 ? err_up(r) : BENCH_RUN_REFUSED;
    }
    r = survey_create(&survey, &file);
    if (r) {
        model_file_close(&file);
        return err_up(r);
    }
    for (int step = 0; step < SURVEY_TEMPLATE && !r; step++) {
        if (diag_is_set(&survey.refusals[step])) {
            diag_set(diag, "%s", survey.refusals[step].text);
            r = BENCH_RUN_REFUSED;
        }
    }
    r = r ? r : check_memory(root, &survey, diag);
    if (!r) {
        size_up(model, &survey);
    }
    survey_finish(&survey);
    model_file_close(&file);
    return r;
}

/* Keeps what the table says about the model. Weights as floats are multiplied as floats, others as bytes. */
static void describe(struct bench_model *model, const struct trial *trial)
{
    const struct model_facts *facts = &trial->facts;
    const char *format = facts->format;
    const bool is_float = strcmp(format, "F32") == 0 || strcmp(format, "F16") == 0 || strcmp(format, "BF16") == 0;

    snprintf(model->architecture, sizeof(model->architecture), "%s", facts->architecture);
    snprintf(model->format, sizeof(model->format), "%s", format);
    snprintf(model->backend, sizeof(model->backend), "%s", facts->backend);
    model->n_parameters = facts->n_parameters;
    model->file_bytes = gguf_file_bytes(trial->file.gguf);
    model->arithmetic = is_float ? PEAK_F32 : PEAK_INT8;
    model->open_s = trial->open_s;
}

/* ---- opening ---- */

static void close_trial(struct run *run)
{
    trial_close(&run->trial);
    ceiling_close(&run->probe);
    run->open.n_threads = 0;
}

/* Returns the context that the largest case needs; the pool holds CONTEXTS of them. */
static uint32_t needed_context(const struct run *run)
{
    uint64_t n = run->options->n_prompt;

    for (uint32_t i = 0; i < run->n_cases; i++) {
        const struct bench_case *what = &run->cases[i];
        const uint64_t n_each = (uint64_t)what->n_context + run->options->n_decode * (run->options->n_repeats + 1) + 1;

        n = num_max(n, num_max(n_each, num_div_up(n_each * what->n_batch, CONTEXTS)));
    }
    return (uint32_t)num_min(n + EXEC_PAGE_TOK * TRIAL_SEQUENCES / CONTEXTS, UINT32_MAX);
}

/* Reads a short prompt, which touches what the first step touches, and gives a first estimate of the speed. */
static int warm(struct run *run)
{
    double seconds;
    int r = trial_begin(&run->trial, 1, WARM_TOKENS, 1, run->diag);

    for (int i = 0; i < 2 && !r; i++) {
        r = i ? trial_decode(&run->trial, 1, &seconds, run->diag) : trial_read(&run->trial, &seconds, run->diag);
        if (!r && i == 0) {
            run->prompt_rate = WARM_TOKENS / fmax(seconds, 1e-6);
        } else if (!r) {
            run->step_rate = 1 / fmax(seconds, 1e-6);
        }
    }
    trial_end(&run->trial);
    return err_pass(r);
}

static int open_trial(struct run *run, const struct bench_case *what)
{
    uint32_t n_sequences = SEQUENCES;
    int r;

    for (uint32_t i = 0; i < run->n_cases; i++) {
        n_sequences = (uint32_t)num_max(n_sequences, run->cases[i].n_batch);
    }
    close_trial(run);
    r = trial_open(&run->trial,
                   &(struct trial_setup){ .path = run->model->path,
                                          .kv_format = what->kv_format,
                                          .n_threads = what->n_threads,
                                          .n_context = needed_context(run),
                                          .n_sequences = n_sequences },
                   run->diag);
    if (r) {
        return r < 0 ? err_up(r) : BENCH_RUN_REFUSED;
    }
    r = ceiling_open(&run->probe, what->n_threads);
    if (r) {
        return err_up(r);
    }
    r = warm(run);
    if (r) {
        return r < 0 ? err_up(r) : BENCH_RUN_REFUSED;
    }
    ceiling_measure(&run->probe, &run->limits);
    run->open = *what;
    return BENCH_RUN_OK;
}

/* ---- cases ---- */

/* Returns about how many seconds @what would take. */
static double estimate(const struct run *run, const struct bench_case *what)
{
    const double n_repeats = run->options->n_repeats;
    const double prompts = (double)what->n_batch * what->n_context / run->prompt_rate;

    if (what->work == BENCH_PROMPT) {
        return prompts * n_repeats;
    }
    return prompts + n_repeats * run->options->n_decode / run->step_rate;
}

static bool fits(const struct run *run, const struct bench_case *what, char *why)
{
    const uint64_t now_us = clock_mono_us();
    const double left_s = now_us < run->until_us ? (double)(run->until_us - now_us) / 1e6 : 0;
    const double needed_s = estimate(run, what);

    if (what->n_context + run->options->n_decode >= run->trial.facts.n_trained) {
        snprintf(why, BENCH_WHY, "the model was trained for %u tokens", run->trial.facts.n_trained);
        return false;
    }
    if (needed_s > left_s) {
        snprintf(why, BENCH_WHY, "it would take about %.0f s, and %.0f are left (--seconds)", ceil(needed_s), left_s);
        return false;
    }
    return true;
}

static void leave_out(struct run *run, const struct bench_case *what, const char *why)
{
    struct bench_gap *gap = &run->model->gaps[run->model->n_gaps++];

    gap->what = *what;
    snprintf(gap->why, sizeof(gap->why), "%s", why);
}

/* Ends a sample: takes the limits after it, and keeps both. */
static void end_sample(struct run *run, struct bench_row *row, double seconds)
{
    struct ceiling before = run->limits;

    ceiling_measure(&run->probe, &run->limits);
    row->samples[row->n_samples++] =
        (struct bench_sample){ .seconds = fmax(seconds, 1e-6), .limits = ceiling_between(&before, &run->limits) };
}

static int sample_prompt(struct run *run, struct bench_row *row)
{
    double seconds;
    int r = trial_begin(&run->trial, row->what.n_batch, row->what.n_context, 1, run->diag);

    if (!r) {
        ceiling_measure(&run->probe, &run->limits);
        r = trial_read(&run->trial, &seconds, run->diag);
    }
    if (!r) {
        end_sample(run, row, seconds);
        run->prompt_rate = row->n_tokens / fmax(seconds, 1e-6);
    }
    trial_end(&run->trial);
    return err_pass(r);
}

static int sample_decode(struct run *run, struct bench_row *row)
{
    const uint32_t n = run->options->n_decode;
    double seconds;
    int r = trial_decode(&run->trial, n, &seconds, run->diag);

    if (!r) {
        end_sample(run, row, seconds);
        run->step_rate = fmin(run->step_rate, n / fmax(seconds, 1e-6));
    }
    return err_pass(r);
}

static int measure_decode(struct run *run, struct bench_row *row)
{
    const uint32_t n_more = run->options->n_decode * run->options->n_repeats + 1;
    double seconds;
    int r = trial_begin(&run->trial, row->what.n_batch, row->what.n_context, n_more, run->diag);

    r = r ? r : trial_read(&run->trial, &seconds, run->diag);
    if (!r) {
        ceiling_measure(&run->probe, &run->limits);
        run->step_rate = 1 / 1e-6; /* batches differ: the least rate of this case counts for the next one */
    }
    for (uint32_t i = 0; i < run->options->n_repeats && !r; i++) {
        r = sample_decode(run, row);
    }
    trial_end(&run->trial);
    return err_pass(r);
}

static int measure_case(struct run *run, const struct bench_case *what)
{
    struct bench_row *row = &run->model->rows[run->model->n_rows];
    char why[BENCH_WHY];
    int r = 0;

    if (run->model->n_rows > 1 && !fits(run, what, why)) { /* the first prompt and decode are always measured */
        leave_out(run, what, why);
        return 0;
    }
    *row = (struct bench_row){ .what = *what };
    bench_weigh(row, &run->model->sizes, run->trial.facts.kv_token_bytes, run->options->n_decode, TRIAL_ROWS);
    for (uint32_t i = 0; what->work == BENCH_PROMPT && i < run->options->n_repeats && !r; i++) {
        r = sample_prompt(run, row);
    }
    if (what->work == BENCH_DECODE) {
        r = measure_decode(run, row);
    }
    if (r == 0) {
        run->model->n_rows++;
    }
    if (r == TRIAL_REFUSED) {
        leave_out(run, what, run->diag->text);
        diag_clear(run->diag);
    }
    return r < 0 ? err_up(r) : 0;
}

/* Halves prompts until all samples of the first case take their share of the time, on a slow machine. */
static void shorten_prompts(struct run *run)
{
    struct bench_case *first = &run->cases[0];

    while (first->n_context > PROMPT_LEAST && estimate(run, first) > PROMPT_SHARE * run->options->seconds) {
        first->n_context /= 2;
    }
    for (uint32_t i = 1; i < run->n_cases; i++) {
        if (run->cases[i].work == BENCH_PROMPT) {
            run->cases[i].n_context = first->n_context;
        }
    }
}

static bool is_open_for(const struct run *run, const struct bench_case *what)
{
    return run->open.n_threads == what->n_threads && strcmp(run->open.kv_format, what->kv_format) == 0;
}

static int measure_all(struct run *run)
{
    for (uint32_t i = 0; i < run->n_cases; i++) {
        const struct bench_case *what = &run->cases[i];
        int r = 0;

        tool_progress("measuring", i, run->n_cases);
        if (!is_open_for(run, what)) {
            if (i > 0 && run->model->resident_bytes == 0) {
                note_memory(run);
            }
            r = open_trial(run, what);
        }
        if (!r && i == 0) {
            describe(run->model, &run->trial);
            shorten_prompts(run);
        }
        r = r ? r : measure_case(run, what);
        if (r) {
            return err_pass(r);
        }
    }
    if (run->model->resident_bytes == 0) {
        note_memory(run);
    }
    return BENCH_RUN_OK;
}

int bench_run(struct bench_model *model, const char *path, const struct bench_options *options, struct diag *diag)
{
    struct run run = { .model = model, .options = options, .trial = { .file = { .fd = -1 } }, .diag = diag };
    struct root root;
    int r = root_open(&root, "/");

    if (r) {
        return err_up(r);
    }
    *model = (struct bench_model){ .path = path };
    run.until_us = clock_mono_us() + (uint64_t)(options->seconds * 1e6);
    run.n_cases = bench_plan(options, run.cases, BENCH_ROWS);
    r = survey_model(model, path, &root, diag);
    root_close(&root);
    if (!r) {
        r = measure_all(&run);
    }
    close_trial(&run);
    tool_progress("measuring", run.n_cases, run.n_cases);
    return err_pass(r);
}
