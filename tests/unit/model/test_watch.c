/*
 * A watched sequence shows the logits of its rows, and leaves room for the results of the others in its step.
 */
#include "base/clean.h"
#include "fixture.h"
#include "model/seq.h"
#include "unit.h"
#include <string.h>

#define N_PROMPT 20

struct seen {
    uint32_t n;
    float last[MODEL_FIXTURE_VOCAB];
};

static void on_logits(void *owner, uint32_t position, const float *logits, uint32_t n)
{
    struct seen *seen = owner;

    ck_assert_uint_eq(position, seen->n++);
    memcpy(seen->last, logits, n * sizeof(*logits));
}

static void open_seq(struct model *model, uint32_t id, struct seen *seen)
{
    static const struct sample_params greedy = { .top_p = 1.0F, .repetition_penalty = 1.0F };
    static uint32_t tokens[N_PROMPT];
    struct seq_room room;

    for (uint32_t i = 0; i < N_PROMPT; i++) {
        tokens[i] = 1 + i * 37 % 500;
    }
    ck_assert_int_eq(seq_open(model,
                              &(struct seq_request){ .id = id,
                                                     .tokens = tokens,
                                                     .n_tokens = N_PROMPT,
                                                     .n_prompt = N_PROMPT,
                                                     .n_reserve = 4,
                                                     .params = &greedy,
                                                     .watch = seen ? on_logits : NULL,
                                                     .watcher = seen },
                              &room),
                     SEQ_OK);
}

static struct step_report step(struct model *model, const struct step_entry *entries, uint32_t n)
{
    struct step_report report;
    struct diag diag = DIAG_INIT;

    ck_assert_msg(step_begin(model, 1, entries, n, &diag) == 0, "%s", diag.text);
    ck_assert_int_eq(step_run(model, 1, NULL, NULL, &report), STEP_DONE);
    return report;
}

START_TEST(the_others_of_a_step_still_get_their_tokens)
{
    const struct step_entry entries[] = { { .seq = 1, .n_prefill = N_PROMPT }, { .seq = 2, .n_prefill = N_PROMPT } };
    cleanup(model_closep) struct model *model = NULL;
    struct seen seen = { .n = 0 };
    struct step_report report;
    uint32_t token;
    char path[512];

    if (!unit_truth("models/stories260K-f32.gguf", path, sizeof(path))) {
        return;
    }
    model = model_fixture_open(path, &(struct model_fixture_setup){ .n_sequences = 4, .n_rows = 64 });
    open_seq(model, 1, &seen);
    open_seq(model, 2, NULL);

    /* Four results in all, one of them the other's. */
    report = step(model, entries, 2);
    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_UNFINISHED);
    ck_assert_uint_eq(report.results[0].n_rows, 3);
    ck_assert_uint_eq(seen.n, 3);
    ck_assert_int_eq(report.results[1].outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(report.results[1].n_tokens, 1);
    token = report.results[1].tokens[0];

    while (report.results[0].n_tokens == 0) {
        report = step(model, entries, 1);
        ck_assert_uint_le(report.results[0].n_rows, 4);
    }
    ck_assert_uint_eq(seen.n, N_PROMPT);
    ck_assert_uint_eq(report.results[0].tokens[0], token);
    for (uint32_t i = 0; i < MODEL_FIXTURE_VOCAB; i++) {
        ck_assert(seen.last[i] <= seen.last[token]);
    }
    ck_assert(model_check(model));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-watch");
    TCase *tcase = tcase_create("facts");

    tcase_add_test(tcase, the_others_of_a_step_still_get_their_tokens);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
