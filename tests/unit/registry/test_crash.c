/* Engines that die in every way: streams go on with the same tokens, the guilty fail alone. */
#include "base/clock.h"
#include "hub_fixture.h"
#include <signal.h>
#include <string.h>

#define N_CLIENTS 8u

static struct fixture fixture;
static struct client clients[N_CLIENTS];
static struct client undisturbed[N_CLIENTS];

/* Answers of requests 1 to N_CLIENTS without any trouble. */
static void run_undisturbed(uint32_t n_answer)
{
    for (uint32_t i = 0; i < N_CLIENTS; i++) {
        client_init(&undisturbed[i], 1 + i, 6, n_answer);
        client_generate(&fixture, &undisturbed[i]);
    }
    for (uint32_t i = 0; i < N_CLIENTS; i++) {
        client_until_over(&fixture, &undisturbed[i]);
    }
}

static void ask_all(uint32_t n_answer)
{
    for (uint32_t i = 0; i < N_CLIENTS; i++) {
        client_init(&clients[i], 1 + i, 6, n_answer);
        client_generate(&fixture, &clients[i]);
    }
}

static void assert_all_same(void)
{
    for (uint32_t i = 0; i < N_CLIENTS; i++) {
        client_until_over(&fixture, &clients[i]);
        ck_assert_int_eq(clients[i].code, SOTTO__V1__CODE__CODE_OK);
        client_assert_same(&clients[i], &undisturbed[i]);
    }
}

static void teardown(void)
{
    for (uint32_t i = 0; i < N_CLIENTS; i++) {
        client_finish(&clients[i]);
        client_finish(&undisturbed[i]);
    }
    fixture_end(&fixture);
}

START_TEST(sigkill_amid_eight_streams_loses_and_changes_no_token)
{
    fixture_begin(&fixture, "always do slow 2\n");
    run_undisturbed(20);
    ask_all(20);
    client_until_tokens(&fixture, &clients[7], 8);
    kill((pid_t)fixture_pid(&fixture), SIGKILL);
    assert_all_same();

    for (uint32_t i = 0; i < N_CLIENTS; i++) {
        ck_assert_uint_eq(clients[i].usage.rebuilds, 1);
        ck_assert_uint_eq(clients[i].n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_REBUILDING], 1);
        ck_assert_uint_eq(clients[i].n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED], 1);
    }
    ck_assert_uint_eq(fixture_model(&fixture)->n_starts, 2);
    ck_assert(fixture_had(&fixture, "engine-lost"));
    ck_assert_ptr_nonnull(strstr(fixture_model(&fixture)->last_exit, "signal 9 (killed) after"));
}
END_TEST

START_TEST(a_request_that_always_crashes_fails_alone)
{
    struct client guilty;

    fixture_begin(&fixture, "always do slow 1\nwhen 200 at 3 do crash\n");
    run_undisturbed(40);
    client_init(&guilty, 200, 6, 40);
    client_generate(&fixture, &guilty);
    ask_all(40);
    client_until_over(&fixture, &guilty);
    assert_all_same();

    client_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INTERNAL, "twice");
    ck_assert_uint_eq(fixture_model(&fixture)->n_starts, 4); /* together, alone, alone, and the engine that serves on */
    ck_assert(!fixture_had(&fixture, "device-troubled"));
    ck_assert(!instance_is_troubled(fixture_model(&fixture)->current));
    client_finish(&guilty);
}
END_TEST

START_TEST(a_request_that_crashes_at_its_opening_fails_alone)
{
    struct client guilty;

    fixture_begin(&fixture, "always do slow 1\nwhen 200 at open do crash\n");
    run_undisturbed(40);
    ask_all(40);
    client_until_tokens(&fixture, &clients[0], 2);
    client_init(&guilty, 200, 6, 40);
    client_generate(&fixture, &guilty);
    client_until_over(&fixture, &guilty);
    assert_all_same();

    client_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INTERNAL, "twice");
    ck_assert(!fixture_had(&fixture, "device-troubled"));
    client_finish(&guilty);
}
END_TEST

START_TEST(the_next_requests_of_a_guilty_account_run_alone_until_cleared)
{
    struct client guilty;
    struct client next;

    fixture_begin(&fixture, "always do slow 1\nwhen 200 do crash\n");
    client_init(&guilty, 200, 6, 40);
    client_generate(&fixture, &guilty);
    client_until_over(&fixture, &guilty);
    client_init(&next, 1, 6, 40);
    client_generate(&fixture, &next);
    ck_assert(next.stream->job.alone);
    client_until_tokens(&fixture, &next, 20);
    ck_assert(!next.stream->job.alone);
    client_until_over(&fixture, &next);

    client_assert_done(&next, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 40);
    client_finish(&guilty);
    client_finish(&next);
}
END_TEST

START_TEST(a_hanging_step_is_killed_by_the_watchdog)
{
    struct client guilty;

    fixture_prepare(&fixture, "when 200 at 1 do hang\n");
    fixture.config.step_floor_ms = 150;
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
    client_init(&guilty, 200, 6, 40);
    client_generate(&fixture, &guilty);
    client_until_over(&fixture, &guilty);

    client_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INTERNAL, "twice");
    ck_assert_uint_eq(guilty.n_tokens, 1);
    client_finish(&guilty);
}
END_TEST

START_TEST(bytes_that_are_no_answer_end_the_engine_and_nothing_else)
{
    char script[256];
    char once[128];

    fixture_prepare(&fixture, "");
    snprintf(once, sizeof(once), "%s/once", fixture.dir);
    snprintf(script, sizeof(script), "always do slow 1\nwhen 3 at 5 once %s do garbage\n", once);
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
    run_undisturbed(12);
    fixture_rewrite(&fixture, script);
    fixture_kill_engine(&fixture, SIGKILL);
    fixture_until_ready(&fixture);
    ask_all(12);
    assert_all_same();

    ck_assert_uint_eq(clients[2].usage.rebuilds, 1);
    unlink(once);
}
END_TEST

START_TEST(a_crash_once_is_forgiven)
{
    char script[256];
    char once[128];

    fixture_prepare(&fixture, "");
    snprintf(once, sizeof(once), "%s/once", fixture.dir);
    snprintf(script, sizeof(script), "always do slow 1\nwhen 3 at 5 once %s do crash\n", once);
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
    run_undisturbed(40);
    fixture_rewrite(&fixture, script);
    fixture_kill_engine(&fixture, SIGKILL);
    fixture_until_ready(&fixture);
    ask_all(40);
    assert_all_same();

    ck_assert_uint_eq(clients[2].usage.rebuilds, 1);
    unlink(once);
}
END_TEST

START_TEST(three_kills_by_strangers_are_the_devices_and_streams_still_end_well)
{
    fixture_begin(&fixture, "always do slow 2\n");
    run_undisturbed(40);
    ask_all(40);
    for (uint32_t i = 1; i <= 3; i++) {
        client_until_tokens(&fixture, &clients[0], 5 * i);
        fixture_kill_engine(&fixture, SIGKILL);
        fixture_until_ready(&fixture);
    }
    ck_assert(fixture_had(&fixture, "device-troubled"));
    ck_assert(instance_is_troubled(fixture_model(&fixture)->current));
    assert_all_same();

    ck_assert_uint_eq(clients[0].usage.rebuilds, 3);
}
END_TEST

START_TEST(a_cancel_while_the_engine_is_gone_ends_the_stream)
{
    struct client client;

    fixture_prepare(&fixture, "always do slow 2\n");
    fixture.config.pause_ms[0] = 60000; /* after the second loss it rests */
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
    client_init(&client, 1, 4, 60);
    client_generate(&fixture, &client);
    for (uint32_t i = 1; i <= 2; i++) {
        client_until_tokens(&fixture, &client, 5 * i);
        fixture_kill_engine(&fixture, SIGKILL);
    }
    ck_assert_int_eq(fixture_model(&fixture)->current->state, INSTANCE_RECOVERING);
    ck_assert_int_eq(client.stream->state, STREAM_WAITING);
    stream_cancel(client.stream);
    client_until_over(&fixture, &client);

    ck_assert_int_eq(client.reason, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
    client_finish(&client);
}
END_TEST

START_TEST(credit_holds_across_a_lost_engine)
{
    Sotto__V1__Credit credit = SOTTO__V1__CREDIT__INIT;
    struct client client;

    fixture_begin(&fixture, "");
    client_init(&client, 1, 4, 10);
    client.generate.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    client.generate.credit = 4;
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 4);
    fixture_kill_engine(&fixture, SIGKILL);
    fixture_until_ready(&fixture);
    fixture_run(&fixture, 50);
    ck_assert_uint_eq(client.n_tokens, 4);
    credit.tokens = 6;
    stream_credit(client.stream, &credit);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    client_finish(&client);
}
END_TEST

START_TEST(an_idle_engine_that_dies_is_started_again)
{
    fixture_begin(&fixture, "");
    fixture_kill_engine(&fixture, SIGKILL);
    fixture_until_ready(&fixture);

    ck_assert_uint_eq(fixture_model(&fixture)->n_starts, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry-crash");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, sigkill_amid_eight_streams_loses_and_changes_no_token);
    tcase_add_test(tcase, a_request_that_always_crashes_fails_alone);
    tcase_add_test(tcase, a_request_that_crashes_at_its_opening_fails_alone);
    tcase_add_test(tcase, the_next_requests_of_a_guilty_account_run_alone_until_cleared);
    tcase_add_test(tcase, a_hanging_step_is_killed_by_the_watchdog);
    tcase_add_test(tcase, bytes_that_are_no_answer_end_the_engine_and_nothing_else);
    tcase_add_test(tcase, a_crash_once_is_forgiven);
    tcase_add_test(tcase, three_kills_by_strangers_are_the_devices_and_streams_still_end_well);
    tcase_add_test(tcase, a_cancel_while_the_engine_is_gone_ends_the_stream);
    tcase_add_test(tcase, credit_holds_across_a_lost_engine);
    tcase_add_test(tcase, an_idle_engine_that_dies_is_started_again);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
