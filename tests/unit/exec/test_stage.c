/*
 * Stages: random programs give the same bits whether their ops share stages or each is one of its own, in any order of
 * pieces
 *
 * Ops of one stage have one phase. So a program in which neighbours have different phases has a barrier behind each op,
 * and is what the other one is compared with. The pool does pieces in any order.
 */
#include "base/clean.h"
#include "exec/cpu_backend.h"
#include "exec/cpu_plan.h"
#include "fixture.h"
#include "unit.h"
#include <string.h>

#define N_COLS    64
#define N_ROWS    9
#define N_WANTED  3
#define N_SLOTS   8 /* of all rows: even ones are wide, odd ones half as wide; then one of the wanted rows */
#define N_OPS     14
#define N_WEIGHTS 8
#define N_RUNS    400
#define SPEED     64 /* slow, so that rows and panels are pieces of their own */

struct setting {
    struct exec *exec;
    struct exec_mem *embds[2];
    struct exec_mem *norms[2];
    struct exec_mem *products[N_WEIGHTS]; /* bit 0: narrow input, bit 1: narrow output, bit 2: other bytes */
};

static float floats[N_COLS * N_COLS];
static uint8_t blocks[(N_COLS + 1) * N_COLS / 32 * 34];

static uint32_t draw(uint64_t *random, uint32_t n)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*random >> 33) % n);
}

static uint32_t width_of(uint32_t slot)
{
    return slot % 2 == 0 ? N_COLS : N_COLS / 2;
}

static struct exec_mem *import_product(struct exec *exec, uint32_t i)
{
    const struct exec_tensor tensor = { .name = "w",
                                        .type = ELEM_Q8_0,
                                        .n_cols = width_of(i & 1),
                                        .n_rows = width_of(i >> 1 & 1),
                                        .bytes = blocks + 34 * (i >> 2) };
    struct exec_mem *mem = NULL;
    struct diag diag = DIAG_INIT;

    if (i == 0) {
        return fixture_import(exec, floats, N_COLS, N_COLS); /* one multiplies the floats themselves */
    }
    ck_assert_msg(exec_import(exec, &tensor, &mem, &diag) == EXEC_OK, "%s", diag.text);
    return mem;
}

static void set_up(struct setting *setting)
{
    for (uint32_t i = 0; i < COUNTOF(floats); i++) {
        floats[i] = (float)(i * 2654435761u % 1000) * 0.0002f - 0.1f;
    }
    for (uint32_t i = 0; i < sizeof(blocks); i++) {
        blocks[i] = (uint8_t)(i % 34 == 0 ? 0x00 : i % 34 == 1 ? 0x14 : i * 2654435761u >> 24); /* d = 2^-10 */
    }
    setting->exec = fixture_open("cpu", 3);
    for (uint32_t i = 0; i < 2; i++) {
        setting->embds[i] = fixture_import(setting->exec, floats, width_of(i), 32);
        setting->norms[i] = fixture_import(setting->exec, floats, width_of(i), 1);
    }
    for (uint32_t i = 0; i < N_WEIGHTS; i++) {
        setting->products[i] = import_product(setting->exec, i);
    }
}

/* Returns a slot of the width of @like, another one than @not. */
static uint32_t draw_slot(uint64_t *random, uint32_t like, uint32_t not )
{
    uint32_t slot;

    do {
        slot = 2 * draw(random, N_SLOTS / 2) + like % 2;
    } while (slot == not );
    return slot;
}

/* Draws an op over all rows; half of them continue what @last did, as the ops of real models do. */
static struct exec_op draw_op(const struct setting *setting, uint64_t *random, const struct exec_op *last)
{
    static const enum exec_op_kind kinds[] = { EXEC_NORM, EXEC_MATMUL, EXEC_MATMUL, EXEC_GLU,
                                               EXEC_ADD,  EXEC_SCALE,  EXEC_CAP,    EXEC_MATMUL };
    bool goes_on = draw(random, 2) == 0;
    uint32_t in = draw(random, N_SLOTS);
    struct exec_op op = { .kind = kinds[draw(random, COUNTOF(kinds))] };

    if (goes_on) {
        in = op.kind == EXEC_MATMUL ? last->in : last->out;
    }
    op.in = in;
    op.in2 = draw_slot(random, in, EXEC_NO_SLOT);
    op.out = draw(random, 3) == 0 ? in : draw_slot(random, in, EXEC_NO_SLOT);
    op.scale = 0.5f;
    op.cap = 3.0f;
    op.eps = 1e-5f;
    op.gate = (enum exec_gate)draw(random, 3);
    op.weight = op.kind == EXEC_NORM ? setting->norms[in % 2] : NULL;
    if (op.kind == EXEC_MATMUL) {
        op.out = draw_slot(random, draw(random, 2), in);
        op.weight = setting->products[in % 2 + 2 * (op.out % 2) + 4 * draw(random, 2)];
    }
    if (op.kind == EXEC_GLU && goes_on && last->kind == EXEC_MATMUL) {
        op.in2 = draw_slot(random, in, in);
    }
    return op;
}

/* Records the program of @seed. @is_apart: neighbours have different phases. */
static struct exec_program *record(const struct setting *setting, uint32_t scratch, uint64_t seed, bool is_apart)
{
    struct exec_op op = { .kind = EXEC_EMBED };
    struct exec_program *program;
    struct diag diag = DIAG_INIT;
    uint64_t random = seed;
    char name[16];

    ck_assert_int_eq(exec_program_create(setting->exec, scratch, N_ROWS, N_WANTED, &program), 0);
    for (uint32_t i = 0; i <= N_SLOTS; i++) {
        snprintf(name, sizeof(name), "%u", i);
        exec_slot(program, name, width_of(i), i == N_SLOTS ? EXEC_ROWS_WANTED : EXEC_ROWS_ALL);
    }
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        exec_record(program,
                    &(struct exec_op){
                        .kind = EXEC_EMBED, .phase = is_apart ? i % 2 : 0, .out = i, .weight = setting->embds[i % 2] });
    }
    for (uint32_t i = 0; i < N_OPS; i++) {
        op = draw_op(setting, &random, &op);
        op.phase = is_apart ? i % 2 : 0;
        exec_record(program, &op);
    }
    exec_record(program, &(struct exec_op){ .kind = EXEC_GATHER, .phase = is_apart ? 2 : 0, .in = 0, .out = N_SLOTS });
    ck_assert_msg(exec_seal(program, &diag) == EXEC_OK, "%s", diag.text);
    return program;
}

static void run(const struct setting *setting, struct exec_program *program)
{
    static const uint32_t tokens[N_ROWS] = { 3, 1, 4, 1, 5, 9, 2, 6, 5 };
    static const uint32_t positions[N_ROWS];
    static const uint32_t *pages[N_ROWS]; /* there are none */
    static const uint32_t wanted[N_WANTED] = { 2, 3, 7 };
    struct cpu *cpu = setting->exec->private;

    ck_assert_int_eq(exec_bind(program, &(struct exec_batch){ .n_rows = N_ROWS,
                                                              .tokens = tokens,
                                                              .positions = positions,
                                                              .pages = pages,
                                                              .n_wanted = N_WANTED,
                                                              .wanted = wanted }),
                     0);
    while (exec_is_left(program)) {
        for (uint32_t i = 0; i < CPU_SPEEDS; i++) {
            cpu->speeds[i] = SPEED;
        }
        fixture_submit(setting->exec, program, 5, program->op % 3 * 40);
    }
}

START_TEST(random_programs_give_the_bits_of_ops_apart)
{
    static float apart[N_COLS], together[N_COLS];
    struct setting setting;
    struct exec_figures figures[2];
    uint64_t n_parts[2] = { 0 };

    set_up(&setting);
    for (uint64_t seed = 0; seed < N_RUNS; seed++) {
        struct exec_program *programs[2];

        for (uint32_t i = 0; i < 2; i++) {
            programs[i] = record(&setting, i, seed, i == 0);
            run(&setting, programs[i]);
            exec_figures(programs[i], &figures[i]);
            n_parts[i] += figures[i].n_parts;
        }

        ck_assert_uint_eq(figures[0].weight_bytes, figures[1].weight_bytes);
        for (uint32_t slot = 0; slot <= N_SLOTS; slot++) {
            for (uint32_t row = 0; row < (slot == N_SLOTS ? N_WANTED : N_ROWS); row++) {
                fixture_read(programs[0], slot, row, apart, width_of(slot));
                fixture_read(programs[1], slot, row, together, width_of(slot));
                ck_assert_msg(memcmp(apart, together, width_of(slot) * sizeof(float)) == 0, "seed %u, slot %u, row %u",
                              (unsigned)seed, slot, row);
            }
        }
    }
    ck_assert_uint_lt(n_parts[1], n_parts[0]);
    exec_close(setting.exec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec-stage");
    TCase *tests = tcase_create("stage");

    tcase_add_test(tests, random_programs_give_the_bits_of_ops_apart);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
