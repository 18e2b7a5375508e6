/* Unpacking under a ceiling, packing into a buffer with one. */
#include "base/clean.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include "unit.h"
#include <errno.h>
#include <sotto/v1/sotto.pb-c.h>

static struct wire wire;

static void wire_up(void)
{
    wire_init(&wire, MEM_WIRE);
}

static void wire_down(void)
{
    struct mem_account account;

    wire_finish(&wire);
    mem_read(MEM_WIRE, &account);
    ck_assert_uint_eq(account.bytes, 0);
}

static int unpack(const void *bytes, size_t n, ProtobufCMessage **ret_message)
{
    const struct frame frame = { .body = bytes, .n = n };

    return wire_unpack(&wire, &sotto__v1__client_frame__descriptor, &frame, ret_message);
}

START_TEST(a_packed_message_unpacks_to_the_same_values)
{
    Sotto__V1__Hello hello = SOTTO__V1__HELLO__INIT;
    Sotto__V1__ClientFrame out = SOTTO__V1__CLIENT_FRAME__INIT;
    const uint8_t want[] = { 11, 0, 0, 0, 0x12, 9, 8, 1, 16, 1, 26, 3, 'h', 'e', 'x' };
    struct buf buf;
    ProtobufCMessage *message;

    hello.version_min = 1;
    hello.version_max = 1;
    hello.client = (char[]){ "hex" };
    out.body_case = SOTTO__V1__CLIENT_FRAME__BODY_HELLO;
    out.hello = &hello;
    buf_init(&buf, MEM_MISC, 1000);

    ck_assert_int_eq(wire_pack(&out.base, &buf), BUF_OK);

    ck_assert_uint_eq(buf.n, sizeof(want));
    ck_assert_mem_eq(buf_data(&buf), want, sizeof(want));
    ck_assert_int_eq(unpack(buf_data(&buf) + 4, buf.n - 4, &message), WIRE_OK);
    ck_assert_str_eq(((Sotto__V1__ClientFrame *)message)->hello->client, "hex");
    buf_finish(&buf);
}
END_TEST

START_TEST(a_group_is_malformed)
{
    const uint8_t bytes[] = { 0x13, 0x14 };
    ProtobufCMessage *message;

    ck_assert_int_eq(unpack(bytes, sizeof(bytes), &message), WIRE_MALFORMED);
}
END_TEST

START_TEST(an_empty_frame_is_a_message_without_a_body)
{
    ProtobufCMessage *message;

    ck_assert_int_eq(unpack("", 0, &message), WIRE_OK);
    ck_assert_int_eq(((Sotto__V1__ClientFrame *)message)->body_case, SOTTO__V1__CLIENT_FRAME__BODY__NOT_SET);
}
END_TEST

/* The frame is one megabyte of empty chat messages: two bytes each on the wire, 60 times that in memory. */
START_TEST(a_frame_that_would_multiply_is_too_much)
{
    enum { N = 1 << 20 };
    uint8_t *bytes = malloc(N + 16);
    uint8_t *at = bytes;
    ProtobufCMessage *message;
    struct mem_account account;

    at = memcpy(at, (const uint8_t[]){ 0x1a, 0x84, 0x80, 0x40, 0x22, 0x80, 0x80, 0x40 }, 8);
    for (size_t i = 0; i < N; i += 2) {
        bytes[8 + i] = 0x0a;
        bytes[9 + i] = 0;
    }

    ck_assert_int_eq(unpack(bytes, N + 8, &message), WIRE_TOO_MUCH);

    mem_read(MEM_WIRE, &account);
    ck_assert_uint_le(account.peak_bytes, (N + 16) * LIMIT_UNPACK_FACTOR + 2 * LIMIT_UNPACK_EXTRA);
    ck_assert_int_eq(unpack("", 0, &message), WIRE_OK);
    free(bytes);
}
END_TEST

START_TEST(the_longest_prompt_of_token_ids_fits)
{
    enum { N = 131072 };
    static uint32_t ids[N];
    Sotto__V1__TokenIds tokens = SOTTO__V1__TOKEN_IDS__INIT;
    Sotto__V1__Generate generate = SOTTO__V1__GENERATE__INIT;
    Sotto__V1__ClientFrame out = SOTTO__V1__CLIENT_FRAME__INIT;
    struct buf buf;
    ProtobufCMessage *message;

    for (uint32_t i = 0; i < N; i++) {
        ids[i] = i;
    }
    tokens.n_ids = N;
    tokens.ids = ids;
    generate.input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
    generate.tokens = &tokens;
    out.body_case = SOTTO__V1__CLIENT_FRAME__BODY_GENERATE;
    out.generate = &generate;
    buf_init(&buf, MEM_MISC, LIMIT_FRAME + FRAME_HEAD_BYTES);

    ck_assert_int_eq(wire_pack(&out.base, &buf), BUF_OK);
    ck_assert_int_eq(unpack(buf_data(&buf) + 4, buf.n - 4, &message), WIRE_OK);

    ck_assert_uint_eq(((Sotto__V1__ClientFrame *)message)->generate->tokens->ids[N - 1], N - 1);
    buf_finish(&buf);
}
END_TEST

/* Short texts need few bytes of a frame and many of memory: a long chat of "ok" and "yes" must not be refused. */
START_TEST(the_largest_request_of_the_shortest_fields_fits)
{
    static Sotto__V1__ChatMessage messages[LIMIT_MESSAGES];
    static Sotto__V1__ChatMessage *message_list[LIMIT_MESSAGES];
    static Sotto__V1__LogitBias biases[LIMIT_BIASES];
    static Sotto__V1__LogitBias *bias_list[LIMIT_BIASES];
    static ProtobufCBinaryData tools[LIMIT_TOOLS];
    static ProtobufCBinaryData stops[LIMIT_STOPS];
    static char role[] = "u";
    Sotto__V1__Chat chat = SOTTO__V1__CHAT__INIT;
    Sotto__V1__Sampling sampling = SOTTO__V1__SAMPLING__INIT;
    Sotto__V1__Generate generate = SOTTO__V1__GENERATE__INIT;
    Sotto__V1__ClientFrame out = SOTTO__V1__CLIENT_FRAME__INIT;
    const ProtobufCBinaryData letter = { .len = 1, .data = (uint8_t *)role };
    ProtobufCMessage *message;
    struct buf buf;

    for (size_t i = 0; i < LIMIT_MESSAGES; i++) {
        sotto__v1__chat_message__init(&messages[i]);
        messages[i].role = role;
        messages[i].content = letter;
        message_list[i] = &messages[i];
    }
    for (uint32_t i = 0; i < LIMIT_BIASES; i++) {
        sotto__v1__logit_bias__init(&biases[i]);
        biases[i].id = i;
        bias_list[i] = &biases[i];
    }
    for (size_t i = 0; i < LIMIT_TOOLS; i++) {
        tools[i] = letter;
    }
    for (size_t i = 0; i < LIMIT_STOPS; i++) {
        stops[i] = letter;
    }
    chat.n_messages = LIMIT_MESSAGES;
    chat.messages = message_list;
    chat.n_tools = LIMIT_TOOLS;
    chat.tools = tools;
    sampling.n_bias = LIMIT_BIASES;
    sampling.bias = bias_list;
    generate.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    generate.chat = &chat;
    generate.sampling = &sampling;
    generate.n_stop = LIMIT_STOPS;
    generate.stop = stops;
    out.body_case = SOTTO__V1__CLIENT_FRAME__BODY_GENERATE;
    out.generate = &generate;
    buf_init(&buf, MEM_MISC, LIMIT_FRAME + FRAME_HEAD_BYTES);

    ck_assert_int_eq(wire_pack(&out.base, &buf), BUF_OK);

    ck_assert_int_eq(unpack(buf_data(&buf) + FRAME_HEAD_BYTES, buf.n - FRAME_HEAD_BYTES, &message), WIRE_OK);
    buf_finish(&buf);
}
END_TEST

START_TEST(a_buffer_without_room_is_left_as_it_was)
{
    Sotto__V1__ClientFrame out = SOTTO__V1__CLIENT_FRAME__INIT;
    struct buf buf;

    out.stream = 300; /* three bytes */
    buf_init(&buf, MEM_MISC, 6);

    ck_assert_int_eq(wire_pack(&out.base, &buf), BUF_FULL);
    ck_assert_uint_eq(buf.n, 0);

    buf.max = 7;
    ck_assert_int_eq(wire_pack(&out.base, &buf), BUF_OK);
    ck_assert_uint_eq(buf.n, 7);
    buf_finish(&buf);
}
END_TEST

START_TEST(missing_memory_is_not_blamed_on_the_frame)
{
    const uint8_t bytes[] = { 8, 1 };
    ProtobufCMessage *message;

    mem_fail_nth(0);

    ck_assert_int_eq(unpack(bytes, sizeof(bytes), &message), -ENOMEM);
    mem_fail_nth(-1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("proto/wire");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, wire_up, wire_down);
    tcase_add_test(facts, a_packed_message_unpacks_to_the_same_values);
    tcase_add_test(facts, a_group_is_malformed);
    tcase_add_test(facts, an_empty_frame_is_a_message_without_a_body);
    tcase_add_test(facts, a_frame_that_would_multiply_is_too_much);
    tcase_add_test(facts, the_longest_prompt_of_token_ids_fits);
    tcase_add_test(facts, the_largest_request_of_the_shortest_fields_fits);
    tcase_add_test(facts, a_buffer_without_room_is_left_as_it_was);
    tcase_add_test(facts, missing_memory_is_not_blamed_on_the_frame);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
