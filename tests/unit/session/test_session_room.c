/*
 * The end of a session, and its seat and pages: the first to be given up, and never waited for by its own turn.
 */
#include "sitting.h"
#include <string.h>

static void setup(void)
{
    house_begin(&house, "context 256\nwhen 201 do slow 4\nwhen 202 do slow 60\n");
}

static void teardown(void)
{
    house_end(&house);
}

/* ---- its end, and its room */

static bool has_no_sessions(void *owner)
{
    (void)owner;
    return list_is_empty(&house.hub->sessions);
}

START_TEST(one_that_is_idle_ends_and_gives_its_room_back)
{
    Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    struct guest guest;
    uint64_t id;

    ask.opt_idle_ms_case = SOTTO__V1__OPEN_SESSION__OPT_IDLE_MS_IDLE_MS;
    ask.idle_ms = 80;
    id = open_with(&ask);
    init_turn(&guest, id, 5, 20, 3);
    run(&guest);
    guest_finish(&guest);
    ck_assert_uint_eq(house_model(&house)->current->eq.n_taken, 1);
    house_until(&house, has_no_sessions, NULL);
    ck_assert_uint_eq(house_model(&house)->current->eq.n_taken, 0);
    ck_assert_uint_eq(house_model(&house)->current->eq.n_pages_promised, 0);
    ck_assert(house_had(&house, "session-ended"));
}
END_TEST

START_TEST(one_ends_with_its_model)
{
    uint64_t id = open_empty();
    struct guest guest;

    init_turn(&guest, id, 201, 20, 40);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 3);
    models_unload(house_model(&house), false, "it goes");
    ck_assert(!list_is_empty(&house.hub->sessions)); /* its turn goes on */
    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 40);
    ck_assert(list_is_empty(&house.hub->sessions));
    guest_finish(&guest);
}
END_TEST

START_TEST(one_that_no_connection_holds_any_more_makes_room_for_the_next)
{
    const Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    struct diag diag = DIAG_INIT;
    struct opener opener;
    struct guest guest;
    struct closing closing;
    uint64_t ids[8];

    ck_assert_uint_eq(house.grant.n_sessions, 8);
    for (uint32_t i = 0; i < 8; i++) {
        house.grant.connection = i < 4 ? 1 : 2;
        ids[i] = open_empty();
        house_run(&house, 2);
    }
    ck_assert_int_eq(ask_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED);
    init_turn(&guest, ids[0], 5, 4, 2); /* the second connection goes on in one of the first's */
    run(&guest);
    guest_finish(&guest);
    init_turn(&guest, ids[1], 5, 4, 2);
    house.grant.connection = 1;
    run(&guest);
    guest_finish(&guest);
    hub_connection_left(house.hub, 1);

    house.grant.connection = 2;
    for (uint32_t i = 0; i < 3; i++) { /* those that are idle for longest go first */
        const uint64_t gone[] = { ids[2], ids[3], ids[1] };

        open_empty();
        ck_assert_int_eq(close_session(gone[i], 1000, &closing), SOTTO__V1__CODE__CODE_NOT_FOUND);
        ck_assert_uint_eq(sessions_count(house.hub, &house.grant), 8);
    }
    ck_assert_int_eq(ask_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED);
    close_well(ids[0]);
    close_well(ids[7]);
}
END_TEST

START_TEST(who_is_refused_takes_nobodys_place)
{
    Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    static char none[] = "none";
    struct diag diag = DIAG_INIT;
    struct opener opener;
    uint64_t id = 0;

    for (uint32_t i = 0; i < house.grant.n_sessions; i++) {
        id = open_empty();
    }
    hub_connection_left(house.hub, house.grant.connection);
    ask.model = none;
    ck_assert_int_eq(ask_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_NOT_FOUND);
    ask = (Sotto__V1__OpenSession)SOTTO__V1__OPEN_SESSION__INIT;
    house.grant.class_ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE;
    ask.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    ck_assert_int_eq(ask_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
    ck_assert_uint_eq(sessions_count(house.hub, &house.grant), house.grant.n_sessions);
    close_well(id);
}
END_TEST

static void small_setup(void)
{
    house_prepare(&house, "context 256\npages 24\nwhen 201 do slow 4\n");
    house.settings.n_sequences = 3;
    house_open(&house);
    house_until_ready(&house);
}

START_TEST(whoever_wants_a_seat_gets_that_of_the_session_that_waits_longest)
{
    uint64_t ids[5];
    struct log logs[5];

    memset(logs, 0, sizeof(logs));
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 5; i++) {
            struct guest guest;

            ids[i] = round == 0 ? open_empty() : ids[i];
            init_turn(&guest, ids[i], 10 + i, 20, 4);
            run(&guest);
            guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 4);
            assert_same_as_cold(&logs[i], &guest);
            ck_assert_uint_le(house_model(&house)->current->eq.n_taken, 3);
            guest_finish(&guest);
        }
    }
    ck_assert_uint_gt(house.hub->counts[HUB_SESSIONS_GIVEN_UP], 4);
    ck_assert_uint_eq(house.hub->counts[HUB_PREEMPTIONS], 0);
}
END_TEST

START_TEST(no_running_request_gives_way_while_a_session_has_room_to_give)
{
    uint64_t id = open_empty();
    struct guest turn;
    struct guest slow[2];
    struct guest urgent;

    init_turn(&turn, id, 5, 20, 3);
    run(&turn);
    for (int i = 0; i < 2; i++) {
        guest_init(&slow[i], 201, 10, 40);
        slow[i].ask.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND;
        slow[i].ask.ignore_end = true;
        guest_ask(&house, &slow[i]);
        guest_until_tokens(&house, &slow[i], 1);
    }
    guest_init(&urgent, 7, 10, 3);
    urgent.ask.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    run(&urgent);

    ck_assert_uint_eq(house.hub->counts[HUB_PREEMPTIONS], 0);
    ck_assert_uint_eq(house.hub->counts[HUB_SESSIONS_GIVEN_UP], 1);
    ck_assert_uint_eq(the_session()->sequence, 0);
    for (int i = 0; i < 2; i++) {
        guest_until_over(&house, &slow[i]);
        guest_finish(&slow[i]);
    }
    guest_finish(&turn);
    guest_finish(&urgent);
}
END_TEST

START_TEST(a_turn_whose_seat_is_kept_does_not_wait_for_another)
{
    uint64_t id = open_empty();
    struct guest turn;
    struct guest slow[2];

    init_turn(&turn, id, 5, 20, 3);
    run(&turn);
    guest_finish(&turn);
    for (int i = 0; i < 2; i++) { /* the other seats are taken */
        guest_init(&slow[i], 201, 10, 60);
        slow[i].ask.ignore_end = true;
        guest_ask(&house, &slow[i]);
        guest_until_tokens(&house, &slow[i], 1);
    }
    init_turn(&turn, id, 6, 4, 3);
    run(&turn);
    guest_assert_done(&turn, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    ck_assert_uint_eq(turn.usage.cached_tokens, 22);
    ck_assert_uint_eq(slow[0].n_ends + slow[1].n_ends, 0);
    ck_assert_uint_eq(house.hub->counts[HUB_PREEMPTIONS], 0);
    for (int i = 0; i < 2; i++) {
        guest_until_over(&house, &slow[i]);
        guest_finish(&slow[i]);
    }
    guest_finish(&turn);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-session-room");
    TCase *tcase = tcase_create("all");
    TCase *small = tcase_create("small");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, one_that_is_idle_ends_and_gives_its_room_back);
    tcase_add_test(tcase, one_ends_with_its_model);
    tcase_add_test(tcase, one_that_no_connection_holds_any_more_makes_room_for_the_next);
    tcase_add_test(tcase, who_is_refused_takes_nobodys_place);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(small, small_setup, teardown);
    tcase_add_test(small, whoever_wants_a_seat_gets_that_of_the_session_that_waits_longest);
    tcase_add_test(small, no_running_request_gives_way_while_a_session_has_room_to_give);
    tcase_add_test(small, a_turn_whose_seat_is_kept_does_not_wait_for_another);
    suite_add_tcase(suite, small);
    return unit_run(suite);
}
