/*
 * A sequence that goes on with another prompt has the bits of a new one, whatever it had computed before, and what both
 * begin with is not computed again. Where that is refused it goes on as if nothing had been asked.
 */
#include "base/clean.h"
#include "reference.h"
#include "unit.h"
#include <string.h>

#define N_FIRST  40 /* tokens of the first prompt */
#define N_SAID   11 /* of its answer, of which all but the last are computed */
#define N_KNOWN  (N_FIRST + N_SAID)
#define N_SECOND 70 /* of the second prompt */
#define N_ANSWER 8

/* The second turn begins with so many tokens of the first. */
static const struct way {
    const char *what;
    uint32_t n_same;
    uint32_t n_second; /* 0: N_SECOND */
    bool is_stopped;   /* in the midst of a step, by a barge-in */
    bool is_alone;     /* shares with nobody */
    bool is_warm;      /* another sequence has left the second prompt's pages */
} ways[] = {
    { "another prompt", 0 },
    { "the same first token", 1 },
    { "a whole page", 16 },
    { "a page and a piece", 27 },
    { "a page and a piece, alone", 27, .is_alone = true },
    { "a page and a piece, warm", 27, .is_warm = true },
    { "the first prompt", N_FIRST },
    { "prompt and answer", N_KNOWN },
    { "prompt and answer, alone", N_KNOWN, .is_alone = true },
    { "prompt and a part of the answer", N_FIRST + 4 },
    { "whole pages and answer", 48 },
    { "barge-in, prompt and answer", N_KNOWN, .is_stopped = true },
    { "barge-in, a part of the answer", N_FIRST + 4, .is_stopped = true },
    { "barge-in, the prompt alone", N_FIRST, .is_stopped = true, .is_alone = true },
    { "shorter than what there was", 30, .n_second = 30 },
    { "the very same", N_KNOWN, .n_second = N_KNOWN },
};

struct stopper {
    struct model *model;
    uint32_t n_left;
};

static bool stop_soon(void *owner)
{
    struct stopper *stopper = owner;

    if (stopper->n_left-- == 0) {
        seq_stop(stopper->model, 1);
    }
    return true;
}

static struct model_fixture_stream first_turn(const struct way *way)
{
    struct model_fixture_stream stream = { .id = 1, .n_prompt = N_FIRST, .n_wanted = N_SAID };

    stream.salt = way->is_alone ? "" : NULL;
    for (uint32_t i = 0; i < N_FIRST; i++) {
        stream.prompt[i] = (i * i * 31 + 7) % REFERENCE_TOKENS;
    }
    return stream;
}

/* Of @first, all of whose answer is there. */
static struct model_fixture_stream second_turn(const struct way *way, const struct model_fixture_stream *first)
{
    struct model_fixture_stream stream = { .id = 1, .salt = first->salt, .n_wanted = N_ANSWER, .extends = true };

    stream.n_prompt = way->n_second ? way->n_second : N_SECOND;
    for (uint32_t i = 0; i < stream.n_prompt; i++) {
        stream.prompt[i] = i >= way->n_same ? (i * 13 + 3) % REFERENCE_TOKENS
                           : i < N_FIRST    ? first->prompt[i]
                                            : first->answer[i - N_FIRST];
    }
    stream.temperature = 0.7f;
    stream.seed = 5;
    stream.logprobs = calloc((size_t)N_ANSWER * MODEL_FIXTURE_VOCAB, sizeof(float));
    ck_assert_ptr_nonnull(stream.logprobs);
    return stream;
}

static void barge_in(struct model *model)
{
    const struct step_entry entry = { .seq = 1, .n_decode = 1 };
    struct stopper stopper = { .model = model, .n_left = 2 };
    struct step_report report;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(step_begin(model, 5, &entry, 1, &diag), 0);
    ck_assert_int_eq(step_run(model, 5, stop_soon, &stopper, &report), STEP_DONE);
    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_STOPPED);
}

static void check_kept(const struct way *way, const struct model_fixture_stream *stream, bool recurs)
{
    uint32_t n_done = N_KNOWN - 1;
    uint32_t n_most = way->n_same < stream->n_prompt - 1 ? way->n_same : stream->n_prompt - 1;

    if (recurs) {
        ck_assert_msg(stream->n_cached == 0 || stream->n_cached == n_done, "%s: %u", way->what, stream->n_cached);
    } else if (way->is_warm) {
        ck_assert_uint_ge(stream->n_cached, N_SECOND - 16);
    } else if (!way->is_stopped) {
        /* Fewer than four rows of a page of the chain are not worth a copy. */
        ck_assert_msg(stream->n_cached + 3 >= (n_most < n_done ? n_most : n_done) && stream->n_cached <= n_most,
                      "%s: %u", way->what, stream->n_cached);
    }
}

static void go_on(const char *name, const char *path, const struct way *way, bool recurs)
{
    struct model *model = model_fixture_open(path, &(struct model_fixture_setup){ .kv_format = "f16", .n_parts = 1 });
    struct model *other = model_fixture_open(path, &(struct model_fixture_setup){ .kv_format = "f16" });
    struct model_fixture_stream first = first_turn(way);
    struct model_fixture_run run = { .model = model, .streams = &first, .n_streams = 1, .n_chunk = 64, .step = 1 };
    struct model_fixture_stream second, cold;

    model_fixture_begin(&run);
    while (model_fixture_turn(&run, NULL, NULL)) {
    }
    second = second_turn(way, &first);
    cold = second_turn(way, &first);
    cold.extends = false;
    if (way->is_warm) {
        struct model_fixture_stream before = cold;

        before.id = 2;
        before.keeps = true;
        model_fixture_drive(model, &before, 1, 64, NULL, NULL);
        memset(cold.logprobs, 0, (size_t)N_ANSWER * MODEL_FIXTURE_VOCAB * sizeof(float));
    }
    if (way->is_stopped) {
        barge_in(model);
    }

    model_fixture_drive(model, &second, 1, 64, NULL, NULL);
    model_fixture_drive(other, &cold, 1, 64, NULL, NULL);

    check_kept(way, &second, recurs);
    ck_assert_msg(memcmp(second.answer, cold.answer, sizeof(cold.answer)) == 0, "%s, %s: other tokens", name,
                  way->what);
    ck_assert_msg(memcmp(second.logprobs, cold.logprobs, (size_t)N_ANSWER * MODEL_FIXTURE_VOCAB * sizeof(float)) == 0,
                  "%s, %s: other bits", name, way->what);
    free(second.logprobs);
    free(cold.logprobs);
    model_close(model);
    model_close(other);
}

START_TEST(a_next_turn_has_the_bits_of_a_new_sequence)
{
    static struct reference_model reference;

    reference_make(&reference, &references[_i]);
    for (size_t i = 0; i < COUNTOF(ways); i++) {
        go_on(references[_i].name, reference.path, &ways[i], references[_i].attends_every > 0);
    }
    reference_free(&reference);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-extend");
    TCase *tcase = tcase_create("extend");

    tcase_set_timeout(tcase, 30); /* a model goes on in every way */
    tcase_add_loop_test(tcase, a_next_turn_has_the_bits_of_a_new_sequence, 0, n_references);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
