/* Standard descriptors that were closed are held, and tell whoever uses them. */
#include "base/stdfd.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs @look in a process of its own, whose standard descriptors may go; its exit code. */
static int apart(int (*look)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(look());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int all_closed(void)
{
    char byte = 0;

    close(0);
    close(1);
    close(2);
    if (file_hold_std() != 0 || fcntl(2, F_GETFD) < 0) {
        return 1;
    }
    if (open("/dev/null", O_RDWR) < 3) {
        return 2;
    }
    if (read(0, &byte, 1) != -1 || errno != EBADF) {
        return 3;
    }
    if (write(1, &byte, 1) != -1 || errno != EBADF || write(2, &byte, 1) != -1 || errno != EBADF) {
        return 4;
    }
    return 0;
}

static int only_1_closed(void)
{
    int ends[2];
    char byte = 'x';

    if (pipe(ends) < 0 || dup2(ends[0], 0) < 0 || dup2(ends[1], 2) < 0) {
        return 1;
    }
    close(1);
    if (file_hold_std() != 0 || fcntl(1, F_GETFD) < 0) {
        return 2;
    }
    return write(2, &byte, 1) == 1 && read(0, &byte, 1) == 1 ? 0 : 3;
}

START_TEST(closed_ones_are_held_and_fail_when_used)
{
    ck_assert_int_eq(apart(all_closed), 0);
}
END_TEST

START_TEST(open_ones_are_left_as_they_are)
{
    ck_assert_int_eq(apart(only_1_closed), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stdfd");
    TCase *facts = tcase_create("stdfd");

    tcase_add_test(facts, closed_ones_are_held_and_fail_when_used);
    tcase_add_test(facts, open_ones_are_left_as_they_are);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
