/*
 * Unit: shared by all unit test programs: running one suite by the rules of the environment, and the files of truth.
 *
 * Check forks a process for each test, so a crash or a leak report fails that test alone.
 */
#ifndef SOTTO_TESTS_UNIT_H
#define SOTTO_TESTS_UNIT_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Runs @suite and returns the exit code of main(). */
static inline int unit_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int n_failed;

    srunner_run_all(runner, CK_ENV);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * True under ThreadSanitizer: it makes arithmetic tens of times slower and looks for races alone, so a test that does
 * one thing in many ways keeps those that have threads in them.
 */
static inline bool unit_looks_for_races(void)
{
#ifdef __SANITIZE_THREAD__
    return true;
#else
    return false;
#endif
}

/* True under any sanitizer: a test of much arithmetic keeps as many cases as it takes to run each piece of code. */
static inline bool unit_is_sanitized(void)
{
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    return unit_looks_for_races();
#endif
}

/*
 * Path of @name below the folder of truth made by other programs, in @path (@cap bytes). False: it is not there.
 * Under CI (CI=true) a missing file is a failure; elsewhere the test says what it left out and passes.
 */
static inline bool unit_truth(const char *name, char *path, size_t cap)
{
    const char *dir = getenv("SOTTO_TRUTH_DIR");
    const char *ci = getenv("CI");

    snprintf(path, cap, "%s/%s", dir ? dir : "../shared/data", name);
    if (access(path, R_OK) == 0) {
        return true;
    }
    ck_assert_msg(!ci || !*ci, "truth data missing under CI: %s", path);
    fprintf(stderr, "left out: %s is not here\n", path);
    return false;
}

#endif
