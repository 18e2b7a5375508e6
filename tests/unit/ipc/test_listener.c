/*
 * Whose socket file it is, and sockets that were passed in.
 */
#include "fixture.h"
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static char dir[64];
static char path[256];
static struct diag diag;
static struct socket_file file;

static void setup(void)
{
    snprintf(dir, sizeof(dir), "/tmp/sotto-file-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    memset(&diag, 0, sizeof(diag));
}

static void teardown(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}

/* A path below @dir of exactly @n bytes. */
static void path_of(size_t n)
{
    size_t at = (size_t)snprintf(path, sizeof(path), "%s/", dir);

    memset(path + at, 'a', n - at);
    path[n] = '\0';
}

static int make(void)
{
    return socket_file_make(&file, path, (gid_t)-1, &diag);
}

static int connect_to(const char *to)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int r;

    memcpy(address.sun_path, to, strlen(to) + 1);
    r = connect(fd, (struct sockaddr *)&address, sizeof(address));
    close(fd);
    return r;
}

/* Plays a daemon that was killed: its file stays, its lock dies. */
static void die_with_a_socket(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        _exit(make() == SOCKET_FILE_OK && listen(file.fd, 1) == 0 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(access(path, F_OK), 0);
}

START_TEST(a_path_of_107_bytes_is_bound_whole)
{
    path_of(107);

    ck_assert_msg(make() == SOCKET_FILE_OK, "%s", diag.text);

    ck_assert_int_eq(access(path, F_OK), 0);
    socket_file_remove(&file);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_longer_path_is_refused_with_its_length)
{
    static const size_t lengths[] = { 108, 120 };

    path_of(lengths[_i]);

    ck_assert_int_eq(make(), SOCKET_FILE_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, _i ? "120" : "108"));
}
END_TEST

START_TEST(two_long_paths_with_one_beginning_are_not_confused)
{
    struct socket_file first;

    path_of(107);
    ck_assert_int_eq(make(), SOCKET_FILE_OK);
    first = file;
    path_of(109);

    ck_assert_int_eq(make(), SOCKET_FILE_REFUSED);

    ck_assert_int_eq(access(first.path, F_OK), 0);
    socket_file_remove(&first);
}
END_TEST

START_TEST(what_a_killed_daemon_left_is_taken_over)
{
    die_with_a_socket();

    ck_assert_msg(make() == SOCKET_FILE_OK, "%s", diag.text);

    ck_assert_int_eq(listen(file.fd, 1), 0);
    ck_assert_int_eq(connect_to(path), 0);
    socket_file_remove(&file);
}
END_TEST

START_TEST(a_second_daemon_is_refused_and_told_the_firsts_process)
{
    struct socket_file first;
    char pid[32];

    ck_assert_int_eq(make(), SOCKET_FILE_OK);
    first = file;
    ck_assert_int_eq(listen(first.fd, 1), 0);

    ck_assert_int_eq(make(), SOCKET_FILE_REFUSED);

    snprintf(pid, sizeof(pid), "process %d", (int)getpid());
    ck_assert_msg(strstr(diag.text, pid), "%s", diag.text);
    ck_assert_int_eq(connect_to(path), 0);
    socket_file_remove(&first);
}
END_TEST

START_TEST(a_living_socket_without_our_lock_is_left_alone)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(address.sun_path, path, strlen(path) + 1);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);

    ck_assert_int_eq(make(), SOCKET_FILE_REFUSED);

    ck_assert_ptr_nonnull(strstr(diag.text, "in use by process"));
    ck_assert_int_eq(access(path, F_OK), 0);
    close(fd);
}
END_TEST

START_TEST(a_plain_file_at_the_path_is_refused_and_kept)
{
    close(open(path, O_CREAT | O_WRONLY, 0600));

    ck_assert_int_eq(make(), SOCKET_FILE_REFUSED);

    ck_assert_ptr_nonnull(strstr(diag.text, "no socket"));
    ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_link_at_the_path_is_refused_and_kept)
{
    struct stat st;

    ck_assert_int_eq(symlink("/tmp/elsewhere", path), 0);

    ck_assert_int_eq(make(), SOCKET_FILE_REFUSED);

    ck_assert_ptr_nonnull(strstr(diag.text, "link"));
    ck_assert_int_eq(lstat(path, &st), 0);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_said)
{
    snprintf(path, sizeof(path), "%s/none/s", dir);

    ck_assert_int_lt(make(), 0);

    ck_assert_ptr_nonnull(strstr(diag.text, "/none/s"));
}
END_TEST

/* Every event of the folder shows the mode that the file has then; the umask is as hostile as it can be. */
START_TEST(the_mode_is_right_from_the_first_moment)
{
    static const mode_t masks[] = { 0, 022, 077, 0777 };
    _Alignas(struct inotify_event) char events[4096];
    struct stat st;
    int watch = inotify_init1(IN_NONBLOCK);

    ck_assert_int_ge(inotify_add_watch(watch, dir, IN_ATTRIB), 0);
    umask(masks[_i]);
    ck_assert_int_eq(make(), SOCKET_FILE_OK);

    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, SOCKET_FILE_MODE);
    ck_assert_int_eq(read(watch, events, sizeof(events)), -1); /* the mode was never changed after the file was made */
    ck_assert_uint_eq(umask(022), masks[_i]);
    close(watch);
    socket_file_remove(&file);
}
END_TEST

START_TEST(the_file_belongs_to_the_group_that_was_asked_for)
{
    struct stat st;

    if (geteuid() != 0) {
        return; /* only root may give files away */
    }
    ck_assert_int_eq(socket_file_make(&file, path, 4242, &diag), SOCKET_FILE_OK);

    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_gid, 4242);
    socket_file_remove(&file);
}
END_TEST

START_TEST(a_file_that_somebody_put_in_our_place_is_not_removed)
{
    ck_assert_int_eq(make(), SOCKET_FILE_OK);
    unlink(path);
    close(open(path, O_CREAT | O_WRONLY, 0600));

    socket_file_remove(&file);

    ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

/* ---- listening */

START_TEST(a_passed_in_socket_serves_and_is_never_removed)
{
    struct fixture fixture;
    struct client client;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    fixture_open(&fixture);
    memcpy(address.sun_path, path, strlen(path) + 1);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 5), 0);
    ck_assert_int_eq(listener_adopt(fixture.ipc, fd, &diag), 0);
    listener_close(container_of(list_first(&fixture.ipc->listeners), struct listener, link)); /* its own path */
    fixture_run(&fixture, 5);
    snprintf(fixture.path, sizeof(fixture.path), "%s", path);
    client_connect(&fixture, &client);
    client_hello(&fixture, &client);
    client_close(&client);
    snprintf(fixture.path, sizeof(fixture.path), "/nonexistent");

    fixture_close(&fixture);

    ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_datagram_socket_is_refused)
{
    struct fixture fixture;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    fixture_open(&fixture);

    ck_assert_int_lt(listener_adopt(fixture.ipc, fd, &diag), 0);

    ck_assert_ptr_nonnull(strstr(diag.text, "can't be listened on"));
    fixture_close(&fixture);
}
END_TEST

START_TEST(who_waits_while_memory_is_short_is_turned_away_and_the_next_is_served)
{
    struct fixture fixture;
    struct client client;

    fixture_open(&fixture);
    client_connect(&fixture, &client);
    mem_fail_nth(0); /* the connection itself */
    fixture_iterate(&fixture);
    mem_fail_nth(-1);
    client_expect_end(&fixture, &client);
    client_close(&client);

    client_connect(&fixture, &client);
    client_hello(&fixture, &client);
    client_close(&client);
    fixture_close(&fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("listener");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_add_test(facts, a_path_of_107_bytes_is_bound_whole);
    tcase_add_loop_test(facts, a_longer_path_is_refused_with_its_length, 0, 2);
    tcase_add_test(facts, two_long_paths_with_one_beginning_are_not_confused);
    tcase_add_test(facts, what_a_killed_daemon_left_is_taken_over);
    tcase_add_test(facts, a_second_daemon_is_refused_and_told_the_firsts_process);
    tcase_add_test(facts, a_living_socket_without_our_lock_is_left_alone);
    tcase_add_test(facts, a_plain_file_at_the_path_is_refused_and_kept);
    tcase_add_test(facts, a_link_at_the_path_is_refused_and_kept);
    tcase_add_test(facts, a_folder_that_is_not_there_is_said);
    tcase_add_loop_test(facts, the_mode_is_right_from_the_first_moment, 0, 4);
    tcase_add_test(facts, the_file_belongs_to_the_group_that_was_asked_for);
    tcase_add_test(facts, a_file_that_somebody_put_in_our_place_is_not_removed);
    tcase_add_test(facts, a_passed_in_socket_serves_and_is_never_removed);
    tcase_add_test(facts, a_datagram_socket_is_refused);
    tcase_add_test(facts, who_waits_while_memory_is_short_is_turned_away_and_the_next_is_served);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
