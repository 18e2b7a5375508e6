/* What may be recorded, and that a program is checked before anything runs. */
#include "base/clean.h"
#include "exec/backend.h"
#include "tensor/type.h"
#include "unit.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define N_COLS 32

static float ones[N_COLS * N_COLS];

/* A backend with one weight of each kind, and a program begun. */
struct bench {
    struct exec *exec;
    struct exec_program *program;
    struct exec_mem *square; /* [32][32] */
    struct exec_mem *row;    /* [1][32] */
    struct exec_mem *half;   /* [1][16] */
    struct exec_mem *odd;    /* [1][12] */
    struct exec_mem *rope;
    struct exec_mem *kv;
    uint32_t a, b, wide, wanted; /* slots */
};

static struct exec_mem *import(struct exec *exec, uint64_t n_cols, uint64_t n_rows)
{
    struct exec_mem *mem = NULL;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(exec_import(exec,
                                 &(struct exec_tensor){
                                     .name = "w", .type = ELEM_F32, .n_cols = n_cols, .n_rows = n_rows, .bytes = ones },
                                 &mem, &diag),
                     EXEC_OK);
    return mem;
}

static void set_up(struct bench *bench)
{
    const struct exec_kv_shape shape = {
        .n_layers = 1, .n_kv_heads = 2, .head_dim = 16, .n_pages = 4, .format = EXEC_KV_F16
    };
    struct diag diag = DIAG_INIT;

    for (size_t i = 0; i < COUNTOF(ones); i++) {
        ones[i] = 1.0f;
    }
    ck_assert_int_eq(exec_open(&bench->exec, &(struct exec_setup){ .backend = "cpu", .n_threads = 1 }, &diag), EXEC_OK);
    ck_assert_int_eq(exec_program_create(bench->exec, 0, 4, 2, &bench->program), 0);
    bench->square = import(bench->exec, N_COLS, N_COLS);
    bench->row = import(bench->exec, N_COLS, 1);
    bench->half = import(bench->exec, 16, 1);
    bench->odd = import(bench->exec, 12, 1);
    ck_assert_int_eq(exec_make_rope(bench->exec,
                                    &(struct exec_rope){
                                        .n_positions = 64, .n_rot = 16, .base = 10000, .scale = 1, .magnitude = 1 },
                                    &bench->rope),
                     0);
    ck_assert_int_eq(exec_alloc_kv(bench->exec, &shape, &bench->kv, &diag), EXEC_OK);
    bench->a = exec_slot(bench->program, "a", N_COLS, EXEC_ROWS_ALL);
    bench->b = exec_slot(bench->program, "b", N_COLS, EXEC_ROWS_ALL);
    bench->wide = exec_slot(bench->program, "wide", 2 * N_COLS, EXEC_ROWS_ALL);
    bench->wanted = exec_slot(bench->program, "wanted", N_COLS, EXEC_ROWS_WANTED);
}

static void record_embed(struct bench *bench)
{
    exec_record(bench->program, &(struct exec_op){ .kind = EXEC_EMBED, .out = bench->a, .weight = bench->square });
}

/* Ops that do not fit behind an embedding into slot a; @op is filled in by a function since slots are known late. */
static struct exec_op bad_op(const struct bench *bench, int which)
{
    const struct exec_op ops[] = {
        { .kind = EXEC_ADD, .in = bench->a, .in2 = bench->b, .out = bench->a },                 /* b not written */
        { .kind = EXEC_NORM, .in = bench->b, .out = bench->a, .weight = bench->row },           /* b not written */
        { .kind = EXEC_NORM, .in = bench->a, .out = bench->b, .weight = bench->square },        /* not one row */
        { .kind = EXEC_NORM, .in = bench->a, .out = bench->b },                                 /* no weight */
        { .kind = EXEC_MATMUL, .in = bench->a, .out = bench->wide, .weight = bench->square },   /* too wide */
        { .kind = EXEC_MATMUL, .in = bench->a, .out = bench->a, .weight = bench->square },      /* in place */
        { .kind = EXEC_MATMUL, .in = bench->a, .out = bench->wanted, .weight = bench->square }, /* other rows */
        { .kind = EXEC_MATMUL, .in = bench->a, .out = bench->b, .weight = bench->square, .bias = bench->square },
        { .kind = EXEC_ROPE, .in = bench->a, .out = bench->a, .table = bench->rope, .n_heads = 3, .head_dim = 16 },
        { .kind = EXEC_ROPE, .in = bench->a, .out = bench->a, .table = bench->row, .n_heads = 2, .head_dim = 16 },
        { .kind = EXEC_STORE, .in = bench->a, .in2 = bench->a, .kv = bench->kv, .n_kv_heads = 1, .head_dim = 32 },
        { .kind = EXEC_STORE,
          .in = bench->a,
          .in2 = bench->a,
          .kv = bench->kv,
          .n_kv_heads = 2,
          .head_dim = 16,
          .layer = 1 },
        { .kind = EXEC_ATTEND,
          .in = bench->a,
          .out = bench->b,
          .kv = bench->kv,
          .n_heads = 3,
          .n_kv_heads = 2,
          .head_dim = 16 },
        { .kind = EXEC_ATTEND, .in = bench->a, .out = bench->b, .n_heads = 2, .n_kv_heads = 2, .head_dim = 16 },
        { .kind = EXEC_GATHER, .in = bench->a, .out = bench->b },
        { .kind = EXEC_ADD, .in = bench->a, .in2 = bench->a, .out = bench->wide },
        { .kind = EXEC_NORM, .in = bench->a, .out = bench->b, .weight = bench->odd }, /* no part of a row */
        { .kind = EXEC_SCALE, .in = bench->b, .out = bench->a },
        { .kind = EXEC_SCALE, .in = bench->a, .out = bench->wide },
        { .kind = EXEC_CAP, .in = bench->a, .out = bench->wide, .cap = 1 },
        { .kind = EXEC_CAP, .in = bench->a, .out = bench->b, .cap = 0 },
        { .kind = EXEC_CAP, .in = bench->a, .out = bench->b, .cap = NAN },
        { .kind = EXEC_ATTEND,
          .in = bench->a,
          .out = bench->b,
          .kv = bench->kv,
          .n_heads = 2,
          .n_kv_heads = 2,
          .head_dim = 16,
          .cap = -1 },
        { .kind = EXEC_ADD, .in = 99, .in2 = bench->a, .out = bench->a },
        { .kind = EXEC_ADD, .in = bench->a, .in2 = bench->a, .out = EXEC_NO_SLOT },
        { .kind = EXEC_OP_COUNT },
    };

    ck_assert_int_lt(which, (int)COUNTOF(ops));
    return ops[which];
}

#define N_BAD_OPS 26

START_TEST(an_op_that_does_not_fit_is_refused_when_the_program_is_sealed)
{
    struct bench bench;
    struct exec_op op;
    struct diag diag = DIAG_INIT;

    set_up(&bench);
    record_embed(&bench);
    op = bad_op(&bench, _i);
    exec_record(bench.program, &op);

    ck_assert_int_eq(exec_seal(bench.program, &diag), EXEC_REFUSED);

    ck_assert_msg(strstr(diag.text, "op 1"), "%s", diag.text);
    exec_close(bench.exec);
}
END_TEST

START_TEST(a_slot_that_cannot_be_had_is_told_when_the_program_is_sealed)
{
    struct bench bench;
    struct diag diag = DIAG_INIT;

    set_up(&bench);
    ck_assert_uint_eq(exec_slot(bench.program, "none", 0, EXEC_ROWS_ALL), EXEC_NO_SLOT);

    ck_assert_int_eq(exec_seal(bench.program, &diag), EXEC_REFUSED);
    ck_assert_msg(strstr(diag.text, "none"), "%s", diag.text);
    exec_close(bench.exec);
}
END_TEST

static const uint32_t table[] = { 0, 1, 2, 9 };

/* Rows that a sealed program does not take. */
static const struct bad_batch {
    uint32_t n_rows;
    uint32_t token;
    uint32_t position;
    uint32_t n_wanted;
    uint32_t wanted[2];
} bad_batches[] = {
    { .n_rows = 0 },
    { .n_rows = 5 },
    { .n_rows = 1, .token = N_COLS },
    { .n_rows = 1, .position = 64 },
    { .n_rows = 1, .position = 48 }, /* page 9 of 4 */
    { .n_rows = 1, .n_wanted = 1, .wanted = { 1 } },
    { .n_rows = 3, .n_wanted = 2, .wanted = { 1, 1 } },
    { .n_rows = 4, .n_wanted = 3 },
};

static void seal_small(struct bench *bench)
{
    struct diag diag = DIAG_INIT;

    set_up(bench);
    record_embed(bench);
    exec_record(
        bench->program,
        &(struct exec_op){
            .kind = EXEC_ROPE, .in = bench->a, .out = bench->a, .table = bench->rope, .n_heads = 2, .head_dim = 16 });
    exec_record(
        bench->program,
        &(struct exec_op){
            .kind = EXEC_STORE, .in = bench->a, .in2 = bench->a, .kv = bench->kv, .n_kv_heads = 2, .head_dim = 16 });
    exec_record(bench->program,
                &(struct exec_op){
                    .kind = EXEC_MATMUL, .phase = 1, .in = bench->a, .out = bench->b, .weight = bench->square });
    exec_record(bench->program,
                &(struct exec_op){ .kind = EXEC_GATHER, .phase = 2, .in = bench->b, .out = bench->wanted });
    ck_assert_msg(exec_seal(bench->program, &diag) == EXEC_OK, "%s", diag.text);
}

START_TEST(rows_outside_the_tables_are_refused)
{
    const struct bad_batch *bad = &bad_batches[_i];
    const uint32_t tokens[] = { bad->token, 0, 0, 0, 0 };
    const uint32_t positions[] = { bad->position, 0, 0, 0, 0 };
    const uint32_t *pages[] = { table, table, table, table, table };
    const struct exec_batch batch = { .n_rows = bad->n_rows,
                                      .tokens = tokens,
                                      .positions = positions,
                                      .pages = pages,
                                      .n_wanted = bad->n_wanted,
                                      .wanted = bad->wanted };
    struct bench bench;
    uint64_t ticket;

    seal_small(&bench);

    ck_assert_int_eq(exec_bind(bench.program, &batch), -EINVAL);
    ck_assert(!exec_is_left(bench.program));
    ck_assert_int_eq(exec_submit(bench.program, 1, 0, &ticket), -EINVAL);
    exec_close(bench.exec);
}
END_TEST

START_TEST(a_program_runs_part_by_part_and_reads_each_weight_once)
{
    const uint32_t tokens[] = { 3, 4 };
    const uint32_t positions[] = { 0, 0 };
    const uint32_t *pages[] = { table, table + 1 };
    const uint32_t wanted[] = { 1 };
    const struct exec_batch batch = {
        .n_rows = 2, .tokens = tokens, .positions = positions, .pages = pages, .n_wanted = 1, .wanted = wanted
    };
    struct exec_figures figures;
    struct bench bench;
    float out[N_COLS];
    uint64_t ticket;

    seal_small(&bench);
    ck_assert_int_eq(exec_bind(bench.program, &batch), 0);
    ck_assert(!exec_is_begun(bench.program));
    while (exec_is_left(bench.program)) {
        ck_assert_int_eq(exec_submit(bench.program, 1, 0, &ticket), 0);
        ck_assert_int_eq(exec_wait(bench.exec, ticket, 10), EXEC_OK);
    }

    ck_assert_int_eq(exec_read(bench.program, bench.wanted, 0, out, N_COLS), 0);
    ck_assert_float_eq(out[0], 32.0f);
    ck_assert_float_eq(out[31], 32.0f);
    exec_figures(bench.program, &figures);
    ck_assert_uint_eq(figures.n_parts, 5);
    ck_assert_uint_eq(figures.weight_bytes, sizeof(ones));
    ck_assert_uint_eq(exec_weight_bytes(bench.program), sizeof(ones));
    ck_assert_int_eq(exec_read(bench.program, bench.wanted, 2, out, N_COLS), -EINVAL);
    ck_assert_int_eq(exec_read(bench.program, bench.wanted, 0, out, N_COLS + 1), -EINVAL);
    ck_assert_int_eq(exec_wait(bench.exec, ticket + 1, 10), -EINVAL);
    exec_close(bench.exec);
}
END_TEST

START_TEST(heads_are_normed_by_themselves_scaled_and_capped)
{
    const uint32_t tokens[] = { 3 };
    const uint32_t positions[] = { 0 };
    const uint32_t *pages[] = { table };
    const struct exec_batch batch = { .n_rows = 1, .tokens = tokens, .positions = positions, .pages = pages };
    struct diag diag = DIAG_INIT;
    struct bench bench;
    float out[N_COLS];
    uint64_t ticket;

    set_up(&bench);
    for (uint32_t i = 16; i < N_COLS; i++) {
        ones[3 * N_COLS + i] = 100.0f; /* the second head of token 3 */
    }
    record_embed(&bench);
    exec_record(bench.program,
                &(struct exec_op){ .kind = EXEC_NORM, .in = bench.a, .out = bench.a, .weight = bench.half });
    exec_record(bench.program, &(struct exec_op){ .kind = EXEC_SCALE, .in = bench.a, .out = bench.b, .scale = 3.0f });
    exec_record(bench.program, &(struct exec_op){ .kind = EXEC_CAP, .in = bench.b, .out = bench.b, .cap = 2.0f });
    ck_assert_msg(exec_seal(bench.program, &diag) == EXEC_OK, "%s", diag.text);
    ck_assert_int_eq(exec_bind(bench.program, &batch), 0);
    while (exec_is_left(bench.program)) {
        ck_assert_int_eq(exec_submit(bench.program, 1, 0, &ticket), 0);
    }

    ck_assert_int_eq(exec_read(bench.program, bench.b, 0, out, N_COLS), 0);
    for (uint32_t i = 0; i < N_COLS; i++) { /* each head is ones; 2 tanh(3 / 2) */
        ck_assert_float_eq_tol(out[i], 1.8102965f, 1e-6f);
    }
    exec_close(bench.exec);
}
END_TEST

START_TEST(a_program_of_many_windows_is_none_of_ours)
{
    struct diag diag = DIAG_INIT;
    struct bench bench;

    set_up(&bench);
    record_embed(&bench);
    for (uint32_t window = 0; window <= 4; window++) {
        exec_record(bench.program, &(struct exec_op){ .kind = EXEC_ATTEND,
                                                      .in = bench.a,
                                                      .out = bench.b,
                                                      .kv = bench.kv,
                                                      .n_heads = 2,
                                                      .n_kv_heads = 2,
                                                      .head_dim = 16,
                                                      .window = window });
    }

    ck_assert_int_eq(exec_seal(bench.program, &diag), -E2BIG);
    exec_close(bench.exec);
}
END_TEST

START_TEST(a_submission_ends_with_its_phase)
{
    const uint32_t tokens[] = { 3 };
    const uint32_t positions[] = { 0 };
    const uint32_t *pages[] = { table };
    const struct exec_batch batch = { .n_rows = 1, .tokens = tokens, .positions = positions, .pages = pages };
    struct bench bench;
    uint64_t ticket;

    seal_small(&bench);
    ck_assert_int_eq(exec_bind(bench.program, &batch), 0);

    ck_assert_int_eq(exec_submit(bench.program, 100, 0, &ticket), 0);
    ck_assert_uint_eq(exec_phase(bench.program), 1);
    ck_assert_int_eq(exec_submit(bench.program, 100, 0, &ticket), 0);
    /* Nothing is wanted, so the gathering has no part. */
    ck_assert(!exec_is_left(bench.program));
    exec_close(bench.exec);
}
END_TEST

static const struct exec_tensor bad_tensors[] = {
    { .name = "t", .type = 17, .n_cols = 256, .n_rows = 1 },       /* IQ2_XS: known, not computed */
    { .name = "t", .type = 63, .n_cols = 256, .n_rows = 1 },       /* unknown */
    { .name = "t", .type = ELEM_Q8_0, .n_cols = 33, .n_rows = 1 }, /* no whole blocks */
    { .name = "t", .type = ELEM_F32, .n_cols = 0, .n_rows = 1 },
    { .name = "t", .type = ELEM_F32, .n_cols = 1, .n_rows = UINT64_MAX },
};

START_TEST(a_weight_that_cannot_be_is_refused_by_name)
{
    struct exec_mem *mem;
    struct bench bench;
    struct diag diag = DIAG_INIT;

    set_up(&bench);

    ck_assert_int_eq(exec_import(bench.exec, &bad_tensors[_i], &mem, &diag), EXEC_REFUSED);
    ck_assert_msg(strncmp(diag.text, "tensor t", 8) == 0, "%s", diag.text);
    exec_close(bench.exec);
}
END_TEST

START_TEST(a_page_has_its_numbers_and_their_scales)
{
    static const struct {
        enum exec_kv_format format;
        uint64_t n_bytes; /* of a position and head of 64 */
    } rows[] = { { EXEC_KV_F32, 256 }, { EXEC_KV_F16, 128 }, { EXEC_KV_Q8, 66 }, { EXEC_KV_Q4, 36 } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct exec_kv_shape shape = {
            .n_layers = 3, .n_kv_heads = 2, .head_dim = 64, .n_pages = 4, .format = rows[i].format
        };

        ck_assert_uint_eq(exec_kv_page_bytes(&shape), rows[i].n_bytes * EXEC_PAGE_TOK * 2 * 2 * 3);
    }
}
END_TEST

START_TEST(a_pool_that_cannot_be_is_refused)
{
    struct exec_kv_shape shape = {
        .n_layers = 1, .n_kv_heads = 2, .head_dim = 16, .n_pages = 4, .format = EXEC_KV_NONE
    };
    struct exec_mem *mem;
    struct bench bench;
    struct diag diag = DIAG_INIT;

    set_up(&bench);

    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    ck_assert_int_eq(exec_alloc_kv(bench.exec, &shape, &mem, &diag), EXEC_REFUSED);
    shape.format = EXEC_KV_Q4;
    shape.head_dim = 15; /* bytes hold two */
    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    shape.head_dim = EXEC_HEAD_MAX + 2;
    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    ck_assert_int_eq(exec_alloc_kv(bench.exec, &shape, &mem, &diag), EXEC_REFUSED);
    shape.format = EXEC_KV_F32;
    shape.head_dim = 16;
    shape.n_layers = UINT32_MAX;
    shape.n_kv_heads = UINT32_MAX;
    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    exec_close(bench.exec);
}
END_TEST

START_TEST(a_copied_page_has_every_byte_of_the_other_and_is_charged_once)
{
    struct bench bench;
    struct mem_account before;
    struct mem_account after;

    set_up(&bench);
    memset(bench.kv->owned + bench.kv->row_bytes, 0x5a, bench.kv->row_bytes);
    mem_read(MEM_KV, &before);

    ck_assert_int_eq(exec_copy_page(bench.exec, bench.kv, 1, 3), EXEC_OK);
    ck_assert_int_eq(exec_copy_page(bench.exec, bench.kv, 1, 3), EXEC_OK);

    mem_read(MEM_KV, &after);
    ck_assert_mem_eq(bench.kv->owned + bench.kv->row_bytes, bench.kv->owned + 3 * bench.kv->row_bytes,
                     bench.kv->row_bytes);
    ck_assert_uint_eq(bench.kv->owned[2 * bench.kv->row_bytes], 0);
    ck_assert_uint_eq(after.bytes - before.bytes, bench.kv->row_bytes);
    exec_close(bench.exec);
}
END_TEST

START_TEST(a_page_outside_the_pool_or_onto_itself_is_not_copied)
{
    struct bench bench;

    set_up(&bench);

    ck_assert_int_eq(exec_copy_page(bench.exec, bench.kv, 4, 0), -EINVAL);
    ck_assert_int_eq(exec_copy_page(bench.exec, bench.kv, 0, 4), -EINVAL);
    ck_assert_int_eq(exec_copy_page(bench.exec, bench.kv, 2, 2), -EINVAL);
    ck_assert_int_eq(exec_copy_page(bench.exec, bench.rope, 0, 1), -EINVAL);
    exec_close(bench.exec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec-program");
    TCase *tcase = tcase_create("program");

    tcase_add_loop_test(tcase, an_op_that_does_not_fit_is_refused_when_the_program_is_sealed, 0, N_BAD_OPS);
    tcase_add_test(tcase, a_slot_that_cannot_be_had_is_told_when_the_program_is_sealed);
    tcase_add_loop_test(tcase, rows_outside_the_tables_are_refused, 0, (int)COUNTOF(bad_batches));
    tcase_add_test(tcase, a_program_runs_part_by_part_and_reads_each_weight_once);
    tcase_add_test(tcase, heads_are_normed_by_themselves_scaled_and_capped);
    tcase_add_test(tcase, a_program_of_many_windows_is_none_of_ours);
    tcase_add_test(tcase, a_submission_ends_with_its_phase);
    tcase_add_loop_test(tcase, a_weight_that_cannot_be_is_refused_by_name, 0, (int)COUNTOF(bad_tensors));
    tcase_add_test(tcase, a_page_has_its_numbers_and_their_scales);
    tcase_add_test(tcase, a_pool_that_cannot_be_is_refused);
    tcase_add_test(tcase, a_copied_page_has_every_byte_of_the_other_and_is_charged_once);
    tcase_add_test(tcase, a_page_outside_the_pool_or_onto_itself_is_not_copied);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
