/* libsotto: sessions. */
#include "fake_daemon.h"

static struct fake_daemon sottod;
static struct sotto_error error;

static void setup(void)
{
    daemon_open(&sottod);
    daemon_welcome(&sottod);
    ck_assert_int_eq(sotto_greet(sottod.sotto, PATIENCE_MS, &error), SOTTO_OK);
}

static void teardown(void)
{
    daemon_close(&sottod);
}

START_TEST(a_session_is_opened_with_prompt_model_class_and_slide_only)
{
    struct sotto_generate *begin = sotto_generate_create();
    const Sotto__V1__OpenSession *got;

    sotto_generate_set_model(begin, "m");
    sotto_generate_add_message(begin, "system", "Be brief.", 9);
    sotto_generate_set_class(begin, SOTTO_CLASS_BACKGROUND);
    sotto_generate_set_slide(begin, 4);
    sotto_generate_set_temperature(begin, 0.5f);
    ck_assert_int_eq(sotto_send_session_open(sottod.sotto, begin, 5000, NULL, NULL, NULL, &error), SOTTO_OK);
    sotto_generate_destroy(begin);

    got = daemon_read(&sottod)->open_session;
    ck_assert_str_eq(got->model, "m");
    ck_assert_int_eq(got->input_case, SOTTO__V1__OPEN_SESSION__INPUT_CHAT);
    ck_assert_str_eq(got->chat->messages[0]->role, "system");
    ck_assert_mem_eq(got->chat->messages[0]->content.data, "Be brief.", 9);
    ck_assert_int_eq(got->priority, SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND);
    ck_assert_int_eq(got->on_full, SOTTO__V1__ON_FULL__ON_FULL_SLIDE);
    ck_assert_uint_eq(got->idle_ms, 5000);
}
END_TEST

START_TEST(text_and_tokens_keep_their_kind)
{
    const uint32_t ids[] = { 7, 8 };

    for (int i = 0; i < 2; i++) {
        struct sotto_generate *begin = sotto_generate_create();
        const Sotto__V1__OpenSession *got;

        if (i == 0) {
            sotto_generate_set_text(begin, "a\0b", 3);
        } else {
            sotto_generate_set_tokens(begin, ids, 2);
        }
        ck_assert_int_eq(sotto_send_session_open(sottod.sotto, begin, 0, NULL, NULL, NULL, &error), SOTTO_OK);
        sotto_generate_destroy(begin);
        got = daemon_read(&sottod)->open_session;
        ck_assert_int_eq(got->opt_idle_ms_case, SOTTO__V1__OPEN_SESSION__OPT_IDLE_MS__NOT_SET);
        if (i == 0) {
            ck_assert_uint_eq(got->text.len, 3);
            ck_assert_mem_eq(got->text.data, "a\0b", 3);
        } else {
            ck_assert_uint_eq(got->tokens->n_ids, 2);
            ck_assert_uint_eq(got->tokens->ids[1], 8);
        }
    }
}
END_TEST

START_TEST(the_number_of_a_session_is_sent_with_each_turn)
{
    Sotto__V1__SessionOpened opened = SOTTO__V1__SESSION_OPENED__INIT;
    const struct sotto_event *event;
    struct sotto_generate *turn = sotto_generate_create();
    char model[] = "m";
    uint32_t stream;

    ck_assert_int_eq(sotto_send_session_open(sottod.sotto, NULL, 0, NULL, NULL, &stream, &error), SOTTO_OK);
    ck_assert_int_eq(daemon_read(&sottod)->open_session->input_case, SOTTO__V1__OPEN_SESSION__INPUT__NOT_SET);
    opened.session = UINT64_MAX;
    opened.model = model;
    opened.context_tokens = 512;
    opened.tokens = 22;
    opened.idle_ms = 1000;
    daemon_send(&sottod, stream, SOTTO__V1__SERVER_FRAME__BODY_SESSION_OPENED, &opened);
    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_OK);
    ck_assert_int_eq(event->kind, SOTTO_EVENT_SESSION);
    ck_assert(event->last);
    ck_assert_str_eq(event->session->model, "m");
    ck_assert_uint_eq(event->session->tokens, 22);
    ck_assert_uint_eq(event->session->context_tokens, 512);
    ck_assert_uint_eq(event->session->idle_ms, 1000);

    sotto_generate_set_text(turn, "x", 1);
    sotto_generate_set_session(turn, event->session->id);
    ck_assert_int_eq(sotto_send_generate(sottod.sotto, turn, NULL, NULL, NULL, &error), SOTTO_OK);
    ck_assert_uint_eq(daemon_read(&sottod)->generate->session, UINT64_MAX);
    sotto_generate_destroy(turn);
}
END_TEST

START_TEST(a_closed_session_tells_its_tokens)
{
    Sotto__V1__SessionClosed closed = SOTTO__V1__SESSION_CLOSED__INIT;
    const struct sotto_event *event;
    uint32_t stream;

    ck_assert_int_eq(sotto_send_session_close(sottod.sotto, 9, NULL, NULL, &stream, &error), SOTTO_OK);
    ck_assert_uint_eq(daemon_read(&sottod)->close_session->session, 9);
    closed.tokens = 33;
    daemon_send(&sottod, stream, SOTTO__V1__SERVER_FRAME__BODY_SESSION_CLOSED, &closed);
    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_OK);
    ck_assert_uint_eq(event->session->id, 0);
    ck_assert_uint_eq(event->session->tokens, 33);
    ck_assert_str_eq(event->session->model, "");
    ck_assert_int_eq(sotto_next(sottod.sotto, stream, &event, &error), SOTTO_NOT_FOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clients-session");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_session_is_opened_with_prompt_model_class_and_slide_only);
    tcase_add_test(tcase, text_and_tokens_keep_their_kind);
    tcase_add_test(tcase, the_number_of_a_session_is_sent_with_each_turn);
    tcase_add_test(tcase, a_closed_session_tells_its_tokens);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
