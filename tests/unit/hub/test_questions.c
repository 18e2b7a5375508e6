/* Texts, lists and figures: each question is answered once, later. */
#include "hub_fixture.h"
#include "proto/wire.h"
#include <string.h>

static struct fixture fixture;

struct loader {
    uint32_t n_answers;
    Sotto__V1__Code code;
    char sentence[DIAG_BYTES];
    uint32_t ids[64];
    size_t n_ids;
    char pieces[256];
    char text[256];
    struct ticket *ticket;
};

static void note(struct loader *loader, const Sotto__V1__Error *error)
{
    loader->n_answers++;
    if (error) {
        loader->code = error->code;
        snprintf(loader->sentence, sizeof(loader->sentence), "%s", error->message);
    }
}

static void on_tokenized(void *owner, const Sotto__V1__Tokenized *answer, const Sotto__V1__Error *error)
{
    struct loader *loader = owner;

    note(loader, error);
    for (size_t i = 0; answer && i < answer->n_ids && i < 64; i++) {
        loader->ids[loader->n_ids++] = answer->ids[i];
    }
    for (size_t i = 0; answer && i < answer->n_pieces; i++) {
        strncat(loader->pieces, (char *)answer->pieces[i].data, answer->pieces[i].len);
        strcat(loader->pieces, "|");
    }
}

static void on_detokenized(void *owner, const Sotto__V1__Detokenized *answer, const Sotto__V1__Error *error)
{
    struct loader *loader = owner;

    note(loader, error);
    if (answer) {
        snprintf(loader->text, sizeof(loader->text), "%.*s", (int)answer->text.len, (char *)answer->text.data);
    }
}

static bool is_answered(void *owner)
{
    return ((struct loader *)owner)->n_answers > 0;
}

static int tokenize(struct loader *loader, const char *text, bool special, bool pieces, struct diag *diag)
{
    Sotto__V1__Tokenize ask = SOTTO__V1__TOKENIZE__INIT;

    memset(loader, 0, sizeof(*loader));
    ask.text.len = strlen(text);
    ask.text.data = wire_message(text);
    ask.special = special;
    ask.pieces = pieces;
    return hub_tokenize(fixture.hub, &ask, &fixture.grant, on_tokenized, loader, &loader->ticket, diag);
}

static int detokenize(struct loader *loader, uint32_t *ids, size_t n, bool special, struct diag *diag)
{
    Sotto__V1__Detokenize ask = SOTTO__V1__DETOKENIZE__INIT;

    memset(loader, 0, sizeof(*loader));
    ask.ids = ids;
    ask.n_ids = n;
    ask.special = special;
    return hub_detokenize(fixture.hub, &ask, &fixture.grant, on_detokenized, loader, &loader->ticket, diag);
}

START_TEST(a_text_becomes_ids_and_pieces_and_a_text_again)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;
    uint32_t ids[2];

    fixture_begin(&fixture, "");
    ck_assert_int_eq(tokenize(&loader, "hi", false, true, &diag), 0);
    ck_assert_uint_eq(loader.n_answers, 0);
    fixture_until(&fixture, is_answered, &loader);
    ck_assert_uint_eq(loader.n_ids, 2);
    ck_assert_str_eq(loader.pieces, "h|i|");
    memcpy(ids, loader.ids, sizeof(ids));
    ck_assert_int_eq(detokenize(&loader, ids, 2, false, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);

    ck_assert_str_eq(loader.text, "hi");
    fixture_end(&fixture);
}
END_TEST

START_TEST(control_tokens_count_only_where_policy_allows_them)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;

    fixture_begin(&fixture, "");
    ck_assert_int_eq(tokenize(&loader, "<|im_end|>", true, false, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);
    ck_assert_uint_eq(loader.n_ids, 1);
    ck_assert_int_eq(tokenize(&loader, "<|im_end|>", false, false, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);
    ck_assert_uint_eq(loader.n_ids, 10);
    fixture.grant.special = false;

    ck_assert_int_eq(tokenize(&loader, "x", true, false, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    fixture_end(&fixture);
}
END_TEST

START_TEST(ids_that_are_no_text_and_bytes_that_are_none_are_handled)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;
    uint32_t outside[1] = { 512 };
    uint32_t bad[1];

    fixture_begin(&fixture, "");
    ck_assert_int_eq(detokenize(&loader, outside, 1, false, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);
    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT);
    bad[0] = 0xff; /* a byte that begins no character */
    ck_assert_int_eq(detokenize(&loader, bad, 1, false, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);
    ck_assert_str_eq(loader.text, "\xef\xbf\xbd");
    ck_assert_int_eq(tokenize(&loader, "a\xff", false, false, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);

    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT);
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_question_waits_for_its_model_or_fails_with_it)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;

    fixture_prepare(&fixture, "load do slow 50\n");
    fixture.settings.load_at_start = false;
    fixture_open(&fixture);
    ck_assert_int_eq(tokenize(&loader, "hi", false, false, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);
    ck_assert_uint_eq(loader.n_ids, 2);
    fixture_end(&fixture);

    fixture_prepare(&fixture, "load do hopeless no such tensor\n");
    fixture.settings.load_at_start = false;
    fixture_open(&fixture);
    ck_assert_int_eq(tokenize(&loader, "hi", false, false, &diag), 0);
    fixture_until(&fixture, is_answered, &loader);
    ck_assert_int_eq(loader.code, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(loader.sentence, "no such tensor"));
    fixture_end(&fixture);
}
END_TEST

START_TEST(a_forgotten_question_gets_no_answer)
{
    struct diag diag = DIAG_INIT;
    struct loader loader;

    fixture_begin(&fixture, "");
    ck_assert_int_eq(tokenize(&loader, "hi", false, false, &diag), 0);
    ticket_forget(loader.ticket);
    fixture_run(&fixture, 50);

    ck_assert_uint_eq(loader.n_answers, 0);
    fixture_end(&fixture);
}
END_TEST

START_TEST(one_user_has_a_bounded_number_of_texts_in_work)
{
    struct diag diag = DIAG_INIT;
    struct loader askers[9];
    int r = 0;

    fixture_begin(&fixture, "");
    for (size_t i = 0; i < 9; i++) {
        r = tokenize(&askers[i], "hi", false, false, &diag);
    }
    ck_assert_int_eq(r, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED);
    for (size_t i = 0; i < 8; i++) {
        fixture_until(&fixture, is_answered, &askers[i]);
    }

    ck_assert_int_eq(tokenize(&askers[8], "hi", false, false, &diag), 0);
    fixture_until(&fixture, is_answered, &askers[8]);
    fixture_end(&fixture);
}
END_TEST

START_TEST(models_are_listed_with_files_for_administrators_only)
{
    Sotto__V1__Models models;
    struct arena arena;

    fixture_begin(&fixture, "");
    arena_init(&arena, MEM_WIRE, 1 << 16);
    ck_assert_int_eq(hub_list_models(fixture.hub, &fixture.grant, &arena, &models), 0);
    ck_assert_uint_eq(models.n_models, 1);
    ck_assert_str_eq(models.models[0]->name, "tiny");
    ck_assert_str_eq(models.models[0]->file, "");
    ck_assert_str_eq(models.models[0]->architecture, "fake");
    ck_assert_uint_eq(models.models[0]->vocabulary, 512);
    ck_assert(models.models[0]->chat);
    ck_assert(models.models[0]->is_default);
    fixture.grant.admin = true;
    ck_assert_int_eq(hub_list_models(fixture.hub, &fixture.grant, &arena, &models), 0);
    ck_assert_str_eq(models.models[0]->file, fixture.model);
    arena_finish(&arena);
    fixture_end(&fixture);
}
END_TEST

struct report {
    uint32_t n_answers;
    uint32_t n_engine_rows; /* memory of engines */
    uint32_t n_own_rows;
    uint64_t tokens;
    uint64_t steps;
    uint64_t weight_passes;
    uint32_t sequences;
    uint32_t pages_used;
    uint64_t n_generated;
    uint32_t n_running;
    uint32_t n_parked;
};

static void on_report(void *owner, Sotto__V1__StatusReport *told, struct arena *arena)
{
    struct report *report = owner;

    ck_assert_ptr_nonnull(arena_alloc(arena, 16));
    memset(report, 0, sizeof(*report));
    report->n_answers = 1;
    for (size_t i = 0; i < told->n_memory; i++) {
        report->n_own_rows += strcmp(told->memory[i]->holder, "sottod") == 0;
        report->n_engine_rows += strcmp(told->memory[i]->holder, "tiny") == 0;
    }
    for (size_t i = 0; i < told->n_counters; i++) {
        if (strcmp(told->counters[i]->name, "sotto_generated_tokens_total") == 0) {
            report->n_generated = told->counters[i]->value;
        }
    }
    report->tokens = told->engines[0]->tokens;
    report->steps = told->engines[0]->steps;
    report->weight_passes = told->engines[0]->weight_passes;
    report->sequences = told->engines[0]->sequences;
    report->pages_used = told->models[0]->kv_pages_used;
    for (size_t i = 0; i < told->n_classes; i++) {
        report->n_running += told->classes[i]->running;
        report->n_parked += told->classes[i]->parked;
    }
}

static bool is_reported(void *owner)
{
    return ((struct report *)owner)->n_answers > 0;
}

static void ask_status(struct report *report)
{
    struct diag diag = DIAG_INIT;
    struct ticket *ticket;

    report->n_answers = 0;
    ck_assert_int_eq(hub_status(fixture.hub, &fixture.grant, on_report, report, &ticket, &diag), 0);
    ck_assert_uint_eq(report->n_answers, 0);
    fixture_until(&fixture, is_reported, report);
}

START_TEST(status_tells_what_is_true_now)
{
    struct report report;
    struct client client;

    fixture_begin(&fixture, "");
    client_init(&client, 1, 4, 20);
    client.generate.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    client.generate.credit = 10;
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 10);
    ask_status(&report);
    ck_assert_uint_eq(report.sequences, 1);
    ck_assert_uint_gt(report.pages_used, 0);
    ck_assert_uint_eq(report.n_parked, 1);
    ck_assert_uint_eq(report.n_running, 0);
    ck_assert_uint_gt(report.n_own_rows, 2);
    ck_assert_uint_gt(report.n_engine_rows, 2);
    stream_cancel(client.stream);
    client_until_over(&fixture, &client);
    ask_status(&report);

    ck_assert_uint_eq(report.sequences, 0);
    ck_assert_uint_eq(report.pages_used, 0);
    ck_assert_uint_eq(report.tokens, 10);
    ck_assert_uint_eq(report.n_generated, 10);
    ck_assert_uint_eq(report.steps, report.weight_passes);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

static bool is_running(void *owner)
{
    return ((struct client *)owner)->stream->state == STREAM_RUNNING;
}

START_TEST(status_does_not_wait_for_an_engine_in_a_long_step)
{
    struct report report;
    struct client client;

    fixture_begin(&fixture, "when 200 do slow 50000\n"); /* much longer than the minute after which a wait fails */
    client_init(&client, 200, 4, 2);
    client_generate(&fixture, &client);
    fixture_until(&fixture, is_running, &client);
    ask_status(&report);

    ck_assert_uint_eq(report.n_running, 1);
    stream_cancel(client.stream);
    client_until_over(&fixture, &client);
    client_finish(&client);
    fixture_end(&fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hub-questions");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, a_text_becomes_ids_and_pieces_and_a_text_again);
    tcase_add_test(tcase, control_tokens_count_only_where_policy_allows_them);
    tcase_add_test(tcase, ids_that_are_no_text_and_bytes_that_are_none_are_handled);
    tcase_add_test(tcase, a_question_waits_for_its_model_or_fails_with_it);
    tcase_add_test(tcase, a_forgotten_question_gets_no_answer);
    tcase_add_test(tcase, one_user_has_a_bounded_number_of_texts_in_work);
    tcase_add_test(tcase, models_are_listed_with_files_for_administrators_only);
    tcase_add_test(tcase, status_tells_what_is_true_now);
    tcase_add_test(tcase, status_does_not_wait_for_an_engine_in_a_long_step);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
