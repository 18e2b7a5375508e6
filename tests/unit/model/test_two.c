/*
 * Two begun steps do not see each other: while one stands still after any of its parts the other goes on, and either
 * has the bits that it has alone. What is asked of a sequence that stands in a step happens when that ends.
 */
#include "base/clean.h"
#include "reference.h"
#include "unit.h"
#include <string.h>

#define N_STREAMS 3 /* of each of the two runs */
#define N_PROMPT  50
#define N_SHARED  41 /* tokens that the first streams of both begin with: two pages and a piece of one */
#define N_ANSWER  12
#define WHOLE     UINT32_MAX

/* How the two take turns. */
static const struct way {
    const char *what;
    uint32_t n_parts[2]; /* of each, then it stands still */
    uint32_t n_chunk;
    uint32_t n_threads;
    uint32_t bound_us;
    uint32_t reopen_at;
    bool is_forgotten;
    uint32_t n_pages; /* 0: enough */
} ways[] = {
    { "second whole between all parts of the first", { 1, WHOLE }, 64, 1 },
    { "first whole between all parts of the second", { WHOLE, 1 }, 64, 1 },
    { "part by part", { 1, 1 }, 17, 1 },
    { "three and two, two threads", { 3, 2 }, 33, 2 },
    { "short parts", { 7, 5 }, 33, 1, .bound_us = 50 },
    { "closed and opened again", { 5, 3 }, 33, 1, .reopen_at = 5 },
    { "forgotten and opened again", { 3, 4 }, 64, 1, .reopen_at = 5, .is_forgotten = true },
    { "hardly a page to spare", { 3, 4 }, 64, 1, .reopen_at = 5, .n_pages = 25 },
};

static const char *const formats[] = { "f32", "f16", "q8", "q4" };

static bool count_down(void *owner)
{
    uint32_t *n = owner;

    return *n == WHOLE || --*n > 0;
}

static void fill_streams(struct model_fixture_stream *streams, uint32_t run, const struct way *way)
{
    for (uint32_t i = 0; i < N_STREAMS; i++) {
        struct model_fixture_stream *stream = &streams[i];

        *stream = (struct model_fixture_stream){ .id = 10 * run + i + 1,
                                                 .n_prompt = N_PROMPT - 7 * i,
                                                 .n_wanted = N_ANSWER,
                                                 .keeps = !way->is_forgotten,
                                                 .reopen_at = way->reopen_at };
        for (uint32_t j = 0; j < stream->n_prompt; j++) {
            bool is_shared = i == 0 && j < N_SHARED;

            stream->prompt[j] = (j * j * 31 + 7 + (is_shared ? 0 : 131 * run + 17 * i)) % REFERENCE_TOKENS;
        }
        stream->logprobs = calloc((size_t)N_ANSWER * MODEL_FIXTURE_VOCAB, sizeof(float));
        ck_assert_ptr_nonnull(stream->logprobs);
    }
}

static struct model *open_model(const char *path, const char *format, const struct way *way)
{
    struct model *model = model_fixture_open(
        path, &(struct model_fixture_setup){ .kv_format = format, .n_threads = way->n_threads, .n_parts = 1 });
    struct model_facts facts;

    model_facts(model, &facts);
    model_limit_kv(model, (uint64_t)way->n_pages * facts.n_page_tok * facts.kv_token_bytes);
    step_bound(model, way->bound_us);
    return model;
}

/* Both runs in turns, as @way says. */
static void serve_both(const char *path, const char *format, const struct way *way,
                       struct model_fixture_stream (*streams)[N_STREAMS])
{
    struct model *model = open_model(path, format, way);
    struct model_fixture_run runs[2];
    bool is_left[2] = { true, true };
    uint32_t n_beside = 0;

    for (uint32_t i = 0; i < 2; i++) {
        fill_streams(streams[i], i, way);
        runs[i] = (struct model_fixture_run){
            .model = model, .streams = streams[i], .n_streams = N_STREAMS, .n_chunk = way->n_chunk, .step = i + 1
        };
        model_fixture_begin(&runs[i]);
    }
    for (uint32_t turn = 0; is_left[0] || is_left[1]; turn++) {
        uint32_t n = way->n_parts[turn % 2];

        n_beside += runs[(turn + 1) % 2].is_begun;
        is_left[turn % 2] = model_fixture_turn(&runs[turn % 2], count_down, &n);
    }
    ck_assert_uint_gt(n_beside, 0);
    model_fixture_end(&runs[0]);
    model_fixture_end(&runs[1]);
    model_close(model);
}

static void serve_alone(const char *path, const char *format, struct model_fixture_stream (*streams)[N_STREAMS])
{
    const struct way alone = { .n_threads = 1 };
    struct model *model;

    for (uint32_t i = 0; i < 2; i++) {
        model = open_model(path, format, &alone);
        fill_streams(streams[i], i, &alone);
        model_fixture_drive(model, streams[i], N_STREAMS, 64, NULL, NULL);
        model_close(model);
    }
}

static void compare(const char *name, const char *what, struct model_fixture_stream (*streams)[N_STREAMS],
                    struct model_fixture_stream (*expected)[N_STREAMS])
{
    for (uint32_t i = 0; i < 2 * N_STREAMS; i++) {
        struct model_fixture_stream *now = &streams[i / N_STREAMS][i % N_STREAMS];
        const struct model_fixture_stream *then = &expected[i / N_STREAMS][i % N_STREAMS];

        ck_assert_msg(memcmp(now->answer, then->answer, sizeof(now->answer)) == 0, "%s, %s, stream %u: other tokens",
                      name, what, i);
        ck_assert_msg(memcmp(now->logprobs, then->logprobs, (size_t)N_ANSWER * MODEL_FIXTURE_VOCAB * sizeof(float)) ==
                          0,
                      "%s, %s, stream %u: other bits", name, what, i);
        free(now->logprobs);
    }
}

static void free_streams(struct model_fixture_stream (*streams)[N_STREAMS])
{
    for (uint32_t i = 0; i < 2 * N_STREAMS; i++) {
        free(streams[i / N_STREAMS][i % N_STREAMS].logprobs);
    }
}

static void serve_every_way(const struct reference *kind, const char *format)
{
    static struct reference_model reference;
    static struct model_fixture_stream expected[2][N_STREAMS], streams[2][N_STREAMS];

    reference_make(&reference, kind);
    serve_alone(reference.path, format, expected);
    for (size_t i = 0; i < COUNTOF(ways); i++) {
        if (unit_looks_for_races() && ways[i].n_threads == 1) {
            continue;
        }
        serve_both(reference.path, format, &ways[i], streams);
        compare(kind->name, ways[i].what, streams, expected);
    }
    free_streams(expected);
    reference_free(&reference);
}

START_TEST(either_has_the_bits_that_it_has_alone)
{
    serve_every_way(&references[_i], "f16");
}
END_TEST

START_TEST(so_it_is_with_every_format_of_keys_and_values)
{
    serve_every_way(&references[0], formats[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-two");
    TCase *tcase = tcase_create("two");

    tcase_set_timeout(tcase, 30); /* a model is served in every way */
    tcase_add_loop_test(tcase, either_has_the_bits_that_it_has_alone, 0, n_references);
    tcase_add_loop_test(tcase, so_it_is_with_every_format_of_keys_and_values, 0, (int)COUNTOF(formats));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
