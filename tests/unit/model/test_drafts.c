/*
 * Drafts change no token: an answer is the same with any number of drafts, in every family, greedy or sampled, beside
 * others, suspended at every part, and in every format of keys and values. Where the text repeats itself they save
 * steps.
 */
#include "reference.h"
#include "unit.h"
#include <string.h>

#define N_PROMPT  40
#define N_ANSWER  50
#define N_STREAMS 3

static bool never(void *owner)
{
    return false;
}

/* Fills streams with prompts that repeat themselves, and with answers drawn at three temperatures. */
static void fill_streams(struct model_fixture_stream *streams, uint32_t n_drafts)
{
    static const float temperatures[N_STREAMS] = { 0.0f, 0.3f, 1.2f };

    for (uint32_t i = 0; i < N_STREAMS; i++) {
        streams[i] = (struct model_fixture_stream){ .id = i + 1,
                                                    .n_prompt = N_PROMPT,
                                                    .n_wanted = N_ANSWER,
                                                    .n_drafts = n_drafts,
                                                    .temperature = temperatures[i],
                                                    .seed = 5 + i };
        for (uint32_t j = 0; j < N_PROMPT; j++) {
            streams[i].prompt[j] = 3 + (j * j + i) % (7 + i);
        }
    }
}

/* Serves all streams with @n_drafts. */
static void serve(const char *path, const char *kv_format, uint32_t n_drafts, bool is_suspended,
                  struct model_fixture_stream *streams)
{
    struct model *model = model_fixture_open(
        path, &(struct model_fixture_setup){ .kv_format = kv_format, .n_sequences = 32, .n_parts = is_suspended });
    struct model_figures figures;
    struct model_facts facts;
    uint32_t n_accepted = 0;

    model_facts(model, &facts);
    fill_streams(streams, n_drafts);
    model_fixture_drive(model, streams, N_STREAMS, 16, is_suspended ? never : NULL, NULL);
    for (uint32_t i = 0; i < N_STREAMS; i++) {
        ck_assert_uint_eq(streams[i].n_answer, N_ANSWER);
        n_accepted += streams[i].n_accepted;
    }
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_drafts_accepted, n_accepted);
    ck_assert_uint_ge(figures.n_drafts, n_accepted);
    ck_assert(facts.n_decode > 1 || figures.n_drafts == 0);
    ck_assert_uint_eq(figures.n_tokens, N_STREAMS * N_ANSWER);
    model_close(model);
}

static const struct way {
    const char *kv_format;
    uint32_t n_drafts;
    bool is_suspended;
} ways[] = {
    { "f16", 1, false }, { "f16", STEP_TOKENS_MAX - 1, true }, { "f32", 3, false }, { "q8", 3, true },
    { "q4", 5, false },
};

START_TEST(no_token_depends_on_drafts)
{
    static struct reference_model reference;
    struct model_fixture_stream *plain = calloc(N_STREAMS, sizeof(*plain));
    struct model_fixture_stream *drafted = calloc(N_STREAMS, sizeof(*drafted));

    reference_make(&reference, &references[_i]);
    for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++) {
        const struct way *way = &ways[k];

        serve(reference.path, way->kv_format, 0, false, plain);
        serve(reference.path, way->kv_format, way->n_drafts, way->is_suspended, drafted);
        for (uint32_t j = 0; j < N_STREAMS; j++) {
            ck_assert_uint_eq(plain[j].n_accepted, 0);
            ck_assert_mem_eq(drafted[j].answer, plain[j].answer, N_ANSWER * sizeof(*plain->answer));
        }
    }
    reference_free(&reference);
    free(plain);
    free(drafted);
}
END_TEST

START_TEST(a_story_that_is_told_again_takes_fewer_steps)
{
    struct model_fixture_case *story = model_fixture_long_case("stories260K-long.json");
    struct model_fixture_stream *stream = calloc(1, sizeof(*stream));
    struct model *model;
    char path[512];

    if (!story || !unit_truth("models/stories260K-f32.gguf", path, sizeof(path))) {
        return;
    }
    *stream = (struct model_fixture_stream){ .id = 1, .n_wanted = 100, .n_drafts = STEP_TOKENS_MAX - 1 };
    for (uint32_t i = 0; i < 200; i++) {
        stream->prompt[stream->n_prompt++] = story->answer[i % 150];
    }
    model = model_fixture_open(path, &(struct model_fixture_setup){ .n_sequences = 32 });
    model_fixture_drive(model, stream, 1, 64, NULL, NULL);
    fprintf(stderr, "%u of 100 tokens were drafted\n", stream->n_accepted);
    ck_assert_uint_gt(stream->n_accepted, 20);
    model_close(model);
    free(stream);
    free(story);
}
END_TEST

START_TEST(an_entry_of_too_many_tokens_is_refused)
{
    static struct reference_model reference;
    const struct step_entry entry = { .seq = 1, .n_decode = STEP_TOKENS_MAX + 1 };
    struct model *model;
    struct diag diag = DIAG_INIT;

    reference_make(&reference, &references[0]);
    model = model_fixture_open(reference.path, &(struct model_fixture_setup){ 0 });
    ck_assert_int_eq(step_begin(model, 1, &entry, 1, &diag), STEP_REFUSED);
    ck_assert_str_eq(diag.text, "entry 0 wants 9 tokens; at most 8 are sampled");
    model_close(model);
    reference_free(&reference);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-drafts");
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, no_token_depends_on_drafts, 0, n_references);
    tcase_add_test(tcase, a_story_that_is_told_again_takes_fewer_steps);
    tcase_add_test(tcase, an_entry_of_too_many_tokens_is_refused);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
