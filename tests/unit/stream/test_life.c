/* A request from its beginning to each of its ends. */
#include "house.h"
#include <signal.h>
#include <string.h>

static struct house house;

static void setup(void)
{
    house_begin(&house, "when 200 do tokens 300,301,258,302\n"
                        "when 201 at 2 do numeric\n"
                        "when 202 do slow 50\n"
                        "context 64\n");
}

static void teardown(void)
{
    house_end(&house);
}

START_TEST(an_answer_comes_whole_with_figures)
{
    struct guest guest;

    guest_init(&guest, 1, 5, 20);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    ck_assert_uint_eq(guest.n_accepted, 1);
    ck_assert_uint_eq(guest.prompt_tokens, 5);
    ck_assert_uint_eq(guest.seed, 7);
    ck_assert_str_eq(guest.numerics, "1/fake");
    ck_assert_uint_eq(guest.usage.prompt_tokens, 5);
    ck_assert_uint_eq(guest.usage.generated_tokens, 20);
    ck_assert_uint_gt(guest.usage.ttft_us, 0);
    ck_assert_uint_ge(guest.usage.total_us, guest.usage.ttft_us);
    ck_assert_uint_gt(guest.n_text, 0);
    ck_assert(house_had(&house, "stream-opened"));
    ck_assert(house_had(&house, "stream-ended"));
    guest_finish(&guest);
}
END_TEST

START_TEST(many_at_once_have_the_tokens_of_one_alone)
{
    struct guest alone;
    struct guest *many = calloc(16, sizeof(*many));

    guest_init(&alone, 3, 9, 30);
    guest_ask(&house, &alone);
    guest_until_over(&house, &alone);
    for (size_t i = 0; i < 16; i++) {
        guest_init(&many[i], 3, 9, 30);
        guest_ask(&house, &many[i]);
    }
    for (size_t i = 0; i < 16; i++) {
        guest_until_over(&house, &many[i]);
        guest_assert_done(&many[i], SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 30);
        guest_assert_same(&many[i], &alone);
        guest_finish(&many[i]);
    }

    /* A step reads the weights once for all of its rows. */
    ck_assert_uint_eq(house_model(&house)->current->figures.n_weight_passes,
                      house_model(&house)->current->figures.n_steps);
    ck_assert_uint_lt(house_model(&house)->current->figures.n_steps, 30 + 90);
    guest_finish(&alone);
    free(many);
}
END_TEST

START_TEST(the_models_end_token_ends_the_answer_and_is_not_told)
{
    struct guest guest;

    guest_init(&guest, 200, 3, 20);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_END, 2);
    ck_assert_uint_eq(guest.tokens[1], 301);
    ck_assert_uint_eq(guest.usage.generated_tokens, 3);
    guest_finish(&guest);
}
END_TEST

START_TEST(ignore_end_goes_on_past_the_end_token)
{
    struct guest guest;

    guest_init(&guest, 200, 3, 4);
    guest.ask.ignore_end = 1;
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 4);
    ck_assert_uint_eq(guest.tokens[2], HOUSE_END_ID);
    guest_finish(&guest);
}
END_TEST

START_TEST(a_stop_string_ends_the_answer_before_itself_and_is_named)
{
    /* Token 256 + i is spelt "w<i>.": 300 is "w44.", 301 is "w45." */
    ProtobufCBinaryData stops[2] = { { .data = (uint8_t *)"zzz", .len = 3 }, { .data = (uint8_t *)".w45", .len = 4 } };
    struct guest guest;

    guest_init(&guest, 200, 3, 20);
    guest.ask.stop = stops;
    guest.ask.n_stop = 2;
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    ck_assert_int_eq(guest.reason, SOTTO__V1__FINISH_REASON__FINISH_STOP);
    ck_assert_str_eq(guest.text, "w44");
    ck_assert_str_eq(guest.stop, ".w45");
    guest_finish(&guest);
}
END_TEST

START_TEST(a_full_context_ends_the_answer)
{
    struct guest guest;

    guest_init(&guest, 1, 60, 20);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_CONTEXT, 4);
    guest_finish(&guest);
}
END_TEST

START_TEST(a_prompt_that_leaves_no_room_is_refused_with_both_numbers)
{
    for (uint32_t n = 63; n <= 65; n++) {
        struct guest guest;

        guest_init(&guest, 1, n, 20);
        guest_ask(&house, &guest);
        guest_until_over(&house, &guest);
        if (n < 64) {
            guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_CONTEXT, 1);
        } else {
            char words[40];

            snprintf(words, sizeof(words), "has %u tokens and the context 64", n);
            guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, words);
            ck_assert_uint_eq(guest.n_accepted, 0);
        }
        guest_finish(&guest);
    }
}
END_TEST

START_TEST(a_users_own_context_limit_holds)
{
    struct guest guest;

    house.grant.n_context = 16;
    guest_init(&guest, 1, 16, 20);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_OUT_OF_RANGE, "this user's limit");
    guest_finish(&guest);
}
END_TEST

START_TEST(an_empty_prompt_is_refused)
{
    struct guest guest;

    guest_init(&guest, 1, 0, 20);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "no token");
    guest_finish(&guest);
}
END_TEST

START_TEST(ids_and_filters_outside_the_vocabulary_are_refused)
{
    struct guest guest;

    guest_init(&guest, 512, 2, 20);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "vocabulary of 512");
    guest_finish(&guest);

    guest_init(&guest, 1, 2, 20);
    guest.sampling.opt_top_k_case = SOTTO__V1__SAMPLING__OPT_TOP_K_TOP_K;
    guest.sampling.top_k = 513;
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "513");
    guest_finish(&guest);
}
END_TEST

START_TEST(no_finite_number_fails_the_request_alone)
{
    struct guest guilty;
    struct guest other;

    guest_init(&guilty, 201, 3, 20);
    guest_init(&other, 1, 3, 20);
    guest_ask(&house, &guilty);
    guest_ask(&house, &other);
    guest_until_over(&house, &guilty);
    guest_until_over(&house, &other);

    guest_assert_failed(&guilty, SOTTO__V1__CODE__CODE_INTERNAL, "finite");
    guest_assert_done(&other, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 20);
    guest_finish(&guilty);
    guest_finish(&other);
}
END_TEST

START_TEST(text_goes_through_the_pool_and_messages_through_the_template)
{
    Sotto__V1__Chat chat = SOTTO__V1__CHAT__INIT;
    Sotto__V1__ChatMessage message = SOTTO__V1__CHAT_MESSAGE__INIT;
    Sotto__V1__ChatMessage *messages[1] = { &message };
    struct guest guest;

    guest_init(&guest, 1, 0, 3);
    guest.ask.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    guest.ask.text = (ProtobufCBinaryData){ .data = (uint8_t *)"hello", .len = 5 };
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    ck_assert_uint_eq(guest.prompt_tokens, 5);
    guest_finish(&guest);

    guest_init(&guest, 1, 0, 3);
    message.role = (char *)"user";
    message.content = (ProtobufCBinaryData){ .data = (uint8_t *)"hi", .len = 2 };
    chat.messages = messages;
    chat.n_messages = 1;
    guest.ask.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    guest.ask.chat = &chat;
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 3);
    /* start user\n hi end \n start assistant\n, a byte a token but for the markers */
    ck_assert_uint_eq(guest.prompt_tokens, 1 + 5 + 2 + 1 + 1 + 1 + 10);
    guest_finish(&guest);
}
END_TEST

START_TEST(forged_markers_and_what_the_template_refuses)
{
    Sotto__V1__Chat chat = SOTTO__V1__CHAT__INIT;
    Sotto__V1__ChatMessage message = SOTTO__V1__CHAT_MESSAGE__INIT;
    Sotto__V1__ChatMessage *messages[1] = { &message };
    struct guest guest;

    guest_init(&guest, 1, 0, 3);
    message.role = (char *)"user";
    message.content = (ProtobufCBinaryData){ .data = (uint8_t *)"<|im_end|>", .len = 10 };
    chat.messages = messages;
    chat.n_messages = 1;
    guest.ask.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    guest.ask.chat = &chat;
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    ck_assert_uint_eq(guest.prompt_tokens, 1 + 5 + 10 + 1 + 1 + 1 + 10);
    guest_finish(&guest);

    guest_init(&guest, 1, 0, 3);
    message.fields = (ProtobufCBinaryData){ .data = (uint8_t *)"{\"content\": null}", .len = 17 };
    guest.ask.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    guest.ask.chat = &chat;
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT,
                        "can only concatenate str (not \"NoneType\") to str");
    guest_finish(&guest);
}
END_TEST

START_TEST(bad_text_is_refused_with_its_offset)
{
    struct guest guest;

    guest_init(&guest, 1, 0, 3);
    guest.ask.input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
    guest.ask.text = (ProtobufCBinaryData){ .data = (uint8_t *)"ab\xff", .len = 3 };
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "2");
    guest_finish(&guest);
}
END_TEST

START_TEST(logprobs_come_one_for_each_token)
{
    struct guest guest;

    guest_init(&guest, 1, 3, 10);
    guest.sampling.logprobs = 1;
    guest.sampling.top_logprobs = 4;
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 10);
    ck_assert_uint_eq(guest.n_logprobs, 10);
    guest_finish(&guest);
}
END_TEST

START_TEST(a_cancel_in_each_state_ends_once_and_frees_the_sequence)
{
    struct guest words;
    struct guest running;
    struct guest twice;

    guest_init(&words, 1, 3, 40);
    guest_ask(&house, &words);
    stream_cancel(words.stream); /* nothing has begun */
    ck_assert_uint_eq(words.n_ends, 0);
    guest_until_over(&house, &words);
    guest_assert_done(&words, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, 0);

    guest_init(&running, 202, 3, 40); /* its steps are slow: one is under way */
    guest_ask(&house, &running);
    guest_until_tokens(&house, &running, 2);
    house_run(&house, 20);
    stream_cancel(running.stream);
    guest_until_over(&house, &running);
    ck_assert_int_eq(running.reason, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED);

    guest_init(&twice, 1, 3, 40);
    guest_ask(&house, &twice);
    guest_until_tokens(&house, &twice, 1);
    stream_cancel(twice.stream);
    stream_cancel(twice.stream);
    guest_until_over(&house, &twice);
    house_run(&house, 100);
    ck_assert_uint_eq(twice.n_ends, 1);

    ck_assert_uint_eq(house_model(&house)->current->eq.n_taken, 0);
    ck_assert_uint_eq(house_model(&house)->current->n_refs, 0);
    guest_finish(&words);
    guest_finish(&running);
    guest_finish(&twice);
}
END_TEST

START_TEST(who_is_forgotten_is_never_called)
{
    struct guest guest;

    guest_init(&guest, 202, 3, 40);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 1);
    stream_forget(guest.stream);
    house_run(&house, 150);

    ck_assert_uint_eq(guest.n_ends, 0);
    ck_assert_uint_eq(house_model(&house)->current->n_refs, 0);
    guest_finish(&guest);
}
END_TEST

START_TEST(an_abort_ends_with_its_reason)
{
    struct guest guest;

    guest_init(&guest, 202, 3, 40);
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 1);
    stream_abort(guest.stream, SOTTO__V1__CODE__CODE_ABORTED, "its reader has stalled for a minute");
    guest_until_over(&house, &guest);

    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_ABORTED, "stalled");
    guest_finish(&guest);
}
END_TEST

/* Guests who act from inside what they are told, as a connection that overflows does. */
static void cancel_on_delta(void *owner, const Sotto__V1__Delta *delta)
{
    struct guest *guest = owner;

    guest->n_tokens += (uint32_t)delta->n_tokens;
    stream_cancel(guest->stream);
}

static void forget_on_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
    struct guest *guest = owner;

    (void)accepted;
    guest->n_accepted++;
    stream_forget(guest->stream);
}

static void abort_on_notice(void *owner, const Sotto__V1__Notice *notice)
{
    struct guest *guest = owner;

    guest->n_notices[notice->kind]++;
    stream_abort(guest->stream, SOTTO__V1__CODE__CODE_ABORTED, "enough");
}

START_TEST(whoever_is_called_may_end_the_stream)
{
    struct stream_sink acting = guest_sink;
    struct guest guest;

    acting.on_delta = cancel_on_delta;
    guest_init(&guest, 1, 3, 1); /* the very token that ends it */
    guest.sink = &acting;
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_CANCELLED, 1);
    guest_finish(&guest);

    acting = guest_sink;
    acting.on_accepted = forget_on_accepted;
    guest_init(&guest, 1, 3, 5);
    guest.sink = &acting;
    guest_ask(&house, &guest);
    house_run(&house, 50);
    ck_assert_uint_eq(guest.n_accepted, 1);
    ck_assert_uint_eq(guest.n_ends, 0);
    ck_assert_uint_eq(house_model(&house)->current->n_refs, 0);
    guest_finish(&guest);

    acting = guest_sink;
    acting.on_notice = abort_on_notice;
    guest_init(&guest, 202, 3, 20);
    guest.sink = &acting;
    guest_ask(&house, &guest);
    guest_until_tokens(&house, &guest, 1);
    kill((pid_t)house_pid(&house), SIGKILL); /* the notice of rebuilding */
    guest_until_over(&house, &guest);
    guest_assert_failed(&guest, SOTTO__V1__CODE__CODE_ABORTED, "enough");
    guest_finish(&guest);
}
END_TEST

START_TEST(a_live_key_is_refused_and_the_first_runs_on)
{
    struct guest first;
    struct guest second;

    guest_init(&first, 202, 3, 5);
    first.ask.key = (char *)"trip";
    guest_ask(&house, &first);
    guest_init(&second, 1, 3, 5);
    second.ask.key = (char *)"trip";
    guest_refused(&house, &second, SOTTO__V1__CODE__CODE_ALREADY_EXISTS, "key");
    house.grant.uid = 1001; /* another user's is another key */
    guest_ask(&house, &second);
    guest_until_over(&house, &first);
    guest_until_over(&house, &second);

    guest_assert_done(&first, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    guest_assert_done(&second, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    guest_finish(&first);
    guest_finish(&second);
}
END_TEST

START_TEST(what_policy_does_not_give_is_refused_at_once)
{
    struct guest guest;

    guest_init(&guest, 1, 3, 5);
    house.grant.class_ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE;
    guest.ask.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME;
    guest_refused(&house, &guest, SOTTO__V1__CODE__CODE_PERMISSION_DENIED, "ceiling");
    guest.ask.priority = SOTTO__V1__PRIORITY_CLASS__CLASS_UNSPECIFIED;
    guest.ask.model = (char *)"other";
    guest_refused(&house, &guest, SOTTO__V1__CODE__CODE_NOT_FOUND, "no model");
    guest.ask.model = (char *)"";
    house.grant.n_streams = 0;
    guest_refused(&house, &guest, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "live");
    guest_finish(&guest);
}
END_TEST

START_TEST(a_spent_minute_refuses_the_next)
{
    struct guest guest;

    house.grant.tokens_a_minute = 10;
    guest_init(&guest, 1, 5, 5);
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);
    guest_assert_done(&guest, SOTTO__V1__FINISH_REASON__FINISH_LENGTH, 5);
    guest_refused(&house, &guest, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "10 tokens a minute");
    guest_finish(&guest);
}
END_TEST

START_TEST(a_seed_is_drawn_and_told_when_none_is_given)
{
    struct guest guest;

    guest_init(&guest, 1, 5, 2);
    guest.sampling.opt_seed_case = SOTTO__V1__SAMPLING__OPT_SEED__NOT_SET;
    guest_ask(&house, &guest);
    guest_until_over(&house, &guest);

    ck_assert_uint_ne(guest.seed, 0);
    guest_finish(&guest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-life");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_answer_comes_whole_with_figures);
    tcase_add_test(tcase, many_at_once_have_the_tokens_of_one_alone);
    tcase_add_test(tcase, the_models_end_token_ends_the_answer_and_is_not_told);
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
    tcase_add_test(tcase, who_is_forgotten_is_never_called);
    tcase_add_test(tcase, an_abort_ends_with_its_reason);
    tcase_add_test(tcase, whoever_is_called_may_end_the_stream);
    tcase_add_test(tcase, a_live_key_is_refused_and_the_first_runs_on);
    tcase_add_test(tcase, what_policy_does_not_give_is_refused_at_once);
    tcase_add_test(tcase, a_spent_minute_refuses_the_next);
    tcase_add_test(tcase, a_seed_is_drawn_and_told_when_none_is_given);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
