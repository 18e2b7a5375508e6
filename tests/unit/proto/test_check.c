/*
 * The table of the values of requests, row by row.
 */
#include "base/clean.h"
#include "proto/check.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include "unit.h"
#include <math.h>
#include <string.h>

/*
 * Each case changes one field of a good request of its kind. The result is the path of the field at fault, or NULL for
 * "allowed".
 */
struct fixture {
    Sotto__V1__ClientFrame frame;
    Sotto__V1__Hello hello;
    Sotto__V1__Generate generate;
    Sotto__V1__TokenIds tokens;
    Sotto__V1__Chat chat;
    Sotto__V1__ChatMessage message[2];
    Sotto__V1__ChatMessage *messages[LIMIT_MESSAGES + 1];
    Sotto__V1__Sampling sampling;
    Sotto__V1__LogitBias bias[2];
    Sotto__V1__LogitBias *biases[LIMIT_BIASES + 1];
    ProtobufCBinaryData stops[LIMIT_STOPS + 1];
    Sotto__V1__Tokenize tokenize;
    Sotto__V1__Embed embed;
    Sotto__V1__LoadModel load;
    Sotto__V1__UnloadModel unload;
    Sotto__V1__Watch watch;
    char *topics[LIMIT_TOPICS + 1];
    uint32_t ids[2];
};

static ProtobufCBinaryData bytes(const char *text, size_t n)
{
    return (ProtobufCBinaryData){ .data = wire_message(text), .len = n };
}

static void fixture_hello(struct fixture *fixture)
{
    sotto__v1__hello__init(&fixture->hello);
    fixture->hello.version_min = 1;
    fixture->hello.version_max = 1;
    fixture->hello.client = wire_str("sotto-cli/0.1");
    fixture->frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_HELLO;
    fixture->frame.hello = &fixture->hello;
}

static void fixture_generate(struct fixture *fixture)
{
    sotto__v1__generate__init(&fixture->generate);
    sotto__v1__sampling__init(&fixture->sampling);
    fixture->generate.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    fixture->generate.text = bytes("Once", 4);
    fixture->generate.sampling = &fixture->sampling;
    fixture->generate.stop = fixture->stops;
    for (size_t i = 0; i < COUNTOF(fixture->stops); i++) {
        fixture->stops[i] = bytes("x", 1);
    }
    fixture->sampling.bias = fixture->biases;
    for (size_t i = 0; i < COUNTOF(fixture->bias); i++) {
        sotto__v1__logit_bias__init(&fixture->bias[i]);
        fixture->bias[i].id = (uint32_t)i;
        fixture->biases[i] = &fixture->bias[i];
    }
    fixture->frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_GENERATE;
    fixture->frame.generate = &fixture->generate;
}

static void fixture_chat(struct fixture *fixture)
{
    fixture_generate(fixture);
    sotto__v1__chat__init(&fixture->chat);
    for (size_t i = 0; i < COUNTOF(fixture->messages); i++) {
        fixture->messages[i] = &fixture->message[i % 2];
    }
    for (size_t i = 0; i < COUNTOF(fixture->message); i++) {
        sotto__v1__chat_message__init(&fixture->message[i]);
        fixture->message[i].role = wire_str(i ? "assistant" : "user");
    }
    fixture->chat.messages = fixture->messages;
    fixture->chat.n_messages = 2;
    fixture->generate.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    fixture->generate.chat = &fixture->chat;
}

static void fixture_tokens(struct fixture *fixture)
{
    fixture_generate(fixture);
    sotto__v1__token_ids__init(&fixture->tokens);
    fixture->tokens.ids = fixture->ids;
    fixture->tokens.n_ids = 1;
    fixture->generate.input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
    fixture->generate.tokens = &fixture->tokens;
}

static void fixture_tokenize(struct fixture *fixture)
{
    sotto__v1__tokenize__init(&fixture->tokenize);
    fixture->frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_TOKENIZE;
    fixture->frame.tokenize = &fixture->tokenize;
}

static void fixture_embed(struct fixture *fixture)
{
    sotto__v1__embed__init(&fixture->embed);
    fixture->embed.input_case = SOTTO__V1__EMBED__INPUT_TEXT;
    fixture->embed.text = bytes("Once", 4);
    fixture->frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_EMBED;
    fixture->frame.embed = &fixture->embed;
}

static void fixture_load(struct fixture *fixture)
{
    sotto__v1__load_model__init(&fixture->load);
    fixture->load.name = wire_str("tiny");
    fixture->frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_LOAD_MODEL;
    fixture->frame.load_model = &fixture->load;
}

static void fixture_unload(struct fixture *fixture)
{
    sotto__v1__unload_model__init(&fixture->unload);
    fixture->unload.name = wire_str("tiny");
    fixture->frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_UNLOAD_MODEL;
    fixture->frame.unload_model = &fixture->unload;
}

static void fixture_watch(struct fixture *fixture)
{
    sotto__v1__watch__init(&fixture->watch);
    fixture->watch.topics = fixture->topics;
    for (size_t i = 0; i < COUNTOF(fixture->topics); i++) {
        fixture->topics[i] = wire_str("model");
    }
    fixture->frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_WATCH;
    fixture->frame.watch = &fixture->watch;
}

/* ---- one change each */

#define CHANGE(name, statement)                                                                                        \
    static void name(struct fixture *fixture)                                                                          \
    {                                                                                                                  \
        statement;                                                                                                     \
    }
#define SAMPLE(name, field, FIELD, number)                                                                             \
    CHANGE(name, fixture->sampling.opt_##field##_case = SOTTO__V1__SAMPLING__OPT_##FIELD##_##FIELD;                    \
           fixture->sampling.field = number)
#define LENGTH(name, number)                                                                                           \
    CHANGE(name, fixture->generate.opt_max_tokens_case = SOTTO__V1__GENERATE__OPT_MAX_TOKENS_MAX_TOKENS;               \
           fixture->generate.max_tokens = number)
#define TEXT(name, chars) CHANGE(name, fixture->generate.text = bytes(chars, sizeof(chars) - 1))

static char long_name[LIMIT_NAME + 2];
static char long_text[LIMIT_TEXT + 1];
static char long_path[4097];

CHANGE(nothing, (void)fixture)
CHANGE(version_0, fixture->hello.version_min = 0)
CHANGE(version_backwards, fixture->hello.version_min = 2)
CHANGE(version_later, fixture->hello.version_max = 7)
CHANGE(client_none, fixture->hello.client = wire_str(""))
CHANGE(client_odd, fixture->hello.client = wire_str("a b"))
CHANGE(client_64, memset(long_name, 'a', LIMIT_NAME); long_name[LIMIT_NAME] = 0; fixture->hello.client = long_name)
CHANGE(client_65, memset(long_name, 'a', LIMIT_NAME + 1); fixture->hello.client = long_name)
CHANGE(model_odd, fixture->generate.model = wire_str("a\nb"))
CHANGE(input_none, fixture->generate.input_case = SOTTO__V1__GENERATE__INPUT__NOT_SET)
TEXT(text_empty, "")
TEXT(text_nul, "A\0B")
TEXT(text_nbsp, "\xC2\xA0")
TEXT(text_cut, "\xE6\xAD")
TEXT(text_cut_4, "\xF0\x9F\x98")
TEXT(text_no_tail, "\xC3\x28")
TEXT(text_overlong, "\xC0\x80")
TEXT(text_surrogate, "\xED\xA0\x80")
CHANGE(text_most, memset(long_text, 'a', sizeof(long_text)); fixture->generate.text = bytes(long_text, LIMIT_TEXT))
CHANGE(text_beyond, memset(long_text, 'a', sizeof(long_text));
       fixture->generate.text = bytes(long_text, LIMIT_TEXT + 1))
CHANGE(ids_none, fixture->tokens.n_ids = 0)
LENGTH(max_tokens_0, 0)
LENGTH(max_tokens_1, 1)
LENGTH(max_tokens_2_31, 1u << 31)
CHANGE(max_tokens_unset_0, fixture->generate.max_tokens = 0)
CHANGE(stop_empty, fixture->stops[1] = bytes("", 0); fixture->generate.n_stop = 2)
CHANGE(stop_long, fixture->stops[0] = bytes(long_text, LIMIT_STOP + 1); fixture->generate.n_stop = 1)
CHANGE(stop_half, fixture->stops[0] = bytes("\x9F", 1); fixture->generate.n_stop = 1)
CHANGE(stops_most, fixture->generate.n_stop = LIMIT_STOPS)
CHANGE(stops_many, fixture->generate.n_stop = LIMIT_STOPS + 1)
CHANGE(class_3, fixture->generate.priority = 3)
CHANGE(class_77, fixture->generate.priority = (Sotto__V1__PriorityClass)77)
CHANGE(class_minus, fixture->generate.priority = (Sotto__V1__PriorityClass)-1)
CHANGE(credit_0, fixture->generate.opt_credit_case = SOTTO__V1__GENERATE__OPT_CREDIT_CREDIT;
       fixture->generate.credit = 0)
CHANGE(key_good, fixture->generate.key = wire_str("trip/7"))
CHANGE(key_odd, fixture->generate.key = wire_str("trip 7"))
CHANGE(slide_good, fixture->generate.on_full = SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
       fixture->generate.opt_keep_tokens_case = SOTTO__V1__GENERATE__OPT_KEEP_TOKENS_KEEP_TOKENS)
CHANGE(slide_untold, fixture->generate.on_full = SOTTO__V1__ON_FULL__ON_FULL_SLIDE)
CHANGE(on_full_odd, fixture->generate.on_full = (Sotto__V1__OnFull)9)
CHANGE(keep_alone, fixture->generate.opt_keep_tokens_case = SOTTO__V1__GENERATE__OPT_KEEP_TOKENS_KEEP_TOKENS)
CHANGE(keep_to_end, fixture->generate.on_full = SOTTO__V1__ON_FULL__ON_FULL_END;
       fixture->generate.opt_keep_tokens_case = SOTTO__V1__GENERATE__OPT_KEEP_TOKENS_KEEP_TOKENS)
CHANGE(messages_none, fixture->chat.n_messages = 0)
CHANGE(messages_most, fixture->chat.n_messages = LIMIT_MESSAGES)
CHANGE(messages_many, fixture->chat.n_messages = LIMIT_MESSAGES + 1)
CHANGE(role_odd, fixture->message[1].role = wire_str("robot"))
CHANGE(role_part, fixture->message[1].role = wire_str("user, assistant"))
CHANGE(role_none, fixture->message[1].role = wire_str(""))
CHANGE(content_bad, fixture->message[1].content = bytes("ab\xFF", 3))
CHANGE(content_sum, fixture->message[0].content = bytes(long_text, LIMIT_TEXT / 2);
       fixture->message[1].content = bytes(long_text, LIMIT_TEXT / 2 + 1))
SAMPLE(temperature_0, temperature, TEMPERATURE, 0)
SAMPLE(temperature_tiny, temperature, TEMPERATURE, 1e-30f)
SAMPLE(temperature_minus, temperature, TEMPERATURE, -1)
SAMPLE(temperature_nan, temperature, TEMPERATURE, NAN)
SAMPLE(temperature_hot, temperature, TEMPERATURE, 1e6f)
SAMPLE(top_k_0, top_k, TOP_K, 0)
SAMPLE(top_k_1, top_k, TOP_K, 1)
SAMPLE(top_p_0, top_p, TOP_P, 0)
SAMPLE(top_p_1, top_p, TOP_P, 1)
SAMPLE(top_p_nan, top_p, TOP_P, NAN)
SAMPLE(min_p_1, min_p, MIN_P, 1)
SAMPLE(min_p_over, min_p, MIN_P, 1.5f)
SAMPLE(repetition_0, repetition_penalty, REPETITION_PENALTY, 0)
SAMPLE(frequency_3, frequency_penalty, FREQUENCY_PENALTY, 3)
SAMPLE(presence_minus_3, presence_penalty, PRESENCE_PENALTY, -3)
SAMPLE(window_0, penalty_window, PENALTY_WINDOW, 0)
SAMPLE(window_minus_1, penalty_window, PENALTY_WINDOW, (uint32_t)-1)
CHANGE(bias_forbid, fixture->bias[1].bias = -INFINITY; fixture->sampling.n_bias = 2)
CHANGE(bias_infinite, fixture->bias[1].bias = INFINITY; fixture->sampling.n_bias = 2)
CHANGE(bias_nan, fixture->bias[0].bias = NAN; fixture->sampling.n_bias = 2)
CHANGE(bias_twice, fixture->bias[1].id = 0; fixture->sampling.n_bias = 2)
CHANGE(biases_many, fixture->sampling.n_bias = LIMIT_BIASES + 1)
CHANGE(top_logprobs_most, fixture->sampling.logprobs = 1; fixture->sampling.top_logprobs = LIMIT_TOP_LOGPROBS)
CHANGE(top_logprobs_many, fixture->sampling.logprobs = 1; fixture->sampling.top_logprobs = LIMIT_TOP_LOGPROBS + 1)
CHANGE(top_logprobs_alone, fixture->sampling.top_logprobs = 1)
CHANGE(tokenize_bad, fixture->tokenize.text = bytes("\xC3", 1))
CHANGE(tokenize_model_odd, fixture->tokenize.model = wire_str("../x y"))
CHANGE(embed_bad, fixture->embed.text = bytes("\xC3", 1))
CHANGE(embed_model_odd, fixture->embed.model = wire_str("../x y"))
CHANGE(embed_class_odd, fixture->embed.priority = 4)
CHANGE(embed_nothing, fixture->embed.input_case = SOTTO__V1__EMBED__INPUT__NOT_SET)
CHANGE(load_nameless, fixture->load.name = wire_str(""))
CHANGE(load_absolute, fixture->load.file = wire_str("/srv/m.gguf"))
CHANGE(load_relative, fixture->load.file = wire_str("m.gguf"))
CHANGE(load_long, memset(long_path, '/', sizeof(long_path) - 1); fixture->load.file = long_path)
CHANGE(unload_nameless, fixture->unload.name = wire_str(""))
CHANGE(topics_none, fixture->watch.n_topics = 0)
CHANGE(topics_most, fixture->watch.n_topics = LIMIT_TOPICS)
CHANGE(topics_many, fixture->watch.n_topics = LIMIT_TOPICS + 1)
CHANGE(topic_odd, fixture->topics[1] = wire_str("weather"); fixture->watch.n_topics = 2)

#define CASE(kind, change, blamed)                                                                                     \
    {                                                                                                                  \
#kind "_" #change, fixture_##kind, change, blamed                                                              \
    }

static const struct check_case {
    const char *name;
    void (*make)(struct fixture *fixture);
    void (*change)(struct fixture *fixture);
    const char *blamed;
} cases[] = {
    CASE(hello, nothing, NULL),
    CASE(hello, version_0, "hello.version_min"),
    CASE(hello, version_backwards, "hello.version_max"),
    CASE(hello, version_later, NULL),
    CASE(hello, client_none, NULL),
    CASE(hello, client_odd, "hello.client"),
    CASE(hello, client_64, NULL),
    CASE(hello, client_65, "hello.client"),
    CASE(generate, nothing, NULL),
    CASE(generate, model_odd, "generate.model"),
    CASE(generate, input_none, "generate"),
    CASE(generate, text_empty, NULL),
    CASE(generate, text_nul, NULL),
    CASE(generate, text_nbsp, NULL),
    CASE(generate, text_cut, "generate.text"),
    CASE(generate, text_cut_4, "generate.text"),
    CASE(generate, text_no_tail, "generate.text"),
    CASE(generate, text_overlong, "generate.text"),
    CASE(generate, text_surrogate, "generate.text"),
    CASE(generate, text_most, NULL),
    CASE(generate, text_beyond, "generate.text"),
    CASE(tokens, nothing, NULL),
    CASE(tokens, ids_none, "generate.tokens.ids"),
    CASE(generate, max_tokens_0, "generate.max_tokens"),
    CASE(generate, max_tokens_1, NULL),
    CASE(generate, max_tokens_2_31, NULL),
    CASE(generate, max_tokens_unset_0, NULL),
    CASE(generate, stop_empty, "generate.stop[1]"),
    CASE(generate, stop_long, "generate.stop[0]"),
    CASE(generate, stop_half, "generate.stop[0]"),
    CASE(generate, stops_most, NULL),
    CASE(generate, stops_many, "generate.stop"),
    CASE(generate, class_3, NULL),
    CASE(generate, class_77, "generate.priority"),
    CASE(generate, class_minus, "generate.priority"),
    CASE(generate, credit_0, NULL),
    CASE(generate, key_good, NULL),
    CASE(generate, key_odd, "generate.key"),
    CASE(generate, slide_good, NULL),
    CASE(generate, slide_untold, NULL),
    CASE(generate, on_full_odd, "generate.on_full"),
    CASE(generate, keep_alone, "generate.keep_tokens"),
    CASE(generate, keep_to_end, "generate.keep_tokens"),
    CASE(chat, nothing, NULL),
    CASE(chat, messages_none, "generate.chat.messages"),
    CASE(chat, messages_most, NULL),
    CASE(chat, messages_many, "generate.chat.messages"),
    CASE(chat, role_odd, "generate.chat.messages[1].role"),
    CASE(chat, role_part, "generate.chat.messages[1].role"),
    CASE(chat, role_none, "generate.chat.messages[1].role"),
    CASE(chat, content_bad, "generate.chat.messages[1].content"),
    CASE(chat, content_sum, "generate.chat.messages"),
    CASE(generate, temperature_0, NULL),
    CASE(generate, temperature_tiny, NULL),
    CASE(generate, temperature_minus, "generate.sampling.temperature"),
    CASE(generate, temperature_nan, "generate.sampling.temperature"),
    CASE(generate, temperature_hot, "generate.sampling.temperature"),
    CASE(generate, top_k_0, "generate.sampling.top_k"),
    CASE(generate, top_k_1, NULL),
    CASE(generate, top_p_0, "generate.sampling.top_p"),
    CASE(generate, top_p_1, NULL),
    CASE(generate, top_p_nan, "generate.sampling.top_p"),
    CASE(generate, min_p_1, NULL),
    CASE(generate, min_p_over, "generate.sampling.min_p"),
    CASE(generate, repetition_0, "generate.sampling.repetition_penalty"),
    CASE(generate, frequency_3, "generate.sampling.frequency_penalty"),
    CASE(generate, presence_minus_3, "generate.sampling.presence_penalty"),
    CASE(generate, window_0, NULL),
    CASE(generate, window_minus_1, "generate.sampling.penalty_window"),
    CASE(generate, bias_forbid, NULL),
    CASE(generate, bias_infinite, "generate.sampling.bias[1].bias"),
    CASE(generate, bias_nan, "generate.sampling.bias[0].bias"),
    CASE(generate, bias_twice, "generate.sampling.bias[1]"),
    CASE(generate, biases_many, "generate.sampling.bias"),
    CASE(generate, top_logprobs_most, NULL),
    CASE(generate, top_logprobs_many, "generate.sampling.top_logprobs"),
    CASE(generate, top_logprobs_alone, "generate.sampling.top_logprobs"),
    CASE(tokenize, nothing, NULL),
    CASE(tokenize, tokenize_bad, "tokenize.text"),
    CASE(tokenize, tokenize_model_odd, "tokenize.model"),
    CASE(embed, nothing, NULL),
    CASE(embed, embed_bad, "embed.text"),
    CASE(embed, embed_model_odd, "embed.model"),
    CASE(embed, embed_class_odd, "embed.priority"),
    CASE(embed, embed_nothing, "embed"),
    CASE(load, nothing, NULL),
    CASE(load, load_nameless, "load_model.name"),
    CASE(load, load_absolute, NULL),
    CASE(load, load_relative, "load_model.file"),
    CASE(load, load_long, "load_model.file"),
    CASE(unload, nothing, NULL),
    CASE(unload, unload_nameless, "unload_model.name"),
    CASE(watch, topics_none, NULL),
    CASE(watch, topics_most, NULL),
    CASE(watch, topics_many, "watch.topics"),
    CASE(watch, topic_odd, "watch.topics[1]"),
};

START_TEST(each_row_allows_and_refuses_the_right_values)
{
    const struct check_case *row = &cases[_i];
    static struct fixture fixture;
    struct diag diag = DIAG_INIT;
    int r;

    sotto__v1__client_frame__init(&fixture.frame);
    fixture.frame.stream = 1;
    row->make(&fixture);
    row->change(&fixture);

    r = check_client_frame(&fixture.frame, &diag);

    ck_assert_msg(r == (row->blamed ? CHECK_BAD : CHECK_OK), "%s: %s", row->name, diag.text);
    ck_assert_msg(strcmp(diag.field, row->blamed ? row->blamed : "") == 0, "%s blames %s", row->name, diag.field);
    ck_assert_msg(!row->blamed || strstr(diag.text, row->blamed), "%s says %s", row->name, diag.text);
}
END_TEST

START_TEST(the_message_names_the_offset_of_the_bad_byte)
{
    static struct fixture fixture;
    struct diag diag = DIAG_INIT;

    sotto__v1__client_frame__init(&fixture.frame);
    fixture_generate(&fixture);
    fixture.generate.text = bytes("abc\xC3(", 5);

    ck_assert_int_eq(check_client_frame(&fixture.frame, &diag), CHECK_BAD);

    ck_assert_ptr_nonnull(strstr(diag.text, "at byte 3"));
}
END_TEST

/* A field of the schema without a row would not be checked; a message without a list would end the daemon. */
static void each_field_has_a_row(const ProtobufCMessageDescriptor *type)
{
    ck_assert_msg(check_has_list(type), "%s has no list", type->short_name);
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];

        ck_assert_msg(check_has_row(type, field->name), "%s.%s has no row", type->short_name, field->name);
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            each_field_has_a_row(field->descriptor);
        }
    }
}

START_TEST(every_field_that_a_client_may_send_has_a_row)
{
    const ProtobufCMessageDescriptor *frame = &sotto__v1__client_frame__descriptor;

    for (unsigned i = 0; i < frame->n_fields; i++) {
        if (frame->fields[i].type == PROTOBUF_C_TYPE_MESSAGE) {
            each_field_has_a_row(frame->fields[i].descriptor);
        }
    }
}
END_TEST

/* Sets the scalar @field of @message to 1, by its own size. */
static void set_to_one(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    uint8_t *place = (uint8_t *)message + field->offset;

    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        memcpy((uint8_t *)message + field->quantifier_offset, &(uint32_t){ field->id }, sizeof(uint32_t));
    }
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT64:
        memcpy(place, &(uint64_t){ 1 }, sizeof(uint64_t));
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_ENUM:
        memcpy(place, &(uint32_t){ 1 }, sizeof(uint32_t));
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        memcpy(place, &(float){ 1 }, sizeof(float));
        break;
    default:
        break;
    }
}

START_TEST(a_number_of_any_type_is_read_by_its_row)
{
    const ProtobufCMessageDescriptor *frames = &sotto__v1__client_frame__descriptor;

    for (unsigned i = 0; i < frames->n_fields; i++) {
        const ProtobufCMessageDescriptor *type = frames->fields[i].descriptor;
        _Alignas(16) static uint8_t memory[4096];
        ProtobufCMessage *body = (ProtobufCMessage *)(void *)memory;

        for (unsigned k = 0; frames->fields[i].type == PROTOBUF_C_TYPE_MESSAGE && k < type->n_fields; k++) {
            Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;
            struct diag diag = DIAG_INIT;

            ck_assert_uint_le(type->sizeof_message, sizeof(memory));
            protobuf_c_message_init(type, body);
            set_to_one(body, &type->fields[k]);
            frame.body_case = (Sotto__V1__ClientFrame__BodyCase)frames->fields[i].id;
            frame.hello = (Sotto__V1__Hello *)(void *)body;
            check_client_frame(&frame, &diag);
        }
    }
}
END_TEST

START_TEST(an_unknown_body_is_left_to_the_caller)
{
    Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(check_client_frame(&frame, &diag), CHECK_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("check");
    TCase *facts = tcase_create("facts");

    tcase_add_loop_test(facts, each_row_allows_and_refuses_the_right_values, 0, (int)COUNTOF(cases));
    tcase_add_test(facts, the_message_names_the_offset_of_the_bad_byte);
    tcase_add_test(facts, every_field_that_a_client_may_send_has_a_row);
    tcase_add_test(facts, a_number_of_any_type_is_read_by_its_row);
    tcase_add_test(facts, an_unknown_body_is_left_to_the_caller);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
