/* The fixture around the real engine and a small trained model: the published answers, also across a crash. */
#include "hub_fixture.h"
#include <jansson.h>
#include <signal.h>
#include <string.h>

#define MODEL     "models/stories260K-f32.gguf"
#define TRUTH     "models/stories260K-f32.expected.json"
#define N_ANSWER  24u
#define N_CLIENTS 5u

static struct fixture fixture;
static struct client clients[N_CLIENTS];
static json_t *cases;

static bool begin_with(bool shares, uint32_t n_context)
{
    char truth[512];
    static char model[512];
    json_t *root;

    if (!unit_truth(TRUTH, truth, sizeof(truth)) || !unit_truth(MODEL, model, sizeof(model))) {
        return false;
    }
    root = json_load_file(truth, 0, NULL);
    cases = json_incref(json_object_get(root, "cases"));
    json_decref(root);
    ck_assert_uint_ge(json_array_size(cases), N_CLIENTS);
    fixture_prepare(&fixture, "");
    fixture.settings.file = model;
    fixture.settings.backend = "cpu";
    fixture.settings.kv_format = "f16";
    fixture.settings.n_threads = 1;
    fixture.settings.share_prefixes = shares;
    fixture.settings.n_context = n_context;
    fixture.config.engine_path = SOTTO_ENGINE;
    fixture.config.guard_allocations = true;
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
    return true;
}

static bool begin(void)
{
    return begin_with(true, 0);
}

/* Makes the request of case @i; our own tokenizer must read its text as the published ids. */
static void ask(size_t i)
{
    const json_t *row = json_array_get(cases, i);
    const char *prompt = json_string_value(json_object_get(row, "prompt"));

    client_init(&clients[i], 1, 0, N_ANSWER);
    clients[i].generate.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    clients[i].generate.text.len = strlen(prompt);
    memcpy(&clients[i].generate.text.data, &prompt, sizeof(prompt));
    client_generate(&fixture, &clients[i]);
}

static void assert_published(size_t i)
{
    const json_t *row = json_array_get(cases, i);
    const json_t *ids = json_object_get(row, "greedy_ids");

    client_until_over(&fixture, &clients[i]);
    ck_assert_msg(clients[i].code == SOTTO__V1__CODE__CODE_OK, "%s", clients[i].sentence);
    ck_assert_uint_eq(clients[i].prompt_tokens, json_array_size(json_object_get(row, "prompt_ids")));
    ck_assert_uint_gt(clients[i].n_tokens, 0);
    for (uint32_t k = 0; k < clients[i].n_tokens; k++) {
        ck_assert_uint_eq(clients[i].tokens[k], (uint32_t)json_integer_value(json_array_get(ids, k)));
    }
    client_finish(&clients[i]);
}

START_TEST(answers_are_the_published_ones_together_and_each_step_reads_the_weights_once)
{
    if (!begin()) {
        return;
    }
    for (size_t i = 0; i < N_CLIENTS; i++) {
        ask(i);
    }
    for (size_t i = 0; i < N_CLIENTS; i++) {
        assert_published(i);
    }

    ck_assert_uint_eq(fixture_model(&fixture)->current->figures.n_weight_passes,
                      fixture_model(&fixture)->current->figures.n_steps);
    ck_assert_uint_eq(fixture_model(&fixture)->current->figures.n_step_allocs, 0);
    json_decref(cases);
    fixture_end(&fixture);
}
END_TEST

START_TEST(sigkill_changes_no_token_of_a_real_answer)
{
    if (!begin()) {
        return;
    }
    for (size_t i = 0; i < N_CLIENTS; i++) {
        ask(i);
    }
    client_until_tokens(&fixture, &clients[1], 5);
    kill((pid_t)fixture_pid(&fixture), SIGKILL);
    for (size_t i = 0; i < N_CLIENTS; i++) {
        assert_published(i);
    }

    ck_assert_uint_eq(fixture_model(&fixture)->n_starts, 2);
    json_decref(cases);
    fixture_end(&fixture);
}
END_TEST

/* Makes two requests with the same 40 tokens, one after the other; the second by user @uid. */
static void ask_twice(uint32_t uid)
{
    for (int i = 0; i < 2; i++) {
        fixture.grant.uid = i == 0 ? fixture.grant.uid : uid;
        client_init(&clients[i], 5, 40, N_ANSWER);
        client_generate(&fixture, &clients[i]);
        client_until_over(&fixture, &clients[i]);
        ck_assert_msg(clients[i].code == SOTTO__V1__CODE__CODE_OK, "%s", clients[i].sentence);
    }
    ck_assert_uint_eq(clients[0].usage.cached_tokens, 0);
    ck_assert_mem_eq(clients[0].tokens, clients[1].tokens, sizeof(clients[0].tokens));
}

static void leave(void)
{
    client_finish(&clients[0]);
    client_finish(&clients[1]);
    json_decref(cases);
    fixture_end(&fixture);
}

START_TEST(a_second_request_of_a_user_finds_the_first_and_answers_the_same)
{
    if (!begin()) {
        return;
    }

    ask_twice(fixture.grant.uid);

    ck_assert_uint_eq(clients[1].usage.prompt_tokens, 40);
    ck_assert_uint_eq(clients[1].usage.cached_tokens, 39);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_CACHED_TOK], 39);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_PREFIX_HITS], 1);
    ck_assert_uint_gt(fixture_model(&fixture)->current->figures.n_pages_cached, 0);
    leave();
}
END_TEST

START_TEST(another_user_finds_nothing)
{
    if (!begin()) {
        return;
    }

    ask_twice(fixture.grant.uid + 1);

    ck_assert_uint_eq(clients[1].usage.cached_tokens, 0);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_PREFIX_HITS], 0);
    leave();
}
END_TEST

START_TEST(a_model_that_does_not_share_computes_each_prompt)
{
    if (!begin_with(false, 0)) {
        return;
    }

    ask_twice(fixture.grant.uid);

    ck_assert_uint_eq(clients[1].usage.cached_tokens, 0);
    ck_assert_uint_eq(fixture_model(&fixture)->current->figures.n_pages_cached, 0);
    leave();
}
END_TEST

START_TEST(an_answer_that_slides_is_the_same_over_a_dead_body_and_goes_on_from_what_stayed)
{
    uint32_t known[64];

    if (!begin_with(true, 64)) {
        return;
    }

    for (int i = 0; i < 2; i++) {
        client_init(&clients[i], 5, 40, 60);
        clients[i].generate.on_full = SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
        clients[i].generate.ignore_end = true;
        client_generate(&fixture, &clients[i]);
        if (i == 1) {
            client_until_tokens(&fixture, &clients[i], 35);
            kill((pid_t)fixture_pid(&fixture), SIGKILL);
        }
        client_until_over(&fixture, &clients[i]);
        client_assert_done(&clients[i], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 60);
    }
    client_assert_same(&clients[0], &clients[1]);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_SLIDES], 4);

    /* 24 tokens fill the context; of 64 then stay 4 and 30, and 30 more fill it again. */
    memcpy(known, clients[0].ids.ids, 40 * sizeof(*known));
    memcpy(known + 40, clients[0].tokens, 24 * sizeof(*known));
    memmove(known + 4, known + 34, 30 * sizeof(*known));
    client_init(&clients[2], 5, 34, 30);
    memcpy(clients[2].ids.ids, known, 34 * sizeof(*known));
    clients[2].generate.ignore_end = true;
    client_generate(&fixture, &clients[2]);
    client_until_over(&fixture, &clients[2]);
    ck_assert_mem_eq(clients[2].tokens, clients[0].tokens + 24, 30 * sizeof(*known));

    client_finish(&clients[2]);
    leave();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hub-real");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, answers_are_the_published_ones_together_and_each_step_reads_the_weights_once);
    tcase_add_test(tcase, sigkill_changes_no_token_of_a_real_answer);
    tcase_add_test(tcase, a_second_request_of_a_user_finds_the_first_and_answers_the_same);
    tcase_add_test(tcase, another_user_finds_nothing);
    tcase_add_test(tcase, an_answer_that_slides_is_the_same_over_a_dead_body_and_goes_on_from_what_stayed);
    tcase_add_test(tcase, a_model_that_does_not_share_computes_each_prompt);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
