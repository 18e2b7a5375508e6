/*
 * Perplexity: measures how well a model predicts a text, and what a format costs
 *
 * The text is cut into chunks that the model reads one by one, each from an empty context. The tokens of the second
 * half of a chunk are scored, which have at least half a chunk before them; in a text of one chunk, all are. Two
 * models, or two formats of keys and values, read alternately, a few tokens each, so that only the logits of these are
 * kept.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include "base/num.h"
#include "token/token.h"
#include "tool/reader.h"
#include "tool/score.h"
#include "tool/table.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define CHUNK_DEFAULT  512 /* tokens, as in published figures */
#define CHUNK_MIN      8
#define TEXT_BYTES_MAX (256u << 20)

enum perplexity_row {
    PERPLEXITY_FILE = TOOL_ROWS_COUNT,
    PERPLEXITY_AGAINST,
    PERPLEXITY_KV,
    PERPLEXITY_BACKEND,
    PERPLEXITY_CHUNK,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [PERPLEXITY_FILE] = { "file", 0, ARG_TEXT, "PATH", NULL, "the model, a GGUF file" },
    [PERPLEXITY_AGAINST] = { "against", 0, ARG_TEXT, "PATH", NULL,
                             "a model of the same vocabulary, the reference of the divergence" },
    [PERPLEXITY_KV] = { "kv-format", 0, ARG_CHOICE, NULL, "f16|f32|q8|q4",
                        "format of keys and values; without --against, f16 is the reference" },
    [PERPLEXITY_BACKEND] = { "backend", 0, ARG_CHOICE, NULL, "cpu|truth",
                             "compute as for requests (cpu), or with weights as floats (truth)" },
    [PERPLEXITY_CHUNK] = { "chunk", 0, ARG_UINT, "N", NULL, "tokens of a chunk (default: 512)" },
    { NULL },
};

struct request {
    const char *text;
    const char *against;
    struct reader_setup setup;
    uint64_t n_chunk;
};

struct work {
    const struct tool_call *call;
    struct request request;
    struct reader reader;
    struct reader reference; /* zeroed if there is none */
    bool has_reference;
    struct vocab *vocab; /* owned */
    struct ids ids;      /* of the text, without BOS */
    uint32_t *chunk;     /* [n_chunk], owned */
    uint32_t n_chunk;
    float *kept; /* [READER_SHOWN][n_vocab], owned: logits of the reference that wait for those of the model */
    uint32_t n_kept;
    uint32_t n_matched;
    struct score score;
    struct diag diag;
};

static int open_models(struct work *work)
{
    const struct request *request = &work->request;
    struct reader_setup reference = request->setup;
    int r = reader_open(&work->reader, &request->setup, &work->diag);

    if (r) {
        return r;
    }
    work->has_reference = request->against || strcmp(request->setup.kv_format, "f16") != 0;
    if (!work->has_reference) {
        return READER_OK;
    }
    reference.path = request->against ? request->against : request->setup.path;
    reference.kv_format = "f16";
    r = reader_open(&work->reference, &reference, &work->diag);
    if (!r && work->reference.facts.n_vocab != work->reader.facts.n_vocab) {
        diag_set(&work->diag, "the vocabularies of the models differ: %u and %u tokens", work->reader.facts.n_vocab,
                 work->reference.facts.n_vocab);
        r = READER_REFUSED;
    }
    return r;
}

static int read_text(struct work *work)
{
    cleanup(mem_freep) char *text = NULL;
    size_t n;
    int r = vocab_create(&work->vocab, work->reader.file.gguf, &work->diag);

    if (!r) {
        r = file_read(work->request.text, MEM_TEXT, TEXT_BYTES_MAX, &text, &n, &work->diag);
    }
    if (!r) {
        r = vocab_tokenize(work->vocab, text, n, 0, &work->ids, &work->diag);
    }
    if (!r && work->ids.n < 2) {
        diag_set(&work->diag, "%s: the text has %zu tokens; it needs at least 2", work->request.text, work->ids.n);
        r = READER_REFUSED;
    }
    return r;
}

static int make_room(struct work *work)
{
    /* A sequence leaves the last position of its context free. */
    work->n_chunk = (uint32_t)num_min(work->request.n_chunk, work->reader.facts.n_context - 1);
    if (work->has_reference) {
        work->n_chunk = (uint32_t)num_min(work->n_chunk, work->reference.facts.n_context - 1);
        work->kept = mem_calloc(MEM_SCRATCH, (size_t)READER_SHOWN * work->reader.facts.n_vocab, sizeof(float));
    }
    if (work->n_chunk < CHUNK_MIN) {
        diag_set(&work->diag, "the context of the model, %u tokens, is too short", work->reader.facts.n_context);
        return READER_REFUSED;
    }
    work->chunk = mem_calloc(MEM_SCRATCH, work->n_chunk, sizeof(*work->chunk));
    return work->chunk && (work->kept || !work->has_reference) ? 0 : err_new(-ENOMEM);
}

/* Keeps the logits of the reference until those of the model arrive. */
static void on_reference(void *owner, uint32_t position, const float *logits, uint32_t n)
{
    struct work *work = owner;

    assert(work->n_kept < READER_SHOWN);
    memcpy(work->kept + (size_t)work->n_kept++ * n, logits, n * sizeof(*logits));
}

static void on_logits(void *owner, uint32_t position, const float *logits, uint32_t n)
{
    struct work *work = owner;
    const float *reference = NULL;

    if (position + 1 >= work->reader.n_tokens) {
        return; /* the token after the chunk is not known */
    }
    if (work->has_reference) {
        assert(work->n_matched < work->n_kept);
        reference = work->kept + (size_t)work->n_matched++ * n;
    }
    score_add(&work->score, logits, reference, n, work->chunk[position + 1]);
}

/* Lets both models read the current chunk alternately. */
static int read_alternately(struct work *work)
{
    int r = 0;

    while (!r && reader_is_left(&work->reader)) {
        work->n_kept = work->n_matched = 0;
        if (work->has_reference) {
            r = reader_step(&work->reference, &work->diag);
        }
        if (!r) {
            r = reader_step(&work->reader, &work->diag);
        }
    }
    return r;
}

static int read_chunk(struct work *work, uint32_t n, uint32_t from)
{
    int r = reader_begin(&work->reader, work->chunk, n, from, on_logits, work, &work->diag);

    if (r) {
        return r;
    }
    if (work->has_reference) {
        r = reader_begin(&work->reference, work->chunk, n, from, on_reference, work, &work->diag);
    }
    if (!r) {
        r = read_alternately(work);
        if (work->has_reference) {
            reader_end(&work->reference);
        }
    }
    reader_end(&work->reader);
    return r;
}

static int read_all(struct work *work)
{
    uint32_t n_bos = vocab_adds_bos(work->vocab) && vocab_bos(work->vocab) != VOCAB_NO_ID;
    size_t n_each = work->n_chunk - n_bos;
    size_t at = 0;

    while (at < work->ids.n) {
        size_t n = num_min(n_each, work->ids.n - at);
        uint32_t n_all = (uint32_t)n + n_bos;
        uint32_t from = work->ids.n > n_each ? work->n_chunk / 2 - 1 : 0;
        int r;

        if (at > 0 && n_all < work->n_chunk) {
            break; /* the rest has too few tokens before it */
        }
        tool_progress("token", at, work->ids.n);
        work->chunk[0] = vocab_bos(work->vocab);
        memcpy(work->chunk + n_bos, work->ids.ids + at, n * sizeof(*work->chunk));
        r = read_chunk(work, n_all, from);
        if (r) {
            return r;
        }
        at += n;
    }
    tool_progress("token", work->ids.n, work->ids.n);
    if (!isfinite(work->score.surprise) || !isfinite(work->score.divergence)) {
        diag_set(&work->diag, "the logits of the model are not finite numbers");
        return READER_REFUSED;
    }
    return 0;
}

static int report_json(const struct work *work)
{
    const struct score *score = &work->score;
    json_t *object = json_object();

    json_object_set_new(object, "numerics", json_string(work->reader.facts.numerics));
    json_object_set_new(object, "text_tokens", tool_number(work->ids.n));
    json_object_set_new(object, "scored_tokens", tool_number(score->n));
    json_object_set_new(object, "chunk_tokens", tool_number(work->n_chunk));
    json_object_set_new(object, "perplexity", json_real(score_perplexity(score)));
    json_object_set_new(object, "perplexity_error", json_real(score_perplexity_error(score)));
    if (work->has_reference) {
        json_t *reference = json_object();

        json_object_set_new(reference, "numerics", json_string(work->reference.facts.numerics));
        json_object_set_new(reference, "perplexity", json_real(score_reference_perplexity(score)));
        json_object_set_new(object, "reference", reference);
        json_object_set_new(object, "kl_divergence", json_real(score_divergence(score)));
        json_object_set_new(object, "kl_divergence_error", json_real(score_divergence_error(score)));
        json_object_set_new(object, "kl_divergence_max", json_real(score->farthest));
        json_object_set_new(object, "same_best", json_real((double)score->n_same / (double)score->n));
    }
    return tool_print(work->call, object);
}

static int report(const struct work *work)
{
    const struct score *score = &work->score;

    if (work->call->json) {
        return report_json(work);
    }
    printf("perplexity     %.4f +- %.4f over %llu of %zu tokens, in chunks of %u (%s)\n", score_perplexity(score),
           score_perplexity_error(score), (unsigned long long)score->n, work->ids.n, work->n_chunk,
           work->reader.facts.numerics);
    if (work->has_reference) {
        printf("reference      %.4f (%s)\n", score_reference_perplexity(score), work->reference.facts.numerics);
        printf("KL divergence  %.6f +- %.6f nats, at most %.4f; the same best token in %.2f %%\n",
               score_divergence(score), score_divergence_error(score), score->farthest,
               100 * (double)score->n_same / (double)score->n);
    }
    return tool_flush(work->call);
}

static int measure(const struct tool_call *call, const struct request *request)
{
    struct work work = { .call = call, .request = *request, .diag = DIAG_INIT };
    int r = open_models(&work);

    if (!r) {
        r = read_text(&work);
    }
    if (!r) {
        r = make_room(&work);
    }
    if (!r) {
        r = read_all(&work);
    }
    r = r ? tool_fail(call, NULL, &work.diag, r) : report(&work);
    mem_free(work.kept);
    mem_free(work.chunk);
    ids_finish(&work.ids);
    vocab_destroy(work.vocab);
    reader_close(&work.reference);
    reader_close(&work.reader);
    return r;
}

static int run(struct tool_call *call, struct args *args)
{
    struct request request = { .setup = { .backend = "cpu", .kv_format = "f16" }, .n_chunk = CHUNK_DEFAULT };
    const struct tool_value values[] = {
        { PERPLEXITY_FILE, .text = &request.setup.path, .is_required = true },
        { PERPLEXITY_AGAINST, .text = &request.against },
        { PERPLEXITY_KV, .text = &request.setup.kv_format },
        { PERPLEXITY_BACKEND, .text = &request.setup.backend },
        { PERPLEXITY_CHUNK, .number = &request.n_chunk },
        { TOOL_OPERAND, "TEXTFILE", &request.text },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    if (r != TOOL_READ) {
        return r;
    }
    if (request.n_chunk < CHUNK_MIN) {
        return tool_usage(call, "--chunk: at least %d tokens are needed", CHUNK_MIN);
    }
    request.setup.n_context = (uint32_t)num_min(request.n_chunk + 1, UINT32_MAX);
    return measure(call, &request);
}

const struct tool tool_perplexity = {
    .name = "perplexity",
    .summary = "measure how well a model predicts a text, and what a format costs",
    .operands = "--file MODEL.gguf TEXTFILE",
    .about = "Reads the text in chunks and prints the perplexity of the tokens in the second half of each (in a\n"
             "text of one chunk: of all). With --against, or a --kv-format other than f16, it also prints the\n"
             "Kullback-Leibler divergence from the reference in nats a token: the loss.",
    .rows = rows,
    .run = run,
};
