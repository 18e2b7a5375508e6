/* Whole files under a ceiling, exact reads, and locks that tell who holds them. */
#include "base/clean.h"
#include "base/file.h"
#include "failed_alloc.h"
#include "unit.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[] = "/tmp/sotto-test-XXXXXX";
static char path[64];

static void make_dir(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/file", dir);
}

static void drop_dir(void)
{
    unlink(path);
    rmdir(dir);
}

static void write_file(const char *bytes, size_t n)
{
    cleanup(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), n);
}

START_TEST(file_is_read_whole_and_zero_terminated)
{
    cleanup(mem_freep) char *bytes = NULL;
    struct diag diag = DIAG_INIT;
    size_t n;

    write_file("a\0b", 3);

    ck_assert_int_eq(file_read(path, MEM_MISC, 3, &bytes, &n, &diag), FILE_OK);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(memcmp(bytes, "a\0b\0", 4), 0);
}
END_TEST

START_TEST(empty_file_is_read)
{
    cleanup(mem_freep) char *bytes = NULL;
    struct diag diag = DIAG_INIT;
    size_t n;

    write_file("", 0);

    ck_assert_int_eq(file_read(path, MEM_MISC, 100, &bytes, &n, &diag), FILE_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_str_eq(bytes, "");
}
END_TEST

START_TEST(file_that_does_not_say_its_size_is_read)
{
    cleanup(mem_freep) char *bytes = NULL;
    struct diag diag = DIAG_INIT;
    size_t n;

    ck_assert_int_eq(file_read("/proc/self/status", MEM_MISC, 1 << 16, &bytes, &n, &diag), FILE_OK);
    ck_assert_ptr_nonnull(strstr(bytes, "Pid:"));
}
END_TEST

START_TEST(absent_file_is_an_outcome)
{
    char *bytes;
    struct diag diag = DIAG_INIT;
    size_t n;

    ck_assert_int_eq(file_read(path, MEM_MISC, 100, &bytes, &n, &diag), FILE_ABSENT);
    ck_assert_ptr_nonnull(strstr(diag.text, "no such file"));
}
END_TEST

START_TEST(file_above_the_ceiling_is_refused)
{
    char *bytes;
    struct diag diag = DIAG_INIT;
    size_t n;

    write_file("12345", 5);

    ck_assert_int_eq(file_read(path, MEM_MISC, 4, &bytes, &n, &diag), FILE_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "larger than the 4 bytes"));
}
END_TEST

START_TEST(sizeless_file_above_the_ceiling_is_refused)
{
    char *bytes;
    struct diag diag = DIAG_INIT;
    size_t n;

    ck_assert_int_eq(file_read("/proc/self/status", MEM_MISC, 10, &bytes, &n, &diag), FILE_REFUSED);
}
END_TEST

START_TEST(folder_and_pipe_are_refused_without_waiting)
{
    char *bytes;
    struct diag diag = DIAG_INIT;
    size_t n;

    ck_assert_int_eq(file_read(dir, MEM_MISC, 100, &bytes, &n, &diag), FILE_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "not a regular file"));
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(file_read(path, MEM_MISC, 100, &bytes, &n, &diag), FILE_REFUSED);
}
END_TEST

START_TEST(link_in_a_circle_is_refused)
{
    char *bytes;
    struct diag diag = DIAG_INIT;
    size_t n;

    ck_assert_int_eq(symlink(path, path), 0);

    ck_assert_int_eq(file_read(path, MEM_MISC, 100, &bytes, &n, &diag), FILE_REFUSED);
}
END_TEST

static int read_once(void *data)
{
    cleanup(mem_freep) char *bytes = NULL;
    size_t n;

    return file_read(path, MEM_MISC, 100, &bytes, &n, NULL);
}

START_TEST(failed_read_leaks_nothing)
{
    write_file("abc", 3);

    for_each_failed_alloc(read_once, NULL);
}
END_TEST

START_TEST(pread_stops_at_the_end)
{
    cleanup(fd_closep) int fd = -1;
    char bytes[8];
    size_t got;

    write_file("0123456789", 10);
    fd = open(path, O_RDONLY);

    ck_assert_int_eq(file_pread(fd, bytes, 8, 0, &got), 0);
    ck_assert_uint_eq(got, 8);
    ck_assert_int_eq(file_pread(fd, bytes, 8, 6, &got), 0);
    ck_assert_uint_eq(got, 4);
    ck_assert_int_eq(memcmp(bytes, "6789", 4), 0);
    ck_assert_int_eq(file_pread(fd, bytes, 8, 100, &got), 0);
    ck_assert_uint_eq(got, 0);
}
END_TEST

START_TEST(pread_refuses_offsets_that_no_file_has)
{
    char byte;
    size_t got;

    ck_assert_int_eq(file_pread(-1, &byte, 1, UINT64_MAX, &got), -EOVERFLOW);
    ck_assert_int_eq(file_pread(-1, &byte, 1, INT64_MAX, &got), -EOVERFLOW);
    ck_assert_int_eq(file_pread(-1, &byte, 1, 0, &got), -EBADF);
}
END_TEST

START_TEST(second_lock_names_the_holder)
{
    cleanup(fd_closep) int fd = -1;
    struct diag diag = DIAG_INIT;
    int other_fd = -1;
    int pid = -1;

    ck_assert_int_eq(lock_take(path, &fd, &pid, &diag), LOCK_OK);

    ck_assert_int_eq(lock_take(path, &other_fd, &pid, &diag), LOCK_HELD);
    ck_assert_int_eq(pid, getpid());
    ck_assert_int_eq(other_fd, -1);
}
END_TEST

START_TEST(lock_ends_with_its_process)
{
    cleanup(fd_closep) int fd = -1;
    struct diag diag = DIAG_INIT;
    int pid;
    pid_t child = fork();

    if (child == 0) {
        int child_fd;

        _exit(lock_take(path, &child_fd, &pid, &diag) == LOCK_OK ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &pid, 0), child);
    ck_assert_int_eq(pid, 0);

    ck_assert_int_eq(lock_take(path, &fd, &pid, &diag), LOCK_OK);
}
END_TEST

START_TEST(lock_does_not_follow_a_link)
{
    struct diag diag = DIAG_INIT;
    int fd;
    int pid;

    ck_assert_int_eq(symlink("/tmp/sotto-nowhere", path), 0);

    ck_assert_int_eq(lock_take(path, &fd, &pid, &diag), -ELOOP);
    ck_assert(diag_is_set(&diag));
}
END_TEST

/* Takes the lock @n times; whoever has it is alone with the witness, and removes the lock file before leaving. */
static int take_and_remove(int n)
{
    char witness[80];

    snprintf(witness, sizeof(witness), "%s.witness", path);
    for (int i = 0; i < n; i++) {
        cleanup(fd_closep) int fd = -1;
        int pid;

        if (lock_take(path, &fd, &pid, NULL) != LOCK_OK) {
            continue;
        }
        if (mkdir(witness, 0700) < 0) {
            return 1;
        }
        rmdir(witness);
        unlink(path);
    }
    return 0;
}

START_TEST(lock_on_a_removed_file_keeps_nobody_out_and_is_not_taken)
{
    pid_t children[3];

    for (size_t i = 0; i < COUNTOF(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            _exit(take_and_remove(5000));
        }
    }

    for (size_t i = 0; i < COUNTOF(children); i++) {
        int status = -1;

        waitpid(children[i], &status, 0);
        ck_assert_int_eq(status, 0);
    }
}
END_TEST

START_TEST(lock_is_taken_where_there_is_no_room_for_its_holders_number)
{
    const struct rlimit none = { .rlim_cur = 0, .rlim_max = RLIM_INFINITY };
    struct stat st;
    int other = -1;
    int pid = -1;
    int fd = -1;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);

    ck_assert_int_eq(lock_take(path, &fd, &pid, NULL), LOCK_OK);
    ck_assert_int_eq(lock_take(path, &other, &pid, NULL), LOCK_HELD);
    ck_assert_int_eq(pid, 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(st.st_size, 0);

    close(fd);
}
END_TEST

START_TEST(lock_on_a_pipe_is_refused)
{
    struct diag diag = DIAG_INIT;
    int fd;
    int pid;

    ck_assert_int_eq(mkfifo(path, 0600), 0);

    ck_assert_int_eq(lock_take(path, &fd, &pid, &diag), -EINVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *tcase = tcase_create("file");

    tcase_set_timeout(tcase, 60); /* thousands of locks, on a machine that has other work */
    tcase_add_checked_fixture(tcase, make_dir, drop_dir);
    tcase_add_test(tcase, file_is_read_whole_and_zero_terminated);
    tcase_add_test(tcase, empty_file_is_read);
    tcase_add_test(tcase, file_that_does_not_say_its_size_is_read);
    tcase_add_test(tcase, absent_file_is_an_outcome);
    tcase_add_test(tcase, file_above_the_ceiling_is_refused);
    tcase_add_test(tcase, sizeless_file_above_the_ceiling_is_refused);
    tcase_add_test(tcase, folder_and_pipe_are_refused_without_waiting);
    tcase_add_test(tcase, link_in_a_circle_is_refused);
    tcase_add_test(tcase, failed_read_leaks_nothing);
    tcase_add_test(tcase, pread_stops_at_the_end);
    tcase_add_test(tcase, pread_refuses_offsets_that_no_file_has);
    tcase_add_test(tcase, second_lock_names_the_holder);
    tcase_add_test(tcase, lock_ends_with_its_process);
    tcase_add_test(tcase, lock_does_not_follow_a_link);
    tcase_add_test(tcase, lock_on_a_removed_file_keeps_nobody_out_and_is_not_taken);
    tcase_add_test(tcase, lock_is_taken_where_there_is_no_room_for_its_holders_number);
    tcase_add_test(tcase, lock_on_a_pipe_is_refused);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
