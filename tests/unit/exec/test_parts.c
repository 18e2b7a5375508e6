/*
 * Parts of the cpu backend: their cut follows the bound and the measured speed, and their result does not depend on it;
 * runs over two scratches do not affect each other.
 */
#include "base/clean.h"
#include "exec/cpu_backend.h"
#include "fixture.h"
#include "unit.h"
#include <string.h>

#define N_COLS   512
#define N_OUT    6000 /* some milliseconds of work in all */
#define N_ROWS   32
#define N_TOKENS 64

struct setting {
    struct exec *exec;
    struct exec_program *programs[EXEC_SCRATCHES];
    uint32_t out; /* slot */
    struct exec_mem *embd;
    struct exec_mem *weight;
};

static float embd[N_TOKENS * N_COLS];
static float weight[N_OUT * N_COLS];

static struct exec_mem *import(struct exec *exec, float *floats, uint64_t n_rows)
{
    for (uint64_t i = 0; i < n_rows * N_COLS; i++) {
        floats[i] = (float)(i * 2654435761u % 1000) * 0.001f - 0.5f;
    }
    return fixture_import(exec, floats, N_COLS, n_rows);
}

static void set_up(struct setting *setting, const char *backend)
{
    struct diag diag = DIAG_INIT;

    setting->exec = fixture_open(backend, 1);
    setting->embd = import(setting->exec, embd, N_TOKENS);
    setting->weight = import(setting->exec, weight, N_OUT);
    for (uint32_t i = 0; i < EXEC_SCRATCHES; i++) {
        struct exec_program *program;
        uint32_t x;

        ck_assert_int_eq(exec_program_create(setting->exec, i, N_ROWS, 1, &program), 0);
        x = exec_slot(program, "x", N_COLS, EXEC_ROWS_ALL);
        setting->out = exec_slot(program, "out", N_OUT, EXEC_ROWS_ALL);
        exec_record(program, &(struct exec_op){ .kind = EXEC_EMBED, .out = x, .weight = setting->embd });
        exec_record(program,
                    &(struct exec_op){ .kind = EXEC_MATMUL, .in = x, .out = setting->out, .weight = setting->weight });
        ck_assert_int_eq(exec_seal(program, &diag), EXEC_OK);
        setting->programs[i] = program;
    }
}

/* Tokens @first, @first + 1, ... */
static void bind(struct exec_program *program, uint32_t first)
{
    static uint32_t tokens[EXEC_SCRATCHES][N_ROWS]; /* they must stay until the run ends */
    static const uint32_t positions[N_ROWS];
    static const uint32_t *pages[N_ROWS]; /* there are none */
    uint32_t *mine = tokens[program->scratch];

    for (uint32_t i = 0; i < N_ROWS; i++) {
        mine[i] = (first + i) % N_TOKENS;
    }
    ck_assert_int_eq(exec_bind(program,
                               &(struct exec_batch){
                                   .n_rows = N_ROWS, .tokens = mine, .positions = positions, .pages = pages }),
                     0);
}

/* Runs to the end and copies row @row of the result. Returns the number of parts. */
static uint64_t run(struct setting *setting, struct exec_program *program, uint32_t bound_us, uint32_t row, float *out)
{
    struct exec_figures figures;

    while (exec_is_left(program)) {
        fixture_submit(setting->exec, program, 1, bound_us);
    }
    fixture_read(program, setting->out, row, out, N_OUT);
    exec_figures(program, &figures);
    return figures.n_parts;
}

START_TEST(a_shorter_bound_cuts_finer_and_changes_no_bit)
{
    static float first[N_OUT], then[N_OUT];
    static const uint32_t bounds[] = { 0, 2000, 300, 50, 1 };
    struct setting setting;
    uint64_t n_before = 0;

    set_up(&setting, "cpu");
    bind(setting.programs[0], 3);
    run(&setting, setting.programs[0], 0, 7, first); /* the speed is known afterwards */
    for (size_t i = 0; i < COUNTOF(bounds); i++) {
        uint64_t n;

        memset(then, 0, sizeof(then));
        bind(setting.programs[0], 3);
        n = run(&setting, setting.programs[0], bounds[i], 7, then);
        ck_assert(memcmp(first, then, sizeof(first)) == 0);
        if (i == 0 || i + 1 == COUNTOF(bounds)) {
            ck_assert_uint_gt(n, n_before);
            n_before = 4 * n;
        }
    }
    exec_close(setting.exec);
}
END_TEST

START_TEST(slow_parts_are_cut_finer_and_quick_ones_coarser)
{
    struct setting setting;
    struct cpu *cpu;
    uint32_t *speed;
    uint32_t slow;

    set_up(&setting, "cpu");
    cpu = setting.exec->private;
    speed = &cpu->speeds[EXEC_OP_COUNT + 2 * ELEM_F32 + 1];
    bind(setting.programs[0], 0);
    fixture_submit(setting.exec, setting.programs[0], 1, 0); /* the embedding */

    *speed = UINT32_MAX / 2;
    fixture_submit(setting.exec, setting.programs[0], 1, 1000);
    ck_assert_uint_eq(*speed, UINT32_MAX / 4); /* at most halved at once */

    slow = 100;
    *speed = 0;
    for (uint32_t i = 0; i < 1000 && *speed <= slow; i++) { /* a run that the machine interrupts is slow indeed */
        *speed = slow;
        bind(setting.programs[0], 0);
        fixture_submit(setting.exec, setting.programs[0], 1, 0);
        fixture_submit(setting.exec, setting.programs[0], 1, 100000);
    }
    ck_assert_uint_gt(*speed, slow);
    exec_close(setting.exec);
}
END_TEST

START_TEST(runs_over_two_scratches_do_not_see_each_other)
{
    static float alone[2][N_OUT], both[N_OUT];
    struct setting setting;

    set_up(&setting, fixture_backend(_i));
    for (uint32_t i = 0; i < 2; i++) {
        bind(setting.programs[0], 5 * i);
        run(&setting, setting.programs[0], 0, 3, alone[i]);
    }

    bind(setting.programs[0], 0);
    bind(setting.programs[1], 5);
    while (exec_is_left(setting.programs[0])) {
        fixture_submit(setting.exec, setting.programs[0], 1, 100);
        if (exec_is_left(setting.programs[1])) {
            fixture_submit(setting.exec, setting.programs[1], 1, 70);
        }
    }

    run(&setting, setting.programs[1], 0, 3, both);
    ck_assert(memcmp(both, alone[1], sizeof(both)) == 0);
    run(&setting, setting.programs[0], 0, 3, both);
    ck_assert(memcmp(both, alone[0], sizeof(both)) == 0);
    exec_close(setting.exec);
}
END_TEST

START_TEST(a_second_scratch_counts_once_it_is_used)
{
    struct mem_account before, one, two;
    struct setting setting;

    set_up(&setting, fixture_backend(_i));
    mem_read(MEM_SCRATCH, &before);

    bind(setting.programs[0], 0);
    mem_read(MEM_SCRATCH, &one);
    bind(setting.programs[1], 0);
    mem_read(MEM_SCRATCH, &two);

    ck_assert_uint_ge(one.bytes - before.bytes, (uint64_t)N_ROWS * N_OUT * sizeof(float));
    ck_assert_uint_eq(two.bytes - one.bytes, one.bytes - before.bytes);
    exec_close(setting.exec);
}
END_TEST

START_TEST(there_is_no_third_scratch)
{
    struct exec_program *program;
    struct setting setting;

    set_up(&setting, fixture_backend(_i));

    ck_assert_int_lt(exec_program_create(setting.exec, EXEC_SCRATCHES, N_ROWS, 1, &program), 0);

    exec_close(setting.exec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec-parts");
    TCase *tests = tcase_create("parts");

    tcase_add_test(tests, a_shorter_bound_cuts_finer_and_changes_no_bit);
    tcase_add_test(tests, slow_parts_are_cut_finer_and_quick_ones_coarser);
    tcase_add_loop_test(tests, runs_over_two_scratches_do_not_see_each_other, 0, FIXTURE_COMPUTING);
    tcase_add_loop_test(tests, a_second_scratch_counts_once_it_is_used, 0, FIXTURE_COMPUTING);
    tcase_add_loop_test(tests, there_is_no_third_scratch, 0, FIXTURE_BACKENDS);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
