/*
 * The bits of a row depend on the row alone: one stream's tokens and all its log-probabilities are the same beside any
 * others, however its prompt is cut, on any number of threads, with any kernels, and stopped after each part.
 */
#include "rig.h"
#include "unit.h"
#include <string.h>

#define N_PROMPT 75 /* several pages and a piece of one */
#define N_ANSWER 20

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
};

static bool never(void *owner)
{
    ++*(uint64_t *)owner;
    return false;
}

/* Stream 0 is the one that is watched; the others have other prompts, of other lengths. */
static void fill_streams(struct rig_stream *streams, uint32_t n, const struct rig_case *words)
{
    for (uint32_t i = 0; i < n; i++) {
        streams[i] = (struct rig_stream){ .id = i + 1,
                                          .n_prompt = N_PROMPT - (i * 5) % N_PROMPT,
                                          .n_wanted = N_ANSWER };
        streams[i].prompt[0] = 1;
        for (uint32_t j = 1; j < streams[i].n_prompt; j++) {
            streams[i].prompt[j] = words->answer[(j - 1) * (i + 1) % words->n_answer];
        }
    }
}

/* The watched stream served so; free its log-probabilities and itself. */
static struct rig_stream *serve(const char *path, const char *kv_format, const struct way *way,
                                const struct rig_case *words)
{
    struct rig_stream *streams = calloc(way->n_beside + 1, sizeof(*streams));
    uint64_t n_suspended = 0;
    struct model *model = rig_open(path, &(struct rig_setup){ .kv_format = kv_format,
                                                              .n_threads = way->n_threads,
                                                              .cpu_mask = way->cpu_mask,
                                                              .n_rows = 16 * N_PROMPT,
                                                              .n_parts = way->is_suspended ? 1 : 0 });

    fill_streams(streams, way->n_beside + 1, words);
    streams[0].logprobs = calloc((size_t)N_ANSWER * RIG_VOCAB, sizeof(float));
    rig_drive(model, streams, way->n_beside + 1, way->n_chunk, way->is_suspended ? never : NULL,
              &n_suspended);
    ck_assert(!way->is_suspended || n_suspended > 1000);
    model_close(model);
    return streams;
}

START_TEST(a_stream_has_the_same_bits_however_it_is_served)
{
    const struct file *file = &files[_i];
    struct rig_case *words = rig_long_case("stories260K-long.json");
    struct rig_stream *first = NULL;
    char path[512];
    char name[128];

    snprintf(name, sizeof(name), "models/%s.gguf", file->name);
    if (!words || !unit_truth(name, path, sizeof(path))) {
        return;
    }

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct rig_stream *now = serve(path, file->kv_format, &ways[i], words);

        first = first ? first : now;
        ck_assert_msg(memcmp(now->answer, first->answer, sizeof(now->answer)) == 0, "%s, %s: other tokens",
                      file->name, ways[i].what);
        ck_assert_msg(memcmp(now->logprobs, first->logprobs, (size_t)N_ANSWER * RIG_VOCAB * sizeof(float)) ==
                          0,
                      "%s, %s: other bits", file->name, ways[i].what);
        if (now != first) {
            free(now->logprobs);
            free(now);
        }
    }

    free(first->logprobs);
    free(first);
    free(words);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-invariance");
    TCase *tcase = tcase_create("invariance");

    tcase_add_loop_test(tcase, a_stream_has_the_same_bits_however_it_is_served, 0,
                        (int)(sizeof(files) / sizeof(files[0])));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
