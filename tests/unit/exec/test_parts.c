/*
 * Parts of the cpu backend: how they are cut follows the bound and their speed, and what comes out does not; runs over
 * two scratches do not see each other.
 */
#include "base/clean.h"
#include "exec/cpu_backend.h"
#include "tensor/type.h"
#include "unit.h"
#include <string.h>

#define N_COLS   512
#define N_OUT    6000 /* some milliseconds of work in all */
#define N_ROWS   32
#define N_TOKENS 64

struct fixture {
    struct exec *exec;
    struct exec_program *programs[EXEC_SCRATCHES];
    uint32_t out; /* slot */
    struct exec_mem *embd;
    struct exec_mem *weight;
};

static float embd[N_TOKENS * N_COLS];
static float weight[N_OUT * N_COLS];

static struct exec_mem *import(struct exec *exec, float *bytes, uint64_t n_rows)
{
    const struct exec_tensor tensor = {
        .name = "w", .type = ELEM_F32, .n_cols = N_COLS, .n_rows = n_rows, .bytes = bytes
    };
    struct exec_mem *mem = NULL;
    struct diag diag = DIAG_INIT;

    for (uint64_t i = 0; i < n_rows * N_COLS; i++) {
        bytes[i] = (float)(i * 2654435761u % 1000) * 0.001f - 0.5f;
    }
    ck_assert_int_eq(exec_import(exec, &tensor, &mem, &diag), EXEC_OK);
    return mem;
}

static void set_up(struct fixture *fixture)
{
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(exec_open(&fixture->exec, &(struct exec_setup){ .backend = "cpu", .n_threads = 1 }, &diag),
                     EXEC_OK);
    fixture->embd = import(fixture->exec, embd, N_TOKENS);
    fixture->weight = import(fixture->exec, weight, N_OUT);
    for (uint32_t i = 0; i < EXEC_SCRATCHES; i++) {
        struct exec_program *program;
        uint32_t x;

        ck_assert_int_eq(exec_program_create(fixture->exec, i, N_ROWS, 1, &program), 0);
        x = exec_slot(program, "x", N_COLS, EXEC_ROWS_ALL);
        fixture->out = exec_slot(program, "out", N_OUT, EXEC_ROWS_ALL);
        exec_record(program, &(struct exec_op){ .kind = EXEC_EMBED, .out = x, .weight = fixture->embd });
        exec_record(program,
                    &(struct exec_op){ .kind = EXEC_MATMUL, .in = x, .out = fixture->out, .weight = fixture->weight });
        ck_assert_int_eq(exec_seal(program, &diag), EXEC_OK);
        fixture->programs[i] = program;
    }
}

/* Tokens @first, @first + 1, ... */
static void bind(struct exec_program *program, uint32_t first)
{
    static uint32_t tokens[EXEC_SCRATCHES][N_ROWS]; /* they must stay while the run lives */
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

/* One submission. */
static void submit(struct fixture *fixture, struct exec_program *program, uint32_t bound_us)
{
    uint64_t ticket;

    ck_assert_int_eq(exec_submit(program, 1, bound_us, &ticket), 0);
    ck_assert_int_eq(exec_wait(fixture->exec, ticket, 1000), EXEC_OK);
}

/* Runs to the end; the result of row @row to @out. Returns the number of parts. */
static uint64_t run(struct fixture *fixture, struct exec_program *program, uint32_t bound_us, uint32_t row, float *out)
{
    struct exec_figures figures;

    while (exec_is_left(program)) {
        submit(fixture, program, bound_us);
    }
    ck_assert_int_eq(exec_read(program, fixture->out, row, out, N_OUT), 0);
    exec_figures(program, &figures);
    return figures.n_parts;
}

START_TEST(a_shorter_bound_cuts_finer_and_changes_no_bit)
{
    static float first[N_OUT], then[N_OUT];
    static const uint32_t bounds[] = { 0, 2000, 300, 50, 1 };
    struct fixture fixture;
    uint64_t n_before = 0;

    set_up(&fixture);
    bind(fixture.programs[0], 3);
    run(&fixture, fixture.programs[0], 0, 7, first); /* it knows how fast they are */
    for (size_t i = 0; i < COUNTOF(bounds); i++) {
        uint64_t n;

        memset(then, 0, sizeof(then));
        bind(fixture.programs[0], 3);
        n = run(&fixture, fixture.programs[0], bounds[i], 7, then);
        ck_assert(memcmp(first, then, sizeof(first)) == 0);
        if (i == 0 || i + 1 == COUNTOF(bounds)) {
            ck_assert_uint_gt(n, n_before);
            n_before = 4 * n;
        }
    }
    exec_close(fixture.exec);
}
END_TEST

START_TEST(what_was_slower_than_foretold_is_cut_finer_and_what_is_quick_coarser)
{
    struct fixture fixture;
    struct cpu *cpu;
    uint32_t *speed;
    uint32_t slow;

    set_up(&fixture);
    cpu = fixture.exec->private;
    speed = &cpu->speeds[EXEC_OP_COUNT + 2 * ELEM_F32 + 1];
    bind(fixture.programs[0], 0);
    submit(&fixture, fixture.programs[0], 0); /* the embedding */

    *speed = UINT32_MAX / 2;
    submit(&fixture, fixture.programs[0], 1000);
    ck_assert_uint_eq(*speed, UINT32_MAX / 4); /* at most halved at once */

    slow = 100;
    *speed = slow;
    bind(fixture.programs[0], 0);
    submit(&fixture, fixture.programs[0], 0);
    submit(&fixture, fixture.programs[0], 100000);
    ck_assert_uint_gt(*speed, slow);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(runs_over_two_scratches_do_not_see_each_other)
{
    static float alone[2][N_OUT], both[N_OUT];
    struct fixture fixture;

    set_up(&fixture);
    for (uint32_t i = 0; i < 2; i++) {
        bind(fixture.programs[0], 5 * i);
        run(&fixture, fixture.programs[0], 0, 3, alone[i]);
    }

    bind(fixture.programs[0], 0);
    bind(fixture.programs[1], 5);
    while (exec_is_left(fixture.programs[0])) {
        submit(&fixture, fixture.programs[0], 100);
        if (exec_is_left(fixture.programs[1])) {
            submit(&fixture, fixture.programs[1], 70);
        }
    }

    run(&fixture, fixture.programs[1], 0, 3, both);
    ck_assert(memcmp(both, alone[1], sizeof(both)) == 0);
    run(&fixture, fixture.programs[0], 0, 3, both);
    ck_assert(memcmp(both, alone[0], sizeof(both)) == 0);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(a_second_scratch_counts_once_it_is_used)
{
    struct mem_account before, one, two;
    struct fixture fixture;

    set_up(&fixture);
    mem_read(MEM_SCRATCH, &before);

    bind(fixture.programs[0], 0);
    mem_read(MEM_SCRATCH, &one);
    bind(fixture.programs[1], 0);
    mem_read(MEM_SCRATCH, &two);

    ck_assert_uint_ge(one.bytes - before.bytes, (uint64_t)N_ROWS * N_OUT * sizeof(float));
    ck_assert_uint_eq(two.bytes - one.bytes, one.bytes - before.bytes);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(there_is_no_third_scratch)
{
    struct exec_program *program;
    struct fixture fixture;

    set_up(&fixture);

    ck_assert_int_lt(exec_program_create(fixture.exec, EXEC_SCRATCHES, N_ROWS, 1, &program), 0);

    exec_close(fixture.exec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec-parts");
    TCase *tests = tcase_create("parts");

    tcase_add_test(tests, a_shorter_bound_cuts_finer_and_changes_no_bit);
    tcase_add_test(tests, what_was_slower_than_foretold_is_cut_finer_and_what_is_quick_coarser);
    tcase_add_test(tests, runs_over_two_scratches_do_not_see_each_other);
    tcase_add_test(tests, a_second_scratch_counts_once_it_is_used);
    tcase_add_test(tests, there_is_no_third_scratch);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
