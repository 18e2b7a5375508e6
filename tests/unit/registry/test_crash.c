/* Engines that die in every way: streams go on with the same tokens, the guilty fail alone. */
#include "base/clock.h"
#include "house.h"
#include <signal.h>
#include <string.h>

#define N_GUESTS 8u

static struct house house;
static struct guest guests[N_GUESTS];
static struct guest undisturbed[N_GUESTS];

/* Answers of requests 1 to N_GUESTS without any trouble. */
static void run_undisturbed(uint32_t n_answer)
{
    for (uint32_t i = 0; i < N_GUESTS; i++) {
        guest_init(&undisturbed[i], 1 + i, 6, n_answer);
        guest_ask(&house, &undisturbed[i]);
    }
    for (uint32_t i = 0; i < N_GUESTS; i++) {
        guest_until_over(&house, &undisturbed[i]);
    }
}

static void ask_all(uint32_t n_answer)
{
    for (uint32_t i = 0; i < N_GUESTS; i++) {
        guest_init(&guests[i], 1 + i, 6, n_answer);
        guest_ask(&house, &guests[i]);
    }
}

static void assert_all_same(void)
{
    for (uint32_t i = 0; i < N_GUESTS; i++) {
        guest_until_over(&house, &guests[i]);
        ck_assert_int_eq(guests[i].code, SOTTO__V1__CODE__CODE_OK);
        guest_assert_same(&guests[i], &undisturbed[i]);
    }
}

static void teardown(void)
{
    for (uint32_t i = 0; i < N_GUESTS; i++) {
        guest_finish(&guests[i]);
        guest_finish(&undisturbed[i]);
    }
    house_end(&house);
}

START_TEST(sigkill_amid_eight_streams_loses_and_changes_no_token)
{
    house_begin(&house, "always do slow 2\n");
    run_undisturbed(20);
    ask_all(20);
    guest_until_tokens(&house, &guests[7], 8);
    kill((pid_t)house_pid(&house), SIGKILL);
    assert_all_same();

    for (uint32_t i = 0; i < N_GUESTS; i++) {
        ck_assert_uint_eq(guests[i].usage.rebuilds, 1);
        ck_assert_uint_eq(guests[i].n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_REBUILDING], 1);
        ck_assert_uint_eq(guests[i].n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_RESUMED], 1);
    }
    ck_assert_uint_eq(house_model(&house)->n_starts, 2);
    ck_assert(house_had(&house, "engine-lost"));
    ck_assert_ptr_nonnull(strstr(house_model(&house)->last_exit, "signal 9 (killed) after"));
}
END_TEST

START_TEST(a_request_that_always_crashes_fails_alone)
{
    struct guest guilty;

    house_begin(&house, "always do slow 1\nwhen 200 at 3 do crash\n");
    run_undisturbed(40);
    guest_init(&guilty, 200, 6, 40);
    guest_ask(&house, &guilty);
    ask_all(40);
    guest_until_over(&house, &guilty);
    assert_all_same();

    guest_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INTERNAL, "twice");
    ck_assert_uint_eq(house_model(&house)->n_starts, 4); /* together, alone, alone, and the one that serves on */
    ck_assert(!house_had(&house, "device-troubled"));
    ck_assert(!edition_is_troubled(house_model(&house)->current));
    guest_finish(&guilty);
}
END_TEST

START_TEST(a_request_that_crashes_at_its_opening_fails_alone)
{
    struct guest guilty;

    house_begin(&house, "always do slow 1\nwhen 200 at open do crash\n");
    run_undisturbed(40);
    ask_all(40);
    guest_until_tokens(&house, &guests[0], 2);
    guest_init(&guilty, 200, 6, 40);
    guest_ask(&house, &guilty);
    guest_until_over(&house, &guilty);
    assert_all_same();

    guest_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INTERNAL, "twice");
    ck_assert(!house_had(&house, "device-troubled"));
    guest_finish(&guilty);
}
END_TEST

START_TEST(the_next_requests_of_a_guilty_account_run_alone_until_cleared)
{
    struct guest guilty;
    struct guest next;

    house_begin(&house, "always do slow 1\nwhen 200 do crash\n");
    guest_init(&guilty, 200, 6, 40);
    guest_ask(&house, &guilty);
    guest_until_over(&house, &guilty);
    guest_init(&next, 1, 6, 40);
    guest_ask(&house, &next);
    ck_assert(next.stream->job.alone);
    guest_until_tokens(&house, &next, 20);
    ck_assert(!next.stream->job.alone);
    guest_until_over(&house, &next);

    guest_assert_done(&next, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 40);
    guest_finish(&guilty);
    guest_finish(&next);
}
END_TEST

START_TEST(a_hanging_step_is_killed_by_the_watchdog)
{
    struct guest guilty;

    house_prepare(&house, "when 200 at 1 do hang\n");
    house.config.step_floor_ms = 150;
    house_open(&house);
    house_until_ready(&house);
    guest_init(&guilty, 200, 6, 40);
    guest_ask(&house, &guilty);
    guest_until_over(&house, &guilty);

    guest_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INTERNAL, "twice");
    ck_assert_uint_eq(guilty.n_tokens, 1);
    guest_finish(&guilty);
}
END_TEST

START_TEST(bytes_that_are_no_answer_end_the_engine_and_nothing_else)
{
    char script[256];
    char once[128];

    house_prepare(&house, "");
    snprintf(once, sizeof(once), "%s/once", house.dir);
    snprintf(script, sizeof(script), "always do slow 1\nwhen 3 at 5 once %s do garbage\n", once);
    house_open(&house);
    house_until_ready(&house);
    run_undisturbed(12);
    house_rewrite(&house, script);
    kill((pid_t)house_pid(&house), SIGKILL);
    house_run(&house, 50);
    house_until_ready(&house);
    ask_all(12);
    assert_all_same();

    ck_assert_uint_eq(guests[2].usage.rebuilds, 1);
    unlink(once);
}
END_TEST

START_TEST(a_crash_once_is_forgiven)
{
    char script[256];
    char once[128];

    house_prepare(&house, "");
    snprintf(once, sizeof(once), "%s/once", house.dir);
    snprintf(script, sizeof(script), "always do slow 1\nwhen 3 at 5 once %s do crash\n", once);
    house_open(&house);
    house_until_ready(&house);
    run_undisturbed(40);
    house_rewrite(&house, script);
    kill((pid_t)house_pid(&house), SIGKILL);
    house_run(&house, 50);
    house_until_ready(&house);
    ask_all(40);
    assert_all_same();

    ck_assert_uint_eq(guests[2].usage.rebuilds, 1);
    unlink(once);
}
END_TEST

START_TEST(three_kills_by_strangers_are_the_devices_and_streams_still_end_well)
{
    house_begin(&house, "always do slow 2\n");
    run_undisturbed(40);
    ask_all(40);
    for (uint32_t i = 1; i <= 3; i++) {
        guest_until_tokens(&house, &guests[0], 5 * i);
        kill((pid_t)house_pid(&house), SIGKILL);
        house_run(&house, 30);
        house_until_ready(&house);
    }
    ck_assert(house_had(&house, "device-troubled"));
    ck_assert(edition_is_troubled(house_model(&house)->current));
    assert_all_same();

    ck_assert_uint_eq(guests[0].usage.rebuilds, 3);
}
END_TEST

START_TEST(a_cancel_while_the_engine_is_gone_ends_the_stream)
{
    struct guest guest;

    house_prepare(&house, "always do slow 2\n");
    house.config.pause_ms[0] = 60000; /* after the second loss it rests */
    house_open(&house);
    house_until_ready(&house);
    guest_init(&guest, 1, 4, 60);
    guest_ask(&house, &guest);
    for (uint32_t i = 1; i <= 2; i++) {
        guest_until_tokens(&house, &guest, 5 * i);
        kill((pid_t)house_pid(&house), SIGKILL);
        house_run(&house, 60);
    }
    ck_assert_int_eq(house_model(&house)->current->state, EDITION_RECOVERING);
    ck_assert_int_eq(guest.stream->state, STREAM_WAITING);
    stream_cancel(guest.stream);
    guest_until_over(&house, &guest);

    ck_assert_int_eq(guest.reason, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
    guest_finish(&guest);
}
END_TEST

START_TEST(credit_holds_across_a_lost_engine)
{
    Sotto__V1__Credit credit = SOTTO__V1__CREDIT__INIT;
    struct guest guest;

    house_begin(&house, "");
    guest_init(&guest, 1, 4, 10);
    guest.ask.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    guest.ask.credit = 4;
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 4);
    kill((pid_t)house_pid(&house), SIGKILL);
    house_run(&house, 50);
    house_until_ready(&house);
    house_run(&house, 50);
    ck_assert_uint_eq(guest.n_tokens, 4);
    credit.tokens = 6;
    stream_credit(guest.stream, &credit);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    guest_finish(&guest);
}
END_TEST

START_TEST(an_idle_engine_that_dies_is_started_again)
{
    house_begin(&house, "");
    kill((pid_t)house_pid(&house), SIGKILL);
    house_run(&house, 50);
    house_until_ready(&house);

    ck_assert_uint_eq(house_model(&house)->n_starts, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-crash");
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
