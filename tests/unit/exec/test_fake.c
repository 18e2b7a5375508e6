/* The scripted backend: rules in order, and an answer that is a function of all tokens so far. */
#include "base/clean.h"
#include "base/clock.h"
#include "fixture.h"
#include "unit.h"
#include <math.h>
#include <signal.h>
#include <string.h>

#define N_COLS  32
#define N_VOCAB 32

static float weights[N_COLS * N_VOCAB];

struct setting {
    struct exec *exec;
    struct exec_program *program;
    uint32_t logits;
};

/* Writes @text to a file that lives as long as the process. Returns its path. */
static const char *script_of(const char *text)
{
    static char path[64];
    char name[] = "/tmp/sotto-script-XXXXXX";
    int fd = mkstemp(name);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    unlink(name);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}

static void set_up(struct setting *setting, const char *script)
{
    const struct exec_kv_shape shape = {
        .n_layers = 1, .n_kv_heads = 1, .head_dim = N_COLS, .n_pages = 4, .format = EXEC_KV_F16
    };
    struct exec_mem *weight;
    struct exec_mem *kv;
    struct diag diag = DIAG_INIT;
    uint32_t x;
    uint32_t last;

    ck_assert_msg(fixture_try(&setting->exec, "fake", script, &diag) == EXEC_OK, "%s", diag.text);
    ck_assert_int_eq(exec_program_create(setting->exec, 0, 4, 4, &setting->program), 0);
    ck_assert_int_eq(exec_alloc_kv(setting->exec, &shape, &kv, &diag), EXEC_OK);
    weight = fixture_import(setting->exec, weights, N_COLS, N_VOCAB);
    x = exec_slot(setting->program, "x", N_COLS, EXEC_ROWS_ALL);
    last = exec_slot(setting->program, "last", N_COLS, EXEC_ROWS_WANTED);
    setting->logits = exec_slot(setting->program, "logits", N_VOCAB, EXEC_ROWS_WANTED);
    exec_record(setting->program, &(struct exec_op){ .kind = EXEC_EMBED, .out = x, .weight = weight });
    exec_record(setting->program,
                &(struct exec_op){
                    .kind = EXEC_STORE, .in = x, .in2 = x, .kv = kv, .n_kv_heads = 1, .head_dim = N_COLS });
    exec_record(setting->program, &(struct exec_op){ .kind = EXEC_GATHER, .in = x, .out = last });
    exec_record(setting->program,
                &(struct exec_op){ .kind = EXEC_MATMUL, .in = last, .out = setting->logits, .weight = weight });
    ck_assert_msg(exec_seal(setting->program, &diag) == EXEC_OK, "%s", diag.text);
}

/* Runs @tokens as one sequence and copies the logits after the last one. */
static void run(struct setting *setting, const uint32_t *tokens, uint32_t n, float *logits)
{
    static const uint32_t table[] = { 2 };
    static const uint32_t positions[] = { 0, 1, 2, 3 };
    const uint32_t *pages[] = { table, table, table, table };
    const uint32_t wanted[] = { n - 1 };

    ck_assert_int_eq(exec_bind(setting->program, &(struct exec_batch){ .n_rows = n,
                                                                       .tokens = tokens,
                                                                       .positions = positions,
                                                                       .pages = pages,
                                                                       .n_wanted = 1,
                                                                       .wanted = wanted }),
                     0);
    fixture_run(setting->exec, setting->program);
    fixture_read(setting->program, setting->logits, 0, logits, N_VOCAB);
}

static uint32_t best_of(const float *logits)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < N_VOCAB; i++) {
        if (logits[i] > logits[best]) {
            best = i;
        }
    }
    return best;
}

static const struct rule_row {
    const char *script;
    uint32_t tokens[3];
    uint32_t best;
} rule_rows[] = {
    { "always token 7\n", { 1, 2, 3 }, 7 },
    { "always token 39", { 1, 2, 3 }, 7 },
    { "after 3 token 9\nalways token 7\n", { 1, 2, 3 }, 9 },
    { "after 2 token 9\nalways token 7\n", { 1, 2, 3 }, 7 },
    { "# first\n\nat 2 token 5 # third token\nalways next\n", { 1, 2, 3 }, 5 },
    { "at 1 token 5\nalways next\n", { 1, 2, 3 }, 4 },
    { "has 1 token 6\n", { 1, 2, 3 }, 6 },
    { "always slow 1\nalways next", { 1, 2, 31 }, 0 },
};

START_TEST(the_first_rule_that_holds_decides)
{
    const struct rule_row *row = &rule_rows[_i];
    struct setting setting;
    float logits[N_VOCAB];

    set_up(&setting, script_of(row->script));

    run(&setting, row->tokens, 3, logits);

    ck_assert_uint_eq(best_of(logits), row->best);
    exec_close(setting.exec);
}
END_TEST

START_TEST(a_scripted_wait_is_not_time_of_the_device)
{
    static const uint32_t table[] = { 2 };
    static const uint32_t zero[] = { 0 };
    const uint32_t *pages[] = { table };
    const struct exec_batch batch = { .n_rows = 1, .tokens = zero, .positions = zero, .pages = pages };
    struct setting setting;
    struct exec_figures figures;
    uint64_t from_us;
    uint64_t ticket;

    set_up(&setting, script_of("always wait 30\nalways slow 5\n"));
    ck_assert_int_eq(exec_bind(setting.program, &batch), 0);

    from_us = clock_mono_us();
    ck_assert_int_eq(exec_submit(setting.program, 1, 0, &ticket), 0);
    ck_assert_int_eq(exec_wait(setting.exec, ticket, 0), EXEC_OK);
    exec_figures(setting.program, &figures);

    ck_assert_uint_ge(figures.device_ns, 5000000);
    ck_assert_uint_le(figures.device_ns / 1000 + 30000, clock_mono_us() - from_us);
    exec_close(setting.exec);
}
END_TEST

START_TEST(without_rules_every_token_counts)
{
    const uint32_t one[] = { 1, 2, 3 };
    const uint32_t other[] = { 4, 2, 3 };
    struct setting setting;
    float first[N_VOCAB];
    float second[N_VOCAB];

    set_up(&setting, NULL);

    run(&setting, one, 3, first);
    run(&setting, one, 3, second);
    ck_assert_mem_eq(first, second, sizeof(first));
    run(&setting, other, 3, second);
    ck_assert_mem_ne(first, second, sizeof(first));
    exec_close(setting.exec);
}
END_TEST

START_TEST(numbers_can_go_wrong_on_order)
{
    const uint32_t tokens[] = { 1 };
    struct setting setting;
    float logits[N_VOCAB];

    set_up(&setting, script_of("after 1 nan\n"));
    run(&setting, tokens, 1, logits);
    ck_assert(isnan(logits[0]) && isnan(logits[N_VOCAB - 1]));
    exec_close(setting.exec);

    set_up(&setting, script_of("after 1 -inf\n"));
    run(&setting, tokens, 1, logits);
    ck_assert(isinf(logits[3]) && logits[3] < 0);
    exec_close(setting.exec);

    set_up(&setting, script_of("after 1 equal\n"));
    run(&setting, tokens, 1, logits);
    ck_assert_float_eq(logits[0], logits[31]);
    exec_close(setting.exec);
}
END_TEST

START_TEST(a_crash_comes_when_the_row_is_computed)
{
    const uint32_t tokens[] = { 1, 9, 3 };
    struct setting setting;
    float logits[N_VOCAB];

    set_up(&setting, script_of("after 9 crash\n"));

    run(&setting, tokens, 3, logits);
}
END_TEST

static const char *const bad_scripts[] = {
    "sometimes token 3\n", "after token 3\n",           "always\n",        "always token\n",
    "always token 3 4\n",  "always next\nalways fly\n", "after 3x next\n",
};

START_TEST(a_script_that_cannot_be_played_is_refused_with_its_line)
{
    struct exec *exec;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(fixture_try(&exec, "fake", script_of(bad_scripts[_i]), &diag), EXEC_REFUSED);

    ck_assert_msg(strstr(diag.text, _i == 5 ? ":2:" : ":1:"), "%s", diag.text);
}
END_TEST

START_TEST(an_unknown_backend_is_refused_with_the_names_of_the_known_ones)
{
    struct exec *exec;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(fixture_try(&exec, "gpu", NULL, &diag), EXEC_REFUSED);

    ck_assert_str_eq(diag.text, "backend \"gpu\" is not known here; there are cpu, truth, far, fake");
}
END_TEST

START_TEST(a_script_that_is_not_there_is_refused)
{
    struct exec *exec;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(fixture_try(&exec, "fake", "/nowhere/script", &diag), EXEC_REFUSED);

    ck_assert_msg(strstr(diag.text, "/nowhere/script"), "%s", diag.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec-fake");
    TCase *tcase = tcase_create("fake");

    tcase_add_loop_test(tcase, the_first_rule_that_holds_decides, 0, (int)COUNTOF(rule_rows));
    tcase_add_test(tcase, a_scripted_wait_is_not_time_of_the_device);
    tcase_add_test(tcase, without_rules_every_token_counts);
    tcase_add_test(tcase, numbers_can_go_wrong_on_order);
    tcase_add_test_raise_signal(tcase, a_crash_comes_when_the_row_is_computed, SIGABRT);
    tcase_add_loop_test(tcase, a_script_that_cannot_be_played_is_refused_with_its_line, 0, (int)COUNTOF(bad_scripts));
    tcase_add_test(tcase, an_unknown_backend_is_refused_with_the_names_of_the_known_ones);
    tcase_add_test(tcase, a_script_that_is_not_there_is_refused);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
