/*
 * Plan: computes the best that a chip can do for a model, before it is bought
 *
 * Sizes are those of the file; bandwidth and memory are those of the chip's data sheet. The figures are bounds: no
 * engine gets below the floor, and the context is what fits beside the weights and the working memory of sotto's
 * engine.
 */
#include "base/clean.h"
#include "base/num.h"
#include "tool/roofline.h"
#include "tool/survey.h"
#include "tool/table.h"
#include <math.h>

enum plan_row {
    PLAN_BANDWIDTH = TOOL_ROWS_COUNT,
    PLAN_MEMORY,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [PLAN_BANDWIDTH] = { "bandwidth", 0, ARG_TEXT, "BYTES/s", NULL, "bandwidth of the memory, such as 34GB/s" },
    [PLAN_MEMORY] = { "memory", 0, ARG_TEXT, "BYTES", NULL, "memory for the model, such as 4GB or 3.5GiB" },
    { NULL },
};

#define STEPS_BEGUN 2.0
#define STEP_ROWS   512 /* rows of a step, into which prompts are cut; the default of the engine */
#define STEP_WANTED 32  /* streams that a step may serve */

struct request {
    const char *path;
    double bytes_per_s;
    double memory_bytes;
};

/* The figures of one format of keys and values. */
struct line {
    const char *format;
    uint64_t token_bytes;
    double fits_bytes;
    double context;  /* tokens */
    bool is_trained; /* the context in training is the limit, not memory */
    double full_ms;  /* time of a token at the end of that context */
};

struct plan {
    struct request request;
    const struct survey *survey;
    double scratch_bytes;
    double floor_ms; /* time of a token with an empty context */
    struct line lines[KVSIZE_COUNT];
    size_t n_lines;
};

/* Returns the bytes of the activations of a step: the residual stream, input and output of a block, queries, keys,
 * values and heads, both halves of the feed-forward, and the logits of each stream. An engine may run two steps. */
static double scratch_of(const struct arch_params *params)
{
    double n_q = (double)params->n_heads * params->head_dim;
    double n_kv = (double)params->n_kv_heads * params->head_dim;
    double row = 3.0 * params->n_embd + 2 * n_q + 2 * n_kv + 2.0 * params->n_ff;

    return STEPS_BEGUN * sizeof(float) * (STEP_ROWS * row + (double)STEP_WANTED * params->n_tokens);
}

static void make(struct plan *plan)
{
    const struct survey *survey = plan->survey;
    double taken;

    plan->scratch_bytes = scratch_of(&survey->params);
    plan->floor_ms = roofline_step_ms((double)survey->n_passed, 0, 0, 1, plan->request.bytes_per_s);
    taken = (double)survey->n_bytes + plan->scratch_bytes;
    for (size_t i = 0; i < KVSIZE_COUNT; i++) {
        uint64_t n = kvsize_token(&kvsizes[i], &survey->params);
        struct line *line = &plan->lines[plan->n_lines];
        double fits;

        if (n == 0) {
            continue;
        }
        fits = roofline_context(plan->request.memory_bytes, taken, (double)n);
        fits -= fmod(fits, EXEC_PAGE_TOK); /* memory is allocated in pages */
        *line = (struct line){ .format = kvsizes[i].name, .token_bytes = n, .fits_bytes = fits * (double)n };
        line->is_trained = fits >= survey->params.n_trained;
        line->context = line->is_trained ? survey->params.n_trained : fits;
        line->full_ms =
            roofline_step_ms((double)survey->n_passed, (double)n, line->context, 1, plan->request.bytes_per_s);
        plan->n_lines++;
    }
}

static void show_text(const struct plan *plan)
{
    const struct survey *survey = plan->survey;
    char text[TOOL_BYTES];
    bool fits = (double)survey->n_bytes + plan->scratch_bytes < plan->request.memory_bytes;

    printf("weights         %s; a token reads", tool_bytes(survey->n_bytes, text));
    printf(" %s\n", tool_bytes(survey->n_passed, text));
    printf("working memory  %s\n", tool_bytes((uint64_t)plan->scratch_bytes, text));
    printf("floor           %.2f ms a token (at most %.1f tokens/s) with a short context\n", plan->floor_ms,
           1000 / plan->floor_ms);
    if (!fits) {
        printf("does not fit    in %s\n", tool_bytes((uint64_t)plan->request.memory_bytes, text));
        return;
    }
    puts("\nKV    per token  room       longest context            ms a token there");
    for (size_t i = 0; i < plan->n_lines; i++) {
        const struct line *line = &plan->lines[i];

        printf("%-5s %-10s ", line->format, tool_bytes(line->token_bytes, text));
        printf("%-10s %-10.0f %-15s %.2f\n", tool_bytes((uint64_t)line->fits_bytes, text), line->context,
               line->is_trained ? "(training)" : "(memory)", line->full_ms);
    }
}

static json_t *json_of(const struct plan *plan)
{
    const struct survey *survey = plan->survey;
    json_t *object = json_object();
    json_t *lines = json_array();

    for (size_t i = 0; i < plan->n_lines; i++) {
        const struct line *line = &plan->lines[i];
        json_t *one = json_object();

        json_object_set_new(one, "format", json_string(line->format));
        json_object_set_new(one, "bytes_per_token", tool_number(line->token_bytes));
        json_object_set_new(one, "fits_bytes", tool_number((uint64_t)line->fits_bytes));
        json_object_set_new(one, "context_tokens", tool_number((uint64_t)line->context));
        json_object_set_new(one, "limit", json_string(line->is_trained ? "trained" : "memory"));
        json_object_set_new(one, "ms_per_token", json_real(line->full_ms));
        json_array_append_new(lines, one);
    }
    json_object_set_new(object, "bandwidth_bytes_per_second", json_real(plan->request.bytes_per_s));
    json_object_set_new(object, "memory_bytes", tool_number((uint64_t)plan->request.memory_bytes));
    json_object_set_new(object, "weight_bytes", tool_number(survey->n_bytes));
    json_object_set_new(object, "weight_bytes_per_token", tool_number(survey->n_passed));
    json_object_set_new(object, "working_bytes", tool_number((uint64_t)plan->scratch_bytes));
    json_object_set_new(object, "fits",
                        json_boolean((double)survey->n_bytes + plan->scratch_bytes < plan->request.memory_bytes));
    json_object_set_new(object, "floor_ms_per_token", json_real(plan->floor_ms));
    json_object_set_new(object, "kv", lines);
    return object;
}

static int show(const struct tool_call *call, const struct request *request)
{
    struct plan plan = { .request = *request };
    struct model_file file = { .fd = -1 };
    struct diag diag = DIAG_INIT;
    struct survey survey;
    int r = model_file_open(&file, request->path, &diag);

    if (!r) {
        r = survey_create(&survey, &file);
    }
    if (r) {
        model_file_close(&file);
        return tool_fail(call, request->path, &diag, r);
    }
    if (!survey.has_params || survey.n_passed == 0) {
        int step = diag_is_set(&survey.refusals[SURVEY_FAMILY]) ? SURVEY_FAMILY : SURVEY_PARAMS;

        diag_set(&diag, "%s",
                 diag_is_set(&survey.refusals[step]) ? survey.refusals[step].text
                                                     : "the file has no weights of its family");
        r = tool_fail(call, request->path, &diag, 0);
    } else {
        plan.survey = &survey;
        make(&plan);
        if (call->json) {
            r = tool_print(call, json_of(&plan));
        } else {
            show_text(&plan);
            r = tool_flush(call);
        }
    }
    survey_finish(&survey);
    model_file_close(&file);
    return r;
}

static int run(struct tool_call *call, struct args *args)
{
    struct request request = { .path = NULL };
    const char *bandwidth = NULL;
    const char *memory = NULL;
    const struct tool_value values[] = {
        { PLAN_BANDWIDTH, .text = &bandwidth, .is_required = true },
        { PLAN_MEMORY, .text = &memory, .is_required = true },
        { TOOL_OPERAND, "FILE", &request.path },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    if (r != TOOL_READ) {
        return r;
    }
    if (roofline_read(bandwidth, &request.bytes_per_s)) {
        return tool_usage(call, "--bandwidth: \"%s\" is not a number of bytes from 1 to 10^18, such as 34GB/s",
                          bandwidth);
    }
    if (roofline_read(memory, &request.memory_bytes)) {
        return tool_usage(call, "--memory: \"%s\" is not a number of bytes from 1 to 10^18, such as 4GB or 3.5GiB",
                          memory);
    }
    return show(call, &request);
}

const struct tool tool_plan = {
    .name = "plan",
    .summary = "compute the best that a chip can do for a model",
    .operands = "FILE --bandwidth BYTES/s --memory BYTES",
    .about = "Prints the least milliseconds a token that the bandwidth of the memory allows, and for each format\n"
             "of keys and values the room that is left and the longest context. k, M, G, T are powers of 1000;\n"
             "Ki, Mi, Gi, Ti of 1024.",
    .rows = rows,
    .run = run,
};
