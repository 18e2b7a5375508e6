/*
 * The end of a session, and its slot and pages: the first to be given up, and never waited for by its own turn.
 */
#include "session_fixture.h"
#include <string.h>

static void setup(void)
{
    fixture_begin(&fixture, "context 256\nwhen 201 do slow 4\nwhen 202 do slow 60\n");
}

static void teardown(void)
{
    fixture_end(&fixture);
}

/* ---- its end, and its room */

static bool has_no_sessions(void *owner)
{
    (void)owner;
    return list_is_empty(&fixture.hub->sessions.all);
}

START_TEST(an_idle_session_ends_and_gives_its_room_back)
{
    Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    struct client client;
    uint64_t id;

    ask.opt_idle_ms_case = SOTTO__V1__OPEN_SESSION__OPT_IDLE_MS_IDLE_MS;
    ask.idle_ms = 80;
    id = open_with(&ask);
    init_turn(&client, id, 5, 20, 3);
    run(&client);
    client_finish(&client);
    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_taken, 1);
    fixture_until(&fixture, has_no_sessions, NULL);
    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_taken, 0);
    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_pages_promised, 0);
    ck_assert(fixture_had(&fixture, "session-ended"));
}
END_TEST

START_TEST(a_session_ends_with_its_model)
{
    uint64_t id = open_empty();
    struct client client;

    init_turn(&client, id, 201, 20, 40);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 3);
    models_unload(fixture_model(&fixture), false, "it goes");
    ck_assert(!list_is_empty(&fixture.hub->sessions.all)); /* its turn goes on */
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 40);
    ck_assert(list_is_empty(&fixture.hub->sessions.all));
    client_finish(&client);
}
END_TEST

START_TEST(a_session_without_a_connection_makes_room_for_the_next)
{
    const Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    struct diag diag = DIAG_INIT;
    struct opener opener;
    struct client client;
    struct closing closing;
    uint64_t ids[8];

    ck_assert_uint_eq(fixture.grant.n_sessions, 8);
    for (uint32_t i = 0; i < 8; i++) {
        fixture.grant.connection = i < 4 ? 1 : 2;
        ids[i] = open_empty();
        fixture_run(&fixture, 2);
    }
    ck_assert_int_eq(try_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED);
    init_turn(&client, ids[0], 5, 4, 2); /* the second connection goes on in a session of the first */
    run(&client);
    client_finish(&client);
    init_turn(&client, ids[1], 5, 4, 2);
    fixture.grant.connection = 1;
    run(&client);
    client_finish(&client);
    hub_connection_left(fixture.hub, 1);

    fixture.grant.connection = 2;
    for (uint32_t i = 0; i < 3; i++) { /* those that are idle for longest go first */
        const uint64_t gone[] = { ids[2], ids[3], ids[1] };

        open_empty();
        ck_assert_int_eq(close_session(gone[i], 1000, &closing), SOTTO__V1__CODE__CODE_NOT_FOUND);
        ck_assert_uint_eq(sessions_count(&fixture.hub->sessions, &fixture.grant), 8);
    }
    ck_assert_int_eq(try_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED);
    close_well(ids[0]);
    close_well(ids[7]);
}
END_TEST

START_TEST(a_refused_session_takes_no_place)
{
    Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    static char none[] = "none";
    struct diag diag = DIAG_INIT;
    struct opener opener;
    uint64_t id = 0;

    for (uint32_t i = 0; i < fixture.grant.n_sessions; i++) {
        id = open_empty();
    }
    hub_connection_left(fixture.hub, fixture.grant.connection);
    ask.model = none;
    ck_assert_int_eq(try_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_NOT_FOUND);
    ask = (Sotto__V1__OpenSession)SOTTO__V1__OPEN_SESSION__INIT;
    fixture.grant.class_ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE;
    ask.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    ck_assert_int_eq(try_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    ck_assert_uint_eq(sessions_count(&fixture.hub->sessions, &fixture.grant), fixture.grant.n_sessions);
    close_well(id);
}
END_TEST

static void small_setup(void)
{
    fixture_prepare(&fixture, "context 256\npages 24\nwhen 201 do slow 4\n");
    fixture.settings.n_sequences = 3;
    fixture_open(&fixture);
    fixture_until_ready(&fixture);
}

START_TEST(a_request_gets_the_slot_of_the_session_that_is_idle_longest)
{
    uint64_t ids[5];
    struct log logs[5];

    memset(logs, 0, sizeof(logs));
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 5; i++) {
            struct client client;

            ids[i] = round == 0 ? open_empty() : ids[i];
            init_turn(&client, ids[i], 10 + i, 20, 4);
            run(&client);
            client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 4);
            assert_same_as_cold(&logs[i], &client);
            ck_assert_uint_le(fixture_model(&fixture)->current->eq.n_taken, 3);
            client_finish(&client);
        }
    }
    ck_assert_uint_gt(fixture.hub->events.counts[COUNT_SESSIONS_GIVEN_UP], 4);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_PREEMPTIONS], 0);
}
END_TEST

START_TEST(no_running_request_gives_way_while_a_session_has_room_to_give)
{
    uint64_t id = open_empty();
    struct client turn;
    struct client slow[2];
    struct client urgent;

    init_turn(&turn, id, 5, 20, 3);
    run(&turn);
    for (int i = 0; i < 2; i++) {
        client_init(&slow[i], 201, 10, 40);
        slow[i].generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND;
        slow[i].generate.ignore_end = true;
        client_generate(&fixture, &slow[i]);
        client_until_tokens(&fixture, &slow[i], 1);
    }
    client_init(&urgent, 7, 10, 3);
    urgent.generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    run(&urgent);

    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_PREEMPTIONS], 0);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_SESSIONS_GIVEN_UP], 1);
    ck_assert_uint_eq(the_session()->sequence, 0);
    for (int i = 0; i < 2; i++) {
        client_until_over(&fixture, &slow[i]);
        client_finish(&slow[i]);
    }
    client_finish(&turn);
    client_finish(&urgent);
}
END_TEST

START_TEST(a_turn_with_a_reserved_slot_does_not_wait_for_another)
{
    uint64_t id = open_empty();
    struct client turn;
    struct client slow[2];

    init_turn(&turn, id, 5, 20, 3);
    run(&turn);
    client_finish(&turn);
    for (int i = 0; i < 2; i++) { /* the other slots are taken */
        client_init(&slow[i], 201, 10, 60);
        slow[i].generate.ignore_end = true;
        client_generate(&fixture, &slow[i]);
        client_until_tokens(&fixture, &slow[i], 1);
    }
    init_turn(&turn, id, 6, 4, 3);
    run(&turn);
    client_assert_done(&turn, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    ck_assert_uint_eq(turn.usage.cached_tokens, 22);
    ck_assert_uint_eq(slow[0].n_ends + slow[1].n_ends, 0);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_PREEMPTIONS], 0);
    for (int i = 0; i < 2; i++) {
        client_until_over(&fixture, &slow[i]);
        client_finish(&slow[i]);
    }
    client_finish(&turn);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session-session-room");
    TCase *tcase = tcase_create("all");
    TCase *small = tcase_create("small");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_idle_session_ends_and_gives_its_room_back);
    tcase_add_test(tcase, a_session_ends_with_its_model);
    tcase_add_test(tcase, a_session_without_a_connection_makes_room_for_the_next);
    tcase_add_test(tcase, a_refused_session_takes_no_place);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(small, small_setup, teardown);
    tcase_add_test(small, a_request_gets_the_slot_of_the_session_that_is_idle_longest);
    tcase_add_test(small, no_running_request_gives_way_while_a_session_has_room_to_give);
    tcase_add_test(small, a_turn_with_a_reserved_slot_does_not_wait_for_another);
    suite_add_tcase(suite, small);
    return unit_run(suite);
}
