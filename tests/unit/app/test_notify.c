/*
 * Messages for the service manager, and sockets from it. A datagram socket stands in for the manager.
 */
#include "app/notify.h"
#include "unit.h"
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static char dir[64];
static int manager;
static char message[512];

static void setup(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    snprintf(dir, sizeof(dir), "/tmp/sotto-notify-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/n", dir);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(manager, (struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
}

static void teardown(void)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/n", dir);
    unlink(path);
    rmdir(dir);
    close(manager);
}

static const char *received(void)
{
    ssize_t n = recv(manager, message, sizeof(message) - 1, 0);

    message[n > 0 ? n : 0] = '\0';
    return message;
}

START_TEST(readiness_status_and_life_are_reported)
{
    notify_ready();
    ck_assert_str_eq(received(), "READY=1");
    notify_status("2 models");
    ck_assert_str_eq(received(), "STATUS=2 models");
    notify_alive();
    ck_assert_str_eq(received(), "WATCHDOG=1");
}
END_TEST

START_TEST(a_stop_is_reported_with_its_bound)
{
    notify_stopping(10000000);

    ck_assert_str_eq(received(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=10000000");
}
END_TEST

START_TEST(a_reload_is_reported_with_its_time)
{
    notify_reloading();

    ck_assert_ptr_nonnull(strstr(received(), "RELOADING=1\nMONOTONIC_USEC="));
}
END_TEST

START_TEST(without_a_watchdog_the_interval_is_0)
{
    ck_assert_uint_eq(notify_watchdog_us(), 0);
}
END_TEST

START_TEST(the_watchdogs_interval_is_the_managers)
{
    char pid[16];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("WATCHDOG_USEC", "2000000", 1);
    setenv("WATCHDOG_PID", pid, 1);

    ck_assert_uint_eq(notify_watchdog_us(), 2000000);
}
END_TEST

START_TEST(without_a_manager_nothing_is_sent)
{
    unsetenv("NOTIFY_SOCKET");
    notify_ready();
    notify_alive();

    ck_assert_str_eq(received(), "");
}
END_TEST

/* ---- sockets passed in */

static void pass_in(int at, int kind)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, kind, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)), 0); /* a name by the kernel */
    if (kind == SOCK_STREAM) {
        ck_assert_int_eq(listen(fd, 1), 0);
    }
    ck_assert_int_eq(dup2(fd, 3 + at), 3 + at);
    if (fd != 3 + at) {
        close(fd);
    }
}

static void announce(const char *n)
{
    char pid[16];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", n, 1);
}

START_TEST(none_passed_in_is_none)
{
    int fds[NOTIFY_SOCKETS_MOST];
    int n = -1;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(notify_sockets(fds, &n, &diag), NOTIFY_SOCKETS_OK);

    ck_assert_int_eq(n, 0);
}
END_TEST

START_TEST(listening_sockets_are_taken_and_not_inherited)
{
    int fds[NOTIFY_SOCKETS_MOST];
    int n;
    struct diag diag = DIAG_INIT;

    pass_in(0, SOCK_STREAM);
    pass_in(1, SOCK_STREAM);
    announce("2");
    ck_assert_msg(notify_sockets(fds, &n, &diag) == NOTIFY_SOCKETS_OK, "%s", diag.text);

    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(fds[1], 4);
    ck_assert(fcntl(3, F_GETFD) & FD_CLOEXEC);
    ck_assert_ptr_null(getenv("LISTEN_FDS"));
}
END_TEST

START_TEST(two_of_which_one_is_of_a_wrong_kind_are_refused)
{
    int fds[NOTIFY_SOCKETS_MOST];
    int n = -1;
    struct diag diag = DIAG_INIT;

    pass_in(0, SOCK_STREAM);
    pass_in(1, SOCK_DGRAM);
    announce("2");

    ck_assert_int_eq(notify_sockets(fds, &n, &diag), NOTIFY_SOCKETS_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "passed-in socket 4"));
    ck_assert_int_eq(n, -1);
}
END_TEST

START_TEST(more_than_are_served_are_refused)
{
    int fds[NOTIFY_SOCKETS_MOST];
    int n = -1;
    struct diag diag = DIAG_INIT;

    for (int i = 0; i <= NOTIFY_SOCKETS_MOST; i++) {
        pass_in(i, SOCK_STREAM);
    }
    announce("5");

    ck_assert_int_eq(notify_sockets(fds, &n, &diag), NOTIFY_SOCKETS_REFUSED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("notify");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    unit_add(facts, readiness_status_and_life_are_reported, a_stop_is_reported_with_its_bound,
             a_reload_is_reported_with_its_time, without_a_watchdog_the_interval_is_0,
             the_watchdogs_interval_is_the_managers, without_a_manager_nothing_is_sent, none_passed_in_is_none,
             listening_sockets_are_taken_and_not_inherited, two_of_which_one_is_of_a_wrong_kind_are_refused,
             more_than_are_served_are_refused);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
