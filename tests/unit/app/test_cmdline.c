/*
 * The command line and the environment.
 */
#include "app/cmdline.h"
#include "base/clean.h"
#include "unit.h"
#include <string.h>

static struct cmdline options;
static struct diag diag;

static void setup(void)
{
    unsetenv("SOTTO_SOCKET");
    unsetenv("SOTTO_LOG");
    unsetenv("SOTTO_CPU");
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("JOURNAL_STREAM");
    memset(&diag, 0, sizeof(diag));
}

static void teardown(void)
{
    cmdline_finish(&options);
}

/* Reads a command line of words separated by blanks. */
static int read_line(const char *line)
{
    static char words[512];
    char *argv[32] = { (char *)(uintptr_t) "sottod" };
    int argc = 1;

    snprintf(words, sizeof(words), "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    return cmdline_read(&options, argc, argv, stdout, &diag);
}

START_TEST(all_options_are_read)
{
    ck_assert_int_eq(read_line("--config /c --socket /s --model a=/a --model b=/b --foreground --engine /e"),
                     CMDLINE_RUN);

    ck_assert_str_eq(options.config, "/c");
    ck_assert_str_eq(options.extra.socket, "/s");
    ck_assert_uint_eq(options.extra.n_models, 2);
    ck_assert_str_eq(options.extra.models[0].name, "a");
    ck_assert_str_eq(options.extra.models[1].file, "/b");
    ck_assert_str_eq(options.engine, "/e");
    ck_assert(options.foreground);
}
END_TEST

START_TEST(a_relative_path_counts_from_this_folder)
{
    char folder[256];

    ck_assert_ptr_nonnull(getcwd(folder, sizeof(folder)));
    ck_assert_int_eq(read_line("--model a=m.gguf"), CMDLINE_RUN);

    ck_assert_int_eq(memcmp(options.extra.models[0].file, folder, strlen(folder)), 0);
    ck_assert_str_eq(options.extra.models[0].file + strlen(folder), "/m.gguf");
}
END_TEST

START_TEST(an_equals_sign_in_the_file_is_part_of_it)
{
    ck_assert_int_eq(read_line("--model a=/x=y.gguf"), CMDLINE_RUN);

    ck_assert_str_eq(options.extra.models[0].file, "/x=y.gguf");
}
END_TEST

START_TEST(the_command_line_overrides_the_environment)
{
    setenv("SOTTO_SOCKET", "/env", 1);

    ck_assert_int_eq(read_line(""), CMDLINE_RUN);
    ck_assert_str_eq(options.extra.socket, "/env");
    cmdline_finish(&options);
    ck_assert_int_eq(read_line("--socket /line"), CMDLINE_RUN);
    ck_assert_str_eq(options.extra.socket, "/line");
}
END_TEST

static const struct bad_line {
    const char *line;
    const char *expected;
} bad_lines[] = {
    { "--model a", "expected NAME=FILE" }, { "--model a=", "expected NAME=FILE" },
    { "--model =/f", "expected 1 to 64" }, { "--model a=/f --model a=/g", "given twice" },
    { "--nonsense", "nonsense" },          { "--socket", "socket" },
    { "extra", "options only" },           { "--socket=", "the path is empty" },
};

START_TEST(errors_are_reported)
{
    ck_assert_int_eq(read_line(bad_lines[_i].line), CMDLINE_BAD);

    ck_assert_msg(strstr(diag.text, bad_lines[_i].expected), "%s: %s", bad_lines[_i].line, diag.text);
}
END_TEST

START_TEST(the_default_socket_is_roots_or_the_users)
{
    char path[CMDLINE_PATH_BYTES];

    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    ck_assert_int_eq(read_line(""), CMDLINE_RUN);

    ck_assert(cmdline_default_socket(&options, true, path, &diag));
    ck_assert_str_eq(path, "/run/sotto/sotto.sock");
    ck_assert(cmdline_default_socket(&options, false, path, &diag));
    ck_assert_str_eq(path, "/run/user/7/sotto.sock");
}
END_TEST

START_TEST(without_a_runtime_folder_a_user_must_give_the_socket)
{
    char path[CMDLINE_PATH_BYTES];

    ck_assert_int_eq(read_line(""), CMDLINE_RUN);

    ck_assert(!cmdline_default_socket(&options, false, path, &diag));
    ck_assert_ptr_nonnull(strstr(diag.text, "--socket"));
}
END_TEST

START_TEST(a_missing_engine_is_named)
{
    char path[CMDLINE_PATH_BYTES];

    ck_assert_int_eq(read_line("--engine /nonexistent/engine"), CMDLINE_RUN);

    ck_assert(!cmdline_find_engine(&options, path, &diag));
    ck_assert_ptr_nonnull(strstr(diag.text, "/nonexistent/engine"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    unit_add(facts, all_options_are_read, a_relative_path_counts_from_this_folder,
             an_equals_sign_in_the_file_is_part_of_it, the_command_line_overrides_the_environment);
    tcase_add_loop_test(facts, errors_are_reported, 0, (int)COUNTOF(bad_lines));
    unit_add(facts, the_default_socket_is_roots_or_the_users, without_a_runtime_folder_a_user_must_give_the_socket,
             a_missing_engine_is_named);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
