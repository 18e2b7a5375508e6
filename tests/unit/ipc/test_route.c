/*
 * Each request has one answer; rights, cancelling, Status and Watch.
 */
#include "fixture.h"
#include "proto/wire.h"
#include <string.h>

static struct fixture fixture;
static struct client one;
static struct client two;

static void setup(void)
{
    fixture_open(&fixture);
    client_connect(&fixture, &one);
    client_connect(&fixture, &two);
}

static void teardown(void)
{
    client_close(&one);
    client_close(&two);
    fixture_close(&fixture);
}

/* Sends a request with an empty body of @body and the label 3. */
static void ask(struct client *client, Sotto__V1__ClientFrame__BodyCase body)
{
    static Sotto__V1__ListModels list = SOTTO__V1__LIST_MODELS__INIT;
    static Sotto__V1__Tokenize tokenize = SOTTO__V1__TOKENIZE__INIT;
    static Sotto__V1__Detokenize detokenize = SOTTO__V1__DETOKENIZE__INIT;
    static Sotto__V1__LoadModel load = SOTTO__V1__LOAD_MODEL__INIT;
    static Sotto__V1__UnloadModel unload = SOTTO__V1__UNLOAD_MODEL__INIT;
    static Sotto__V1__Status status = SOTTO__V1__STATUS__INIT;
    static Sotto__V1__Watch watch = SOTTO__V1__WATCH__INIT;
    static Sotto__V1__Embed embed = SOTTO__V1__EMBED__INIT;
    static Sotto__V1__Reload reload = SOTTO__V1__RELOAD__INIT;
    void *bodies[] = {
        [SOTTO__V1__CLIENT_FRAME__BODY_LIST_MODELS] = &list,      [SOTTO__V1__CLIENT_FRAME__BODY_TOKENIZE] = &tokenize,
        [SOTTO__V1__CLIENT_FRAME__BODY_DETOKENIZE] = &detokenize, [SOTTO__V1__CLIENT_FRAME__BODY_LOAD_MODEL] = &load,
        [SOTTO__V1__CLIENT_FRAME__BODY_UNLOAD_MODEL] = &unload,   [SOTTO__V1__CLIENT_FRAME__BODY_STATUS] = &status,
        [SOTTO__V1__CLIENT_FRAME__BODY_WATCH] = &watch,           [SOTTO__V1__CLIENT_FRAME__BODY_RELOAD] = &reload,
        [SOTTO__V1__CLIENT_FRAME__BODY_EMBED] = &embed,
    };

    embed.input_case = SOTTO__V1__EMBED__INPUT_TEXT;
    load.name = wire_str("tiny");
    unload.name = wire_str("tiny");
    client_send(&fixture, client, 3, body, bodies[body]);
}

#define ASK(client, name) ask(client, SOTTO__V1__CLIENT_FRAME__BODY_##name)

/* ---- one answer each */

START_TEST(tokenize_is_answered)
{
    client_hello(&fixture, &one);
    ASK(&one, TOKENIZE);

    ck_assert_uint_eq(client_expect(&fixture, &one, HAS(TOKENIZED), 3)->tokenized->n_ids, 2);
}
END_TEST

START_TEST(detokenize_is_answered)
{
    client_hello(&fixture, &one);
    ASK(&one, DETOKENIZE);

    client_expect(&fixture, &one, HAS(DETOKENIZED), 3);
}
END_TEST

START_TEST(an_embed_is_answered_by_its_vector_alone)
{
    const Sotto__V1__Embedding *embedding;

    client_hello(&fixture, &one);
    ASK(&one, EMBED);
    client_expect_silence(&fixture, &one, 20);
    fake_accept(fake_stream(&fixture.hub, 0));
    fake_notice(fake_stream(&fixture.hub, 0), SOTTO__V1__NOTICE_KIND__NOTICE_LOADING);
    client_expect_silence(&fixture, &one, 20);
    fake_embed(fake_stream(&fixture.hub, 0));

    embedding = client_expect(&fixture, &one, HAS(EMBEDDING), 3)->embedding;
    ck_assert_uint_eq(embedding->n_values, 2);
    ck_assert(embedding->values[1] == -0.8f);
}
END_TEST

START_TEST(a_cancelled_embed_ends_in_done)
{
    Sotto__V1__Cancel cancel = SOTTO__V1__CANCEL__INIT;

    client_hello(&fixture, &one);
    ASK(&one, EMBED);
    client_send(&fixture, &one, 3, SOTTO__V1__CLIENT_FRAME__BODY_CANCEL, &cancel);

    ck_assert_int_eq(client_expect(&fixture, &one, HAS(DONE), 3)->done->reason,
                     SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
}
END_TEST

START_TEST(models_are_listed)
{
    client_hello(&fixture, &one);
    ASK(&one, LIST_MODELS);

    ck_assert_str_eq(client_expect(&fixture, &one, HAS(MODELS), 3)->models->models[0]->name, "tiny");
}
END_TEST

START_TEST(a_load_reports_progress_and_ends_with_the_model)
{
    client_hello(&fixture, &one);
    ASK(&one, LOAD_MODEL);

    client_expect(&fixture, &one, HAS(LOAD_PROGRESS), 3);
    client_expect(&fixture, &one, HAS(MODEL_INFO), 3);
}
END_TEST

START_TEST(an_unload_is_answered)
{
    client_hello(&fixture, &one);
    ASK(&one, UNLOAD_MODEL);

    client_expect(&fixture, &one, HAS(UNLOADED), 3);
}
END_TEST

START_TEST(a_reload_is_answered_with_its_generation)
{
    client_hello(&fixture, &one);
    ASK(&one, RELOAD);

    ck_assert_uint_eq(client_expect(&fixture, &one, HAS(RELOADED), 3)->reloaded->config_generation, 2);
}
END_TEST

START_TEST(a_reload_that_fails_passes_on_the_sentence)
{
    client_hello(&fixture, &one);
    fixture.reload = SOTTO__V1__CODE__CODE_FAILED_PRECONDITION;
    ASK(&one, RELOAD);

    ck_assert_str_eq(client_expect_error(&fixture, &one, 3, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, false)->message,
                     "the configuration is wrong");
}
END_TEST

START_TEST(a_question_that_the_hub_refuses_is_answered_with_its_code)
{
    static const Sotto__V1__ClientFrame__BodyCase bodies[] = {
        SOTTO__V1__CLIENT_FRAME__BODY_TOKENIZE,   SOTTO__V1__CLIENT_FRAME__BODY_DETOKENIZE,
        SOTTO__V1__CLIENT_FRAME__BODY_LOAD_MODEL, SOTTO__V1__CLIENT_FRAME__BODY_UNLOAD_MODEL,
        SOTTO__V1__CLIENT_FRAME__BODY_STATUS,     SOTTO__V1__CLIENT_FRAME__BODY_EMBED,
    };

    client_hello(&fixture, &one);
    fixture.hub.refuse = SOTTO__V1__CODE__CODE_NOT_FOUND;
    ask(&one, bodies[_i]);

    client_expect_error(&fixture, &one, 3, SOTTO__V1__CODE__CODE_NOT_FOUND, false);
}
END_TEST

/* ---- rights */

START_TEST(only_an_administrator_may_reload_or_unload)
{
    static const Sotto__V1__ClientFrame__BodyCase bodies[] = {
        SOTTO__V1__CLIENT_FRAME__BODY_RELOAD,
        SOTTO__V1__CLIENT_FRAME__BODY_UNLOAD_MODEL,
    };

    fixture.grant.admin = false;
    client_hello(&fixture, &one);
    ask(&one, bodies[_i]);

    client_expect_error(&fixture, &one, 3, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, false);
}
END_TEST

START_TEST(only_an_administrator_names_a_file_to_load)
{
    Sotto__V1__LoadModel load = SOTTO__V1__LOAD_MODEL__INIT;

    load.name = wire_str("x");
    load.file = wire_str("/etc/shadow");
    fixture.grant.admin = false;
    client_hello(&fixture, &one);
    client_send(&fixture, &one, 1, SOTTO__V1__CLIENT_FRAME__BODY_LOAD_MODEL, &load);

    ck_assert_str_eq(client_expect_error(&fixture, &one, 1, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, false)->field,
                     "load_model.file");
    ck_assert(list_is_empty(&fixture.hub.tickets));
}
END_TEST

START_TEST(control_tokens_need_the_permission_of_policy)
{
    Sotto__V1__Tokenize tokenize = SOTTO__V1__TOKENIZE__INIT;

    tokenize.special = true;
    fixture.grant.special = false;
    client_hello(&fixture, &one);
    client_send(&fixture, &one, 1, SOTTO__V1__CLIENT_FRAME__BODY_TOKENIZE, &tokenize);

    client_expect_error(&fixture, &one, 1, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, false);
}
END_TEST

/* ---- cancelling */

START_TEST(a_cancelled_stream_ends_once_with_done)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    client_cancel(&fixture, &one, 1);
    client_cancel(&fixture, &one, 1);

    ck_assert_int_eq(client_expect(&fixture, &one, HAS(DONE), 1)->done->reason,
                     SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
    client_expect_silence(&fixture, &one, 20);
}
END_TEST

START_TEST(a_cancelled_question_ends_with_done_and_is_forgotten)
{
    static const Sotto__V1__ClientFrame__BodyCase bodies[] = {
        SOTTO__V1__CLIENT_FRAME__BODY_TOKENIZE,
        SOTTO__V1__CLIENT_FRAME__BODY_LOAD_MODEL,
        SOTTO__V1__CLIENT_FRAME__BODY_STATUS,
    };

    fixture.hub.hold = true;
    client_hello(&fixture, &one);
    ask(&one, bodies[_i]);
    client_cancel(&fixture, &one, 3);

    ck_assert_int_eq(client_expect(&fixture, &one, HAS(DONE), 3)->done->reason,
                     SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
    ck_assert_uint_eq(fixture.hub.n_tickets_forgotten, 1);
}
END_TEST

START_TEST(credit_reaches_its_stream)
{
    Sotto__V1__Credit credit = SOTTO__V1__CREDIT__INIT;

    credit.tokens = 5;
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    client_send(&fixture, &one, 1, SOTTO__V1__CLIENT_FRAME__BODY_CREDIT, &credit);
    client_send(&fixture, &one, 1, SOTTO__V1__CLIENT_FRAME__BODY_CREDIT, &credit);
    fixture_run(&fixture, 5);

    ck_assert_uint_eq(fake_stream(&fixture.hub, 0)->credit, 10);
}
END_TEST

START_TEST(a_stream_keeps_the_grant_of_its_peer)
{
    fixture.grant.weight = 77;
    client_close(&one);
    client_connect(&fixture, &one);
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);

    ck_assert_uint_eq(fake_stream(&fixture.hub, 0)->grant.weight, 77);
    ck_assert_uint_eq(fake_stream(&fixture.hub, 0)->grant.uid, geteuid());
}
END_TEST

/* ---- state */

START_TEST(status_names_every_byte_and_descriptor_to_an_observer)
{
    const Sotto__V1__StatusReport *report;
    uint64_t wire = 0;
    bool rest = false;

    client_hello(&fixture, &one);
    ASK(&one, STATUS);
    report = client_expect(&fixture, &one, HAS(STATUS_REPORT), 3)->status_report;
    ck_assert_uint_eq(report->descriptors, 0);
    ck_assert_uint_eq(report->n_counters + report->n_memory, 0);

    fixture.grant.observe = true;
    ipc_reconfigure(fixture.ipc, &fixture.ipc->limits);
    ASK(&one, STATUS);
    report = client_expect(&fixture, &one, HAS(STATUS_REPORT), 3)->status_report;
    ck_assert_uint_eq(report->connections, 2);
    ck_assert_uint_gt(report->descriptors, 5);
    ck_assert_uint_gt(report->rss_bytes, 1u << 20);
    for (size_t i = 0; i < report->n_memory; i++) {
        ck_assert_str_eq(report->memory[i]->holder, "sottod");
        wire += strcmp(report->memory[i]->kind, "wire") == 0 ? report->memory[i]->bytes : 0;
        rest = rest || strcmp(report->memory[i]->kind, "not ours") == 0;
    }
    ck_assert_uint_gt(wire, 0);
    ck_assert(rest);
    ck_assert_str_eq(report->counters[0]->name, "sotto_connections_accepted_total");
    ck_assert_uint_eq(report->counters[0]->value, 2);
}
END_TEST

START_TEST(watchers_get_the_topics_that_they_asked_for)
{
    Sotto__V1__Watch watch = SOTTO__V1__WATCH__INIT;
    char *topics[] = { wire_str("engine") };
    const char *const pairs[] = { "model", "tiny", "signal", "9" };
    const Sotto__V1__Event *event;

    watch.topics = topics;
    watch.n_topics = 1;
    client_hello(&fixture, &one);
    client_send(&fixture, &one, 1, SOTTO__V1__CLIENT_FRAME__BODY_WATCH, &watch);
    fixture_run(&fixture, 5);
    ipc_event(fixture.ipc, "model", "loading", pairs, 1, UINT32_MAX);
    ipc_event(fixture.ipc, "engine", "engine-lost", pairs, 2, UINT32_MAX);

    event = client_expect(&fixture, &one, HAS(EVENT), 1)->event;
    ck_assert_str_eq(event->name, "engine-lost");
    ck_assert_uint_eq(event->n_pairs, 2);
    ck_assert_str_eq(event->pairs[1]->value, "9");
    ck_assert_uint_gt(event->at_us, 0);
    client_expect_silence(&fixture, &one, 10);
}
END_TEST

START_TEST(watchers_get_no_events_of_streams_of_other_users)
{
    client_hello(&fixture, &one);
    ASK(&one, WATCH);
    fixture_run(&fixture, 5);
    ipc_event(fixture.ipc, "stream", "stream-done", NULL, 0, geteuid() + 1);
    ipc_event(fixture.ipc, "stream", "own", NULL, 0, geteuid());

    ck_assert_str_eq(client_expect(&fixture, &one, HAS(EVENT), 3)->event->name, "own");
}
END_TEST

START_TEST(an_observer_gets_events_of_all_streams)
{
    fixture.grant.observe = true;
    client_close(&one);
    client_connect(&fixture, &one);
    client_hello(&fixture, &one);
    ASK(&one, WATCH);
    fixture_run(&fixture, 5);
    ipc_event(fixture.ipc, "stream", "foreign", NULL, 0, geteuid() + 1);

    ck_assert_str_eq(client_expect(&fixture, &one, HAS(EVENT), 3)->event->name, "foreign");
}
END_TEST

START_TEST(a_slow_watcher_loses_events_and_gets_their_number)
{
    const Sotto__V1__ServerFrame *frame;
    uint32_t n_dropped = 0;
    unsigned n_heard = 0;

    client_hello(&fixture, &one);
    ASK(&one, WATCH);
    fixture_run(&fixture, 5);
    for (unsigned i = 0; i < 20000; i++) {
        ipc_event(fixture.ipc, "mode", "changed", NULL, 0, UINT32_MAX);
        if (i % 100 == 0) {
            fixture_iterate(&fixture);
        }
    }
    ck_assert_uint_gt(fixture.ipc->counts.n_events_lost, 0);
    for (unsigned i = 0; n_heard + fixture.ipc->counts.n_events_lost < 20000; i++) {
        frame = client_expect(&fixture, &one, HAS(EVENT), 3);
        n_heard++;
        n_dropped += frame->event->dropped;
    }
    ipc_event(fixture.ipc, "mode", "changed", NULL, 0, UINT32_MAX);
    n_dropped += client_expect(&fixture, &one, HAS(EVENT), 3)->event->dropped;

    ck_assert_uint_eq(n_dropped, fixture.ipc->counts.n_events_lost);
    ck_assert_uint_eq(n_heard + n_dropped, 20000);
}
END_TEST

START_TEST(each_watch_gets_an_event_under_its_own_label)
{
    static const uint32_t labels[] = { 1, 300, UINT32_MAX };
    const char *const pairs[] = { "model", "tiny" };
    Sotto__V1__Watch watch = SOTTO__V1__WATCH__INIT;

    client_hello(&fixture, &one);
    for (size_t i = 0; i < COUNTOF(labels); i++) {
        client_send(&fixture, &one, labels[i], SOTTO__V1__CLIENT_FRAME__BODY_WATCH, &watch);
    }
    fixture_run(&fixture, 5);
    ipc_event(fixture.ipc, "engine", "engine-lost", pairs, 1, UINT32_MAX);

    for (size_t i = 0; i < COUNTOF(labels); i++) {
        const Sotto__V1__Event *event = client_expect(&fixture, &one, HAS(EVENT), labels[i])->event;

        ck_assert_str_eq(event->name, "engine-lost");
        ck_assert_str_eq(event->pairs[0]->value, "tiny");
        ck_assert_uint_eq(event->dropped, 0);
    }
}
END_TEST

START_TEST(a_watch_ends_by_cancel_with_done)
{
    client_hello(&fixture, &one);
    ASK(&one, WATCH);
    client_cancel(&fixture, &one, 3);
    client_expect(&fixture, &one, HAS(DONE), 3);
    ipc_event(fixture.ipc, "mode", "changed", NULL, 0, UINT32_MAX);

    client_expect_silence(&fixture, &one, 10);
}
END_TEST

/* ---- hints */

static void hint(struct client *client, uint32_t label, uint32_t frame_us)
{
    Sotto__V1__GraphicsHint body = SOTTO__V1__GRAPHICS_HINT__INIT;

    body.opt_frame_budget_us_case = SOTTO__V1__GRAPHICS_HINT__OPT_FRAME_BUDGET_US_FRAME_BUDGET_US;
    body.frame_budget_us = frame_us;
    client_send(&fixture, client, label, SOTTO__V1__CLIENT_FRAME__BODY_GRAPHICS_HINT, &body);
}

START_TEST(a_hint_reaches_the_hub_and_is_not_answered)
{
    fixture.grant.graphics_hint = true;
    client_hello(&fixture, &one);
    hint(&one, 0, 16667);
    hint(&one, 0, 16667);
    ASK(&one, TOKENIZE);

    client_expect(&fixture, &one, HAS(TOKENIZED), 3);
    ck_assert_uint_eq(fixture.hub.n_hints, 2);
    ck_assert_uint_eq(fixture.hub.n_hinting, 1);
}
END_TEST

START_TEST(a_hint_ends_with_its_connection)
{
    fixture.grant.graphics_hint = true;
    client_hello(&fixture, &one);
    hint(&one, 0, 16667);
    client_hello(&fixture, &two);
    ck_assert_uint_eq(fixture.hub.n_hinting, 1);

    client_close(&one);
    ASK(&two, TOKENIZE);
    client_expect(&fixture, &two, HAS(TOKENIZED), 3);

    ck_assert_uint_eq(fixture.hub.n_hinting, 0);
}
END_TEST

START_TEST(only_a_compositor_may_hint)
{
    client_hello(&fixture, &one);
    hint(&one, 0, 16667);

    ck_assert_int_eq(client_expect(&fixture, &one, HAS(ERROR), 0)->error->code,
                     SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    ck_assert_uint_eq(fixture.hub.n_hints, 0);
}
END_TEST

START_TEST(a_hint_out_of_range_is_refused_and_the_connection_goes_on)
{
    fixture.grant.graphics_hint = true;
    client_hello(&fixture, &one);
    hint(&one, 0, 10);

    ck_assert_int_eq(client_expect(&fixture, &one, HAS(ERROR), 0)->error->code, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT);
    ASK(&one, TOKENIZE);
    client_expect(&fixture, &one, HAS(TOKENIZED), 3);
    ck_assert_uint_eq(fixture.hub.n_hints, 0);
}
END_TEST

START_TEST(a_hint_on_a_stream_is_refused)
{
    fixture.grant.graphics_hint = true;
    client_hello(&fixture, &one);
    hint(&one, 5, 16667);

    ck_assert_str_eq(client_expect(&fixture, &one, HAS(ERROR), 0)->error->field, "stream");
    ck_assert_uint_eq(fixture.hub.n_hints, 0);
}
END_TEST

START_TEST(answers_do_not_wait_for_each_other)
{
    fixture.hub.hold = true;
    client_hello(&fixture, &one);
    client_hello(&fixture, &two);
    ASK(&one, TOKENIZE);
    ASK(&two, LIST_MODELS);

    client_expect(&fixture, &two, HAS(MODELS), 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("route");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_set_timeout(facts, 20);
    tcase_add_test(facts, tokenize_is_answered);
    tcase_add_test(facts, detokenize_is_answered);
    tcase_add_test(facts, an_embed_is_answered_by_its_vector_alone);
    tcase_add_test(facts, a_cancelled_embed_ends_in_done);
    tcase_add_test(facts, models_are_listed);
    tcase_add_test(facts, a_load_reports_progress_and_ends_with_the_model);
    tcase_add_test(facts, an_unload_is_answered);
    tcase_add_test(facts, a_reload_is_answered_with_its_generation);
    tcase_add_test(facts, a_reload_that_fails_passes_on_the_sentence);
    tcase_add_loop_test(facts, a_question_that_the_hub_refuses_is_answered_with_its_code, 0, 6);
    tcase_add_loop_test(facts, only_an_administrator_may_reload_or_unload, 0, 2);
    tcase_add_test(facts, only_an_administrator_names_a_file_to_load);
    tcase_add_test(facts, control_tokens_need_the_permission_of_policy);
    tcase_add_test(facts, a_cancelled_stream_ends_once_with_done);
    tcase_add_loop_test(facts, a_cancelled_question_ends_with_done_and_is_forgotten, 0, 3);
    tcase_add_test(facts, credit_reaches_its_stream);
    tcase_add_test(facts, a_stream_keeps_the_grant_of_its_peer);
    tcase_add_test(facts, status_names_every_byte_and_descriptor_to_an_observer);
    tcase_add_test(facts, watchers_get_the_topics_that_they_asked_for);
    tcase_add_test(facts, watchers_get_no_events_of_streams_of_other_users);
    tcase_add_test(facts, an_observer_gets_events_of_all_streams);
    tcase_add_test(facts, a_slow_watcher_loses_events_and_gets_their_number);
    tcase_add_test(facts, each_watch_gets_an_event_under_its_own_label);
    tcase_add_test(facts, a_watch_ends_by_cancel_with_done);
    tcase_add_test(facts, a_hint_reaches_the_hub_and_is_not_answered);
    tcase_add_test(facts, a_hint_ends_with_its_connection);
    tcase_add_test(facts, only_a_compositor_may_hint);
    tcase_add_test(facts, a_hint_out_of_range_is_refused_and_the_connection_goes_on);
    tcase_add_test(facts, a_hint_on_a_stream_is_refused);
    tcase_add_test(facts, answers_do_not_wait_for_each_other);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
