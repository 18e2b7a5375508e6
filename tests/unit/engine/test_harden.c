/* What a narrowed process can no longer do, and what it still can. Each test is a process of its own. */
#include "engine/harden.h"

#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NARROWS false /* by the contract of harden_narrow() */
#else
#define NARROWS true
#endif

/*
 * Forks, waits for the child and fails the test if the child failed. Returns true in the child, which calls _exit(0) at
 * its end: a narrowed process must not return to check, which creates a timer to learn which clock measures a test, and
 * takes another clock where it may not.
 */
static bool is_child(void)
{
    int status;
    pid_t pid;

    if (!NARROWS) {
        return false;
    }
    pid = fork();
    if (pid == 0) {
        return true;
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    return false;
}

static void *try_open(void *unused)
{
    return (void *)(intptr_t)(open("/dev/null", O_RDONLY) < 0 ? errno : 0);
}

START_TEST(no_file_is_opened)
{
    if (!is_child()) {
        return;
    }
    harden_narrow();

    ck_assert_int_lt(open("/dev/null", O_RDONLY), 0);
    ck_assert_int_eq(errno, EPERM);
    _exit(0);
}
END_TEST

static pthread_barrier_t narrowed;

static void *try_open_later(void *unused)
{
    pthread_barrier_wait(&narrowed);
    return try_open(NULL);
}

START_TEST(threads_from_before_are_narrowed_too)
{
    pthread_t thread;
    void *result;

    if (!is_child()) {
        return;
    }
    pthread_barrier_init(&narrowed, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, try_open_later, NULL), 0);
    harden_narrow();

    pthread_barrier_wait(&narrowed);

    pthread_join(thread, &result);
    ck_assert_int_eq((int)(intptr_t)result, EPERM);
    _exit(0);
}
END_TEST

START_TEST(no_socket_is_made)
{
    if (!is_child()) {
        return;
    }
    harden_narrow();

    ck_assert_int_lt(socket(AF_UNIX, SOCK_STREAM, 0), 0);
    ck_assert_int_eq(errno, EPERM);
    _exit(0);
}
END_TEST

START_TEST(no_program_is_run)
{
    char *const argv[] = { (char[]){ "true" }, NULL };

    if (!is_child()) {
        return;
    }
    harden_narrow();

    ck_assert_int_lt(execv("/bin/true", argv), 0);
    ck_assert_int_eq(errno, EPERM);
    _exit(0);
}
END_TEST

START_TEST(no_memory_becomes_executable)
{
    void *page;

    if (!is_child()) {
        return;
    }
    harden_narrow();

    ck_assert(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    ck_assert_int_eq(errno, EPERM);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(page != MAP_FAILED);
    ck_assert_int_lt(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    _exit(0);
}
END_TEST

START_TEST(memory_threads_and_sleep_still_work)
{
    const struct timespec nap = { .tv_nsec = 1000000 };
    pthread_t thread;
    char *block;

    if (!is_child()) {
        return;
    }
    harden_narrow();

    block = malloc((size_t)8 << 20);
    ck_assert_ptr_nonnull(block);
    block[0] = 1;
    free(block);
    ck_assert_int_eq(pthread_create(&thread, NULL, try_open, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(nanosleep(&nap, NULL), 0);
    _exit(0);
}
END_TEST

START_TEST(process_is_hidden_and_leaves_signals_to_sottod)
{
    struct rlimit core;

    harden_begin();

    ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_CORE, &core), 0);
    ck_assert_uint_eq(core.rlim_max, 0);
    raise(SIGTERM);
    raise(SIGINT);
    raise(SIGHUP);
}
END_TEST

/* Returns the score that the kernel would add for this process. */
static int oom_score(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "r");
    int score;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%d", &score), 1);
    fclose(file);
    return score;
}

START_TEST(process_goes_before_its_parent_when_memory_is_short)
{
    const int before = oom_score();

    harden_begin();

    ck_assert_int_eq(oom_score(), before + 300 < 1000 ? before + 300 : 1000);
}
END_TEST

/* Starts a child that is hardened as an engine is, and writes to @ready_fd when that is done. */
static pid_t spawn_hardened(int ready_fd)
{
    pid_t pid = fork();

    if (pid == 0) {
        harden_begin();
        if (write(ready_fd, &(pid_t){ getpid() }, sizeof(pid_t)) == sizeof(pid_t)) {
            pause();
        }
        _exit(1);
    }
    return pid;
}

START_TEST(process_dies_with_its_parent)
{
    int ends[2];
    pid_t child = 0;
    pid_t parent;
    char byte;

    ck_assert_int_eq(pipe(ends), 0);
    parent = fork();
    if (parent == 0) {
        spawn_hardened(ends[1]);
        pause();
        _exit(1);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &child, sizeof(child)), sizeof(child));

    kill(parent, SIGKILL);

    /* The child holds the last writing end, so its death is the end of the file. */
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
    ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harden");
    TCase *tests = tcase_create("all");

    tcase_add_test(tests, no_file_is_opened);
    tcase_add_test(tests, threads_from_before_are_narrowed_too);
    tcase_add_test(tests, no_socket_is_made);
    tcase_add_test(tests, no_program_is_run);
    tcase_add_test(tests, no_memory_becomes_executable);
    tcase_add_test(tests, memory_threads_and_sleep_still_work);
    tcase_add_test(tests, process_is_hidden_and_leaves_signals_to_sottod);
    tcase_add_test(tests, process_goes_before_its_parent_when_memory_is_short);
    tcase_add_test(tests, process_dies_with_its_parent);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
