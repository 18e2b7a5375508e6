/*
 * The bits of a row depend on the row alone: one stream's tokens and all its log-probabilities are the same beside any
 * others, however its prompt is cut, on any number of threads, with any kernels, stopped after each part, and whatever
 * was found in the pages of those before it.
 */
#include "reference.h"
#include "unit.h"
#include <string.h>

#define N_PROMPT   75 /* several pages and a piece of one */
#define N_ANSWER   20
#define POOL_BYTES (64u << 20) /* room for all streams of any of the files */

static const struct file {
    const char *name;
    const char *kv_format;
} files[] = {
    { "stories260K-f32", "f32" },
    { "stories260K-f16", "f16" },
    { "stories260K-q8_0", "f16" },
    { "stories260K-q4_0", "f16" },
    { "stories260K-wide-q4_k_m", "f16" },
    { "stories260K-wide-q5_k", "f16" },
    { "stories260K-as-qwen2-f32", "f16" },
    { "stories260K-as-qwen3-f32", "f16" },
    { "stories260K-as-phi3-f32", "f16" },
    { "stories260K-as-gemma-f32", "f16" },
    /* formats of keys and values */
    { "stories260K-f32", "q8" },
    { "stories260K-q8_0", "q8" },
    { "stories260K-f16", "q4" },
    { "stories260K-wide-q4_k_m", "q4" },
};

/* How the same stream is served; the first is what the others are compared with. */
static const struct way {
    const char *what;
    uint32_t n_beside; /* other streams in the same steps */
    uint32_t n_chunk;
    uint32_t n_threads;
    const char *cpu_mask;
    bool is_suspended; /* after each part */

    uint32_t n_warm;    /* tokens of the prompt that a stream before it had, too */
    uint32_t reopen_at; /* answers after which it is closed and opened with all that is known */
    bool is_forgotten;  /* when it is closed */
    uint32_t n_pages;   /* that may be in use; 0: enough */
} ways[] = {
    { "alone, whole prompt", 0, 512, 1, "", false },
    { "beside 1", 1, 64, 1, "", false },
    { "beside 6", 6, 64, 1, "", false },
    { "beside 15", 15, 64, 1, "", false },
    { "pieces of 1", 0, 1, 1, "", false },
    { "pieces of 7", 3, 7, 1, "", false },
    { "pieces of 64", 0, 64, 1, "", false },
    { "two threads", 6, 7, 2, "", false },
    { "suspended at every part", 2, 33, 1, "", true },
    { "suspended at every part, two threads", 2, 33, 2, "", true },
    { "scalar kernels", 2, 33, 1, "scalar", false },
    { "warm", 0, 64, 1, "", false, N_PROMPT },
    { "warm in part, beside others", 3, 33, 2, "", true, 41 },
    { "warm and partly evicted", 0, 64, 1, "", false, N_PROMPT, .n_pages = 9 },
    { "closed and opened again", 1, 64, 1, "", false, .reopen_at = 9 },
    { "closed, forgotten and opened again", 1, 64, 1, "", false, .reopen_at = 9, .is_forgotten = true },
};

static bool never(void *owner)
{
    ++*(uint64_t *)owner;
    return false;
}

/* Stream 0 is the one that is watched; the others have other prompts, of other lengths. */
static void fill_streams(struct model_fixture_stream *streams, uint32_t n, const struct model_fixture_case *words)
{
    for (uint32_t i = 0; i < n; i++) {
        streams[i] = (struct model_fixture_stream){ .id = i + 1,
                                                    .n_prompt = N_PROMPT - (i * 5) % N_PROMPT,
                                                    .n_wanted = N_ANSWER };
        streams[i].prompt[0] = 1;
        for (uint32_t j = 1; j < streams[i].n_prompt; j++) {
            streams[i].prompt[j] = words->answer[(j - 1) * (i + 1) % words->n_answer];
        }
    }
}

/* Streams before the watched one: one that begins as it does, and where the pool is small one that does not. */
static void warm_up(struct model *model, const struct way *way, const struct model_fixture_stream *watched)
{
    for (uint32_t i = 0; i < (way->n_pages ? 2 : 1); i++) {
        struct model_fixture_stream before = *watched;

        before.id = 1000 + i;
        before.logprobs = NULL;
        before.keeps = true;
        for (uint32_t j = i == 0 ? way->n_warm : 0; j < N_PROMPT; j++) {
            before.prompt[j] ^= 1;
        }
        model_fixture_drive(model, &before, 1, 64, NULL, NULL);
    }
}

/* What the watched stream found: nothing where sequences have states of their own. */
static void check_found(const struct way *way, const struct model_fixture_stream *watched, bool shares)
{
    if (!shares) {
        ck_assert_uint_eq(watched->n_cached, 0);
    } else if (way->n_pages > 0) {
        ck_assert_uint_gt(watched->n_cached, 16);
        ck_assert_uint_lt(watched->n_cached, way->n_warm - 16);
    } else if (way->n_warm > 0) {
        ck_assert_uint_eq(watched->n_cached, way->n_warm == N_PROMPT ? N_PROMPT - 1 : way->n_warm);
    } else {
        ck_assert_uint_eq(watched->n_cached, 0);
    }
}

/* The watched stream served so; free its log-probabilities and itself. */
static struct model_fixture_stream *serve(const char *path, const char *kv_format, const struct way *way,
                                          const struct model_fixture_case *words, bool shares)
{
    struct model_fixture_stream *streams = calloc(way->n_beside + 1, sizeof(*streams));
    uint64_t n_suspended = 0;
    struct model *model =
        model_fixture_open(path, &(struct model_fixture_setup){ .kv_format = kv_format,
                                                                .n_threads = way->n_threads,
                                                                .cpu_mask = way->cpu_mask,
                                                                .n_rows = 16 * N_PROMPT,
                                                                .kv_bytes = POOL_BYTES,
                                                                .n_parts = way->is_suspended ? 1 : 0 });
    struct model_facts facts;

    fill_streams(streams, way->n_beside + 1, words);
    model_facts(model, &facts);
    model_limit_kv(model, (uint64_t)way->n_pages * facts.n_page_tok * facts.kv_token_bytes);
    if (way->n_warm > 0) {
        warm_up(model, way, &streams[0]);
    }
    streams[0].reopen_at = way->reopen_at;
    streams[0].keeps = !way->is_forgotten;
    streams[0].logprobs = calloc((size_t)N_ANSWER * MODEL_FIXTURE_VOCAB, sizeof(float));
    model_fixture_drive(model, streams, way->n_beside + 1, way->n_chunk, way->is_suspended ? never : NULL,
                        &n_suspended);
    ck_assert(!way->is_suspended || n_suspended > 500);
    check_found(way, &streams[0], shares);
    model_close(model);
    return streams;
}

static void serve_every_way(const char *name, const char *path, const char *kv_format,
                            const struct model_fixture_case *words, bool shares)
{
    struct model_fixture_stream *first = NULL;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct model_fixture_stream *now;

        if (model_fixture_has_one_hash && i > 0 && ways[i].n_warm == 0 && ways[i].reopen_at == 0) {
            continue; /* no page is looked for */
        }
        if (unit_looks_for_races() && i > 0 && ways[i].n_threads == 1) {
            continue;
        }
        now = serve(path, kv_format, &ways[i], words, shares);
        first = first ? first : now;
        ck_assert_msg(memcmp(now->answer, first->answer, sizeof(now->answer)) == 0, "%s, %s: other tokens", name,
                      ways[i].what);
        ck_assert_msg(memcmp(now->logprobs, first->logprobs, (size_t)N_ANSWER * MODEL_FIXTURE_VOCAB * sizeof(float)) ==
                          0,
                      "%s, %s: other bits", name, ways[i].what);
        if (now != first) {
            free(now->logprobs);
            free(now);
        }
    }

    free(first->logprobs);
    free(first);
}

START_TEST(a_stream_has_the_same_bits_however_it_is_served)
{
    const struct file *file = &files[_i];
    struct model_fixture_case *words = model_fixture_long_case("stories260K-long.json");
    char path[512];
    char name[128];

    snprintf(name, sizeof(name), "models/%s.gguf", file->name);
    if (words && unit_truth(name, path, sizeof(path))) {
        serve_every_way(file->name, path, file->kv_format, words, true);
    }
    free(words);
}
END_TEST

START_TEST(so_it_is_with_every_family)
{
    static struct reference_model reference;
    static struct model_fixture_case words = { .n_answer = 256 };

    for (uint32_t i = 0; i < words.n_answer; i++) {
        words.answer[i] = (i * i * 31 + i * 7 + 5) % REFERENCE_TOKENS;
    }
    reference_make(&reference, &references[_i]);

    serve_every_way(references[_i].name, reference.path, "f16", &words, references[_i].attends_every == 0);

    reference_free(&reference);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-invariance");
    TCase *tcase = tcase_create("invariance");

    tcase_set_timeout(tcase, 30); /* a file is served in every way */
    tcase_add_loop_test(tcase, a_stream_has_the_same_bits_however_it_is_served, 0,
                        (int)(sizeof(files) / sizeof(files[0])));
    tcase_add_loop_test(tcase, so_it_is_with_every_family, 0, n_references);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
