/* Peers: which may connect, what they may send, and what happens to those that do not read. */
#include "base/clean.h"
#include "sensor/peers.h"
#include "unit.h"
#include <sotto/sense.pb-c.h>
#include <string.h>
#include <sys/socket.h>

static struct peers peers;

static void make(void)
{
    peers_init(&peers, (uid_t)-1);
}

static void end(void)
{
    peers_finish(&peers);
}

/* Adds a peer and returns its end of the connection. */
static int connect_peer(void)
{
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    peers_add(&peers, ends[0]);
    return ends[1];
}

static void say_rate(int peer, uint32_t period_ms)
{
    Sotto__Sense__ToSense order = SOTTO__SENSE__TO_SENSE__INIT;
    Sotto__Sense__Rate rate = SOTTO__SENSE__RATE__INIT;
    struct buf out;

    rate.period_ms = period_ms;
    order.body_case = SOTTO__SENSE__TO_SENSE__BODY_RATE;
    order.rate = &rate;
    buf_init(&out, MEM_WIRE, 4096);
    ck_assert_int_eq(wire_pack(&order.base, &out), 0);
    ck_assert_int_eq(send(peer, buf_data(&out), out.n, 0), (ssize_t)out.n);
    buf_finish(&out);
}

START_TEST(without_peers_there_is_no_rate)
{
    ck_assert_uint_eq(peers_rate_ms(&peers), 0);
}
END_TEST

START_TEST(a_peer_without_a_request_gets_a_sample_per_second)
{
    connect_peer();

    ck_assert_uint_eq(peers_rate_ms(&peers), 1000);
}
END_TEST

START_TEST(the_fastest_request_counts_and_leaves_with_its_peer)
{
    int first = connect_peer();
    int second = connect_peer();

    say_rate(first, 50);
    say_rate(second, 200);

    ck_assert(peers_receive(&peers, 0));
    ck_assert(peers_receive(&peers, 1));
    ck_assert_uint_eq(peers_rate_ms(&peers), 50);
    close(first);
    ck_assert(!peers_receive(&peers, 0));
    ck_assert_uint_eq(peers_rate_ms(&peers), 200);
}
END_TEST

START_TEST(a_period_of_zero_is_the_fastest)
{
    say_rate(connect_peer(), 0);

    ck_assert(peers_receive(&peers, 0));

    ck_assert_uint_eq(peers_rate_ms(&peers), 10);
}
END_TEST

static const struct {
    const char *bytes;
    size_t n;
} bad_rows[] = {
    { "\x00\x00\x00\x00", 4 },                 /* a message without a body */
    { "\x04\x00\x00\x00\xff\xff\xff\xff", 8 }, /* not a message */
    { "\x01\x10\x00\x00", 4 },                 /* announces 4097 bytes */
};

START_TEST(other_messages_end_the_connection)
{
    int peer = connect_peer();
    char byte;

    ck_assert_int_eq(send(peer, bad_rows[_i].bytes, bad_rows[_i].n, 0), (ssize_t)bad_rows[_i].n);

    ck_assert(!peers_receive(&peers, 0));

    ck_assert_uint_eq(peers.n, 0);
    ck_assert_int_le(recv(peer, &byte, 1, 0), 0);
}
END_TEST

START_TEST(half_a_message_is_waited_for)
{
    int peer = connect_peer();

    ck_assert_int_eq(send(peer, "\x04\x00\x00\x00\x0a", 5, 0), 5);
    ck_assert(peers_receive(&peers, 0));
    ck_assert_int_eq(send(peer, "\x02\x08\x14", 3, 0), 3);
    ck_assert(peers_receive(&peers, 0));

    ck_assert_uint_eq(peers_rate_ms(&peers), 20);
}
END_TEST

START_TEST(one_peer_too_many_is_refused)
{
    char byte;

    for (uint32_t i = 0; i < PEERS_MAX; i++) {
        connect_peer();
    }

    ck_assert_int_eq(recv(connect_peer(), &byte, 1, 0), 0);
    ck_assert_uint_eq(peers.n, PEERS_MAX);
}
END_TEST

START_TEST(a_peer_that_does_not_read_is_disconnected_at_a_bounded_buffer)
{
    static uint8_t frame[64 << 10];
    uint32_t n = 0;

    connect_peer();
    while (peers.n > 0 && n < 1000) {
        ck_assert_uint_le(peers.all[0].out.n, PEERS_OUT_MAX);
        peers_send(&peers, 0, frame, sizeof(frame));
        n++;
    }

    ck_assert_uint_eq(peers.n, 0);
    ck_assert_uint_lt(n, 100);
}
END_TEST

START_TEST(sent_frames_arrive)
{
    int peer = connect_peer();
    char got[5];

    peers_send(&peers, 0, "hello", 5);

    ck_assert_int_eq(recv(peer, got, 5, 0), 5);
    ck_assert_mem_eq(got, "hello", 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peers");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, make, end);
    tcase_add_test(facts, without_peers_there_is_no_rate);
    tcase_add_test(facts, a_peer_without_a_request_gets_a_sample_per_second);
    tcase_add_test(facts, the_fastest_request_counts_and_leaves_with_its_peer);
    tcase_add_test(facts, a_period_of_zero_is_the_fastest);
    tcase_add_loop_test(facts, other_messages_end_the_connection, 0, (int)COUNTOF(bad_rows));
    tcase_add_test(facts, half_a_message_is_waited_for);
    tcase_add_test(facts, one_peer_too_many_is_refused);
    tcase_add_test(facts, a_peer_that_does_not_read_is_disconnected_at_a_bounded_buffer);
    tcase_add_test(facts, sent_frames_arrive);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
