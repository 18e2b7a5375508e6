/* libsotto: requests and their events, pulled and pushed. */
#include "fake_daemon.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>

static struct fake_daemon sottod;
static struct sotto_error error;

static void setup(void)
{
    daemon_open(&sottod);
}

static void teardown(void)
{
    daemon_close(&sottod);
}

static void greet(void)
{
    daemon_welcome(&sottod);
    ck_assert_int_eq(sotto_greet(sottod.sotto, PATIENCE_MS, &error), SOTTO_OK);
}

static uint32_t ask(const char *text, sotto_event_fn fn, void *owner)
{
    struct sotto_generate *generate = sotto_generate_create();
    uint32_t stream;

    sotto_generate_set_text(generate, text, strlen(text));
    ck_assert_int_eq(sotto_send_generate(sottod.sotto, generate, fn, owner, &stream, &error), SOTTO_OK);
    sotto_generate_destroy(generate);
    return stream;
}

/* The events that a callback has got. */
struct seen {
    char text[100];
    unsigned n_events;
    unsigned n_last;
    enum sotto_code code;
    enum sotto_code dispatch_inside;
};

static void see(void *owner, const struct sotto_event *event)
{
    struct seen *seen = owner;

    seen->n_events++;
    seen->n_last += event->last;
    if (event->kind == SOTTO_EVENT_DELTA) {
        strcat(seen->text, event->delta->text);
    }
    if (event->kind == SOTTO_EVENT_ERROR) {
        seen->code = event->error->code;
    }
}

START_TEST(a_request_waits_for_the_greeting)
{
    char byte;

    ask("hello", NULL, NULL);

    ck_assert_int_eq(recv(sottod.fd, &byte, 1, MSG_DONTWAIT), -1);
    greet();
    ck_assert_int_eq(daemon_read(&sottod)->body_case, SOTTO__V1__CLIENT_FRAME__BODY_GENERATE);
}
END_TEST

START_TEST(the_greeting_tells_limits_and_capabilities)
{
    ck_assert_ptr_null(sotto_welcome(sottod.sotto));

    greet();

    ck_assert_str_eq(sotto_welcome(sottod.sotto)->server, "peer/1");
    ck_assert_uint_eq(sotto_welcome(sottod.sotto)->frame_bytes, LIMIT_FRAME);
    ck_assert_str_eq(sotto_welcome(sottod.sotto)->capabilities[0], "juggling");
}
END_TEST

START_TEST(fields_that_are_set_arrive_and_others_are_absent)
{
    struct sotto_generate *generate = sotto_generate_create();
    const Sotto__V1__Generate *got;

    greet();
    sotto_generate_set_text(generate, "a\0b", 3);
    sotto_generate_set_temperature(generate, 0);
    sotto_generate_add_stop(generate, "\n", 1);
    sotto_generate_add_stop(generate, "END", 3);
    sotto_generate_set_model(generate, "tiny");
    sotto_generate_set_max_tokens(generate, 0);
    sotto_send_generate(sottod.sotto, generate, NULL, NULL, NULL, &error);
    sotto_generate_destroy(generate);

    got = daemon_read(&sottod)->generate;

    ck_assert_uint_eq(got->text.len, 3);
    ck_assert_int_eq(got->sampling->opt_temperature_case, SOTTO__V1__SAMPLING__OPT_TEMPERATURE_TEMPERATURE);
    ck_assert_int_eq(got->sampling->opt_seed_case, SOTTO__V1__SAMPLING__OPT_SEED__NOT_SET);
    ck_assert_int_eq(got->opt_max_tokens_case, SOTTO__V1__GENERATE__OPT_MAX_TOKENS_MAX_TOKENS);
    ck_assert_uint_eq(got->n_stop, 2);
    ck_assert_str_eq(got->model, "tiny");
}
END_TEST

START_TEST(without_options_only_the_prompt_is_sent)
{
    const Sotto__V1__Generate *got;

    greet();
    ask("hello", NULL, NULL);

    got = daemon_read(&sottod)->generate;

    ck_assert_ptr_null(got->sampling);
    ck_assert_int_eq(got->opt_max_tokens_case, SOTTO__V1__GENERATE__OPT_MAX_TOKENS__NOT_SET);
    ck_assert_int_eq(got->opt_credit_case, SOTTO__V1__GENERATE__OPT_CREDIT__NOT_SET);
    ck_assert_str_eq(got->model, "");
}
END_TEST

START_TEST(an_answer_without_tokens_has_no_speed)
{
    const struct sotto_event *event;
    const uint8_t done[] = { 9, 0, 0, 0, 8, 1, 34, 5, 26, 3, 48, 136, 39 }; /* usage.total_us 5000, nothing else */
    uint32_t stream;

    greet();
    stream = ask("hello", NULL, NULL);
    daemon_send_bytes(&sottod, done, sizeof(done));

    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_OK);
    ck_assert_uint_eq(event->done->usage.total_us, 5000);
    ck_assert_double_eq(event->done->tokens_per_second, 0);
}
END_TEST

START_TEST(the_last_prompt_set_is_the_one_sent)
{
    struct sotto_generate *generate = sotto_generate_create();
    const uint32_t ids[] = { 1, 2, 3 };
    const Sotto__V1__Generate *got;

    greet();
    sotto_generate_set_text(generate, "text", 4);
    sotto_generate_set_tokens(generate, ids, 3);
    sotto_generate_add_message(generate, "system", "Be brief.", 9);
    sotto_generate_add_message(generate, "user", "Hello", 5);
    sotto_send_generate(sottod.sotto, generate, NULL, NULL, NULL, &error);
    got = daemon_read(&sottod)->generate;
    ck_assert_int_eq(got->input_case, SOTTO__V1__GENERATE__INPUT_CHAT);
    ck_assert_uint_eq(got->chat->n_messages, 2);
    ck_assert_str_eq(got->chat->messages[1]->role, "user");

    sotto_generate_set_tokens(generate, ids, 2);
    sotto_send_generate(sottod.sotto, generate, NULL, NULL, NULL, &error);
    got = daemon_read(&sottod)->generate;
    ck_assert_int_eq(got->input_case, SOTTO__V1__GENERATE__INPUT_TOKENS);
    ck_assert_uint_eq(got->tokens->n_ids, 2);
    sotto_generate_destroy(generate);
}
END_TEST

static bool is_text(const ProtobufCBinaryData *data, const char *text)
{
    return data->len == strlen(text) && memcmp(data->data, text, data->len) == 0;
}

START_TEST(tools_variables_and_fields_go_with_the_messages)
{
    struct sotto_generate *generate = sotto_generate_create();
    const Sotto__V1__Chat *got;

    greet();
    sotto_generate_set_message_fields(generate, "{}", 2); /* no message yet: nothing happens */
    sotto_generate_add_message(generate, "user", "Hello", 5);
    sotto_generate_add_message(generate, "tool", "5", 1);
    sotto_generate_set_message_fields(generate, "{\"name\":\"f\"}", 12);
    sotto_generate_add_tool(generate, "{\"a\":1}", 7);
    sotto_generate_add_tool(generate, "7", 1);
    sotto_generate_set_variables(generate, "{}", 2);
    sotto_generate_set_variables(generate, "{\"b\":2}", 7);
    sotto_send_generate(sottod.sotto, generate, NULL, NULL, NULL, &error);

    got = daemon_read(&sottod)->generate->chat;
    ck_assert_uint_eq(got->messages[0]->fields.len, 0);
    ck_assert(is_text(&got->messages[1]->fields, "{\"name\":\"f\"}"));
    ck_assert_uint_eq(got->n_tools, 2);
    ck_assert(is_text(&got->tools[0], "{\"a\":1}"));
    ck_assert(is_text(&got->tools[1], "7"));
    ck_assert(is_text(&got->variables, "{\"b\":2}"));
    sotto_generate_destroy(generate);
}
END_TEST

START_TEST(events_are_fetched_in_order_until_the_last)
{
    const struct sotto_event *event;
    uint32_t stream;

    greet();
    stream = ask("hello", NULL, NULL);
    daemon_delta(&sottod, stream, 0, "one ");
    daemon_delta(&sottod, stream, 1, "two");
    daemon_done(&sottod, stream);

    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_OK);
    ck_assert_str_eq(event->delta->text, "one ");
    ck_assert_uint_eq(event->delta->tokens[0], 100);
    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_OK);
    ck_assert_str_eq(event->delta->text, "two");
    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_OK);
    ck_assert(event->last);
    ck_assert_str_eq(event->done->reason_name, "length");
    ck_assert_double_eq_tol(event->done->tokens_per_second, 500, 0.1);
    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_NOT_FOUND);
}
END_TEST

START_TEST(two_requests_on_one_connection_are_independent)
{
    const struct sotto_event *event;
    struct seen seen = { .n_events = 0 };
    uint32_t pulled;
    uint32_t pushed;
    uint32_t third;

    greet();
    pulled = ask("a", NULL, NULL);
    pushed = ask("b", see, &seen);
    third = ask("c", NULL, NULL);
    daemon_delta(&sottod, third, 0, "C");
    daemon_delta(&sottod, pushed, 0, "B");
    daemon_delta(&sottod, pulled, 0, "A");
    daemon_done(&sottod, pushed);

    ck_assert_int_eq(sotto_next(sottod.sotto, pulled, &event, &error), SOTTO_OK);
    ck_assert_str_eq(event->delta->text, "A");
    ck_assert_int_eq(sotto_next(sottod.sotto, third, &event, &error), SOTTO_OK);
    ck_assert_str_eq(event->delta->text, "C");
    ck_assert_int_eq(sotto_wait(sottod.sotto, 0, &error), SOTTO_DEADLINE_EXCEEDED);
    ck_assert_str_eq(seen.text, "B");
    ck_assert_uint_eq(seen.n_last, 1);
}
END_TEST

START_TEST(frames_that_come_byte_by_byte_are_read_whole)
{
    struct seen seen = { .n_events = 0 };
    const uint8_t delta[] = { 15, 0, 0, 0, 8, 1, 26, 11, 18, 1, 5, 26, 6, ' ', 'h', 'e', 'l', 'l', 'o' };

    greet();
    ck_assert_uint_eq(ask("hello", see, &seen), 1);
    for (size_t i = 0; i < sizeof(delta); i++) {
        ck_assert_uint_eq(seen.n_events, 0);
        daemon_send_bytes(&sottod, &delta[i], 1);
        ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_OK);
    }

    ck_assert_str_eq(seen.text, " hello");
}
END_TEST

START_TEST(a_refusal_ends_its_request_alone)
{
    const struct sotto_event *event;
    uint32_t refused;
    uint32_t other;

    greet();
    refused = ask("a", NULL, NULL);
    other = ask("b", NULL, NULL);
    daemon_error(&sottod, refused, 0, false);
    daemon_done(&sottod, other);

    ck_assert_int_eq(sotto_next(sottod.sotto, refused, &event, &error), SOTTO_NOT_FOUND);
    ck_assert_str_eq(error.message, "there is no such model");
    ck_assert_str_eq(error.field, "generate.model");
    ck_assert_uint_eq(error.retry_after_ms, 250);
    ck_assert_int_eq(sotto_next(sottod.sotto, other, &event, &error), SOTTO_OK);
}
END_TEST

START_TEST(a_refusal_on_stream_0_goes_to_the_request_it_is_about)
{
    struct seen seen = { .n_events = 0 };
    uint32_t stream;

    greet();
    stream = ask("a", see, &seen);
    daemon_error(&sottod, 0, stream, false);

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_OK);
    ck_assert_int_eq(seen.code, SOTTO_NOT_FOUND);
    ck_assert_uint_eq(seen.n_last, 1);
}
END_TEST

START_TEST(an_error_without_a_message_gets_one)
{
    const struct sotto_event *event;
    const uint8_t bare[] = { 4, 0, 0, 0, 8, 1, 42, 0 }; /* Error{} on stream 1 */

    greet();
    ask("a", NULL, NULL);
    daemon_send_bytes(&sottod, bare, sizeof(bare));

    ck_assert_int_eq(sotto_next(sottod.sotto, 1, &event, &error), SOTTO_UNKNOWN);
    ck_assert_str_eq(error.message, "the daemon gave no reason for this error (UNKNOWN)");
}
END_TEST

START_TEST(an_unknown_body_is_ignored)
{
    struct seen seen = { .n_events = 0 };
    uint32_t stream;
    const uint8_t unknown[] = { 5, 0, 0, 0, 8, 1, 0xfa, 1, 0 }; /* body 31 */

    greet();
    stream = ask("a", see, &seen);
    daemon_send_bytes(&sottod, unknown, sizeof(unknown));
    daemon_done(&sottod, stream);

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_OK);
    ck_assert_uint_eq(seen.n_events, 1);
}
END_TEST

START_TEST(credit_acknowledges_what_the_caller_has_got)
{
    const struct sotto_event *event;
    const Sotto__V1__ClientFrame *got;
    uint32_t stream;

    greet();
    stream = ask("hello", NULL, NULL);
    daemon_read(&sottod);
    daemon_delta(&sottod, stream, 0, "one ");
    daemon_delta(&sottod, stream, 1, "two");
    sotto_next(sottod.sotto, stream, &event, &error);

    ck_assert_int_eq(sotto_grant(sottod.sotto, stream, 8, &error), SOTTO_OK);

    got = daemon_read(&sottod);
    ck_assert_uint_eq(got->stream, stream);
    ck_assert_uint_eq(got->credit->tokens, 8);
    ck_assert_uint_eq(got->credit->have_token, 1);
    ck_assert_uint_eq(got->credit->have_byte, 4);
}
END_TEST

START_TEST(cancel_is_sent_once_and_not_for_ended_requests)
{
    const struct sotto_event *event;
    uint32_t stream;
    char byte;

    greet();
    stream = ask("hello", NULL, NULL);
    daemon_read(&sottod);
    ck_assert_int_eq(sotto_cancel(sottod.sotto, stream, &error), SOTTO_OK);
    ck_assert_int_eq(daemon_read(&sottod)->body_case, SOTTO__V1__CLIENT_FRAME__BODY_CANCEL);
    daemon_done(&sottod, stream);
    sotto_next(sottod.sotto, stream, &event, &error);

    ck_assert_int_eq(sotto_cancel(sottod.sotto, stream, &error), SOTTO_OK);
    ck_assert_int_eq(recv(sottod.fd, &byte, 1, MSG_DONTWAIT), -1);
}
END_TEST

START_TEST(a_dropped_request_is_cancelled_and_silent)
{
    struct seen seen = { .n_events = 0 };
    struct mem_account open;
    struct mem_account ended;
    uint32_t stream;

    greet();
    stream = ask("hello", see, &seen);
    daemon_read(&sottod);
    sotto_drop(sottod.sotto, stream);
    ck_assert_int_eq(daemon_read(&sottod)->body_case, SOTTO__V1__CLIENT_FRAME__BODY_CANCEL);
    daemon_delta(&sottod, stream, 0, "one ");
    daemon_done(&sottod, stream);

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_OK);
    ck_assert_uint_eq(seen.n_events, 0);
    sotto_drop(sottod.sotto, stream = ask("again", see, &seen));
    mem_read(MEM_WIRE, &open);
    daemon_done(&sottod, stream);
    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_OK);
    mem_read(MEM_WIRE, &ended);
    ck_assert_uint_eq(ended.blocks, open.blocks - 1);
}
END_TEST

static void close_inside(void *owner, const struct sotto_event *event)
{
    struct seen *seen = owner;

    see(owner, event);
    seen->dispatch_inside = sotto_wait(sottod.sotto, 0, NULL);
    sotto_close(sottod.sotto);
}

START_TEST(a_callback_may_close_but_not_wait)
{
    struct seen seen = { .n_events = 0 };
    uint32_t stream;

    greet();
    stream = ask("hello", close_inside, &seen);
    daemon_delta(&sottod, stream, 0, "one ");
    daemon_delta(&sottod, stream, 1, "two ");

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_CANCELLED);
    ck_assert_uint_eq(seen.n_events, 1);
    ck_assert_int_eq(seen.dispatch_inside, SOTTO_FAILED_PRECONDITION);
    sottod.sotto = NULL;
}
END_TEST

static void ask_inside(void *owner, const struct sotto_event *event)
{
    see(owner, event);
    if (event->last) {
        ask("next", NULL, NULL);
    }
}

START_TEST(a_callback_may_send_another_request)
{
    struct seen seen = { .n_events = 0 };
    uint32_t stream;

    greet();
    stream = ask("first", ask_inside, &seen);
    daemon_read(&sottod);
    daemon_done(&sottod, stream);

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_OK);
    ck_assert_mem_eq(daemon_read(&sottod)->generate->text.data, "next", 4);
}
END_TEST

static void on_alarm(int signal)
{
    (void)signal;
}

START_TEST(a_signal_ends_the_waiting_and_not_the_request)
{
    const struct sigaction action = { .sa_handler = on_alarm };
    const struct sotto_event *event = (const struct sotto_event *)&error;
    uint32_t stream;

    greet();
    stream = ask("hello", NULL, NULL);
    sigaction(SIGALRM, &action, NULL);
    ualarm(20000, 0);

    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_OK);
    ck_assert_ptr_null(event);
    daemon_done(&sottod, stream);
    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_OK);
    ck_assert(event->last);
}
END_TEST

START_TEST(a_whole_answer_is_put_together)
{
    struct sotto_generate *generate = sotto_generate_create();
    struct sotto_answer *answer;

    greet();
    sotto_generate_set_text(generate, "x", 1);
    daemon_delta(&sottod, 1, 0, "one ");
    daemon_delta(&sottod, 1, 1, "two");
    daemon_done(&sottod, 1);

    ck_assert_int_eq(sotto_ask(sottod.sotto, generate, &answer, &error), SOTTO_OK);

    ck_assert_str_eq(answer->text, "one two");
    ck_assert_uint_eq(answer->n_tokens, 2);
    ck_assert_uint_eq(answer->tokens[1], 101);
    ck_assert_int_eq(answer->reason, SOTTO_FINISH_LENGTH);
    ck_assert_uint_eq(answer->usage.prompt_tokens, 7);
    sotto_answer_destroy(answer);
    sotto_generate_destroy(generate);
}
END_TEST

static void *read_slowly(void *owner)
{
    size_t *n_read = owner;
    char bytes[4096];
    ssize_t n;

    while ((n = recv(sottod.fd, bytes, sizeof(bytes), 0)) > 0) {
        *n_read += (size_t)n;
        if (*n_read > 3000000) {
            break;
        }
    }
    return NULL;
}

START_TEST(bytes_that_the_socket_does_not_take_stay_queued)
{
    static char text[3000000];
    struct sotto_generate *generate = sotto_generate_create();
    pthread_t reader;
    size_t n_read = 0;

    greet();
    memset(text, 'a', sizeof(text));
    sotto_generate_set_text(generate, text, sizeof(text));
    ck_assert_int_eq(sotto_send_generate(sottod.sotto, generate, NULL, NULL, NULL, &error), SOTTO_OK);
    ck_assert_int_eq(sotto_events(sottod.sotto), POLLIN | POLLOUT);
    pthread_create(&reader, NULL, read_slowly, &n_read);
    while (sotto_events(sottod.sotto) & POLLOUT) {
        ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_OK);
    }
    pthread_join(reader, NULL);

    ck_assert_uint_gt(n_read, sizeof(text));
    sotto_generate_destroy(generate);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clients/stream");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_add_test(facts, a_request_waits_for_the_greeting);
    tcase_add_test(facts, the_greeting_tells_limits_and_capabilities);
    tcase_add_test(facts, fields_that_are_set_arrive_and_others_are_absent);
    tcase_add_test(facts, without_options_only_the_prompt_is_sent);
    tcase_add_test(facts, an_answer_without_tokens_has_no_speed);
    tcase_add_test(facts, the_last_prompt_set_is_the_one_sent);
    tcase_add_test(facts, tools_variables_and_fields_go_with_the_messages);
    tcase_add_test(facts, events_are_fetched_in_order_until_the_last);
    tcase_add_test(facts, two_requests_on_one_connection_are_independent);
    tcase_add_test(facts, frames_that_come_byte_by_byte_are_read_whole);
    tcase_add_test(facts, a_refusal_ends_its_request_alone);
    tcase_add_test(facts, a_refusal_on_stream_0_goes_to_the_request_it_is_about);
    tcase_add_test(facts, an_error_without_a_message_gets_one);
    tcase_add_test(facts, an_unknown_body_is_ignored);
    tcase_add_test(facts, credit_acknowledges_what_the_caller_has_got);
    tcase_add_test(facts, cancel_is_sent_once_and_not_for_ended_requests);
    tcase_add_test(facts, a_dropped_request_is_cancelled_and_silent);
    tcase_add_test(facts, a_callback_may_close_but_not_wait);
    tcase_add_test(facts, a_callback_may_send_another_request);
    tcase_add_test(facts, a_signal_ends_the_waiting_and_not_the_request);
    tcase_add_test(facts, a_whole_answer_is_put_together);
    tcase_add_test(facts, bytes_that_the_socket_does_not_take_stay_queued);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
