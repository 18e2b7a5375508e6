/*
 * Sequences with a state: it is their own, there is one for each, and it is computed from the start when it can't go
 * on
 */
#include "base/clean.h"
#include "reference.h"
#include "unit.h"
#include <math.h>
#include <string.h>

#define N_PROMPT 40

static const struct reference kind = {
    .family = "qwen35", .n_layers = 4, .n_rot = 4, .norms_heads = true, .attends_every = 4
};

/* Takes the logits after the last row that was looked at. */
static void take_logits(void *owner, uint32_t position, const float *logits, uint32_t n)
{
    memcpy(owner, logits, n * sizeof(*logits));
}

static uint32_t prompt[N_PROMPT];

/* Opens sequence @id with @n tokens of the text; what its last row says goes to @logits. */
static int open_seq(struct model *model, uint32_t id, uint32_t n, float *logits)
{
    const struct sample_params params = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    struct seq_room room;

    for (uint32_t i = 0; i < N_PROMPT; i++) {
        prompt[i] = (i * i * 31 + 7) % REFERENCE_TOKENS;
    }
    return seq_open(model,
                    &(struct seq_request){ .id = id,
                                           .tokens = prompt,
                                           .n_tokens = n,
                                           .n_prompt = n,
                                           .n_reserve = 8,
                                           .params = &params,
                                           .salt = (const uint8_t *)"s",
                                           .n_salt = 1,
                                           .watch = logits ? take_logits : NULL,
                                           .watcher = logits,
                                           .watch_from = n - 1 },
                    &room);
}

static struct step_result step(struct model *model, uint32_t id, uint32_t n_prefill, step_poll_fn poll, void *owner)
{
    const struct step_entry entry = { .seq = id, .n_prefill = n_prefill, .n_decode = n_prefill == 0 };
    struct step_report report;
    struct diag diag = DIAG_INIT;
    int r;

    ck_assert_int_eq(step_begin(model, 1, &entry, 1, &diag), 0);
    do {
        r = step_run(model, 1, poll, owner, &report);
    } while (r == STEP_SUSPENDED);
    ck_assert_int_eq(r, STEP_DONE);
    return report.results[0];
}

/* What a sequence of its own says after @n tokens. */
static void expect(struct model *model, uint32_t n, float *logits)
{
    ck_assert_int_eq(open_seq(model, 77, n, logits), SEQ_OK);
    ck_assert_int_eq(step(model, 77, n, NULL, NULL).outcome, STEP_ENTRY_DONE);
    seq_close(model, 77, false);
}

START_TEST(a_trimmed_sequence_is_computed_from_the_start)
{
    static float expected[REFERENCE_TOKENS], got[REFERENCE_TOKENS];
    struct reference_model reference;
    struct model *model;
    struct step_result result;

    reference_make(&reference, &kind);
    model = model_fixture_open(reference.path, &(struct model_fixture_setup){ .kv_format = "f16" });
    expect(model, 25, expected);
    ck_assert_int_eq(open_seq(model, 1, 25, got), SEQ_OK);
    step(model, 1, 25, NULL, NULL);
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(step(model, 1, 0, NULL, NULL).n_tokens, 1);
    }

    seq_trim(model, 1, 25);
    memset(got, 0, sizeof(got));
    result = step(model, 1, N_PROMPT, NULL, NULL);

    ck_assert_uint_eq(result.n_rows, 25);
    ck_assert(memcmp(got, expected, sizeof(got)) == 0);
    model_close(model);
    reference_free(&reference);
}
END_TEST

START_TEST(trimming_to_what_is_known_loses_nothing)
{
    struct reference_model reference;
    struct model *model;

    reference_make(&reference, &kind);
    model = model_fixture_open(reference.path, &(struct model_fixture_setup){ .kv_format = "f16" });
    ck_assert_int_eq(open_seq(model, 1, 25, NULL), SEQ_OK);
    ck_assert_uint_eq(step(model, 1, 24, NULL, NULL).n_rows, 24);

    seq_trim(model, 1, 25);

    ck_assert_uint_eq(step(model, 1, 25, NULL, NULL).n_rows, 1);
    model_close(model);
    reference_free(&reference);
}
END_TEST

struct stopper {
    struct model *model;
    uint32_t n_left; /* parts until it is stopped */
};

static bool stop_later(void *owner)
{
    struct stopper *stopper = owner;

    if (stopper->n_left-- == 0) {
        seq_stop(stopper->model, 1);
    }
    return true;
}

START_TEST(a_state_that_was_left_in_the_middle_harms_nobody)
{
    static float expected[REFERENCE_TOKENS], got[REFERENCE_TOKENS];
    struct reference_model reference;
    struct stopper stopper = { .n_left = 12 };
    struct step_result result;

    reference_make(&reference, &kind);
    stopper.model =
        model_fixture_open(reference.path,
                           &(struct model_fixture_setup){ .kv_format = "f16", .n_sequences = 1, .n_parts = 1 });
    expect(stopper.model, 30, expected);
    ck_assert_int_eq(open_seq(stopper.model, 1, 30, NULL), SEQ_OK);
    step(stopper.model, 1, 10, NULL, NULL);

    result = step(stopper.model, 1, 10, stop_later, &stopper);

    ck_assert_int_eq(result.outcome, STEP_ENTRY_STOPPED);
    ck_assert_uint_eq(result.n_rows, 0);
    seq_close(stopper.model, 1, true);
    expect(stopper.model, 30, got); /* there is but one state */
    ck_assert(memcmp(got, expected, sizeof(got)) == 0);
    model_close(stopper.model);
    reference_free(&reference);
}
END_TEST

START_TEST(every_sequence_has_a_state_of_its_own_and_gives_it_back)
{
    struct reference_model reference;
    struct model *model;

    reference_make(&reference, &kind);
    model = model_fixture_open(reference.path, &(struct model_fixture_setup){ .kv_format = "f16", .n_sequences = 3 });

    for (int round = 0; round < 3; round++) {
        for (uint32_t id = 1; id <= 3; id++) {
            ck_assert_int_eq(open_seq(model, id, 9, NULL), SEQ_OK);
        }
        ck_assert_int_eq(open_seq(model, 4, 9, NULL), SEQ_TOO_MANY);
        for (uint32_t id = 1; id <= 3; id++) {
            step(model, id, 9, NULL, NULL);
            seq_close(model, id, true);
        }
    }

    model_close(model);
    reference_free(&reference);
}
END_TEST

START_TEST(only_layers_that_attend_have_pages)
{
    struct reference_model reference;
    struct model_facts facts;
    struct model *model;

    reference_make(&reference, &kind);
    model = model_fixture_open(reference.path, &(struct model_fixture_setup){ .kv_format = "f16" });

    model_facts(model, &facts);

    ck_assert_uint_eq(facts.kv_token_bytes, 2 * REFERENCE_KV_HEADS * REFERENCE_HEAD * 2); /* one layer of four */
    model_close(model);
    reference_free(&reference);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-state");
    TCase *tcase = tcase_create("state");

    tcase_add_test(tcase, a_trimmed_sequence_is_computed_from_the_start);
    tcase_add_test(tcase, trimming_to_what_is_known_loses_nothing);
    tcase_add_test(tcase, a_state_that_was_left_in_the_middle_harms_nobody);
    tcase_add_test(tcase, every_sequence_has_a_state_of_its_own_and_gives_it_back);
    tcase_add_test(tcase, only_layers_that_attend_have_pages);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
