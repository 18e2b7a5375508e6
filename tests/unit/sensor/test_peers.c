/* Who may sit at the desk, what they may say, and what becomes of those who do not take what they are told. */
#include "sensor/peers.h"
#include "unit.h"
#include <sotto/sense.pb-c.h>
#include <string.h>
#include <sys/socket.h>

/* A desk with one client, whose end is @ret_end. */
static void begin(struct peers *peers, int *ret_end)
{
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    peers_init(peers, (uid_t)-1);
    peers_add(peers, ends[0]);
    *ret_end = ends[1];
}

static void say_rate(int end, uint32_t period_ms)
{
    Sotto__Sense__ToSense order = SOTTO__SENSE__TO_SENSE__INIT;
    Sotto__Sense__Rate rate = SOTTO__SENSE__RATE__INIT;
    struct buf out;

    rate.period_ms = period_ms;
    order.body_case = SOTTO__SENSE__TO_SENSE__BODY_RATE;
    order.rate = &rate;
    buf_init(&out, MEM_WIRE, 4096);
    ck_assert_int_eq(wire_pack(&order.base, &out), 0);
    ck_assert_int_eq(send(end, buf_data(&out), out.n, 0), (ssize_t)out.n);
    buf_finish(&out);
}

START_TEST(without_peers_there_is_no_rate)
{
    struct peers peers;

    peers_init(&peers, (uid_t)-1);

    ck_assert_uint_eq(peers_rate_ms(&peers), 0);
    peers_finish(&peers);
}
END_TEST

START_TEST(a_peer_without_a_request_gets_a_sample_per_second)
{
    struct peers peers;
    int end;

    begin(&peers, &end);

    ck_assert_uint_eq(peers_rate_ms(&peers), 1000);
    peers_finish(&peers);
    close(end);
}
END_TEST

START_TEST(the_fastest_request_counts_and_leaves_with_its_peer)
{
    struct peers peers;
    int ends[2];
    int end;

    begin(&peers, &end);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    peers_add(&peers, ends[0]);
    say_rate(end, 50);
    say_rate(ends[1], 200);

    ck_assert(peers_receive(&peers, 0));
    ck_assert(peers_receive(&peers, 1));
    ck_assert_uint_eq(peers_rate_ms(&peers), 50);
    close(end);
    ck_assert(!peers_receive(&peers, 0));
    ck_assert_uint_eq(peers_rate_ms(&peers), 200);
    peers_finish(&peers);
    close(ends[1]);
}
END_TEST

START_TEST(a_period_of_zero_is_the_fastest)
{
    struct peers peers;
    int end;

    begin(&peers, &end);
    say_rate(end, 0);

    ck_assert(peers_receive(&peers, 0));

    ck_assert_uint_eq(peers_rate_ms(&peers), 10);
    peers_finish(&peers);
    close(end);
}
END_TEST

START_TEST(other_messages_end_the_connection)
{
    static const struct {
        const char *bytes;
        size_t n;
    } rows[] = {
        { "\x00\x00\x00\x00", 4 },                 /* a message without a body */
        { "\x04\x00\x00\x00\xff\xff\xff\xff", 8 }, /* no message */
        { "\x01\x10\x00\x00", 4 },                 /* 4097 bytes are to come */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct peers peers;
        char byte;
        int end;

        begin(&peers, &end);
        ck_assert_int_eq(send(end, rows[i].bytes, rows[i].n, 0), (ssize_t)rows[i].n);

        ck_assert(!peers_receive(&peers, 0));

        ck_assert_uint_eq(peers.n, 0);
        ck_assert_int_le(recv(end, &byte, 1, 0), 0);
        peers_finish(&peers);
        close(end);
    }
}
END_TEST

START_TEST(half_a_message_is_waited_for)
{
    struct peers peers;
    int end;

    begin(&peers, &end);
    ck_assert_int_eq(send(end, "\x04\x00\x00\x00\x0a", 5, 0), 5);
    ck_assert(peers_receive(&peers, 0));
    ck_assert_int_eq(send(end, "\x02\x08\x14", 3, 0), 3);
    ck_assert(peers_receive(&peers, 0));

    ck_assert_uint_eq(peers_rate_ms(&peers), 20);
    peers_finish(&peers);
    close(end);
}
END_TEST

START_TEST(one_peer_too_many_is_refused)
{
    struct peers peers;
    int ends[2 * (PEERS_MAX + 1)];
    char byte;

    peers_init(&peers, (uid_t)-1);
    for (uint32_t i = 0; i <= PEERS_MAX; i++) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, &ends[2 * i]), 0);
        peers_add(&peers, ends[2 * i]);
    }

    ck_assert_uint_eq(peers.n, PEERS_MAX);
    ck_assert_int_eq(recv(ends[2 * PEERS_MAX + 1], &byte, 1, 0), 0);
    peers_finish(&peers);
}
END_TEST

START_TEST(a_peer_that_does_not_read_is_disconnected_at_a_bounded_buffer)
{
    static uint8_t frame[64 << 10];
    struct peers peers;
    uint32_t n = 0;
    int end;

    begin(&peers, &end);
    while (peers.n > 0 && n < 1000) {
        ck_assert_uint_le(peers.all[0].out.n, PEERS_OUT_MAX);
        peers_send(&peers, 0, frame, sizeof(frame));
        n++;
    }

    ck_assert_uint_eq(peers.n, 0);
    ck_assert_uint_lt(n, 100);
    peers_finish(&peers);
    close(end);
}
END_TEST

START_TEST(sent_frames_arrive)
{
    char got[5];
    struct peers peers;
    int end;

    begin(&peers, &end);

    peers_send(&peers, 0, "hello", 5);

    ck_assert_int_eq(recv(end, got, 5, 0), 5);
    ck_assert_mem_eq(got, "hello", 5);
    peers_finish(&peers);
    close(end);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("desk");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, without_peers_there_is_no_rate);
    tcase_add_test(facts, a_peer_without_a_request_gets_a_sample_per_second);
    tcase_add_test(facts, the_fastest_request_counts_and_leaves_with_its_peer);
    tcase_add_test(facts, a_period_of_zero_is_the_fastest);
    tcase_add_test(facts, other_messages_end_the_connection);
    tcase_add_test(facts, half_a_message_is_waited_for);
    tcase_add_test(facts, one_peer_too_many_is_refused);
    tcase_add_test(facts, a_peer_that_does_not_read_is_disconnected_at_a_bounded_buffer);
    tcase_add_test(facts, sent_frames_arrive);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
