/*
 * Logits: shows the logits after some tokens, to compare engines number by number
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "token/token.h"
#include "tool/reader.h"
#include "tool/table.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define SHOWN 10 /* best tokens that are shown without --json */

enum logits_row {
    LOGITS_FILE = TOOL_ROWS_COUNT,
    LOGITS_TOKENS,
    LOGITS_BACKEND,
    LOGITS_KV,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [LOGITS_FILE] = { "file", 0, ARG_TEXT, "PATH", NULL, "the model, a GGUF file" },
    [LOGITS_TOKENS] = { "tokens", 0, ARG_TEXT, "ID,ID,...", NULL, "the tokens that the model reads" },
    [LOGITS_BACKEND] = { "backend", 0, ARG_CHOICE, NULL, "cpu|truth",
                         "compute as for requests (cpu), or with weights as floats (truth)" },
    [LOGITS_KV] = { "kv-format", 0, ARG_CHOICE, NULL, "f16|f32|q8|q4", "format of keys and values (default: f16)" },
    { NULL },
};

struct request {
    const char *tokens;
    struct reader_setup setup;
};

#define LOGITS_BAD_IDS 1 /* @diag names the place */

/* Appends the ids that @text lists; an empty text is not a list. Returns 0, LOGITS_BAD_IDS, or -ENOMEM. */
static int read_ids(struct ids *ids, const char *text, struct diag *diag)
{
    const char *at = text;

    for (;;) {
        uint64_t id = 0;
        size_t n = strspn(at, "0123456789");

        for (size_t i = 0; i < n && id <= UINT32_MAX; i++) {
            id = id * 10 + (uint64_t)(at[i] - '0');
        }
        if (n == 0 || id > UINT32_MAX || (at[n] != ',' && at[n] != '\0')) {
            diag_set(diag, "\"%.32s\" is not a token id; expected ids separated by commas: 1,15,7", at);
            return LOGITS_BAD_IDS;
        }
        if (ids_push(ids, (uint32_t)id)) {
            return err_new(-ENOMEM);
        }
        if (at[n] == '\0') {
            return 0;
        }
        at += n + 1;
    }
}

/* A copy of the logits of the last row. */
struct logits {
    float *values; /* [n], owned */
    uint32_t n;
};

static void on_logits(void *owner, uint32_t position, const float *values, uint32_t n)
{
    struct logits *logits = owner;

    logits->values = mem_alloc(MEM_MISC, n * sizeof(*values));
    if (logits->values) {
        logits->n = n;
        memcpy(logits->values, values, n * sizeof(*values));
    }
}

static json_t *json_of(const struct reader *reader, const struct ids *ids, const struct logits *logits)
{
    json_t *object = json_object();
    json_t *tokens = json_array();
    json_t *values = json_array();

    for (size_t i = 0; i < ids->n; i++) {
        json_array_append_new(tokens, tool_number(ids->ids[i]));
    }
    for (uint32_t i = 0; i < logits->n; i++) {
        /* JSON has no infinities: they become null. */
        json_array_append_new(values, isfinite(logits->values[i]) ? json_real((double)logits->values[i]) : json_null());
    }
    json_object_set_new(object, "tokens", tokens);
    json_object_set_new(object, "numerics", json_string(reader->facts.numerics));
    json_object_set_new(object, "logits", values);
    return object;
}

static void show_best(const struct logits *logits)
{
    uint32_t last = UINT32_MAX;

    for (int shown = 0; shown < SHOWN; shown++) {
        uint32_t best = UINT32_MAX;

        /* The largest after the last one; equal ones are ordered by id. */
        for (uint32_t id = 0; id < logits->n; id++) {
            float x = logits->values[id];
            bool is_after = last == UINT32_MAX || x < logits->values[last] || (x == logits->values[last] && id > last);

            if (is_after && (best == UINT32_MAX || x > logits->values[best])) {
                best = id;
            }
        }
        if (best == UINT32_MAX) {
            return;
        }
        printf("%u\t%.6g\n", best, (double)logits->values[best]);
        last = best;
    }
}

/* Checks the vocabulary, so that a file that no daemon would load is refused. */
static int check_vocab(const struct reader *reader, struct diag *diag)
{
    struct vocab *vocab = NULL;
    int r = vocab_create(&vocab, reader->file.gguf, diag);

    vocab_destroy(vocab);
    return r;
}

static int show(const struct tool_call *call, const struct request *request)
{
    struct ids ids = { .n = 0 };
    struct logits logits = { .n = 0 };
    struct reader reader = { .model = NULL };
    struct diag diag = DIAG_INIT;
    const char *path = NULL;
    int r = read_ids(&ids, request->tokens, &diag);

    if (r == LOGITS_BAD_IDS) {
        ids_finish(&ids);
        return tool_usage(call, "--tokens: %s", diag.text);
    }
    if (!r) {
        r = reader_open(&reader, &request->setup, &diag);
    }
    if (!r) {
        r = check_vocab(&reader, &diag);
        path = r ? request->setup.path : NULL;
    }
    if (!r) {
        r = reader_read(&reader, ids.ids, (uint32_t)ids.n, (uint32_t)ids.n - 1, on_logits, &logits, &diag);
    }
    if (!r && logits.n == 0) {
        diag_set(&diag, "no memory for the logits");
        r = READER_REFUSED;
    }
    if (r) {
        r = tool_fail(call, path, &diag, r);
    } else if (call->json) {
        r = tool_print(call, json_of(&reader, &ids, &logits));
    } else {
        show_best(&logits);
        r = tool_flush(call);
    }
    mem_free(logits.values);
    reader_close(&reader);
    ids_finish(&ids);
    return r;
}

static int run(struct tool_call *call, struct args *args)
{
    struct request request = { .setup = { .backend = "cpu", .kv_format = "f16" } };
    const struct tool_value values[] = {
        { LOGITS_FILE, .text = &request.setup.path, .is_required = true },
        { LOGITS_TOKENS, .text = &request.tokens, .is_required = true },
        { LOGITS_BACKEND, .text = &request.setup.backend },
        { LOGITS_KV, .text = &request.setup.kv_format },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    return r == TOOL_READ ? show(call, &request) : r;
}

const struct tool tool_logits = {
    .name = "logits",
    .summary = "show the logits of a model after some tokens",
    .operands = "--file MODEL.gguf --tokens ID,ID,...",
    .about = "Shows the likeliest tokens after the given ones, with their logits; with --json the logits of the\n"
             "whole vocabulary. Nothing is added to the tokens, not even BOS.",
    .rows = rows,
    .run = run,
};
