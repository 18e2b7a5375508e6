/* The scripted backend: rules in order, and an answer that is a function of all tokens so far. */
#include "base/clean.h"
#include "exec/exec.h"
#include "tensor/type.h"
#include "unit.h"
#include <math.h>
#include <signal.h>
#include <string.h>

#define N_COLS  32
#define N_VOCAB 32

static float weights[N_COLS * N_VOCAB];

struct fixture {
    struct exec *exec;
    struct exec_program *program;
    uint32_t logits;
};

/* Writes @text to a file that lives as long as the process; gives its path. */
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

static struct exec_mem *import(struct exec *exec)
{
    struct exec_mem *mem = NULL;
    struct diag diag = DIAG_INIT;
    const struct exec_tensor tensor = { .name = "w", .n_cols = N_COLS, .n_rows = N_VOCAB, .bytes = weights };

    ck_assert_int_eq(exec_import(exec, &tensor, &mem, &diag), EXEC_OK);
    return mem;
}

static void set_up(struct fixture *fixture, const char *script)
{
    const struct exec_kv_shape shape = {
        .n_layers = 1, .n_kv_heads = 1, .head_dim = N_COLS, .n_pages = 4, .format = EXEC_KV_F16
    };
    struct exec_mem *weight;
    struct exec_mem *kv;
    struct diag diag = DIAG_INIT;
    uint32_t x;
    uint32_t last;

    ck_assert_msg(exec_open(&fixture->exec, &(struct exec_setup){ .backend = "fake", .fake_script = script }, &diag) ==
                      EXEC_OK,
                  "%s", diag.text);
    ck_assert_int_eq(exec_program_create(fixture->exec, 0, 4, 4, &fixture->program), 0);
    ck_assert_int_eq(exec_alloc_kv(fixture->exec, &shape, &kv, &diag), EXEC_OK);
    weight = import(fixture->exec);
    x = exec_slot(fixture->program, "x", N_COLS, EXEC_ROWS_ALL);
    last = exec_slot(fixture->program, "last", N_COLS, EXEC_ROWS_WANTED);
    fixture->logits = exec_slot(fixture->program, "logits", N_VOCAB, EXEC_ROWS_WANTED);
    exec_record(fixture->program, &(struct exec_op){ .kind = EXEC_EMBED, .out = x, .weight = weight });
    exec_record(fixture->program,
                &(struct exec_op){
                    .kind = EXEC_STORE, .in = x, .in2 = x, .kv = kv, .n_kv_heads = 1, .head_dim = N_COLS });
    exec_record(fixture->program, &(struct exec_op){ .kind = EXEC_GATHER, .in = x, .out = last });
    exec_record(fixture->program,
                &(struct exec_op){ .kind = EXEC_MATMUL, .in = last, .out = fixture->logits, .weight = weight });
    ck_assert_msg(exec_seal(fixture->program, &diag) == EXEC_OK, "%s", diag.text);
}

/* Runs @tokens as one sequence and gives the logits after the last. */
static void run(struct fixture *fixture, const uint32_t *tokens, uint32_t n, float *logits)
{
    static const uint32_t table[] = { 2 };
    static const uint32_t positions[] = { 0, 1, 2, 3 };
    const uint32_t *pages[] = { table, table, table, table };
    const uint32_t wanted[] = { n - 1 };
    uint64_t ticket;

    ck_assert_int_eq(exec_bind(fixture->program, &(struct exec_batch){ .n_rows = n,
                                                                       .tokens = tokens,
                                                                       .positions = positions,
                                                                       .pages = pages,
                                                                       .n_wanted = 1,
                                                                       .wanted = wanted }),
                     0);
    while (exec_is_left(fixture->program)) {
        ck_assert_int_eq(exec_submit(fixture->program, 1, 0, &ticket), 0);
        ck_assert_int_eq(exec_wait(fixture->exec, ticket, 1000), EXEC_OK);
    }
    ck_assert_int_eq(exec_read(fixture->program, fixture->logits, 0, logits, N_VOCAB), 0);
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
    struct fixture fixture;
    float logits[N_VOCAB];

    set_up(&fixture, script_of(row->script));

    run(&fixture, row->tokens, 3, logits);

    ck_assert_uint_eq(best_of(logits), row->best);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(without_rules_every_token_counts)
{
    const uint32_t one[] = { 1, 2, 3 };
    const uint32_t other[] = { 4, 2, 3 };
    struct fixture fixture;
    float first[N_VOCAB];
    float second[N_VOCAB];

    set_up(&fixture, NULL);

    run(&fixture, one, 3, first);
    run(&fixture, one, 3, second);
    ck_assert_mem_eq(first, second, sizeof(first));
    run(&fixture, other, 3, second);
    ck_assert_mem_ne(first, second, sizeof(first));
    exec_close(fixture.exec);
}
END_TEST

START_TEST(numbers_can_go_wrong_on_order)
{
    const uint32_t tokens[] = { 1 };
    struct fixture fixture;
    float logits[N_VOCAB];

    set_up(&fixture, script_of("after 1 nan\n"));
    run(&fixture, tokens, 1, logits);
    ck_assert(isnan(logits[0]) && isnan(logits[N_VOCAB - 1]));
    exec_close(fixture.exec);

    set_up(&fixture, script_of("after 1 -inf\n"));
    run(&fixture, tokens, 1, logits);
    ck_assert(isinf(logits[3]) && logits[3] < 0);
    exec_close(fixture.exec);

    set_up(&fixture, script_of("after 1 equal\n"));
    run(&fixture, tokens, 1, logits);
    ck_assert_float_eq(logits[0], logits[31]);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(a_crash_comes_when_the_row_is_computed)
{
    const uint32_t tokens[] = { 1, 9, 3 };
    struct fixture fixture;
    float logits[N_VOCAB];

    set_up(&fixture, script_of("after 9 crash\n"));

    run(&fixture, tokens, 3, logits);
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
    const struct exec_setup setup = { .backend = "fake", .fake_script = script_of(bad_scripts[_i]) };

    ck_assert_int_eq(exec_open(&exec, &setup, &diag), EXEC_REFUSED);

    ck_assert_msg(strstr(diag.text, _i == 5 ? ":2:" : ":1:"), "%s", diag.text);
}
END_TEST

START_TEST(a_script_that_is_not_there_is_refused)
{
    struct exec *exec;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(exec_open(&exec, &(struct exec_setup){ .backend = "fake", .fake_script = "/nowhere/script" },
                               &diag),
                     EXEC_REFUSED);

    ck_assert_msg(strstr(diag.text, "/nowhere/script"), "%s", diag.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec-fake");
    TCase *tcase = tcase_create("fake");

    tcase_add_loop_test(tcase, the_first_rule_that_holds_decides, 0, (int)COUNTOF(rule_rows));
    tcase_add_test(tcase, without_rules_every_token_counts);
    tcase_add_test(tcase, numbers_can_go_wrong_on_order);
    tcase_add_test_raise_signal(tcase, a_crash_comes_when_the_row_is_computed, SIGABRT);
    tcase_add_loop_test(tcase, a_script_that_cannot_be_played_is_refused_with_its_line, 0, (int)COUNTOF(bad_scripts));
    tcase_add_test(tcase, a_script_that_is_not_there_is_refused);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
