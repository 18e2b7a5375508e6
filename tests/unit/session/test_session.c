/*
 * Sessions: a turn answers as a request would that sends the whole conversation at once, whatever became of the
 * sequence meanwhile. The fake engine's token is a hash of all tokens before it, so one more or less is another answer.
 */
#include "session_fixture.h"
#include <signal.h>
#include <string.h>

static void setup(void)
{
    fixture_begin(&fixture, "context 256\nwhen 201 do slow 4\nwhen 202 do slow 60\nwhen 203 do slow 9\n");
}

static void teardown(void)
{
    fixture_end(&fixture);
}

START_TEST(twelve_turns_answer_as_cold_requests_and_compute_only_what_is_new)
{
    uint64_t id = open_empty();
    struct log log = { .n = 0 };

    for (uint32_t i = 0; i < 12; i++) {
        struct client client;
        uint32_t n_before = log.n;

        init_turn(&client, id, 100 + i, 5, 7);
        run(&client);
        client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 7);
        ck_assert_uint_eq(client.usage.cached_tokens, n_before > 0 ? n_before - 1 : 0);
        assert_same_as_cold(&log, &client);
        client_finish(&client);
    }
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_SESSION_TURNS], 12);
    ck_assert_uint_eq(close_well(id), 12 * 12);
}
END_TEST

START_TEST(a_barge_in_keeps_the_text_and_the_keys_and_values)
{
    uint64_t id = open_empty();
    struct log log = { .n = 0 };
    struct client cut;
    struct client next;

    init_turn(&cut, id, 201, 20, 100);
    client_generate(&fixture, &cut);
    client_until_tokens(&fixture, &cut, 9);
    stream_cancel(cut.stream);
    init_turn(&next, id, 99, 4, 6); /* at once, while the last step of the other still runs */
    client_generate(&fixture, &next);
    client_until_over(&fixture, &cut);
    client_until_over(&fixture, &next);

    client_assert_done(&cut, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, cut.n_tokens);
    ck_assert_uint_ge(next.usage.cached_tokens, 20 + cut.n_tokens - 1);
    assert_same_as_cold(&log, &cut);
    assert_same_as_cold(&log, &next);
    client_finish(&cut);
    client_finish(&next);
}
END_TEST

static bool stands_still(void *owner)
{
    (void)owner;
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        if (fixture.hub->streams.dispatch.steps[i].state == DISPATCH_SUSPENDED) {
            return true;
        }
    }
    return false;
}

START_TEST(a_barge_in_on_a_suspended_step_waits_for_its_end)
{
    struct governor_limits *limits = fixture_limits(&fixture);
    uint64_t id = open_empty();
    struct log log = { .n = 0 };
    struct client cut;
    struct client next;

    limits->slice_us = 3000;
    limits->duty_permille = 400;
    init_turn(&cut, id, 203, 20, 3);
    client_generate(&fixture, &cut);
    fixture_until(&fixture, stands_still, NULL);
    stream_cancel(cut.stream);
    init_turn(&next, id, 99, 4, 6);
    client_generate(&fixture, &next);
    client_until_over(&fixture, &cut);
    client_until_over(&fixture, &next);
    limits->slice_us = 0;
    limits->duty_permille = 1000;

    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_ENGINE_CRASHES], 0);
    assert_same_as_cold(&log, &cut);
    assert_same_as_cold(&log, &next);
    client_finish(&cut);
    client_finish(&next);
}
END_TEST

static bool stands_with_two(void *owner)
{
    (void)owner;
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &fixture.hub->streams.dispatch.steps[i];

        if (step->state == DISPATCH_SUSPENDED && step->plan.n_entries == 2) {
            return true;
        }
    }
    return false;
}

START_TEST(a_barge_in_through_the_class_gate_does_not_wait_for_a_step_behind_it)
{
    struct governor_limits *limits = fixture_limits(&fixture);
    const struct governor_limits usual = *limits;
    uint64_t id = open_empty();
    struct client cut;
    struct client beside;
    struct client next;

    limits->slice_us = 3000;
    limits->duty_permille = 400;
    init_turn(&cut, id, 203, 20, 90);
    client_init(&beside, 203, 20, 4);
    cut.generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND;
    beside.generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND;
    beside.generate.ignore_end = true;
    client_generate(&fixture, &cut);
    client_generate(&fixture, &beside);
    fixture_until(&fixture, stands_with_two, NULL);
    limits->class_gate = PRIORITY_REALTIME;
    stream_cancel(cut.stream);
    init_turn(&next, id, 99, 4, 6);
    next.generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    client_generate(&fixture, &next);
    client_until_over(&fixture, &next);

    client_assert_done(&next, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 6);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_SESSIONS_GIVEN_UP], 0);
    ck_assert_uint_eq(beside.n_ends, 0);
    *limits = usual;
    events_poke(&fixture.hub->events);
    client_until_over(&fixture, &cut);
    client_until_over(&fixture, &beside);
    client_assert_done(&beside, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 4);
    client_finish(&cut);
    client_finish(&beside);
    client_finish(&next);
}
END_TEST

static bool is_being_opened(void *owner)
{
    return ((struct client *)owner)->stream->job.state == JOB_OPENING;
}

static bool is_held(void *owner)
{
    return ((struct client *)owner)->stream->job.state == JOB_HELD;
}

START_TEST(a_barge_in_before_the_engine_has_answered_finds_the_keys_and_values)
{
    uint64_t id = open_empty();
    struct log log = { .n = 0 };
    struct client turns[4];

    for (uint32_t i = 0; i < 4; i++) {
        init_turn(&turns[i], id, 50 + i, 20, 5);
        if (i == 1) {
            kill((pid_t)fixture_pid(&fixture), SIGSTOP);
        }
        client_generate(&fixture, &turns[i]);
        if (i == 1) {
            fixture_until(&fixture, is_being_opened, &turns[i]);
        }
        if (i == 1 || i == 2) { /* the second of these waits for the answer to the first */
            stream_cancel(turns[i].stream);
        } else if (i == 0) {
            client_until_over(&fixture, &turns[i]);
        }
    }
    fixture_until(&fixture, is_held, &turns[3]);
    kill((pid_t)fixture_pid(&fixture), SIGCONT);
    for (uint32_t i = 1; i < 4; i++) {
        client_until_over(&fixture, &turns[i]);
    }
    for (uint32_t i = 1; i < 3; i++) {
        client_assert_done(&turns[i], SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, 0);
    }
    client_assert_done(&turns[3], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    ck_assert_uint_eq(turns[3].usage.cached_tokens, 24);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_SESSION_KEPT_TOK], 24);
    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_taken, 1);
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 2) {
            continue; /* it was cut before its tokens were known, so it is no part of the text */
        }
        assert_same_as_cold(&log, &turns[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        client_finish(&turns[i]);
    }
    ck_assert_uint_eq(close_well(id), log.n);
    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_pages_promised, 0);
}
END_TEST

START_TEST(a_session_may_be_closed_before_the_engine_has_answered)
{
    uint64_t id = open_empty();
    struct client client;

    init_turn(&client, id, 50, 20, 5);
    run(&client);
    client_finish(&client);
    kill((pid_t)fixture_pid(&fixture), SIGSTOP);
    init_turn(&client, id, 51, 20, 5);
    client_generate(&fixture, &client);
    fixture_until(&fixture, is_being_opened, &client);
    close_well(id);
    kill((pid_t)fixture_pid(&fixture), SIGCONT);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, 0);
    client_finish(&client);
    client_init(&client, 52, 20, 5);
    client.generate.ignore_end = true;
    run(&client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_finish(&client);
    ck_assert_uint_eq(fixture.hub->events.counts[COUNT_ENGINE_CRASHES], 0);
    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_taken, 0);
    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_pages_promised, 0);
}
END_TEST

START_TEST(a_turn_that_fails_leaves_the_session_as_it_was)
{
    uint64_t id = open_empty();
    struct log log = { .n = 0 };
    struct client client;
    struct client bad;

    init_turn(&client, id, 50, 10, 5);
    run(&client);
    assert_same_as_cold(&log, &client);
    client_finish(&client);

    init_turn(&bad, id, 50, 300, 5); /* more than the context */
    run(&bad);
    client_assert_failed(&bad, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "context");
    client_finish(&bad);

    init_turn(&client, id, 60, 10, 5);
    run(&client);
    ck_assert_uint_eq(client.usage.cached_tokens, 14);
    assert_same_as_cold(&log, &client);
    client_finish(&client);
}
END_TEST

START_TEST(a_lost_engine_between_turns_and_in_them_changes_no_token)
{
    uint64_t id = open_empty();
    struct log log = { .n = 0 };

    for (int i = 0; i < 4; i++) {
        struct client client;

        init_turn(&client, id, 201, 12, 12);
        client_generate(&fixture, &client);
        if (i % 2 == 1) {
            client_until_tokens(&fixture, &client, 4);
            kill((pid_t)fixture_pid(&fixture), SIGKILL);
        }
        client_until_over(&fixture, &client);
        client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 12);
        assert_same_as_cold(&log, &client);
        client_finish(&client);
        if (i == 2) {
            fixture_kill_engine(&fixture, SIGKILL);
            fixture_until_ready(&fixture);
        }
    }
}
END_TEST

START_TEST(a_full_context_slides_from_one_turn_to_the_next)
{
    Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    struct log log = { .n = 0 };
    uint32_t n_slid = 0;
    uint64_t id;

    ask.on_full = SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
    id = open_with(&ask);
    for (uint32_t i = 0; i < 12; i++) {
        struct client client;

        init_turn(&client, id, 100 + i, 40, 3);
        run(&client);
        client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
        n_slid += client.n_notices[SOTTO__V1__NOTICE_KIND__NOTICE_SLID];
        if (log.n + 40 + 1 > 256) { /* the rule of slides, computed again */
            uint32_t n_known = log.n + 40;
            uint32_t n_stay = (n_known - 4) / 2;
            struct client same;

            log_append(&log, client.ids.ids, 40);
            memmove(log.ids + 4, log.ids + n_known - n_stay, n_stay * sizeof(*log.ids));
            log.n = 4 + n_stay;
            client_init(&same, 0, log.n, 3);
            memcpy(same.ids.ids, log.ids, log.n * sizeof(*log.ids));
            same.generate.ignore_end = true;
            run(&same);
            client_assert_same(&same, &client);
            client_finish(&same);
            log_append(&log, client.tokens, client.n_tokens);
        } else {
            assert_same_as_cold(&log, &client);
        }
        client_finish(&client);
    }
    ck_assert_uint_ge(n_slid, 2);
}
END_TEST

/* ---- access */

START_TEST(no_other_user_finds_a_session_and_none_is_found_twice)
{
    static const uint64_t strange[] = { 2, UINT64_MAX, 1ull << 63 };
    uint64_t id = open_empty();
    struct closing closing;
    struct client client;

    init_turn(&client, id, 1, 3, 2);
    fixture.grant.uid = 1001;
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_NOT_FOUND, "no session");
    fixture.grant.uid = 1000;
    for (size_t i = 0; i < COUNTOF(strange); i++) {
        client.generate.session = strange[i];
        client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_NOT_FOUND, "no session");
        ck_assert_int_eq(close_session(strange[i], 1000, &closing), SOTTO__V1__CODE__CODE_NOT_FOUND);
    }
    client_finish(&client);
    ck_assert_int_eq(close_session(id, 1001, &closing), SOTTO__V1__CODE__CODE_NOT_FOUND);
    close_well(id);
    ck_assert_int_eq(close_session(id, 1000, &closing), SOTTO__V1__CODE__CODE_NOT_FOUND);
    ck_assert_uint_gt(open_empty(), id);
}
END_TEST

START_TEST(one_request_at_a_time_and_a_close_ends_it_first)
{
    uint64_t id = open_empty();
    struct closing closing;
    struct client client;
    struct client other;

    init_turn(&client, id, 201, 20, 200);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 3);
    init_turn(&other, id, 1, 3, 2);
    client_refused(&fixture, &other, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, "runs already");
    ck_assert_int_eq(close_session(id, 1000, &closing), 0);
    client_refused(&fixture, &other, SOTTO__V1__CODE__CODE_NOT_FOUND, "no session");
    fixture_until(&fixture, is_closed, &closing);

    ck_assert_uint_eq(client.n_ends, 1);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, client.n_tokens);
    ck_assert_uint_eq(closing.n_tok, 20 + client.n_tokens);
    client_finish(&client);
    client_finish(&other);
}
END_TEST

static Sotto__V1__ChatMessage user = SOTTO__V1__CHAT_MESSAGE__INIT;
static Sotto__V1__ChatMessage *users[] = { &user };
static char user_role[] = "user";
static uint8_t user_text[] = "say";

static void chat_of(Sotto__V1__Chat *chat)
{
    sotto__v1__chat__init(chat);
    user.role = user_role;
    user.content = (ProtobufCBinaryData){ .len = 3, .data = user_text };
    chat->messages = users;
    chat->n_messages = 1;
}

static void make_chat(struct client *client, Sotto__V1__Chat *chat)
{
    chat_of(chat);
    client->generate.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    client->generate.chat = chat;
}

START_TEST(what_does_not_continue_the_text_is_refused_with_a_sentence)
{
    uint64_t tokens = open_empty();
    uint64_t messages = open_empty();
    Sotto__V1__Chat chat;
    struct client client;

    init_turn(&client, tokens, 1, 3, 2);
    run(&client);
    client_finish(&client);
    init_turn(&client, messages, 1, 3, 2);
    make_chat(&client, &chat);
    run(&client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 2);
    client_finish(&client);

    init_turn(&client, messages, 1, 3, 2);
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "holds messages");
    client.generate.session = tokens;
    make_chat(&client, &chat);
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "holds text or tokens");
    client.generate.session = messages;
    chat.no_generation_prompt = true;
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "next message");
    client_finish(&client);
}
END_TEST

START_TEST(a_user_has_so_many_sessions_and_another_still_gets_one)
{
    const Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    struct diag diag = DIAG_INIT;
    struct opener opener;
    uint64_t id = 0;

    for (uint32_t i = 0; i < fixture.grant.n_sessions; i++) {
        id = open_empty();
    }
    ck_assert_int_eq(try_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED);
    fixture.grant.uid = 1001;
    open_empty();
    fixture.grant.uid = 1000;
    close_well(id);
    open_empty();
    fixture.grant.n_sessions = 0;
    ck_assert_int_eq(try_open(&opener, &ask, &diag), SOTTO__V1__CODE__CODE_PERMISSION_DENIED);
}
END_TEST

/* ---- opening with something */

static void ids_of(Sotto__V1__TokenIds *ids, uint32_t *room, uint32_t n)
{
    sotto__v1__token_ids__init(ids);
    for (uint32_t i = 0; i < n; i++) {
        room[i] = 30 + i % 50;
    }
    ids->ids = room;
    ids->n_ids = n;
}

START_TEST(the_beginning_is_computed_before_the_session_is_reported_open)
{
    Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    struct log log = { .n = 0 };
    struct opener opener;
    struct diag diag = DIAG_INIT;
    struct client client;
    Sotto__V1__TokenIds ids;
    uint32_t room[60];

    ids_of(&ids, room, 60);
    ask.input_case = SOTTO__V1__OPEN_SESSION__INPUT_TOKENS;
    ask.tokens = &ids;
    ask.opt_idle_ms_case = SOTTO__V1__OPEN_SESSION__OPT_IDLE_MS_IDLE_MS;
    ask.idle_ms = 5000;
    ck_assert_int_eq(try_open(&opener, &ask, &diag), 0);
    fixture_until(&fixture, has_ended, &opener);
    ck_assert_uint_eq(opener.n_tok, 60);
    ck_assert_uint_eq(opener.n_context, 256);
    ck_assert_uint_eq(opener.idle_ms, 5000);

    log_append(&log, room, 60);
    init_turn(&client, opener.session, 99, 4, 6);
    run(&client);
    ck_assert_uint_eq(client.usage.cached_tokens, 60);
    assert_same_as_cold(&log, &client);
    client_finish(&client);
}
END_TEST

static bool no_session_is_left(void *owner)
{
    (void)owner;
    return list_is_empty(&fixture.hub->sessions.all);
}

START_TEST(a_client_that_leaves_while_a_session_opens_leaves_none)
{
    Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    struct opener opener;
    struct diag diag = DIAG_INIT;
    Sotto__V1__TokenIds ids;
    uint32_t room[60];

    ids_of(&ids, room, 60);
    room[0] = 202;
    ask.input_case = SOTTO__V1__OPEN_SESSION__INPUT_TOKENS;
    ask.tokens = &ids;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(try_open(&opener, &ask, &diag), 0);
        fixture_run(&fixture, (uint32_t)(2 * i));
        if (i == 2) {
            stream_cancel(opener.stream);
            fixture_until(&fixture, has_ended, &opener);
            ck_assert_uint_eq(opener.reason, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);
        } else {
            stream_forget(opener.stream);
        }
        fixture_until(&fixture, no_session_is_left, NULL);
    }
}
END_TEST

START_TEST(a_beginning_that_does_not_fit_is_refused_and_leaves_no_session)
{
    Sotto__V1__OpenSession ask = SOTTO__V1__OPEN_SESSION__INIT;
    struct opener opener;
    struct diag diag = DIAG_INIT;
    Sotto__V1__TokenIds ids;
    uint32_t room[300];

    ids_of(&ids, room, 300);
    ask.input_case = SOTTO__V1__OPEN_SESSION__INPUT_TOKENS;
    ask.tokens = &ids;
    ck_assert_int_eq(try_open(&opener, &ask, &diag), 0);
    fixture_until(&fixture, has_ended, &opener);
    ck_assert_uint_eq(opener.code, SOTTO__V1__CODE__CODE_OUT_OF_RANGE);
    ids_of(&ids, room, 3);
    room[1] = 4000000;
    ck_assert_int_eq(try_open(&opener, &ask, &diag), 0);
    fixture_until(&fixture, has_ended, &opener);
    ck_assert_uint_eq(opener.code, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT);
    ck_assert_str_eq(opener.field, "open_session.tokens.ids");
    ck_assert(list_is_empty(&fixture.hub->sessions.all));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session-session");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, twelve_turns_answer_as_cold_requests_and_compute_only_what_is_new);
    tcase_add_test(tcase, a_barge_in_keeps_the_text_and_the_keys_and_values);
    tcase_add_test(tcase, a_barge_in_on_a_suspended_step_waits_for_its_end);
    tcase_add_test(tcase, a_barge_in_through_the_class_gate_does_not_wait_for_a_step_behind_it);
    tcase_add_test(tcase, a_barge_in_before_the_engine_has_answered_finds_the_keys_and_values);
    tcase_add_test(tcase, a_session_may_be_closed_before_the_engine_has_answered);
    tcase_add_test(tcase, a_turn_that_fails_leaves_the_session_as_it_was);
    tcase_add_test(tcase, a_lost_engine_between_turns_and_in_them_changes_no_token);
    tcase_add_test(tcase, a_full_context_slides_from_one_turn_to_the_next);
    tcase_add_test(tcase, no_other_user_finds_a_session_and_none_is_found_twice);
    tcase_add_test(tcase, one_request_at_a_time_and_a_close_ends_it_first);
    tcase_add_test(tcase, what_does_not_continue_the_text_is_refused_with_a_sentence);
    tcase_add_test(tcase, a_user_has_so_many_sessions_and_another_still_gets_one);
    tcase_add_test(tcase, the_beginning_is_computed_before_the_session_is_reported_open);
    tcase_add_test(tcase, a_client_that_leaves_while_a_session_opens_leaves_none);
    tcase_add_test(tcase, a_beginning_that_does_not_fit_is_refused_and_leaves_no_session);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
