/* libsotto: a daemon that is missing, ends, or sends garbage; missing memory. */
#include "fake_daemon.h"
#include <poll.h>
#include <stdlib.h>
#include <sys/un.h>

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

static uint32_t ask_status(sotto_event_fn fn, void *owner)
{
    uint32_t stream = 0;

    ck_assert_int_eq(sotto_send_status(sottod.sotto, fn, owner, &stream, &error), SOTTO_OK);
    return stream;
}

static void keep_code(void *owner, const struct sotto_event *event)
{
    ck_assert(event->last);
    *(enum sotto_code *)owner = event->error->code;
}

START_TEST(the_end_of_the_daemon_ends_every_request)
{
    const struct sotto_event *event;
    enum sotto_code code = SOTTO_OK;
    uint32_t pulled;

    greet();
    pulled = ask_status(NULL, NULL);
    ask_status(keep_code, &code);
    daemon_delta(&sottod, pulled, 0, "left ");
    daemon_hang_up(&sottod);

    ck_assert_int_eq(sotto_next(sottod.sotto, pulled, &event, &error), SOTTO_OK);
    ck_assert_str_eq(event->delta->text, "left ");
    ck_assert_int_eq(sotto_next(sottod.sotto, pulled, &event, &error), SOTTO_UNAVAILABLE);
    ck_assert_str_eq(error.message, "the daemon has closed the connection");
    ck_assert_int_eq(code, SOTTO_UNAVAILABLE);
    ck_assert_int_eq(sotto_send_status(sottod.sotto, NULL, NULL, NULL, &error), SOTTO_UNAVAILABLE);
}
END_TEST

static void close_on_loss(void *owner, const struct sotto_event *event)
{
    ck_assert(event->last);
    ++*(int *)owner;
    sotto_close(sottod.sotto);
}

START_TEST(a_callback_may_close_at_the_loss_of_the_connection)
{
    int n_calls = 0;

    greet();
    ask_status(close_on_loss, &n_calls);
    ask_status(close_on_loss, &n_calls);
    daemon_hang_up(&sottod);

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_CANCELLED);
    ck_assert_int_eq(n_calls, 1);
    sottod.sotto = NULL;
}
END_TEST

START_TEST(an_end_within_a_frame_is_reported_as_such)
{
    greet();
    daemon_send_bytes(&sottod, (const uint8_t[]){ 9, 0, 0, 0, 1 }, 5);
    daemon_hang_up(&sottod);

    while (sotto_wait(sottod.sotto, PATIENCE_MS, &error) == SOTTO_OK) {
    }
    ck_assert_str_eq(error.message, "the daemon has closed the connection in the middle of a frame");
}
END_TEST

START_TEST(an_end_before_the_greeting_is_reported_as_such)
{
    daemon_hang_up(&sottod);

    ck_assert_int_eq(sotto_greet(sottod.sotto, PATIENCE_MS, &error), SOTTO_UNAVAILABLE);
    ck_assert_str_eq(error.message, "the daemon has closed the connection before it greeted");
}
END_TEST

START_TEST(a_missing_greeting_is_not_waited_for_longer_than_asked)
{
    ck_assert_int_eq(sotto_greet(sottod.sotto, 10, &error), SOTTO_DEADLINE_EXCEEDED);
}
END_TEST

START_TEST(a_daemon_of_another_version_is_refused)
{
    const uint8_t welcome[] = { 4, 0, 0, 0, 0x12, 2, 8, 9 };

    daemon_send_bytes(&sottod, welcome, sizeof(welcome));

    ck_assert_int_eq(sotto_greet(sottod.sotto, PATIENCE_MS, &error), SOTTO_UNIMPLEMENTED);
    ck_assert_ptr_nonnull(strstr(error.message, "version 9"));
}
END_TEST

START_TEST(a_frame_too_long_ends_the_connection)
{
    enum sotto_code code = SOTTO_OK;

    greet();
    ask_status(keep_code, &code);
    daemon_send_bytes(&sottod, (const uint8_t[]){ 0xff, 0xff, 0xff, 0xff }, 4);

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_DATA_LOSS);
    ck_assert_int_eq(code, SOTTO_DATA_LOSS);
    ck_assert_ptr_nonnull(strstr(error.message, "4294967295"));
}
END_TEST

START_TEST(bytes_that_are_not_a_message_end_the_connection)
{
    greet();
    daemon_send_bytes(&sottod, (const uint8_t[]){ 2, 0, 0, 0, 0x13, 0x14 }, 6);

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_DATA_LOSS);
}
END_TEST

START_TEST(a_fatal_error_is_reported_to_every_request)
{
    enum sotto_code code = SOTTO_OK;
    const struct sotto_event *event;
    uint32_t pulled;

    greet();
    ask_status(keep_code, &code);
    pulled = ask_status(NULL, NULL);
    daemon_error(&sottod, 0, 0, true);
    daemon_hang_up(&sottod);

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_NOT_FOUND);
    ck_assert_int_eq(code, SOTTO_NOT_FOUND);
    ck_assert_int_eq(sotto_next(sottod.sotto, pulled, &event, &error), SOTTO_NOT_FOUND);
    ck_assert_str_eq(error.message, "there is no such model");
}
END_TEST

START_TEST(a_fatal_error_is_read_even_if_writing_has_failed)
{
    greet();
    daemon_error(&sottod, 0, 0, true);
    daemon_hang_up(&sottod);
    ask_status(NULL, NULL); /* EPIPE */
    ask_status(NULL, NULL);
    ck_assert_int_eq(sotto_events(sottod.sotto), POLLIN); /* with POLLOUT the caller's loop would spin */

    ck_assert_int_eq(sotto_wait(sottod.sotto, PATIENCE_MS, &error), SOTTO_NOT_FOUND);
}
END_TEST

START_TEST(a_request_longer_than_the_daemon_takes_is_not_sent)
{
    static char text[LIMIT_FRAME];
    char byte;

    greet();

    ck_assert_int_eq(sotto_send_tokenize(sottod.sotto, NULL, text, sizeof(text), 0, NULL, NULL, NULL, &error),
                     SOTTO_INVALID_ARGUMENT);
    ck_assert_int_eq(recv(sottod.fd, &byte, 1, MSG_DONTWAIT), -1);
}
END_TEST

START_TEST(requests_beyond_the_limit_of_unsent_bytes_are_refused)
{
    static char text[LIMIT_TEXT];
    enum sotto_code code = SOTTO_OK;

    greet();
    for (int i = 0; i < 20 && code == SOTTO_OK; i++) {
        code = sotto_send_tokenize(sottod.sotto, NULL, text, sizeof(text), 0, NULL, NULL, NULL, &error);
    }

    ck_assert_int_eq(code, SOTTO_RESOURCE_EXHAUSTED);
}
END_TEST

START_TEST(a_missing_daemon_is_reported_with_the_path)
{
    struct sotto *sotto = NULL;

    ck_assert_int_eq(sotto_open(&sotto, "/nonexistent/sotto.sock", NULL, &error), SOTTO_UNAVAILABLE);

    ck_assert_ptr_null(sotto);
    ck_assert_ptr_nonnull(strstr(error.message, "/nonexistent/sotto.sock"));
}
END_TEST

START_TEST(a_path_longer_than_the_system_takes_is_refused)
{
    struct sotto *sotto = NULL;
    char path[109] = "";

    memset(path, 'a', 108);

    ck_assert_int_eq(sotto_open(&sotto, path, NULL, &error), SOTTO_INVALID_ARGUMENT);
    setenv("SOTTO_SOCKET", path, 1);
    ck_assert_int_eq(sotto_open(&sotto, NULL, NULL, &error), SOTTO_INVALID_ARGUMENT);
}
END_TEST

static int listen_at(const char *path)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(name.sun_path, path);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

START_TEST(the_default_path_is_the_named_one_then_the_users_own)
{
    char dir[] = "/tmp/sotto-test-XXXXXX";
    char path[64];
    struct sotto *sotto = NULL;
    int fd;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/sotto.sock", dir);
    fd = listen_at(path);
    setenv("XDG_RUNTIME_DIR", dir, 1);
    unsetenv("SOTTO_SOCKET");

    ck_assert_int_eq(sotto_open(&sotto, NULL, NULL, &error), SOTTO_OK);
    sotto_close(sotto);
    setenv("SOTTO_SOCKET", "/nonexistent/named", 1);
    ck_assert_int_eq(sotto_open(&sotto, NULL, NULL, &error), SOTTO_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(error.message, "/nonexistent/named"));
    close(fd);
    unlink(path);
    rmdir(dir);
}
END_TEST

/* Sends a request and reads its answer. Every step may fail for lack of memory, and then reports it. */
static enum sotto_code converse(void)
{
    struct sotto_generate *generate = sotto_generate_create();
    struct sotto_answer *answer = NULL;
    int ends[2];
    struct fake_daemon other = { .fd = -1 };
    enum sotto_code code;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    other.fd = ends[1];
    if (!generate || sotto_open_fd(&other.sotto, ends[0], NULL, &error)) {
        close(ends[0]);
        close(ends[1]);
        sotto_generate_destroy(generate);
        return SOTTO_RESOURCE_EXHAUSTED;
    }
    sotto_generate_set_model(generate, "tiny");
    sotto_generate_add_message(generate, "user", "hello", 5);
    sotto_generate_add_stop(generate, "x", 1);
    sotto_generate_add_bias(generate, 3, 1);
    daemon_send_bytes(&other, (const uint8_t[]){ 4, 0, 0, 0, 0x12, 2, 8, 1 }, 8);
    daemon_send_bytes(&other, (const uint8_t[]){ 9, 0, 0, 0, 8, 1, 26, 5, 18, 1, 5, 26, 0 }, 13);
    daemon_send_bytes(&other, (const uint8_t[]){ 6, 0, 0, 0, 8, 1, 34, 2, 8, 1 }, 10);
    code = sotto_ask(other.sotto, generate, &answer, &error);
    ck_assert(code == SOTTO_OK ? answer->reason == SOTTO_FINISH_END : code == SOTTO_RESOURCE_EXHAUSTED);
    sotto_answer_destroy(answer);
    sotto_generate_destroy(generate);
    sotto_close(other.sotto);
    close(ends[1]);
    return code;
}

START_TEST(missing_memory_anywhere_is_reported_and_leaks_nothing)
{
    struct mem_account before;
    struct mem_account after;
    int n_failed = -1;

    mem_read(MEM_WIRE, &before);
    do {
        mem_fail_nth(++n_failed);
    } while (converse() != SOTTO_OK);
    mem_fail_nth(-1);

    mem_read(MEM_WIRE, &after);
    ck_assert_int_gt(n_failed, 10);
    ck_assert_uint_eq(after.blocks, before.blocks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clients/loss");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_add_test(facts, the_end_of_the_daemon_ends_every_request);
    tcase_add_test(facts, a_callback_may_close_at_the_loss_of_the_connection);
    tcase_add_test(facts, an_end_within_a_frame_is_reported_as_such);
    tcase_add_test(facts, an_end_before_the_greeting_is_reported_as_such);
    tcase_add_test(facts, a_missing_greeting_is_not_waited_for_longer_than_asked);
    tcase_add_test(facts, a_daemon_of_another_version_is_refused);
    tcase_add_test(facts, a_frame_too_long_ends_the_connection);
    tcase_add_test(facts, bytes_that_are_not_a_message_end_the_connection);
    tcase_add_test(facts, a_fatal_error_is_reported_to_every_request);
    tcase_add_test(facts, a_fatal_error_is_read_even_if_writing_has_failed);
    tcase_add_test(facts, a_request_longer_than_the_daemon_takes_is_not_sent);
    tcase_add_test(facts, requests_beyond_the_limit_of_unsent_bytes_are_refused);
    tcase_add_test(facts, a_missing_daemon_is_reported_with_the_path);
    tcase_add_test(facts, a_path_longer_than_the_system_takes_is_refused);
    tcase_add_test(facts, the_default_path_is_the_named_one_then_the_users_own);
    tcase_add_test(facts, missing_memory_anywhere_is_reported_and_leaks_nothing);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
