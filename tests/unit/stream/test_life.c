/* A request from its beginning to each of its ends. */
#include "hub_fixture.h"
#include <signal.h>
#include <string.h>

static struct fixture fixture;

static void setup(void)
{
    fixture_begin(&fixture, "when 200 do tokens 300,301,258,302\n"
                            "when 201 at 2 do numeric\n"
                            "when 202 do slow 50\n"
                            "context 64\n");
}

static void teardown(void)
{
    fixture_end(&fixture);
}

START_TEST(an_answer_comes_whole_with_figures)
{
    struct client client;

    client_init(&client, 1, 5, 20);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    ck_assert_uint_eq(client.n_accepted, 1);
    ck_assert_uint_eq(client.prompt_tokens, 5);
    ck_assert_uint_eq(client.seed, 7);
    ck_assert_str_eq(client.numerics, "1/fake");
    ck_assert_uint_eq(client.usage.prompt_tokens, 5);
    ck_assert_uint_eq(client.usage.generated_tokens, 20);
    ck_assert_uint_gt(client.usage.ttft_us, 0);
    ck_assert_uint_ge(client.usage.total_us, client.usage.ttft_us);
    ck_assert_uint_gt(client.n_text, 0);
    ck_assert(fixture_had(&fixture, "stream-opened"));
    ck_assert(fixture_had(&fixture, "stream-ended"));
    client_finish(&client);
}
END_TEST

START_TEST(many_at_once_have_the_tokens_of_one_alone)
{
    struct client alone;
    struct client *many = calloc(16, sizeof(*many));

    client_init(&alone, 3, 9, 30);
    client_generate(&fixture, &alone);
    client_until_over(&fixture, &alone);
    for (size_t i = 0; i < 16; i++) {
        client_init(&many[i], 3, 9, 30);
        client_generate(&fixture, &many[i]);
    }
    for (size_t i = 0; i < 16; i++) {
        client_until_over(&fixture, &many[i]);
        client_assert_done(&many[i], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 30);
        client_assert_same(&many[i], &alone);
        client_finish(&many[i]);
    }

    /* A step reads the weights once for all of its rows. */
    ck_assert_uint_eq(fixture_model(&fixture)->current->figures.n_weight_passes,
                      fixture_model(&fixture)->current->figures.n_steps);
    ck_assert_uint_lt(fixture_model(&fixture)->current->figures.n_steps, 30 + 90);
    client_finish(&alone);
    free(many);
}
END_TEST

START_TEST(the_models_end_token_ends_the_answer_and_is_not_shown)
{
    struct client client;

    client_init(&client, 200, 3, 20);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_END, 2);
    ck_assert_uint_eq(client.tokens[1], 301);
    ck_assert_uint_eq(client.usage.generated_tokens, 3);
    client_finish(&client);
}
END_TEST

START_TEST(ignore_end_goes_on_past_the_end_token)
{
    struct client client;

    client_init(&client, 200, 3, 4);
    client.generate.ignore_end = 1;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 4);
    ck_assert_uint_eq(client.tokens[2], FIXTURE_END_ID);
    client_finish(&client);
}
END_TEST

START_TEST(a_stop_string_ends_the_answer_before_itself_and_is_named)
{
    /* Token 256 + i is spelt "w<i>.": 300 is "w44.", 301 is "w45." */
    ProtobufCBinaryData stops[2] = { { .data = (uint8_t *)"zzz", .len = 3 }, { .data = (uint8_t *)".w45", .len = 4 } };
    struct client client;

    client_init(&client, 200, 3, 20);
    client.generate.stop = stops;
    client.generate.n_stop = 2;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    ck_assert_int_eq(client.reason, SOTTO__V1__FINISH_REASON__FINISH_STOP);
    ck_assert_str_eq(client.text, "w44");
    ck_assert_str_eq(client.stop, ".w45");
    client_finish(&client);
}
END_TEST

START_TEST(a_full_context_ends_the_answer)
{
    struct client client;

    client_init(&client, 1, 60, 20);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_CONTEXT, 4);
    client_finish(&client);
}
END_TEST

START_TEST(a_prompt_that_leaves_no_room_is_refused_with_both_numbers)
{
    for (uint32_t n = 63; n <= 65; n++) {
        struct client client;

        client_init(&client, 1, n, 20);
        client_generate(&fixture, &client);
        client_until_over(&fixture, &client);
        if (n < 64) {
            client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_CONTEXT, 1);
        } else {
            char words[40];

            snprintf(words, sizeof(words), "has %u tokens and the context 64", n);
            client_assert_failed(&client, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, words);
            ck_assert_uint_eq(client.n_accepted, 0);
        }
        client_finish(&client);
    }
}
END_TEST

START_TEST(a_users_own_context_limit_holds)
{
    struct client client;

    fixture.grant.n_context = 16;
    client_init(&client, 1, 16, 20);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "this user's limit");
    client_finish(&client);
}
END_TEST

START_TEST(an_empty_prompt_is_refused)
{
    struct client client;

    client_init(&client, 1, 0, 20);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "no token");
    client_finish(&client);
}
END_TEST

START_TEST(ids_and_filters_outside_the_vocabulary_are_refused)
{
    struct client client;

    client_init(&client, 512, 2, 20);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_failed(&client, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "vocabulary of 512");
    client_finish(&client);

    client_init(&client, 1, 2, 20);
    client.sampling.opt_top_k_case = SOTTO__V1__SAMPLING__OPT_TOP_K_TOP_K;
    client.sampling.top_k = 513;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_failed(&client, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "513");
    client_finish(&client);
}
END_TEST

START_TEST(no_finite_number_fails_the_request_alone)
{
    struct client guilty;
    struct client other;

    client_init(&guilty, 201, 3, 20);
    client_init(&other, 1, 3, 20);
    client_generate(&fixture, &guilty);
    client_generate(&fixture, &other);
    client_until_over(&fixture, &guilty);
    client_until_over(&fixture, &other);

    client_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INTERNAL, "finite");
    client_assert_done(&other, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    client_finish(&guilty);
    client_finish(&other);
}
END_TEST

START_TEST(text_goes_through_the_pool_and_messages_through_the_template)
{
    Sotto__V1__Chat chat = SOTTO__V1__CHAT__INIT;
    Sotto__V1__ChatMessage message = SOTTO__V1__CHAT_MESSAGE__INIT;
    Sotto__V1__ChatMessage *messages[1] = { &message };
    struct client client;

    client_init(&client, 1, 0, 3);
    client.generate.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    client.generate.text = (ProtobufCBinaryData){ .data = (uint8_t *)"hello", .len = 5 };
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    ck_assert_uint_eq(client.prompt_tokens, 5);
    client_finish(&client);

    client_init(&client, 1, 0, 3);
    message.role = (char *)"user";
    message.content = (ProtobufCBinaryData){ .data = (uint8_t *)"hi", .len = 2 };
    chat.messages = messages;
    chat.n_messages = 1;
    client.generate.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    client.generate.chat = &chat;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    /* start user\n hi end \n start assistant\n, a byte a token but for the markers */
    ck_assert_uint_eq(client.prompt_tokens, 1 + 5 + 2 + 1 + 1 + 1 + 10);
    client_finish(&client);
}
END_TEST

START_TEST(forged_markers_and_what_the_template_refuses)
{
    Sotto__V1__Chat chat = SOTTO__V1__CHAT__INIT;
    Sotto__V1__ChatMessage message = SOTTO__V1__CHAT_MESSAGE__INIT;
    Sotto__V1__ChatMessage *messages[1] = { &message };
    struct client client;

    client_init(&client, 1, 0, 3);
    message.role = (char *)"user";
    message.content = (ProtobufCBinaryData){ .data = (uint8_t *)"<|im_end|>", .len = 10 };
    chat.messages = messages;
    chat.n_messages = 1;
    client.generate.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    client.generate.chat = &chat;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    ck_assert_uint_eq(client.prompt_tokens, 1 + 5 + 10 + 1 + 1 + 1 + 10);
    client_finish(&client);

    client_init(&client, 1, 0, 3);
    message.fields = (ProtobufCBinaryData){ .data = (uint8_t *)"{\"content\": null}", .len = 17 };
    client.generate.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    client.generate.chat = &chat;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_failed(&client, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT,
                         "can only concatenate str (not \"NoneType\") to str");
    client_finish(&client);
}
END_TEST

START_TEST(bad_text_is_refused_with_its_offset)
{
    struct client client;

    client_init(&client, 1, 0, 3);
    client.generate.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    client.generate.text = (ProtobufCBinaryData){ .data = (uint8_t *)"ab\xff", .len = 3 };
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "2");
    client_finish(&client);
}
END_TEST

START_TEST(logprobs_come_one_for_each_token)
{
    struct client client;

    client_init(&client, 1, 3, 10);
    client.sampling.logprobs = 1;
    client.sampling.top_logprobs = 4;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    ck_assert_uint_eq(client.n_logprobs, 10);
    client_finish(&client);
}
END_TEST

START_TEST(a_cancel_in_each_state_ends_once_and_frees_the_sequence)
{
    struct client words;
    struct client running;
    struct client twice;

    client_init(&words, 1, 3, 40);
    client_generate(&fixture, &words);
    stream_cancel(words.stream); /* nothing has begun */
    ck_assert_uint_eq(words.n_ends, 0);
    client_until_over(&fixture, &words);
    client_assert_done(&words, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, 0);

    client_init(&running, 202, 3, 40); /* its steps are slow: one is under way */
    client_generate(&fixture, &running);
    client_until_tokens(&fixture, &running, 2);
    fixture_run(&fixture, 20);
    stream_cancel(running.stream);
    client_until_over(&fixture, &running);
    ck_assert_int_eq(running.reason, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);

    client_init(&twice, 1, 3, 40);
    client_generate(&fixture, &twice);
    client_until_tokens(&fixture, &twice, 1);
    stream_cancel(twice.stream);
    stream_cancel(twice.stream);
    client_until_over(&fixture, &twice);
    fixture_run(&fixture, 100);
    ck_assert_uint_eq(twice.n_ends, 1);

    ck_assert_uint_eq(fixture_model(&fixture)->current->eq.n_taken, 0);
    ck_assert_uint_eq(fixture_model(&fixture)->current->n_refs, 0);
    client_finish(&words);
    client_finish(&running);
    client_finish(&twice);
}
END_TEST

static bool is_unused(void *owner)
{
    (void)owner;
    return fixture_model(&fixture)->current->n_refs == 0;
}

static bool was_accepted(void *owner)
{
    return ((struct client *)owner)->n_accepted > 0;
}

START_TEST(a_forgotten_stream_calls_nothing_back)
{
    struct client client;

    client_init(&client, 202, 3, 40);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 1);
    stream_forget(client.stream);
    fixture_until(&fixture, is_unused, NULL);

    ck_assert_uint_eq(client.n_ends, 0);
    client_finish(&client);
}
END_TEST

START_TEST(an_abort_ends_with_its_reason)
{
    struct client client;

    client_init(&client, 202, 3, 40);
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 1);
    stream_abort(client.stream, SOTTO__V1__CODE__CODE_ABORTED, "its reader has stalled for a minute");
    client_until_over(&fixture, &client);

    client_assert_failed(&client, SOTTO__V1__CODE__CODE_ABORTED, "stalled");
    client_finish(&client);
}
END_TEST

/* Clients that act from inside a callback, as a connection that overflows does. */
static void cancel_on_delta(void *owner, const Sotto__V1__Delta *delta)
{
    struct client *client = owner;

    client->n_tokens += (uint32_t)delta->n_tokens;
    stream_cancel(client->stream);
}

static void forget_on_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
    struct client *client = owner;

    (void)accepted;
    client->n_accepted++;
    stream_forget(client->stream);
}

static void abort_on_notice(void *owner, const Sotto__V1__Notice *notice)
{
    struct client *client = owner;

    client->n_notices[notice->kind]++;
    stream_abort(client->stream, SOTTO__V1__CODE__CODE_ABORTED, "enough");
}

START_TEST(a_callback_may_end_the_stream)
{
    struct stream_sink acting = client_sink;
    struct client client;

    acting.on_delta = cancel_on_delta;
    client_init(&client, 1, 3, 1); /* the very token that ends it */
    client.sink = &acting;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, 1);
    client_finish(&client);

    acting = client_sink;
    acting.on_accepted = forget_on_accepted;
    client_init(&client, 1, 3, 5);
    client.sink = &acting;
    client_generate(&fixture, &client);
    fixture_until(&fixture, was_accepted, &client);
    fixture_until(&fixture, is_unused, NULL);
    ck_assert_uint_eq(client.n_ends, 0);
    client_finish(&client);

    acting = client_sink;
    acting.on_notice = abort_on_notice;
    client_init(&client, 202, 3, 20);
    client.sink = &acting;
    client_generate(&fixture, &client);
    client_until_tokens(&fixture, &client, 1);
    kill((pid_t)fixture_pid(&fixture), SIGKILL); /* the notice of rebuilding */
    client_until_over(&fixture, &client);
    client_assert_failed(&client, SOTTO__V1__CODE__CODE_ABORTED, "enough");
    client_finish(&client);
}
END_TEST

START_TEST(a_live_key_is_refused_and_the_first_runs_on)
{
    struct client first;
    struct client second;

    client_init(&first, 202, 3, 5);
    first.generate.key = (char *)"trip";
    client_generate(&fixture, &first);
    client_init(&second, 1, 3, 5);
    second.generate.key = (char *)"trip";
    client_refused(&fixture, &second, SOTTO__V1__CODE__CODE_ALREADY_EXISTS, "key");
    fixture.grant.uid = 1001; /* another user's key is another one */
    client_generate(&fixture, &second);
    client_until_over(&fixture, &first);
    client_until_over(&fixture, &second);

    client_assert_done(&first, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_assert_done(&second, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_finish(&first);
    client_finish(&second);
}
END_TEST

START_TEST(what_policy_does_not_give_is_refused_at_once)
{
    struct client client;

    client_init(&client, 1, 3, 5);
    fixture.grant.class_ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE;
    client.generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, "ceiling");
    client.generate.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_UNSPECIFIED;
    client.generate.model = (char *)"other";
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_NOT_FOUND, "no model");
    client.generate.model = (char *)"";
    fixture.grant.n_streams = 0;
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "live");
    client_finish(&client);
}
END_TEST

START_TEST(a_spent_minute_refuses_the_next)
{
    struct client client;

    fixture.grant.tokens_a_minute = 10;
    client_init(&client, 1, 5, 5);
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);
    client_assert_done(&client, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    client_refused(&fixture, &client, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "10 tokens a minute");
    client_finish(&client);
}
END_TEST

START_TEST(a_seed_is_drawn_and_reported_when_none_is_given)
{
    struct client client;

    client_init(&client, 1, 5, 2);
    client.sampling.opt_seed_case = SOTTO__V1__SAMPLING__OPT_SEED__NOT_SET;
    client_generate(&fixture, &client);
    client_until_over(&fixture, &client);

    ck_assert_uint_ne(client.seed, 0);
    client_finish(&client);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-life");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_answer_comes_whole_with_figures);
    tcase_add_test(tcase, many_at_once_have_the_tokens_of_one_alone);
    tcase_add_test(tcase, the_models_end_token_ends_the_answer_and_is_not_shown);
    tcase_add_test(tcase, ignore_end_goes_on_past_the_end_token);
    tcase_add_test(tcase, a_stop_string_ends_the_answer_before_itself_and_is_named);
    tcase_add_test(tcase, a_full_context_ends_the_answer);
    tcase_add_test(tcase, a_prompt_that_leaves_no_room_is_refused_with_both_numbers);
    tcase_add_test(tcase, a_users_own_context_limit_holds);
    tcase_add_test(tcase, an_empty_prompt_is_refused);
    tcase_add_test(tcase, ids_and_filters_outside_the_vocabulary_are_refused);
    tcase_add_test(tcase, no_finite_number_fails_the_request_alone);
    tcase_add_test(tcase, text_goes_through_the_pool_and_messages_through_the_template);
    tcase_add_test(tcase, forged_markers_and_what_the_template_refuses);
    tcase_add_test(tcase, bad_text_is_refused_with_its_offset);
    tcase_add_test(tcase, logprobs_come_one_for_each_token);
    tcase_add_test(tcase, a_cancel_in_each_state_ends_once_and_frees_the_sequence);
    tcase_add_test(tcase, a_forgotten_stream_calls_nothing_back);
    tcase_add_test(tcase, an_abort_ends_with_its_reason);
    tcase_add_test(tcase, a_callback_may_end_the_stream);
    tcase_add_test(tcase, a_live_key_is_refused_and_the_first_runs_on);
    tcase_add_test(tcase, what_policy_does_not_give_is_refused_at_once);
    tcase_add_test(tcase, a_spent_minute_refuses_the_next);
    tcase_add_test(tcase, a_seed_is_drawn_and_reported_when_none_is_given);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
