/*
 * How connections end: slow readers, peers that leave in every way, bounds of users and descriptors.
 */
#include "fixture.h"

#include "base/clock.h"
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

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

/* ---- the slow reader (O17) */

static void fill(struct stream *stream, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i += 4096) {
        fake_delta(stream, 1, 4096);
        fixture_iterate(&fixture);
    }
}

START_TEST(the_streams_of_a_slow_reader_are_parked_until_it_reads)
{
    struct stream *slow;
    struct stream *other;

    client_hello(&fixture, &one);
    client_hello(&fixture, &two);
    client_generate(&fixture, &one, 1);
    client_generate(&fixture, &two, 1);
    slow = fake_stream(&fixture.hub, 0);
    other = fake_stream(&fixture.hub, 1);
    fill(slow, 512u << 10);

    ck_assert(slow->parked);
    ck_assert(!other->parked);
    client_generate(&fixture, &one, 2); /* requests are still read */
    ck_assert(fake_stream(&fixture.hub, 2)->parked);
    for (size_t i = 0; i < (512u << 10) / 4096; i++) {
        client_expect(&fixture, &one, HAS(DELTA), 1);
    }
    ck_assert(!slow->parked);
    ck_assert(!fake_stream(&fixture.hub, 2)->parked);
}
END_TEST

/* Reads up to the fatal error, which comes after whole frames only. */
static void read_to_the_end(struct client *client, Sotto__V1__Code code)
{
    const Sotto__V1__ServerFrame *frame;
    bool is_reported = false;

    while ((frame = client_next(&fixture, client)) != NULL) {
        ck_assert(!is_reported);
        if (frame->body_case == HAS(ERROR)) {
            ck_assert_int_eq(frame->error->code, code);
            ck_assert(frame->error->fatal);
            is_reported = true;
        }
    }
    ck_assert(is_reported);
}

START_TEST(at_one_mib_unread_the_connection_ends_with_the_reason)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    while (fixture.hub.n_forgotten == 0) {
        fill(fake_stream(&fixture.hub, 0), 4096);
    }

    read_to_the_end(&one, SOTTO__V1__CODE__CODE_ABORTED);
}
END_TEST

START_TEST(a_reader_that_takes_no_byte_is_disconnected_in_time)
{
    uint64_t begin_us = clock_mono_us();

    fixture.ipc->limits.stall_ms = 100;
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    fill(fake_stream(&fixture.hub, 0), 512u << 10);

    fixture_run(&fixture, 50);
    ck_assert(fixture.hub.n_forgotten == 0 || clock_mono_us() - begin_us >= 100000);
    while (fixture.hub.n_forgotten == 0) {
        fixture_run(&fixture, 10);
    }
    ck_assert_uint_ge(clock_mono_us() - begin_us, 100000);
    read_to_the_end(&one, SOTTO__V1__CODE__CODE_ABORTED);
}
END_TEST

/* If this process itself paused for the stall time, on a busy machine, the reader was not slow but still. */
START_TEST(a_reader_that_is_slow_but_reads_is_left_alone)
{
    uint64_t longest_us = 0;
    uint64_t last_us;

    fixture.ipc->limits.stall_ms = 400;
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    fill(fake_stream(&fixture.hub, 0), 512u << 10);

    last_us = clock_mono_us();
    for (size_t i = 0; i < 20 && longest_us < 400000; i++) {
        for (size_t k = 0; k < 6 && fixture.hub.n_forgotten == 0; k++) {
            client_expect(&fixture, &one, HAS(DELTA), 1);
        }
        fixture_run(&fixture, 40);
        longest_us = clock_mono_us() - last_us > longest_us ? clock_mono_us() - last_us : longest_us;
        last_us = clock_mono_us();
    }
    ck_assert(fixture.hub.n_forgotten == 0 || longest_us >= 400000);
}
END_TEST

START_TEST(bytes_of_all_connections_of_a_user_are_limited)
{
    static struct client many[8];
    unsigned n_alive = 0;

    fixture.ipc->limits.wire_bytes_a_uid = 2u << 20;
    for (size_t i = 0; i < COUNTOF(many); i++) {
        client_connect(&fixture, &many[i]);
        client_hello(&fixture, &many[i]);
        client_generate(&fixture, &many[i], 1);
    }
    for (unsigned i = 0; i < COUNTOF(many); i++) {
        for (unsigned k = 0; k < 170 && fixture.hub.n_forgotten == 0; k++) {
            fill(fake_stream(&fixture.hub, i), 4096);
        }
    }

    ck_assert_uint_ge(fixture.hub.n_forgotten, 1);
    for (size_t i = 0; i < COUNTOF(many); i++) {
        n_alive += fixture.hub.n_opened - fixture.hub.n_forgotten > 0;
        client_close(&many[i]);
    }
    ck_assert_uint_gt(n_alive, 0);
}
END_TEST

/* ---- leaving */

START_TEST(a_closed_connection_has_no_streams)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    client_generate(&fixture, &one, 2);
    client_close(&one);
    fixture_run(&fixture, 20);

    ck_assert_uint_eq(fixture.hub.n_forgotten, 2);
    client_connect(&fixture, &one);
}
END_TEST

START_TEST(a_half_closed_connection_still_gets_the_answer)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    shutdown(one.fd, SHUT_WR);
    fixture_run(&fixture, 20);

    fake_delta(fake_stream(&fixture.hub, 0), 1, 3);
    client_expect(&fixture, &one, HAS(DELTA), 1);
    fake_done(fake_stream(&fixture.hub, 0), SOTTO__V1__FINISH_REASON__FINISH_END);
    client_expect(&fixture, &one, HAS(DONE), 1);
    client_expect_end(&fixture, &one);
}
END_TEST

START_TEST(a_half_closed_connection_without_requests_ends)
{
    client_hello(&fixture, &one);
    shutdown(one.fd, SHUT_WR);

    client_expect_end(&fixture, &one);
}
END_TEST

START_TEST(a_watch_ends_with_the_half_close_since_no_cancel_can_come)
{
    client_hello(&fixture, &one);
    client_send_bytes(&fixture, &one, "\x04\0\0\0\x08\x04\x62\0", 8); /* 4: watch */
    shutdown(one.fd, SHUT_WR);

    client_expect(&fixture, &one, HAS(DONE), 4);
    client_expect_end(&fixture, &one);
}
END_TEST

START_TEST(a_peer_that_vanishes_after_a_half_close_is_noticed)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    shutdown(one.fd, SHUT_WR);
    fixture_run(&fixture, 20);
    client_close(&one);
    while (fixture.hub.n_forgotten == 0) {
        fixture_run(&fixture, 10);
    }
    client_connect(&fixture, &one);
}
END_TEST

START_TEST(a_half_closed_stream_without_credit_ends_aborted)
{
    Sotto__V1__Generate generate = SOTTO__V1__GENERATE__INIT;

    generate.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    generate.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
    generate.credit = 2;
    client_hello(&fixture, &one);
    client_send(&fixture, &one, 1, SOTTO__V1__CLIENT_FRAME__BODY_GENERATE, &generate);
    fake_delta(fake_stream(&fixture.hub, 0), 2, 2);
    client_expect(&fixture, &one, HAS(DELTA), 1);
    shutdown(one.fd, SHUT_WR);

    client_expect_error(&fixture, &one, 1, SOTTO__V1__CODE__CODE_ABORTED, false);
    client_expect_end(&fixture, &one);
}
END_TEST

START_TEST(an_incomplete_frame_at_the_end_ends_the_connection)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    client_send_bytes(&fixture, &one, "\x09", 1);
    shutdown(one.fd, SHUT_WR);

    client_expect_end(&fixture, &one);
    ck_assert_uint_eq(fixture.hub.n_forgotten, 1);
}
END_TEST

/* ---- bounds (O15) */

START_TEST(a_connection_above_the_limit_of_a_user_is_refused)
{
    struct client third;
    const Sotto__V1__Error *error;

    fixture_run(&fixture, 5);
    fixture.ipc->limits.n_conns_a_uid = 2;
    client_connect(&fixture, &third);

    error = client_expect_error(&fixture, &third, 0, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, true);
    ck_assert_ptr_nonnull(strstr(error->message, "limit of 2 connections"));
    client_expect_end(&fixture, &third);
    client_close(&third);
    client_hello(&fixture, &one);
}
END_TEST

START_TEST(a_connection_above_the_limit_of_all_is_refused_until_one_ends)
{
    struct client third;

    fixture_run(&fixture, 5);
    fixture.ipc->limits.n_conns = 2;
    client_connect(&fixture, &third);
    client_expect_error(&fixture, &third, 0, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, true);
    client_expect_end(&fixture, &third);
    client_close(&third);
    client_close(&two);
    fixture_run(&fixture, 5);

    client_connect(&fixture, &two);
    client_hello(&fixture, &two);
}
END_TEST

START_TEST(some_connections_are_kept_for_administrators_and_for_users_with_few)
{
    struct client clients[16 + 1];
    size_t n = 2; /* the fixture's own */

    if (geteuid() != 0) {
        return; /* other users take root */
    }
    client_hello(&fixture, &one);
    client_hello(&fixture, &two);
    fixture.ipc->limits.n_conns = 16; /* keeps two for each */
    fixture.grant.admin = false;
    for (; n < 16 - 2 * 2; n++) {
        client_connect(&fixture, &clients[n]);
        client_hello(&fixture, &clients[n]);
    }
    client_connect(&fixture, &clients[n]);
    client_expect_error(&fixture, &clients[n], 0, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, true);
    client_expect_end(&fixture, &clients[n]);
    client_close(&clients[n]);

    for (; n < 16 - 2; n++) {
        client_connect_as(&fixture, &clients[n], 20001);
        client_hello(&fixture, &clients[n]);
    }
    client_connect_as(&fixture, &clients[n], 20001);
    client_expect_error(&fixture, &clients[n], 0, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, true);
    client_close(&clients[n]);

    fixture.grant.admin = true;
    for (; n < 16; n++) {
        client_connect(&fixture, &clients[n]);
        client_hello(&fixture, &clients[n]);
    }
    client_connect(&fixture, &clients[n]);
    client_expect_error(&fixture, &clients[n], 0, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, true);
    while (n >= 2) {
        client_close(&clients[n--]);
    }
}
END_TEST

START_TEST(a_connection_that_ends_at_any_byte_leaves_nothing_behind)
{
    static const uint8_t bytes[] = {
        0x0b, 0, 0, 0, 0x12, 0x09, 0x08, 0x01, 0x10, 0x01, 0x1a, 0x03, 'h', 'e', 'x', /* hello */
        0x08, 0, 0, 0, 0x08, 0x01, 0x1a, 0x04, 0x12, 0x02, 'h',  'i',                 /* 1: generate */
        0x04, 0, 0, 0, 0x08, 0x02, 0x5a, 0x00,                                        /* 2: status */
        0x06, 0, 0, 0, 0x08, 0x03, 0x32, 0x02, 0x12, 0x00,                            /* 3: tokenize */
        0x04, 0, 0, 0, 0x08, 0x04, 0x62, 0x00,                                        /* 4: watch */
    };
    struct client client;

    for (size_t round = 0; round < 10 * sizeof(bytes); round++) {
        fixture.hub.hold = round % 2;
        client_connect(&fixture, &client);
        client_send_bytes(&fixture, &client, bytes, round % (sizeof(bytes) + 1));
        if (round % 3 == 0) {
            fixture_iterate(&fixture);
        }
        if (fixture.hub.streams.next != &fixture.hub.streams) {
            fake_delta(fake_stream(&fixture.hub, 0), 1, 100);
        }
        client_close(&client);
        fixture_iterate(&fixture);
    }
    fixture_run(&fixture, 20);

    ck_assert_uint_gt(fixture.hub.n_opened, 100);
    ck_assert_uint_eq(fixture.hub.n_forgotten, fixture.hub.n_opened);
    ck_assert_uint_eq(fixture.ipc->n_conns, 2);
}
END_TEST

/* If any allocation fails, the connection may end, but nothing else does: no crash, no leak, and the next is
 * served. */
START_TEST(without_memory_a_connection_ends_and_the_next_is_served)
{
    static const uint8_t bytes[] = {
        0x0b, 0, 0, 0, 0x12, 0x09, 0x08, 0x01, 0x10, 0x01, 0x1a, 0x03, 'h', 'e', 'x', /* hello */
        0x04, 0, 0, 0, 0x08, 0x02, 0x42, 0x00,                                        /* 2: list_models */
        0x04, 0, 0, 0, 0x08, 0x04, 0x62, 0x00,                                        /* 4: watch */
        0x09, 0,                                                                      /* half a head */
    };
    struct client client;

    fixture_run(&fixture, 5); /* the other ones are accepted */
    for (int nth = 0; nth < 40; nth++) {
        client_connect(&fixture, &client);
        send(client.fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
        mem_fail_nth(nth);
        for (unsigned i = 0; i < 5; i++) {
            uv_run(&fixture.loop, UV_RUN_NOWAIT);
        }
        mem_fail_nth(-1);
        client_close(&client);
        fixture_run(&fixture, 2);
    }
    ck_assert_uint_eq(fixture.ipc->n_conns, 2);
    client_hello(&fixture, &one);
}
END_TEST

START_TEST(without_descriptors_streams_go_on_and_accepting_comes_back)
{
    static struct client many[20];
    struct rlimit before;
    struct rlimit tight;

    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    for (size_t i = 0; i < COUNTOF(many); i++) {
        client_connect(&fixture, &many[i]); /* the kernel queues them */
    }
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)many[COUNTOF(many) - 1].fd + 4;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
    for (size_t i = 0; i < 50; i++) {
        fixture_iterate(&fixture);
        fake_delta(fake_stream(&fixture.hub, 0), 1, 3);
        client_expect(&fixture, &one, HAS(DELTA), 1);
    }
    for (size_t i = 0; i < COUNTOF(many); i++) {
        client_close(&many[i]);
    }
    setrlimit(RLIMIT_NOFILE, &before);

    fixture_run(&fixture, 20);
    client_close(&two);
    client_connect(&fixture, &two);
    client_hello(&fixture, &two);
}
END_TEST

/* The loop's time is from before the block: a timer that counted from there would fire at once (O29). */
START_TEST(a_deadline_set_after_a_long_block_is_not_shortened)
{
    const uint32_t block_ms = 50;
    const struct conn *conn;
    uint64_t before_ms;

    client_hello(&fixture, &one);
    client_hello(&fixture, &two);
    fixture_run(&fixture, 5);
    fixture.hub.block_ms = block_ms;
    before_ms = clock_mono_us() / 1000;
    ck_assert_int_eq(send(one.fd, "\x08\0\0\0\x08\x01\x1a\x04\x12\x02hi", 12, MSG_NOSIGNAL), 12); /* 1: generate */
    ck_assert_int_eq(send(two.fd, "\x08\0\0\0\x08\x01", 6, MSG_NOSIGNAL), 6); /* the half of one: its round is next */
    fixture_iterate(&fixture);
    fixture.hub.block_ms = 0;

    conn = container_of(fixture.ipc->conns.prev, struct conn, link);
    ck_assert(uv_is_active((const uv_handle_t *)&conn->timer));
    ck_assert_uint_ge(uv_now(&fixture.loop) + uv_timer_get_due_in(&conn->timer),
                      before_ms + block_ms + fixture.ipc->limits.half_frame_ms);
    ck_assert_int_eq(send(two.fd, "\x1a\x04\x12\x02hi", 6, MSG_NOSIGNAL), 6);
    fixture_run(&fixture, 5);
    ck_assert_uint_eq(fixture.hub.n_opened, 2);
}
END_TEST

START_TEST(at_shutdown_every_peer_gets_an_error)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);
    client_hello(&fixture, &two);

    for (size_t i = 0; i < 2; i++) {
        conn_fail(container_of(list_first(&fixture.ipc->conns), struct conn, link), SOTTO__V1__CODE__CODE_UNAVAILABLE,
                  "", "the daemon is shutting down");
        fixture_run(&fixture, 10);
    }

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_UNAVAILABLE, true);
    client_expect_error(&fixture, &two, 0, SOTTO__V1__CODE__CODE_UNAVAILABLE, true);
    client_expect_end(&fixture, &one);
}
END_TEST

START_TEST(only_legal_moves_are_legal)
{
    ck_assert(conn_may_move(CONN_NEW, CONN_READY));
    ck_assert(!conn_may_move(CONN_NEW, CONN_STALLED));
    ck_assert(!conn_may_move(CONN_HALF, CONN_READY));
    for (enum conn_state state = 0; state < CONN_STATE_COUNT; state++) {
        ck_assert(!conn_may_move(CONN_CLOSED, state));
        ck_assert(!conn_may_move(CONN_CLOSING, state) || state == CONN_CLOSED);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conn-end");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_add_test(facts, the_streams_of_a_slow_reader_are_parked_until_it_reads);
    tcase_add_test(facts, at_one_mib_unread_the_connection_ends_with_the_reason);
    tcase_add_test(facts, a_reader_that_takes_no_byte_is_disconnected_in_time);
    tcase_add_test(facts, a_reader_that_is_slow_but_reads_is_left_alone);
    tcase_add_test(facts, bytes_of_all_connections_of_a_user_are_limited);
    tcase_add_test(facts, a_closed_connection_has_no_streams);
    tcase_add_test(facts, a_half_closed_connection_still_gets_the_answer);
    tcase_add_test(facts, a_half_closed_connection_without_requests_ends);
    tcase_add_test(facts, a_watch_ends_with_the_half_close_since_no_cancel_can_come);
    tcase_add_test(facts, a_peer_that_vanishes_after_a_half_close_is_noticed);
    tcase_add_test(facts, a_half_closed_stream_without_credit_ends_aborted);
    tcase_add_test(facts, an_incomplete_frame_at_the_end_ends_the_connection);
    tcase_add_test(facts, a_connection_above_the_limit_of_a_user_is_refused);
    tcase_add_test(facts, a_connection_above_the_limit_of_all_is_refused_until_one_ends);
    tcase_add_test(facts, some_connections_are_kept_for_administrators_and_for_users_with_few);
    tcase_add_test(facts, a_connection_that_ends_at_any_byte_leaves_nothing_behind);
    tcase_add_test(facts, without_memory_a_connection_ends_and_the_next_is_served);
    tcase_add_test(facts, without_descriptors_streams_go_on_and_accepting_comes_back);
    tcase_add_test(facts, a_deadline_set_after_a_long_block_is_not_shortened);
    tcase_add_test(facts, at_shutdown_every_peer_gets_an_error);
    tcase_add_test(facts, only_legal_moves_are_legal);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
