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
struct fixture {
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

static void set_up(struct fixture *fixture)
{
    const struct exec_kv_shape shape = {
        .n_layers = 1, .n_kv_heads = 2, .head_dim = 16, .n_pages = 4, .format = EXEC_KV_F16
    };
    struct diag diag = DIAG_INIT;

    for (size_t i = 0; i < COUNTOF(ones); i++) {
        ones[i] = 1.0f;
    }
    ck_assert_int_eq(exec_open(&fixture->exec, &(struct exec_setup){ .backend = "cpu", .n_threads = 1 }, &diag),
                     EXEC_OK);
    ck_assert_int_eq(exec_program_create(fixture->exec, 0, 4, 2, &fixture->program), 0);
    fixture->square = import(fixture->exec, N_COLS, N_COLS);
    fixture->row = import(fixture->exec, N_COLS, 1);
    fixture->half = import(fixture->exec, 16, 1);
    fixture->odd = import(fixture->exec, 12, 1);
    ck_assert_int_eq(exec_make_rope(fixture->exec,
                                    &(struct exec_rope){
                                        .n_positions = 64, .n_rot = 16, .base = 10000, .scale = 1, .magnitude = 1 },
                                    &fixture->rope),
                     0);
    ck_assert_int_eq(exec_alloc_kv(fixture->exec, &shape, &fixture->kv, &diag), EXEC_OK);
    fixture->a = exec_slot(fixture->program, "a", N_COLS, EXEC_ROWS_ALL);
    fixture->b = exec_slot(fixture->program, "b", N_COLS, EXEC_ROWS_ALL);
    fixture->wide = exec_slot(fixture->program, "wide", 2 * N_COLS, EXEC_ROWS_ALL);
    fixture->wanted = exec_slot(fixture->program, "wanted", N_COLS, EXEC_ROWS_WANTED);
}

static void record_embed(struct fixture *fixture)
{
    exec_record(fixture->program,
                &(struct exec_op){ .kind = EXEC_EMBED, .out = fixture->a, .weight = fixture->square });
}

/* Ops that do not fit behind an embedding into slot a; @op is filled in by a function since slots are known late. */
static struct exec_op bad_op(const struct fixture *fixture, int which)
{
    const struct exec_op ops[] = {
        { .kind = EXEC_ADD, .in = fixture->a, .in2 = fixture->b, .out = fixture->a },               /* b not written */
        { .kind = EXEC_NORM, .in = fixture->b, .out = fixture->a, .weight = fixture->row },         /* b not written */
        { .kind = EXEC_NORM, .in = fixture->a, .out = fixture->b, .weight = fixture->square },      /* not one row */
        { .kind = EXEC_NORM, .in = fixture->a, .out = fixture->b },                                 /* no weight */
        { .kind = EXEC_MATMUL, .in = fixture->a, .out = fixture->wide, .weight = fixture->square }, /* too wide */
        { .kind = EXEC_MATMUL, .in = fixture->a, .out = fixture->a, .weight = fixture->square },    /* in place */
        { .kind = EXEC_MATMUL, .in = fixture->a, .out = fixture->wanted, .weight = fixture->square }, /* other rows */
        { .kind = EXEC_MATMUL,
          .in = fixture->a,
          .out = fixture->b,
          .weight = fixture->square,
          .bias = fixture->square },
        { .kind = EXEC_ROPE,
          .in = fixture->a,
          .out = fixture->a,
          .table = fixture->rope,
          .n_heads = 3,
          .head_dim = 16 },
        { .kind = EXEC_ROPE, .in = fixture->a, .out = fixture->a, .table = fixture->row, .n_heads = 2, .head_dim = 16 },
        { .kind = EXEC_STORE, .in = fixture->a, .in2 = fixture->a, .kv = fixture->kv, .n_kv_heads = 1, .head_dim = 32 },
        { .kind = EXEC_STORE,
          .in = fixture->a,
          .in2 = fixture->a,
          .kv = fixture->kv,
          .n_kv_heads = 2,
          .head_dim = 16,
          .layer = 1 },
        { .kind = EXEC_ATTEND,
          .in = fixture->a,
          .out = fixture->b,
          .kv = fixture->kv,
          .n_heads = 3,
          .n_kv_heads = 2,
          .head_dim = 16 },
        { .kind = EXEC_ATTEND, .in = fixture->a, .out = fixture->b, .n_heads = 2, .n_kv_heads = 2, .head_dim = 16 },
        { .kind = EXEC_GATHER, .in = fixture->a, .out = fixture->b },
        { .kind = EXEC_ADD, .in = fixture->a, .in2 = fixture->a, .out = fixture->wide },
        { .kind = EXEC_NORM, .in = fixture->a, .out = fixture->b, .weight = fixture->odd }, /* no part of a row */
        { .kind = EXEC_SCALE, .in = fixture->b, .out = fixture->a },
        { .kind = EXEC_SCALE, .in = fixture->a, .out = fixture->wide },
        { .kind = EXEC_CAP, .in = fixture->a, .out = fixture->wide, .cap = 1 },
        { .kind = EXEC_CAP, .in = fixture->a, .out = fixture->b, .cap = 0 },
        { .kind = EXEC_CAP, .in = fixture->a, .out = fixture->b, .cap = NAN },
        { .kind = EXEC_ATTEND,
          .in = fixture->a,
          .out = fixture->b,
          .kv = fixture->kv,
          .n_heads = 2,
          .n_kv_heads = 2,
          .head_dim = 16,
          .cap = -1 },
        { .kind = EXEC_ADD, .in = 99, .in2 = fixture->a, .out = fixture->a },
        { .kind = EXEC_ADD, .in = fixture->a, .in2 = fixture->a, .out = EXEC_NO_SLOT },
        { .kind = EXEC_OP_COUNT },
    };

    ck_assert_int_lt(which, (int)COUNTOF(ops));
    return ops[which];
}

#define N_BAD_OPS 26

START_TEST(an_op_that_does_not_fit_is_refused_when_the_program_is_sealed)
{
    struct fixture fixture;
    struct exec_op op;
    struct diag diag = DIAG_INIT;

    set_up(&fixture);
    record_embed(&fixture);
    op = bad_op(&fixture, _i);
    exec_record(fixture.program, &op);

    ck_assert_int_eq(exec_seal(fixture.program, &diag), EXEC_REFUSED);

    ck_assert_msg(strstr(diag.text, "op 1"), "%s", diag.text);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(a_slot_that_cannot_be_had_is_told_when_the_program_is_sealed)
{
    struct fixture fixture;
    struct diag diag = DIAG_INIT;

    set_up(&fixture);
    ck_assert_uint_eq(exec_slot(fixture.program, "none", 0, EXEC_ROWS_ALL), EXEC_NO_SLOT);

    ck_assert_int_eq(exec_seal(fixture.program, &diag), EXEC_REFUSED);
    ck_assert_msg(strstr(diag.text, "none"), "%s", diag.text);
    exec_close(fixture.exec);
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

static void seal_small(struct fixture *fixture)
{
    struct diag diag = DIAG_INIT;

    set_up(fixture);
    record_embed(fixture);
    exec_record(fixture->program, &(struct exec_op){ .kind = EXEC_ROPE,
                                                     .in = fixture->a,
                                                     .out = fixture->a,
                                                     .table = fixture->rope,
                                                     .n_heads = 2,
                                                     .head_dim = 16 });
    exec_record(fixture->program, &(struct exec_op){ .kind = EXEC_STORE,
                                                     .in = fixture->a,
                                                     .in2 = fixture->a,
                                                     .kv = fixture->kv,
                                                     .n_kv_heads = 2,
                                                     .head_dim = 16 });
    exec_record(fixture->program,
                &(struct exec_op){
                    .kind = EXEC_MATMUL, .phase = 1, .in = fixture->a, .out = fixture->b, .weight = fixture->square });
    exec_record(fixture->program,
                &(struct exec_op){ .kind = EXEC_GATHER, .phase = 2, .in = fixture->b, .out = fixture->wanted });
    ck_assert_msg(exec_seal(fixture->program, &diag) == EXEC_OK, "%s", diag.text);
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
    struct fixture fixture;
    uint64_t ticket;

    seal_small(&fixture);

    ck_assert_int_eq(exec_bind(fixture.program, &batch), -EINVAL);
    ck_assert(!exec_is_left(fixture.program));
    ck_assert_int_eq(exec_submit(fixture.program, 1, 0, &ticket), -EINVAL);
    exec_close(fixture.exec);
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
    struct fixture fixture;
    float out[N_COLS];
    uint64_t ticket;

    seal_small(&fixture);
    ck_assert_int_eq(exec_bind(fixture.program, &batch), 0);
    ck_assert(!exec_is_begun(fixture.program));
    while (exec_is_left(fixture.program)) {
        ck_assert_int_eq(exec_submit(fixture.program, 1, 0, &ticket), 0);
        ck_assert_int_eq(exec_wait(fixture.exec, ticket, 10), EXEC_OK);
    }

    ck_assert_int_eq(exec_read(fixture.program, fixture.wanted, 0, out, N_COLS), 0);
    ck_assert_float_eq(out[0], 32.0f);
    ck_assert_float_eq(out[31], 32.0f);
    exec_figures(fixture.program, &figures);
    ck_assert_uint_eq(figures.n_parts, 5);
    ck_assert_uint_eq(figures.weight_bytes, sizeof(ones));
    ck_assert_uint_eq(exec_weight_bytes(fixture.program), sizeof(ones));
    ck_assert_int_eq(exec_read(fixture.program, fixture.wanted, 2, out, N_COLS), -EINVAL);
    ck_assert_int_eq(exec_read(fixture.program, fixture.wanted, 0, out, N_COLS + 1), -EINVAL);
    ck_assert_int_eq(exec_wait(fixture.exec, ticket + 1, 10), -EINVAL);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(heads_are_normed_by_themselves_scaled_and_capped)
{
    const uint32_t tokens[] = { 3 };
    const uint32_t positions[] = { 0 };
    const uint32_t *pages[] = { table };
    const struct exec_batch batch = { .n_rows = 1, .tokens = tokens, .positions = positions, .pages = pages };
    struct diag diag = DIAG_INIT;
    struct fixture fixture;
    float out[N_COLS];
    uint64_t ticket;

    set_up(&fixture);
    for (uint32_t i = 16; i < N_COLS; i++) {
        ones[3 * N_COLS + i] = 100.0f; /* the second head of token 3 */
    }
    record_embed(&fixture);
    exec_record(fixture.program,
                &(struct exec_op){ .kind = EXEC_NORM, .in = fixture.a, .out = fixture.a, .weight = fixture.half });
    exec_record(fixture.program,
                &(struct exec_op){ .kind = EXEC_SCALE, .in = fixture.a, .out = fixture.b, .scale = 3.0f });
    exec_record(fixture.program, &(struct exec_op){ .kind = EXEC_CAP, .in = fixture.b, .out = fixture.b, .cap = 2.0f });
    ck_assert_msg(exec_seal(fixture.program, &diag) == EXEC_OK, "%s", diag.text);
    ck_assert_int_eq(exec_bind(fixture.program, &batch), 0);
    while (exec_is_left(fixture.program)) {
        ck_assert_int_eq(exec_submit(fixture.program, 1, 0, &ticket), 0);
    }

    ck_assert_int_eq(exec_read(fixture.program, fixture.b, 0, out, N_COLS), 0);
    for (uint32_t i = 0; i < N_COLS; i++) { /* each head is ones; 2 tanh(3 / 2) */
        ck_assert_float_eq_tol(out[i], 1.8102965f, 1e-6f);
    }
    exec_close(fixture.exec);
}
END_TEST

START_TEST(a_program_of_many_windows_is_none_of_ours)
{
    struct diag diag = DIAG_INIT;
    struct fixture fixture;

    set_up(&fixture);
    record_embed(&fixture);
    for (uint32_t window = 0; window <= 4; window++) {
        exec_record(fixture.program, &(struct exec_op){ .kind = EXEC_ATTEND,
                                                        .in = fixture.a,
                                                        .out = fixture.b,
                                                        .kv = fixture.kv,
                                                        .n_heads = 2,
                                                        .n_kv_heads = 2,
                                                        .head_dim = 16,
                                                        .window = window });
    }

    ck_assert_int_eq(exec_seal(fixture.program, &diag), -E2BIG);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(a_submission_ends_with_its_phase)
{
    const uint32_t tokens[] = { 3 };
    const uint32_t positions[] = { 0 };
    const uint32_t *pages[] = { table };
    const struct exec_batch batch = { .n_rows = 1, .tokens = tokens, .positions = positions, .pages = pages };
    struct fixture fixture;
    uint64_t ticket;

    seal_small(&fixture);
    ck_assert_int_eq(exec_bind(fixture.program, &batch), 0);

    ck_assert_int_eq(exec_submit(fixture.program, 100, 0, &ticket), 0);
    ck_assert_uint_eq(exec_phase(fixture.program), 1);
    ck_assert_int_eq(exec_submit(fixture.program, 100, 0, &ticket), 0);
    /* Nothing is wanted, so the gathering has no part. */
    ck_assert(!exec_is_left(fixture.program));
    exec_close(fixture.exec);
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
    struct fixture fixture;
    struct diag diag = DIAG_INIT;

    set_up(&fixture);

    ck_assert_int_eq(exec_import(fixture.exec, &bad_tensors[_i], &mem, &diag), EXEC_REFUSED);
    ck_assert_msg(strncmp(diag.text, "tensor t", 8) == 0, "%s", diag.text);
    exec_close(fixture.exec);
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
    struct fixture fixture;
    struct diag diag = DIAG_INIT;

    set_up(&fixture);

    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    ck_assert_int_eq(exec_alloc_kv(fixture.exec, &shape, &mem, &diag), EXEC_REFUSED);
    shape.format = EXEC_KV_Q4;
    shape.head_dim = 15; /* bytes hold two */
    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    shape.head_dim = EXEC_HEAD_MAX + 2;
    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    ck_assert_int_eq(exec_alloc_kv(fixture.exec, &shape, &mem, &diag), EXEC_REFUSED);
    shape.format = EXEC_KV_F32;
    shape.head_dim = 16;
    shape.n_layers = UINT32_MAX;
    shape.n_kv_heads = UINT32_MAX;
    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(a_copied_page_has_every_byte_of_the_other_and_is_charged_once)
{
    struct fixture fixture;
    struct mem_account before;
    struct mem_account after;

    set_up(&fixture);
    memset(fixture.kv->owned + fixture.kv->row_bytes, 0x5a, fixture.kv->row_bytes);
    mem_read(MEM_KV, &before);

    ck_assert_int_eq(exec_copy_page(fixture.exec, fixture.kv, 1, 3), EXEC_OK);
    ck_assert_int_eq(exec_copy_page(fixture.exec, fixture.kv, 1, 3), EXEC_OK);

    mem_read(MEM_KV, &after);
    ck_assert_mem_eq(fixture.kv->owned + fixture.kv->row_bytes, fixture.kv->owned + 3 * fixture.kv->row_bytes,
                     fixture.kv->row_bytes);
    ck_assert_uint_eq(fixture.kv->owned[2 * fixture.kv->row_bytes], 0);
    ck_assert_uint_eq(after.bytes - before.bytes, fixture.kv->row_bytes);
    exec_close(fixture.exec);
}
END_TEST

START_TEST(a_page_outside_the_pool_or_onto_itself_is_not_copied)
{
    struct fixture fixture;

    set_up(&fixture);

    ck_assert_int_eq(exec_copy_page(fixture.exec, fixture.kv, 4, 0), -EINVAL);
    ck_assert_int_eq(exec_copy_page(fixture.exec, fixture.kv, 0, 4), -EINVAL);
    ck_assert_int_eq(exec_copy_page(fixture.exec, fixture.kv, 2, 2), -EINVAL);
    ck_assert_int_eq(exec_copy_page(fixture.exec, fixture.rope, 0, 1), -EINVAL);
    exec_close(fixture.exec);
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
