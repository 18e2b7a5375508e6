/*
 * The opening of a connection, frames whole and in pieces, labels.
 */
#include "fixture.h"
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

/* Returns a Hello of version 1. */
static Sotto__V1__Hello hello_1(void)
{
    Sotto__V1__Hello hello = SOTTO__V1__HELLO__INIT;

    hello.version_min = 1;
    hello.version_max = 1;
    return hello;
}

/* Returns a frame of @n bytes, all of one unknown field. */
static uint8_t *padded_frame(uint32_t n)
{
    uint8_t *bytes = calloc(1, n + 4u);

    frame_head(bytes, n);
    bytes[4] = 0xfa; /* field 31, bytes */
    bytes[5] = 0x01;
    for (size_t i = 0, left = n - 7u; i < 5; i++, left >>= 7) {
        bytes[6 + i] = (uint8_t)((left & 0x7f) | (i < 4 ? 0x80 : 0));
    }
    /* the length of the field has five bytes, more than needed but legal: 2 are the tag, 5 the length, the rest the
     * field */
    return bytes;
}

/* ---- the opening */

START_TEST(hello_is_answered_by_welcome_with_the_peers_limits)
{
    Sotto__V1__Hello hello = hello_1();
    const Sotto__V1__Welcome *welcome;

    client_send(&fixture, &one, 0, SOTTO__V1__CLIENT_FRAME__BODY_HELLO, &hello);
    welcome = client_expect(&fixture, &one, HAS(WELCOME), 0)->welcome;

    ck_assert_uint_eq(welcome->version, 1);
    ck_assert_uint_eq(strlen(welcome->instance), 32);
    ck_assert_uint_eq(welcome->limits->frame_bytes, LIMIT_FRAME);
    ck_assert_uint_eq(welcome->limits->answer_tokens, DEFAULT_ANSWER_TOKENS);
    ck_assert(welcome->limits->admin);
}
END_TEST

START_TEST(a_request_before_hello_ends_its_connection_alone)
{
    client_hello(&fixture, &two);

    client_generate(&fixture, &one, 1);

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, true);
    client_expect_end(&fixture, &one);
    client_generate(&fixture, &two, 1);
    fake_accept(fake_stream(&fixture.hub, 0));
    client_expect(&fixture, &two, HAS(ACCEPTED), 1);
}
END_TEST

START_TEST(a_peer_without_hello_is_disconnected)
{
    fixture.ipc->limits.hello_ms = 50;
    client_close(&two);
    client_connect(&fixture, &two);

    client_expect_error(&fixture, &two, 0, SOTTO__V1__CODE__CODE_DEADLINE_EXCEEDED, true);
    client_expect_end(&fixture, &two);
}
END_TEST

START_TEST(a_second_hello_is_fatal)
{
    Sotto__V1__Hello hello = hello_1();

    client_hello(&fixture, &one);
    client_send(&fixture, &one, 0, SOTTO__V1__CLIENT_FRAME__BODY_HELLO, &hello);

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, true);
    client_expect_end(&fixture, &one);
}
END_TEST

START_TEST(hello_on_a_stream_is_fatal)
{
    Sotto__V1__Hello hello = hello_1();

    client_send(&fixture, &one, 5, SOTTO__V1__CLIENT_FRAME__BODY_HELLO, &hello);

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, true);
    client_expect_end(&fixture, &one);
}
END_TEST

START_TEST(a_later_version_is_refused_with_both_ranges)
{
    Sotto__V1__Hello hello = hello_1();
    const Sotto__V1__Error *error;

    hello.version_min = 2;
    hello.version_max = 3;
    client_send(&fixture, &one, 0, SOTTO__V1__CLIENT_FRAME__BODY_HELLO, &hello);

    error = client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_UNIMPLEMENTED, true);
    ck_assert_ptr_nonnull(strstr(error->message, "speaks version 1"));
    ck_assert_ptr_nonnull(strstr(error->message, "2 to 3"));
}
END_TEST

START_TEST(a_hello_out_of_range_is_fatal_and_names_the_field)
{
    Sotto__V1__Hello hello = hello_1();

    hello.version_min = 0;
    client_send(&fixture, &one, 0, SOTTO__V1__CLIENT_FRAME__BODY_HELLO, &hello);

    ck_assert_str_eq(client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, true)->field,
                     "hello.version_min");
}
END_TEST

/* ---- frames (O16) */

START_TEST(a_claimed_length_sets_no_memory_aside)
{
    static struct client many[50];
    static const uint8_t head[] = { 0xff, 0xff, 0xff, 0xff };
    struct mem_account before;
    struct mem_account after;

    mem_read(MEM_WIRE, &before);
    for (size_t i = 0; i < COUNTOF(many); i++) {
        client_connect(&fixture, &many[i]);
        client_send_bytes(&fixture, &many[i], head, sizeof(head));
    }
    for (size_t i = 0; i < COUNTOF(many); i++) {
        client_expect_error(&fixture, &many[i], 0, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, true);
        client_expect_end(&fixture, &many[i]);
        client_close(&many[i]);
    }
    mem_read(MEM_WIRE, &after);

    ck_assert_uint_lt(after.peak_bytes, before.bytes + 50 * 8192);
}
END_TEST

START_TEST(before_welcome_a_frame_has_4096_bytes_at_most)
{
    uint8_t *most = padded_frame(LIMIT_FRAME_NEW);
    uint8_t *beyond = padded_frame(LIMIT_FRAME_NEW + 1);

    client_send_bytes(&fixture, &one, most, LIMIT_FRAME_NEW + 4);
    client_send_bytes(&fixture, &two, beyond, LIMIT_FRAME_NEW + 5);

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_FAILED_PRECONDITION, true);
    client_expect_error(&fixture, &two, 0, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, true);
    free(most);
    free(beyond);
}
END_TEST

START_TEST(after_welcome_the_limit_is_taken_and_one_more_is_not)
{
    uint8_t *most = padded_frame(LIMIT_FRAME);
    uint8_t *beyond = padded_frame(LIMIT_FRAME + 1);

    client_hello(&fixture, &one);
    client_send_bytes(&fixture, &one, most, LIMIT_FRAME + 4u);
    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_UNIMPLEMENTED, false);
    client_send_bytes(&fixture, &one, beyond, 4);

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, true);
    client_expect_end(&fixture, &one);
    free(most);
    free(beyond);
}
END_TEST

START_TEST(a_frame_may_come_one_byte_at_a_time)
{
    static const uint8_t hello[] = { 0x0b, 0, 0, 0, 0x12, 0x09, 0x08, 0x01, 0x10, 0x01, 0x1a, 0x03, 'h', 'e', 'x' };

    for (size_t i = 0; i < sizeof(hello); i++) {
        client_send_bytes(&fixture, &one, hello + i, 1);
        fixture_iterate(&fixture);
    }

    client_expect(&fixture, &one, HAS(WELCOME), 0);
}
END_TEST

START_TEST(several_frames_may_come_in_one_write_and_end_within_the_next_head)
{
    static const uint8_t bytes[] = {
        0x0b, 0, 0, 0, 0x12, 0x09, 0x08, 0x01, 0x10, 0x01, 0x1a, 0x03, 'h', 'e', 'x', /* hello */
        0x04, 0, 0, 0, 0x08, 0x01, 0x42, 0x00,                                        /* 1: list_models */
        0x04, 0,                                                                      /* half a head */
    };
    static const uint8_t rest[] = { 0, 0, 0x08, 0x02, 0x42, 0x00 }; /* 2: list_models */

    client_send_bytes(&fixture, &one, bytes, sizeof(bytes));
    client_expect(&fixture, &one, HAS(WELCOME), 0);
    client_expect(&fixture, &one, HAS(MODELS), 1);
    client_send_bytes(&fixture, &one, rest, sizeof(rest));

    client_expect(&fixture, &one, HAS(MODELS), 2);
}
END_TEST

START_TEST(an_empty_frame_is_an_unknown_request)
{
    static const uint8_t empty[] = { 0, 0, 0, 0 };

    client_hello(&fixture, &one);
    client_send_bytes(&fixture, &one, empty, sizeof(empty));

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_UNIMPLEMENTED, false);
    client_generate(&fixture, &one, 1);
    ck_assert_uint_eq(fixture.hub.n_opened, 1);
}
END_TEST

START_TEST(an_incomplete_frame_has_a_deadline)
{
    static const uint8_t half[] = { 9, 0, 0, 0, 1 };

    fixture.ipc->limits.half_frame_ms = 50;
    client_hello(&fixture, &one);
    client_send_bytes(&fixture, &one, half, sizeof(half));

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_DEADLINE_EXCEEDED, true);
    client_expect_end(&fixture, &one);
}
END_TEST

START_TEST(silence_between_frames_has_no_deadline)
{
    const struct conn *conn;

    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 1);

    conn = container_of(list_first(&fixture.ipc->conns), struct conn, link);
    ck_assert_int_eq(conn->state, CONN_READY);
    for (enum conn_due due = 0; due < DUE_COUNT; due++) {
        ck_assert_uint_eq(conn->due_ms[due], 0);
    }
    ck_assert(!uv_is_active((const uv_handle_t *)&conn->timer));
}
END_TEST

START_TEST(garbage_ends_its_connection_and_no_other)
{
    static const uint8_t garbage[] = { 5, 0, 0, 0, 0x0b, 0xff, 0xff, 0xff, 0xff };

    client_hello(&fixture, &one);
    client_hello(&fixture, &two);
    client_generate(&fixture, &two, 1);
    client_send_bytes(&fixture, &one, garbage, sizeof(garbage));

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, true);
    client_expect_end(&fixture, &one);
    fake_delta(fake_stream(&fixture.hub, 0), 1, 3);
    client_expect(&fixture, &two, HAS(DELTA), 1);
}
END_TEST

START_TEST(a_frame_that_multiplies_in_memory_is_refused)
{
    enum { N = 1 << 20 };
    uint8_t *bytes = malloc(N + 4 + 16);
    size_t at = 4;

    /* empty watch.topics, many times: each has two bytes and costs a pointer and a string */
    bytes[at++] = 0x62;
    for (size_t i = 0, left = N - 5; i < 4; i++, left >>= 7) {
        bytes[at++] = (uint8_t)((left & 0x7f) | (i < 3 ? 0x80 : 0));
    }
    while (at + 2 <= N + 4) {
        bytes[at++] = 0x0a;
        bytes[at++] = 0x00;
    }
    frame_head(bytes, (uint32_t)(at - 4));
    bytes[5] = (uint8_t)(((at - 9) & 0x7f) | 0x80);
    client_hello(&fixture, &one);
    client_send_bytes(&fixture, &one, bytes, at);

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, true);
    client_expect_end(&fixture, &one);
    free(bytes);
}
END_TEST

/* ---- labels (O13) */

START_TEST(a_label_in_use_is_refused_and_the_first_request_goes_on)
{
    const Sotto__V1__Error *error;

    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 7);
    client_generate(&fixture, &one, 7);

    error = client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_ALREADY_EXISTS, false);
    ck_assert_uint_eq(error->about_stream, 7);
    ck_assert_uint_eq(fixture.hub.n_opened, 1);
    fake_delta(fake_stream(&fixture.hub, 0), 1, 1);
    client_expect(&fixture, &one, HAS(DELTA), 7);
}
END_TEST

START_TEST(a_label_is_free_again_after_its_last_frame)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 7);
    fake_done(fake_stream(&fixture.hub, 0), SOTTO__V1__FINISH_REASON__FINISH_END);
    client_expect(&fixture, &one, HAS(DONE), 7);

    client_generate(&fixture, &one, 7);

    ck_assert_uint_eq(fixture.hub.n_opened, 2);
}
END_TEST

START_TEST(labels_of_two_connections_are_independent)
{
    client_hello(&fixture, &one);
    client_hello(&fixture, &two);
    client_generate(&fixture, &one, 7);
    client_generate(&fixture, &two, 7);
    client_cancel(&fixture, &two, 7);

    client_expect(&fixture, &two, HAS(DONE), 7);

    ck_assert(!fake_stream(&fixture.hub, 0)->cancelled);
    fake_delta(fake_stream(&fixture.hub, 0), 1, 1);
    client_expect(&fixture, &one, HAS(DELTA), 7);
}
END_TEST

START_TEST(a_request_on_stream_0_is_refused_and_costs_nothing_else)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, 0);

    client_expect_error(&fixture, &one, 0, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, false);
    client_generate(&fixture, &one, 1);
    ck_assert_uint_eq(fixture.hub.n_opened, 1);
}
END_TEST

START_TEST(the_largest_label_is_a_label)
{
    client_hello(&fixture, &one);
    client_generate(&fixture, &one, UINT32_MAX);
    fake_accept(fake_stream(&fixture.hub, 0));

    client_expect(&fixture, &one, HAS(ACCEPTED), UINT32_MAX);
}
END_TEST

START_TEST(cancel_and_credit_of_no_request_are_ignored)
{
    Sotto__V1__Credit credit = SOTTO__V1__CREDIT__INIT;

    client_hello(&fixture, &one);
    client_cancel(&fixture, &one, 3);
    client_cancel(&fixture, &one, 0);
    client_send(&fixture, &one, 4, SOTTO__V1__CLIENT_FRAME__BODY_CREDIT, &credit);

    client_expect_silence(&fixture, &one, 20);
}
END_TEST

START_TEST(one_connection_has_64_open_requests_at_most)
{
    client_hello(&fixture, &one);
    for (uint32_t label = 1; label <= LIMIT_STREAMS; label++) {
        client_generate(&fixture, &one, label);
    }
    client_generate(&fixture, &one, 99);

    client_expect_error(&fixture, &one, 99, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, false);
    ck_assert_uint_eq(fixture.hub.n_opened, LIMIT_STREAMS);
}
END_TEST

START_TEST(a_bad_field_ends_the_request_and_is_named)
{
    Sotto__V1__Generate generate = SOTTO__V1__GENERATE__INIT;

    client_hello(&fixture, &one);
    client_send(&fixture, &one, 1, SOTTO__V1__CLIENT_FRAME__BODY_GENERATE, &generate);

    ck_assert_str_eq(client_expect_error(&fixture, &one, 1, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, false)->field,
                     "generate");
    client_generate(&fixture, &one, 1);
    ck_assert_uint_eq(fixture.hub.n_opened, 1);
}
END_TEST

START_TEST(a_refusal_of_the_hub_is_passed_on_with_its_retry_time)
{
    const Sotto__V1__Error *error;

    client_hello(&fixture, &one);
    fixture.hub.refuse = SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    client_generate(&fixture, &one, 1);

    error = client_expect_error(&fixture, &one, 1, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, false);
    ck_assert_uint_eq(error->retry_after_ms, 250);
}
END_TEST

START_TEST(a_fault_of_the_hub_is_an_internal_error_of_that_request)
{
    client_hello(&fixture, &one);
    fixture.hub.refuse = -5;
    client_generate(&fixture, &one, 1);

    client_expect_error(&fixture, &one, 1, SOTTO__V1__CODE__CODE_INTERNAL, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conn");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_set_timeout(facts, 20);
    tcase_add_test(facts, hello_is_answered_by_welcome_with_the_peers_limits);
    tcase_add_test(facts, a_request_before_hello_ends_its_connection_alone);
    tcase_add_test(facts, a_peer_without_hello_is_disconnected);
    tcase_add_test(facts, a_second_hello_is_fatal);
    tcase_add_test(facts, hello_on_a_stream_is_fatal);
    tcase_add_test(facts, a_later_version_is_refused_with_both_ranges);
    tcase_add_test(facts, a_hello_out_of_range_is_fatal_and_names_the_field);
    tcase_add_test(facts, a_claimed_length_sets_no_memory_aside);
    tcase_add_test(facts, before_welcome_a_frame_has_4096_bytes_at_most);
    tcase_add_test(facts, after_welcome_the_limit_is_taken_and_one_more_is_not);
    tcase_add_test(facts, a_frame_may_come_one_byte_at_a_time);
    tcase_add_test(facts, several_frames_may_come_in_one_write_and_end_within_the_next_head);
    tcase_add_test(facts, an_empty_frame_is_an_unknown_request);
    tcase_add_test(facts, an_incomplete_frame_has_a_deadline);
    tcase_add_test(facts, silence_between_frames_has_no_deadline);
    tcase_add_test(facts, garbage_ends_its_connection_and_no_other);
    tcase_add_test(facts, a_frame_that_multiplies_in_memory_is_refused);
    tcase_add_test(facts, a_label_in_use_is_refused_and_the_first_request_goes_on);
    tcase_add_test(facts, a_label_is_free_again_after_its_last_frame);
    tcase_add_test(facts, labels_of_two_connections_are_independent);
    tcase_add_test(facts, a_request_on_stream_0_is_refused_and_costs_nothing_else);
    tcase_add_test(facts, the_largest_label_is_a_label);
    tcase_add_test(facts, cancel_and_credit_of_no_request_are_ignored);
    tcase_add_test(facts, one_connection_has_64_open_requests_at_most);
    tcase_add_test(facts, a_bad_field_ends_the_request_and_is_named);
    tcase_add_test(facts, a_refusal_of_the_hub_is_passed_on_with_its_retry_time);
    tcase_add_test(facts, a_fault_of_the_hub_is_an_internal_error_of_that_request);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
