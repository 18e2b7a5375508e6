/*
 * The program sottod as a whole: start, service, end, kill, reload.
 */
#include "base/clock.h"
#include "daemon.h"
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct daemon daemon_one;
static char model[512]; /* NAME=FILE of the smallest real model; empty: not available */
static char text[4096];

static void setup(void)
{
    char path[400];

    daemon_setup(&daemon_one);
    model[0] = '\0';
    if (unit_truth("models/stories260K-f32.gguf", path, sizeof(path))) {
        snprintf(model, sizeof(model), "tiny=%s", path);
    }
}

static void teardown(void)
{
    daemon_teardown(&daemon_one);
}

static void start(void)
{
    daemon_start(&daemon_one, NULL);
    ck_assert(daemon_wait_ready(&daemon_one));
}

static void start_with_model(void)
{
    const char *more[] = { "--model", model, NULL };

    daemon_start(&daemon_one, more);
    ck_assert(daemon_wait_ready(&daemon_one));
}

static int end(void)
{
    kill(daemon_one.pid, SIGTERM);
    return daemon_wait_end(&daemon_one);
}

static struct sockaddr_un socket_address(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memcpy(address.sun_path, daemon_one.socket, strlen(daemon_one.socket) + 1);
    return address;
}

static int listening_socket(int kind)
{
    struct sockaddr_un address = socket_address();
    int fd = socket(AF_UNIX, kind | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    if (kind == SOCK_STREAM) {
        ck_assert_int_eq(listen(fd, 16), 0);
    }
    return fd;
}

/* ---- start and end */

START_TEST(ready_means_that_the_socket_answers)
{
    struct client client;

    start();

    client_open(&client, daemon_one.socket);
    client_close(&client);
    ck_assert_int_eq(end(), 0);
}
END_TEST

START_TEST(an_end_removes_the_socket_and_is_reported)
{
    start();
    kill(daemon_one.pid, SIGTERM);

    daemon_wait_message(&daemon_one, "STOPPING=1");
    ck_assert_int_eq(daemon_wait_end(&daemon_one), 0);
    ck_assert_int_ne(access(daemon_one.socket, F_OK), 0);
}
END_TEST

/* Returns how long @n feedings of the watchdog take. */
static uint64_t feedings_us(unsigned n)
{
    uint64_t from_us;

    daemon_wait_message(&daemon_one, "WATCHDOG=1");
    from_us = clock_mono_us();
    for (unsigned i = 0; i < n; i++) {
        daemon_wait_message(&daemon_one, "WATCHDOG=1");
    }
    return clock_mono_us() - from_us;
}

/* It is fed no more often than that, as far as was observed, and no more seldom in the quickest of several tries: a
 * busy machine may look late. */
START_TEST(the_watchdog_is_fed_at_half_its_interval)
{
    uint64_t from_us = clock_mono_us();
    unsigned n = 0;

    daemon_one.watchdog_us = "200000";
    start();
    for (uint64_t took_us = UINT64_MAX; took_us > 900000; n += 7) {
        took_us = feedings_us(6); /* 600 ms; 1200 at the whole interval */
        ck_assert_msg(clock_mono_us() - from_us < PATIENCE_US, "6 feedings never came within 900 ms");
    }
    ck_assert_uint_le(n, 1 + (clock_mono_us() - from_us) / 100000);
    ck_assert_int_eq(end(), 0);
}
END_TEST

START_TEST(a_stop_while_loading_ends)
{
    if (*model) {
        start_with_model();
        ck_assert_int_eq(end(), 0);
    }
}
END_TEST

/* Stops streams that could run for minutes: each ends with one last frame, then the connection ends. */
static void stop_with_streams(const char *config)
{
    struct client client[8];

    daemon_write_config(&daemon_one, config);
    start_with_model();
    for (size_t i = 0; i < COUNTOF(client); i++) {
        client_open(&client[i], daemon_one.socket);
        client_generate(&client[i], 1, "Once", 400);
        ck_assert_ptr_nonnull(client_next(&client[i]));
    }
    kill(daemon_one.pid, SIGTERM);
    for (size_t i = 0; i < COUNTOF(client); i++) {
        const Sotto__V1__ServerFrame *last = client_last(&client[i], 1);

        ck_assert(last->body_case == SOTTO__V1__SERVER_FRAME__BODY_DONE ||
                  last->error->code == SOTTO__V1__CODE__CODE_UNAVAILABLE);
        last = client_next(&client[i]);
        ck_assert_msg(last && last->body_case == SOTTO__V1__SERVER_FRAME__BODY_ERROR && last->error->fatal,
                      "the connection ends with a reason");
        ck_assert_ptr_null(client_next(&client[i]));
        client_close(&client[i]);
    }
    ck_assert_int_eq(daemon_wait_end(&daemon_one), 0);
}

START_TEST(a_stop_ends_eight_streams_with_a_reason)
{
    if (*model) {
        stop_with_streams("{\"daemon\": {\"stop_grace\": \"50ms\"}}");
    }
}
END_TEST

/* Starts it with 32 streams and ends it by two signals. Returns how long the end took. */
static uint64_t end_twice_us(void)
{
    struct client client;
    uint64_t from_us;

    daemon_write_config(&daemon_one, "{\"daemon\": {\"stop_grace\": \"5s\"}}");
    start_with_model();
    client_open(&client, daemon_one.socket);
    for (uint32_t label = 1; label <= 32; label++) {
        client_generate(&client, label, "Once", 500);
    }
    ck_assert_ptr_nonnull(client_next(&client));
    from_us = clock_mono_us();
    kill(daemon_one.pid, SIGTERM);
    usleep(20000);
    kill(daemon_one.pid, SIGINT);

    ck_assert_int_eq(daemon_wait_end(&daemon_one), 0);
    client_close(&client);
    return clock_mono_us() - from_us;
}

/* The grace is 5 s. A busy machine may need as long for the end alone, so a quicker end is looked for. */
START_TEST(a_second_signal_ends_the_grace)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;

    while (*model && end_twice_us() > 4000000) {
        ck_assert_msg(clock_mono_us() < until_us, "for a minute every end has taken the whole grace");
    }
}
END_TEST

/* Looks for a quick start until the machine lets one be quick. */
START_TEST(the_start_is_quick)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;
    uint64_t took_us;

    do {
        uint64_t from_us = clock_mono_us();

        start();
        took_us = clock_mono_us() - from_us;
        ck_assert_int_eq(end(), 0);
        ck_assert_msg(clock_mono_us() < until_us, "for a minute no start has been quick");
    } while (took_us > 1000000);
}
END_TEST

/* ---- the socket */

START_TEST(after_a_kill_it_comes_back)
{
    struct client client;

    start();
    kill(daemon_one.pid, SIGKILL);
    ck_assert_int_eq(daemon_wait_end(&daemon_one), -SIGKILL);
    ck_assert_int_eq(access(daemon_one.socket, F_OK), 0);

    start();
    client_open(&client, daemon_one.socket);
    client_close(&client);
    ck_assert_int_eq(end(), 0);
}
END_TEST

START_TEST(a_second_copy_is_refused_and_the_first_lives)
{
    struct daemon second = daemon_one;
    struct client client;

    start();
    daemon_start(&second, NULL);
    ck_assert_int_eq(daemon_wait_end(&second), 1);

    snprintf(text, sizeof(text), "another sottod has it, process %d", (int)daemon_one.pid);
    daemon_wait_log(&daemon_one, text);
    client_open(&client, daemon_one.socket);
    client_close(&client);
    ck_assert_int_eq(end(), 0);
}
END_TEST

START_TEST(a_passed_in_socket_outlives_every_start)
{
    struct client client;

    daemon_one.passed = listening_socket(SOCK_STREAM);
    for (int i = 0; i < 2; i++) {
        start();
        client_open(&client, daemon_one.socket);
        client_close(&client);
        ck_assert_int_eq(end(), 0);
        ck_assert_int_eq(access(daemon_one.socket, F_OK), 0);
    }
    ck_assert(client_try_open(&client, daemon_one.socket)); /* waits for the next start */
    start();
    client_close(&client);
    ck_assert_int_eq(end(), 0);
}
END_TEST

START_TEST(a_passed_in_socket_of_a_wrong_kind_ends_the_start)
{
    daemon_one.passed = listening_socket(SOCK_DGRAM);
    daemon_start(&daemon_one, NULL);

    ck_assert_int_eq(daemon_wait_end(&daemon_one), 1);
    daemon_wait_log(&daemon_one, "not a listening unix stream socket");
}
END_TEST

START_TEST(few_descriptors_lower_the_limit_which_is_logged)
{
    struct client client[12];
    unsigned n_refused = 0;

    daemon_one.n_files = 32;
    start();
    daemon_wait_log(&daemon_one, "limited to 8 connections");
    for (size_t i = 0; i < COUNTOF(client); i++) {
        const Sotto__V1__ServerFrame *frame;

        ck_assert(client_try_open(&client[i], daemon_one.socket));
        if (i >= 8) {
            frame = client_next(&client[i]);
            ck_assert_ptr_nonnull(frame);
            n_refused += frame->error->code == SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
        }
    }
    ck_assert_uint_eq(n_refused, 4);
    for (size_t i = 0; i < COUNTOF(client); i++) {
        client_close(&client[i]);
    }
    client_wait_open(&client[0], daemon_one.socket);
    client_close(&client[0]);
    ck_assert_int_eq(end(), 0);
}
END_TEST

/* Returns the user and system time of the daemon in ms. */
static unsigned long cpu_ms(void)
{
    unsigned long user = 0;
    unsigned long system = 0;
    FILE *file;

    snprintf(text, sizeof(text), "/proc/%d/stat", (int)daemon_one.pid);
    file = fopen(text, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system), 2);
    fclose(file);
    return (user + system) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK);
}

/* Waits for half a second in which the daemon uses less than 100 ms of the processor. */
static void wait_until_idle(void)
{
    uint64_t until_us = clock_mono_us() + PATIENCE_US;
    unsigned long before_ms;

    do {
        ck_assert_msg(clock_mono_us() < until_us, "it is not idle");
        before_ms = cpu_ms();
        usleep(500000);
    } while (cpu_ms() - before_ms >= 100);
}

START_TEST(at_the_limit_of_descriptors_streams_continue_and_the_processor_is_idle)
{
    struct client busy;
    struct client crowd[100];

    if (!*model) {
        return;
    }
    daemon_one.n_files = 32;
    start_with_model();
    client_open(&busy, daemon_one.socket);
    client_generate(&busy, 1, "Once", 300);
    client_generate(&busy, 2, "There", 300);
    for (size_t i = 0; i < COUNTOF(crowd); i++) {
        client_try_open(&crowd[i], daemon_one.socket);
    }
    for (unsigned n_done = 0; n_done < 2;) {
        const Sotto__V1__ServerFrame *frame = client_next(&busy);

        ck_assert_ptr_nonnull(frame);
        n_done += frame->body_case == SOTTO__V1__SERVER_FRAME__BODY_DONE && frame->done->usage->generated_tokens == 300;
    }
    wait_until_idle();
    for (size_t i = 0; i < COUNTOF(crowd); i++) {
        client_close(&crowd[i]);
    }
    client_wait_open(&crowd[0], daemon_one.socket);
    client_close(&crowd[0]);
    client_close(&busy);
    ck_assert_int_eq(end(), 0);
}
END_TEST

/* ---- configuration and reload */

START_TEST(check_config_prints_ok)
{
    const char *more[] = { "--check-config", NULL };

    daemon_start(&daemon_one, more);

    ck_assert_int_eq(daemon_wait_end(&daemon_one), 0);
    daemon_wait_log(&daemon_one, "sotto.json: ok");
}
END_TEST

START_TEST(check_config_prints_each_error_with_its_line)
{
    const char *more[] = { "--check-config", NULL };

    daemon_write_config(&daemon_one, "{\n \"sokket\": 1,\n \"daemon\": {\"stop_grace\": 10}\n}");
    daemon_start(&daemon_one, more);

    ck_assert_int_eq(daemon_wait_end(&daemon_one), 1);
    daemon_wait_log(&daemon_one, "sotto.json:2: sokket: unknown setting; did you mean \"socket\"?");
    daemon_wait_log(&daemon_one, "sotto.json:3: daemon.stop_grace: the number 10 is not allowed");
}
END_TEST

START_TEST(a_wrong_configuration_ends_the_start)
{
    daemon_write_config(&daemon_one, "");
    daemon_start(&daemon_one, NULL);

    ck_assert_int_eq(daemon_wait_end(&daemon_one), 1);
    daemon_wait_log(&daemon_one, "the file is empty");
}
END_TEST

START_TEST(a_wrong_command_line_ends_with_2)
{
    const char *more[] = { "--nonsense", NULL };

    daemon_start(&daemon_one, more);

    ck_assert_int_eq(daemon_wait_end(&daemon_one), 2);
}
END_TEST

static const Sotto__V1__ServerFrame *reload(struct client *client)
{
    client_request(client, 99, SOTTO__V1__CLIENT_FRAME__BODY_RELOAD);
    return client_last(client, 99);
}

START_TEST(a_reload_to_a_broken_file_changes_nothing)
{
    struct client client;
    const Sotto__V1__ServerFrame *frame;

    start();
    client_open(&client, daemon_one.socket);
    daemon_write_config(&daemon_one, "{\"policy\": 7}");
    frame = reload(&client);

    ck_assert_int_eq(frame->body_case, SOTTO__V1__SERVER_FRAME__BODY_ERROR);
    ck_assert_ptr_nonnull(strstr(frame->error->message, "sotto.json:1: policy: the number 7"));
    client_request(&client, 1, SOTTO__V1__CLIENT_FRAME__BODY_STATUS);
    ck_assert_uint_eq(client_last(&client, 1)->status_report->config_generation, 1);
    client_close(&client);
    ck_assert_int_eq(end(), 0);
}
END_TEST

static bool has_path(char *const *paths, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(paths[i], path) == 0) {
            return true;
        }
    }
    return false;
}

/* Changes model, limit and socket while two requests run: they keep the old limit, a new one gets the new limit. */
START_TEST(a_reload_keeps_running_requests_and_names_changes_that_wait)
{
    struct client client;
    const Sotto__V1__ServerFrame *frame;
    const Sotto__V1__Reloaded *reloaded;

    if (!*model) {
        return;
    }
    snprintf(text, sizeof(text), "{\"models\": {\"tiny\": {\"file\": \"%s\"}}}", strchr(model, '=') + 1);
    daemon_write_config(&daemon_one, text);
    start();
    client_open(&client, daemon_one.socket);
    client_generate(&client, 1, "Once", 300);
    client_generate(&client, 2, "There", 300);
    snprintf(text, sizeof(text),
             "{\"socket\": \"/tmp/elsewhere\", \"socket_group\": \"root\", \"policy\": [{\"anyone\": true, "
             "\"admin\": true,"
             " \"answer_tokens\": 5}], \"models\": {\"tiny\": {\"file\": \"%s\", \"context\": 100}}}",
             strchr(model, '=') + 1);
    daemon_write_config(&daemon_one, text);
    client_request(&client, 99, SOTTO__V1__CLIENT_FRAME__BODY_RELOAD);
    for (unsigned n_done = 0; n_done < 2;) {
        frame = client_next(&client);
        ck_assert_ptr_nonnull(frame);
        if (frame->body_case == SOTTO__V1__SERVER_FRAME__BODY_RELOADED) {
            reloaded = frame->reloaded;
            ck_assert_uint_eq(reloaded->config_generation, 2);
            ck_assert(has_path(reloaded->applied, reloaded->n_applied, "policy"));
            ck_assert(has_path(reloaded->needs_restart, reloaded->n_needs_restart, "socket_group"));
            ck_assert(has_path(reloaded->needs_restart, reloaded->n_needs_restart, "models.tiny.context"));
        } else if (frame->body_case == SOTTO__V1__SERVER_FRAME__BODY_DONE) {
            ck_assert_uint_eq(frame->done->usage->generated_tokens, 300);
            n_done++;
        }
    }
    reloaded = reload(&client)->reloaded; /* waiting changes are reported until the restart */
    ck_assert(has_path(reloaded->needs_restart, reloaded->n_needs_restart, "socket_group"));
    ck_assert_uint_eq(reloaded->n_applied, 0);
    client_generate(&client, 3, "Once", 4);
    ck_assert_int_eq(client_last(&client, 3)->body_case, SOTTO__V1__SERVER_FRAME__BODY_DONE);
    client_close(&client);
    ck_assert_int_eq(end(), 0);
}
END_TEST

START_TEST(three_reloads_in_a_second_are_three)
{
    struct client client;

    start();
    client_open(&client, daemon_one.socket);
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), "{\"daemon\": {\"connections\": %d}}", 100 + i);
        daemon_write_config(&daemon_one, text);
        ck_assert_uint_eq(reload(&client)->reloaded->config_generation, 2u + (unsigned)i);
    }
    client_close(&client);
    ck_assert_int_eq(end(), 0);
}
END_TEST

START_TEST(a_reload_during_a_load_does_no_harm)
{
    struct client client;

    if (!*model) {
        return;
    }
    start_with_model();
    client_open(&client, daemon_one.socket);
    ck_assert_int_eq(reload(&client)->body_case, SOTTO__V1__SERVER_FRAME__BODY_RELOADED);
    client_generate(&client, 1, "Once", 3);

    ck_assert_int_eq(client_last(&client, 1)->body_case, SOTTO__V1__SERVER_FRAME__BODY_DONE);
    client_close(&client);
    ck_assert_int_eq(end(), 0);
}
END_TEST

START_TEST(the_signal_reloads_too)
{
    struct client client;

    start();
    daemon_write_config(&daemon_one, "{\"daemon\": {\"connections\": 9, \"connections_a_uid\": 9}}");
    kill(daemon_one.pid, SIGHUP);
    daemon_wait_log(&daemon_one, "event: reloaded, generation: 2, applied: 2, needs-restart: 0");
    client_open(&client, daemon_one.socket);
    client_close(&client);
    ck_assert_int_eq(end(), 0);
}
END_TEST

START_TEST(no_prompt_reaches_the_log)
{
    struct client client;

    if (!*model) {
        return;
    }
    setenv("SOTTO_LOG", "app:debug,ipc:debug,stream:debug,engine:debug,model:debug", 1);
    start_with_model();
    client_open(&client, daemon_one.socket);
    client_generate(&client, 1, "xylophone7", 3);
    client_last(&client, 1);
    client_close(&client);
    ck_assert_int_eq(end(), 0);
    unsetenv("SOTTO_LOG");

    snprintf(text, sizeof(text), "grep -q xylophone7 %s", daemon_one.log);
    ck_assert_int_ne(system(text), 0);
    daemon_wait_log(&daemon_one, "connection 1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sottod");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_set_timeout(facts, 60);
    unit_add(facts, ready_means_that_the_socket_answers, an_end_removes_the_socket_and_is_reported,
             the_watchdog_is_fed_at_half_its_interval, a_stop_while_loading_ends,
             a_stop_ends_eight_streams_with_a_reason, a_second_signal_ends_the_grace, the_start_is_quick,
             after_a_kill_it_comes_back, a_second_copy_is_refused_and_the_first_lives,
             a_passed_in_socket_outlives_every_start, a_passed_in_socket_of_a_wrong_kind_ends_the_start,
             few_descriptors_lower_the_limit_which_is_logged,
             at_the_limit_of_descriptors_streams_continue_and_the_processor_is_idle, check_config_prints_ok,
             check_config_prints_each_error_with_its_line, a_wrong_configuration_ends_the_start,
             a_wrong_command_line_ends_with_2, a_reload_to_a_broken_file_changes_nothing,
             a_reload_keeps_running_requests_and_names_changes_that_wait, three_reloads_in_a_second_are_three,
             a_reload_during_a_load_does_no_harm, the_signal_reloads_too, no_prompt_reaches_the_log);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
