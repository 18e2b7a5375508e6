/*
 * Bench: how fast models are on this machine, and how near to its limits
 *
 * The command reads its options, measures one file after the other, and shows the results.
 */
#include "tool/bench.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "kern/cores.h"
#include "tool/bench_daemon.h"
#include "tool/bench_run.h"
#include "tool/table.h"
#include "tool/trial.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum bench_option {
    BENCH_THREADS = TOOL_ROWS_COUNT,
    BENCH_BATCH,
    BENCH_CONTEXT,
    BENCH_KV,
    BENCH_PROMPT_TOKENS,
    BENCH_DECODE_TOKENS,
    BENCH_REPEAT,
    BENCH_SECONDS,
    BENCH_BESIDE,
    BENCH_PICTURE,
    BENCH_FORCE,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [BENCH_THREADS] = { "threads", 0, ARG_TEXT, "LIST", NULL,
                        "numbers of threads (all cores, then half of them, ...)" },
    [BENCH_BATCH] = { "batch", 0, ARG_TEXT, "LIST", NULL, "numbers of sequences that are decoded together (1,4,8)" },
    [BENCH_CONTEXT] = { "context", 0, ARG_TEXT, "LIST", NULL, "tokens before the first decoded one (64,2048)" },
    [BENCH_KV] = { "kv-format", 0, ARG_TEXT, "LIST", NULL, "formats of keys and values (f16,q8,q4)" },
    [BENCH_PROMPT_TOKENS] = { "prompt", 0, ARG_UINT, "N", NULL, "tokens of a prompt (512)" },
    [BENCH_DECODE_TOKENS] = { "decode", 0, ARG_UINT, "N", NULL, "tokens of each sequence in a sample (16)" },
    [BENCH_REPEAT] = { "repeat", 0, ARG_UINT, "N", NULL, "samples of a case, of which the median counts (5)" },
    [BENCH_SECONDS] = { "seconds", 0, ARG_UINT, "N", NULL, "time for all files; what does not fit is left out (60)" },
    [BENCH_BESIDE] = { "beside", 0, ARG_UINT, "N", NULL,
                       "time first tokens at the running daemon, too, alone and beside N answers" },
    [BENCH_PICTURE] = { "plot", 0, ARG_TEXT, "FILE.svg", NULL, "draw roofline and scaling into a new file" },
    [BENCH_FORCE] = { "force", 0, ARG_FLAG, NULL, NULL, "replace FILE.svg if it exists" },
    { NULL },
};

#define TOKENS_MAX  1000000u
#define SECONDS_MAX 86400u

struct request {
    struct tool_operands files;
    const char *threads;
    const char *batches;
    const char *contexts;
    const char *kv_formats;
    uint64_t n_prompt;
    uint64_t n_decode;
    uint64_t n_repeats;
    uint64_t seconds;
    uint64_t n_beside; /* 0: no daemon is asked */
    const char *plot;
    bool force;
    struct bench_options options;
    char kv_names[BENCH_LIST][4];
};

/* ---- options ---- */

/* Reads "1,4,8": numbers of 1 to @max. Returns false if it is something else. */
static bool read_numbers(const char *text, uint32_t max, struct bench_list *list)
{
    for (list->n = 0; list->n < BENCH_LIST; text++) {
        char *end;
        unsigned long number = strtoul(text, &end, 10);

        if (*text < '0' || *text > '9' || number == 0 || number > max) {
            return false;
        }
        list->numbers[list->n++] = (uint32_t)number;
        text = end;
        if (*text != ',') {
            return *text == '\0';
        }
    }
    return false;
}

/* Reads "f16,q8" into names that live as long as @request. */
static bool read_formats(struct request *request, struct bench_list *list)
{
    const char *text = request->kv_formats;

    for (list->n = 0; list->n < BENCH_LIST; text++) {
        const size_t n = strcspn(text, ",");
        char *name = request->kv_names[list->n];

        if (n >= sizeof(request->kv_names[0])) {
            return false;
        }
        memcpy(name, text, n);
        name[n] = '\0';
        if (strcmp(name, "f16") != 0 && strcmp(name, "f32") != 0 && strcmp(name, "q8") != 0 &&
            strcmp(name, "q4") != 0) {
            return false;
        }
        list->names[list->n++] = name;
        text += n;
        if (*text == '\0') {
            return true;
        }
    }
    return false;
}

/* Lists all cores that can be used at once, half of them, and so on, down to one. */
static void usual_threads(struct bench_list *list)
{
    struct cores cores;

    cores_choose(&cores, "", NULL, 0);
    list->n = 0;
    for (uint32_t n = cores.n_threads; n > 0 && list->n < BENCH_LIST; n /= 2) {
        list->numbers[list->n++] = n;
    }
}

/* Returns TOOL_READ, or the exit code of a usage error. */
static int read_options(const struct tool_call *call, struct request *request)
{
    struct bench_options *options = &request->options;
    const struct {
        const char *name;
        const char *text;
        uint32_t max;
        struct bench_list *list;
    } lists[] = {
        { "threads", request->threads, POOL_MAX_WORKERS, &options->threads },
        { "batch", request->batches, TRIAL_SEQUENCES, &options->batches },
        { "context", request->contexts, TOKENS_MAX, &options->contexts },
    };

    usual_threads(&options->threads);
    for (size_t i = 0; i < COUNTOF(lists); i++) {
        if (lists[i].text && !read_numbers(lists[i].text, lists[i].max, lists[i].list)) {
            return tool_usage(call, "--%s: \"%s\" is not a list of at most %d numbers of 1 to %u, such as 1,4,8",
                              lists[i].name, lists[i].text, BENCH_LIST, lists[i].max);
        }
    }
    if (!read_formats(request, &options->kv_formats)) {
        return tool_usage(call, "--kv-format: \"%s\" is not a list of f16, f32, q8 and q4, such as f16,q8",
                          request->kv_formats);
    }
    if (request->n_prompt == 0 || request->n_prompt > TOKENS_MAX || request->n_decode == 0 ||
        request->n_decode > TOKENS_MAX) {
        return tool_usage(call, "--prompt and --decode: 1 to %u tokens are possible", TOKENS_MAX);
    }
    if (request->n_repeats == 0 || request->n_repeats > BENCH_SAMPLES) {
        return tool_usage(call, "--repeat: 1 to %d samples are possible", BENCH_SAMPLES);
    }
    if (request->seconds == 0 || request->seconds > SECONDS_MAX) {
        return tool_usage(call, "--seconds: 1 to %u are possible", SECONDS_MAX);
    }
    if (request->n_beside > BENCH_BESIDE_MAX) {
        return tool_usage(call, "--beside: at most %u answers are possible", BENCH_BESIDE_MAX);
    }
    if (request->files.n == 0 && request->n_beside == 0) {
        return tool_usage(call, "FILE is missing");
    }
    options->n_prompt = (uint32_t)request->n_prompt;
    options->n_decode = (uint32_t)request->n_decode;
    options->n_repeats = (uint32_t)request->n_repeats;
    options->seconds = (double)request->seconds / fmax((double)request->files.n, 1);
    return TOOL_READ;
}

/* ---- results ---- */

/* Opens a new file beside the picture, which takes its place at the end. NULL: @diag. */
static FILE *open_part(const char *part, struct diag *diag)
{
    FILE *file = fopen(part, "wxe");

    if (!file) {
        diag_set(diag, "%s can't be written: %s", part, strerrordesc_np(errno));
    }
    return file;
}

/* Checks the path of the picture before anything is measured: a wrong one should not cost a minute. */
static bool check_plot(const struct request *request, const char *part, struct diag *diag)
{
    struct stat info;
    FILE *file;

    if (lstat(request->plot, &info) == 0 && (!request->force || !S_ISREG(info.st_mode))) {
        diag_set(diag, request->force ? "is not a plain file" : "exists already; --force replaces it");
        return false;
    }
    file = open_part(part, diag);
    if (file) {
        fclose(file);
        unlink(part);
    }
    return file != NULL;
}

/* Writes the picture, all or nothing. */
static bool save_plot(const struct request *request, const char *part, const struct bench *bench, struct diag *diag)
{
    FILE *file = open_part(part, diag);
    bool is_written;

    if (!file) {
        return false;
    }
    bench_plot(bench, file);
    is_written = !ferror(file);
    is_written = fclose(file) == 0 && is_written;
    if (is_written && renameat2(AT_FDCWD, part, AT_FDCWD, request->plot, request->force ? 0 : RENAME_NOREPLACE) == 0) {
        return true;
    }
    diag_set(diag, "can't be written: %s", strerrordesc_np(errno));
    unlink(part);
    return false;
}

static int show(const struct tool_call *call, const struct request *request, const struct bench *bench,
                const char *part)
{
    struct diag diag = DIAG_INIT;

    if (request->plot && !save_plot(request, part, bench, &diag)) {
        return tool_fail(call, request->plot, &diag, 0);
    }
    if (call->json) {
        return tool_print(call, bench_json(bench));
    }
    bench_text(bench, stdout);
    return tool_flush(call);
}

static int measure(const struct tool_call *call, const struct request *request, const char *part)
{
    struct bench *bench = mem_calloc(MEM_MISC, 1, sizeof(*bench));
    struct diag diag = DIAG_INIT;
    int r = bench ? 0 : err_new(-ENOMEM);

    if (!r && request->n_beside > 0) {
        r = bench_daemon(bench, (uint32_t)request->n_beside, &diag);
        r = r ? tool_fail(call, NULL, &diag, r) : 0;
    }
    for (size_t i = 0; i < request->files.n && !r; i++) {
        r = bench_run(&bench->models[i], request->files.texts[i], &request->options, &diag);
        r = r ? tool_fail(call, request->files.texts[i], &diag, r) : 0;
        bench->n_models++;
    }
    if (!r) {
        r = show(call, request, bench, part);
    }
    mem_free(bench);
    return r < 0 ? tool_fail(call, NULL, NULL, r) : r;
}

static int bench(const struct tool_call *call, const struct request *request)
{
    struct diag diag = DIAG_INIT;
    char part[PATH_MAX];

    if (request->plot) {
        if ((size_t)snprintf(part, sizeof(part), "%s.part", request->plot) >= sizeof(part)) {
            return tool_usage(call, "--plot: the path is too long");
        }
        if (!check_plot(request, part, &diag)) {
            return tool_fail(call, request->plot, &diag, 0);
        }
    }
    return measure(call, request, part);
}

static int run(struct tool_call *call, struct args *args)
{
    struct request request = {
        .kv_formats = "f16,q8,q4",
        .n_prompt = 512,
        .n_decode = 16,
        .n_repeats = 5,
        .seconds = 60,
        .options = { .batches = { 3, { 1, 4, 8 }, { NULL } }, .contexts = { 2, { 64, 2048 }, { NULL } } },
    };
    const struct tool_value values[] = {
        { BENCH_THREADS, .text = &request.threads },
        { BENCH_BATCH, .text = &request.batches },
        { BENCH_CONTEXT, .text = &request.contexts },
        { BENCH_KV, .text = &request.kv_formats },
        { BENCH_PROMPT_TOKENS, .number = &request.n_prompt },
        { BENCH_DECODE_TOKENS, .number = &request.n_decode },
        { BENCH_REPEAT, .number = &request.n_repeats },
        { BENCH_SECONDS, .number = &request.seconds },
        { BENCH_BESIDE, .number = &request.n_beside },
        { BENCH_PICTURE, .text = &request.plot },
        { BENCH_FORCE, .flag = &request.force },
        { TOOL_OPERAND, "FILE", .operands = &request.files },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    r = r == TOOL_READ ? read_options(call, &request) : r;
    return r == TOOL_READ ? bench(call, &request) : r;
}

const struct tool tool_bench = {
    .name = "bench",
    .summary = "measure how fast a model is here, beside the limits of the machine",
    .operands = "[FILE...]",
    .about = "Reads prompts and makes tokens with each file, in this process, as an engine would, and measures the\n"
             "bandwidth of the memory and the peak of the arithmetic in the same second. Lists begin with the usual\n"
             "value; the others are varied one at a time. The table has tokens a second of all sequences together\n"
             "(median, least, greatest) and the share of the limit that binds.",
    .rows = rows,
    .run = run,
};
