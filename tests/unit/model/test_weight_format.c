/*
 * Models in every weight format: one model is written in each of them, and each serves the same bits however it is
 * served, near to the model that it was made from
 */
#include "fixture.h"
#include "unit.h"

#include "base/clean.h"
#include "gguf/write.h"
#include "kern/kern.h"
#include "kern/quant.h"
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SOURCE   "models/stories260K-wide-q4_k_m.gguf" /* rows of whole super-blocks */
#define N_PROMPT 40
#define N_ANSWER 8

static const struct row {
    uint32_t type;
    double bound; /* of the divergence from the source after the prompt, in nats */
} rows[] = {
    { ELEM_F32, 1e-9 }, { ELEM_F16, 2e-6 },  { ELEM_BF16, 2e-4 }, { ELEM_Q8_0, 0.003 },  { ELEM_Q4_0, 0.15 },
    { ELEM_Q4_1, 0.1 }, { ELEM_Q5_0, 0.02 }, { ELEM_Q5_1, 0.02 }, { ELEM_Q2_K, 1.5 },    { ELEM_Q3_K, 0.2 },
    { ELEM_Q4_K, 0.1 }, { ELEM_Q5_K, 0.02 }, { ELEM_Q6_K, 0.01 }, { ELEM_IQ4_NL, 0.05 }, { ELEM_IQ4_XS, 0.05 },
};

static const struct way {
    const char *what;
    uint32_t n_chunk;
    uint32_t n_threads;
    const char *cpu_mask;
} ways[] = {
    { "whole prompt", 64, 1, "" },
    { "pieces of 1", 1, 1, "" },
    { "pieces of 7, two threads", 7, 2, "" },
    { "scalar kernels", 64, 1, "scalar" },
};

struct source {
    const uint8_t *bytes;
    size_t n_bytes;
    struct gguf *gguf;
};

/* False: left out. */
static bool open_source(struct source *source)
{
    struct diag diag = DIAG_INIT;
    uint64_t n_wanted;
    struct stat st;
    char path[512];
    int fd;

    if (!unit_truth(SOURCE, path, sizeof(path))) {
        return false;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(fstat(fd, &st), 0);
    source->n_bytes = (size_t)st.st_size;
    source->bytes = mmap(NULL, source->n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    ck_assert(source->bytes != MAP_FAILED);
    ck_assert_int_eq(gguf_parse(&source->gguf, source->bytes, source->n_bytes, source->n_bytes, &n_wanted, &diag),
                     GGUF_OK);
    return true;
}

static void close_source(struct source *source)
{
    gguf_destroy(source->gguf);
    munmap((void *)source->bytes, source->n_bytes);
}

static void write_rows(struct gguf_writer *writer, const struct gguf_tensor *tensor, const uint8_t *bytes,
                       uint32_t type)
{
    const uint32_t n_cols = (uint32_t)tensor->dims[0];
    float *floats = calloc(n_cols, sizeof(*floats));
    uint64_t from_bytes = 0, to_bytes = 0;
    struct kern_ops ops;
    uint8_t *row;

    kern_choose(&ops, 0);
    ck_assert(elem_row_bytes(tensor->type, n_cols, &from_bytes) && elem_row_bytes(type, n_cols, &to_bytes));
    row = malloc(to_bytes);
    for (uint64_t r = 0; r < tensor->dims[1]; r++) {
        ops.unpack(tensor->type, bytes + r * from_bytes, n_cols, floats);
        ck_assert_int_eq(quant_row(type, floats, n_cols, row), QUANT_OK);
        gguf_write_data(writer, row, to_bytes);
    }
    free(floats);
    free(row);
}

/* Writes the source with its matrices in @type to @path. */
static void write_model(const struct source *source, uint32_t type, const char *path)
{
    struct diag diag = DIAG_INIT;
    struct gguf_writer *writer;

    ck_assert_int_eq(gguf_writer_create(&writer), 0);
    for (size_t i = 0; i < gguf_n_keys(source->gguf); i++) {
        gguf_put_key(writer, gguf_key_at(source->gguf, i));
    }
    for (size_t i = 0; i < gguf_n_tensors(source->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(source->gguf, i);

        gguf_put_tensor(writer, tensor->name, tensor->n_dims > 1 ? type : tensor->type, tensor->n_dims, tensor->dims);
    }
    ck_assert_int_eq(gguf_writer_begin(writer, path, true, &diag), GGUF_WRITE_OK);
    for (size_t i = 0; i < gguf_n_tensors(source->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(source->gguf, i);

        if (tensor->n_dims > 1) {
            write_rows(writer, tensor, source->bytes + tensor->offset, type);
        } else {
            gguf_write_data(writer, source->bytes + tensor->offset, tensor->n_bytes);
        }
    }
    ck_assert_msg(gguf_writer_finish(writer, &diag) == GGUF_WRITE_OK, "%s", diag.text);
    gguf_writer_destroy(writer);
}

/* The stream of one prompt, served so; free its log-probabilities and itself. */
static struct model_fixture_stream *serve(const char *path, const char *backend, const struct way *way,
                                          const struct model_fixture_case *words)
{
    struct model_fixture_stream *stream = calloc(1, sizeof(*stream));
    struct model *model = model_fixture_open(path, &(struct model_fixture_setup){ .backend = backend,
                                                                                  .kv_format = "f16",
                                                                                  .n_threads = way->n_threads,
                                                                                  .cpu_mask = way->cpu_mask });

    *stream = (struct model_fixture_stream){ .id = 1, .n_prompt = N_PROMPT, .n_wanted = N_ANSWER };
    memcpy(stream->prompt, words->answer, N_PROMPT * sizeof(stream->prompt[0]));
    stream->logprobs = calloc((size_t)N_ANSWER * MODEL_FIXTURE_VOCAB, sizeof(float));
    model_fixture_drive(model, stream, 1, way->n_chunk, NULL, NULL);
    model_close(model);
    return stream;
}

/* Of the first token after the prompt, which all have in common. */
static double divergence(const struct model_fixture_stream *expected, const struct model_fixture_stream *got)
{
    double sum = 0.0;

    for (int i = 0; i < MODEL_FIXTURE_VOCAB; i++) {
        const double p = (double)expected->logprobs[i];

        sum += exp(p) * (p - (double)got->logprobs[i]);
    }
    return sum;
}

static void free_stream(struct model_fixture_stream *stream)
{
    free(stream->logprobs);
    free(stream);
}

START_TEST(a_model_in_every_format_has_one_answer_near_its_source)
{
    const struct row *row = &rows[_i];
    const char *name = elem_info(row->type)->name;
    struct model_fixture_case *words = model_fixture_long_case("stories260K-long.json");
    struct model_fixture_stream *expected, *first = NULL;
    struct source source;
    char path[128];
    char from[512];

    if (!words || !open_source(&source) || !unit_truth(SOURCE, from, sizeof(from))) {
        free(words);
        return;
    }
    snprintf(path, sizeof(path), "/tmp/sotto-format-%d.gguf", getpid());
    write_model(&source, row->type, path);
    expected = serve(from, "truth", &ways[0], words);

    for (size_t i = 0; i < COUNTOF(ways); i++) {
        struct model_fixture_stream *now = serve(path, "cpu", &ways[i], words);

        first = first ? first : now;
        ck_assert_msg(memcmp(now->answer, first->answer, sizeof(now->answer)) == 0, "%s, %s: other tokens", name,
                      ways[i].what);
        ck_assert_msg(memcmp(now->logprobs, first->logprobs, (size_t)N_ANSWER * MODEL_FIXTURE_VOCAB * 4) == 0,
                      "%s, %s: other bits", name, ways[i].what);
        if (now != first) {
            free_stream(now);
        }
    }

    fprintf(stderr, "%s: divergence from its source %.2g\n", name, divergence(expected, first));
    ck_assert_double_le(divergence(expected, first), row->bound);
    free_stream(first);
    free_stream(expected);
    unlink(path);
    close_source(&source);
    free(words);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-weight-format");
    TCase *tcase = tcase_create("format");

    tcase_set_timeout(tcase, 60); /* it quantises a whole model */
    tcase_add_loop_test(tcase, a_model_in_every_format_has_one_answer_near_its_source, 0,
                        unit_looks_for_races() ? 3 : (int)COUNTOF(rows));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
