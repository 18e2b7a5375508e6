/* What may be recorded, and that a program is checked before anything runs, on every backend. */
#include "base/clean.h"
#include "exec/backend.h"
#include "fixture.h"
#include "unit.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define N_COLS 32

static float ones[N_COLS * N_COLS];

/* A backend with one weight of each kind, and a program that is being recorded. */
struct setting {
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

static void set_up_with(struct setting *setting, int backend)
{
    const struct exec_kv_shape shape = {
        .n_layers = 1, .n_kv_heads = 2, .head_dim = 16, .n_pages = 4, .format = EXEC_KV_F16
    };
    struct diag diag = DIAG_INIT;

    setting->exec = fixture_open(fixture_backend(backend), 1);
    ck_assert_int_eq(exec_program_create(setting->exec, 0, 4, 2, &setting->program), 0);
    setting->square = fixture_import(setting->exec, ones, N_COLS, N_COLS);
    setting->row = fixture_import(setting->exec, ones, N_COLS, 1);
    setting->half = fixture_import(setting->exec, ones, 16, 1);
    setting->odd = fixture_import(setting->exec, ones, 12, 1);
    ck_assert_int_eq(exec_make_rope(setting->exec,
                                    &(struct exec_rope){
                                        .n_positions = 64, .n_rot = 16, .base = 10000, .scale = 1, .magnitude = 1 },
                                    &setting->rope),
                     0);
    ck_assert_int_eq(exec_alloc_kv(setting->exec, &shape, &setting->kv, &diag), EXEC_OK);
    setting->a = exec_slot(setting->program, "a", N_COLS, EXEC_ROWS_ALL);
    setting->b = exec_slot(setting->program, "b", N_COLS, EXEC_ROWS_ALL);
    setting->wide = exec_slot(setting->program, "wide", 2 * N_COLS, EXEC_ROWS_ALL);
    setting->wanted = exec_slot(setting->program, "wanted", N_COLS, EXEC_ROWS_WANTED);
}

/* All numbers of the weights are 1. */
static void set_up(struct setting *setting, int backend)
{
    for (size_t i = 0; i < COUNTOF(ones); i++) {
        ones[i] = 1.0f;
    }
    set_up_with(setting, backend);
}

static void record_embed(struct setting *setting)
{
    exec_record(setting->program,
                &(struct exec_op){ .kind = EXEC_EMBED, .out = setting->a, .weight = setting->square });
}

/* Returns an op that does not fit behind an embedding into slot a. */
static struct exec_op bad_op(const struct setting *setting, int which)
{
    const struct exec_op ops[] = {
        { .kind = EXEC_ADD, .in = setting->a, .in2 = setting->b, .out = setting->a },               /* b not written */
        { .kind = EXEC_NORM, .in = setting->b, .out = setting->a, .weight = setting->row },         /* b not written */
        { .kind = EXEC_NORM, .in = setting->a, .out = setting->b, .weight = setting->square },      /* not one row */
        { .kind = EXEC_NORM, .in = setting->a, .out = setting->b },                                 /* no weight */
        { .kind = EXEC_MATMUL, .in = setting->a, .out = setting->wide, .weight = setting->square }, /* too wide */
        { .kind = EXEC_MATMUL, .in = setting->a, .out = setting->a, .weight = setting->square },    /* in place */
        { .kind = EXEC_MATMUL, .in = setting->a, .out = setting->wanted, .weight = setting->square }, /* other rows */
        { .kind = EXEC_MATMUL,
          .in = setting->a,
          .out = setting->b,
          .weight = setting->square,
          .bias = setting->square },
        { .kind = EXEC_ROPE,
          .in = setting->a,
          .out = setting->a,
          .table = setting->rope,
          .n_heads = 3,
          .head_dim = 16 },
        { .kind = EXEC_ROPE, .in = setting->a, .out = setting->a, .table = setting->row, .n_heads = 2, .head_dim = 16 },
        { .kind = EXEC_STORE, .in = setting->a, .in2 = setting->a, .kv = setting->kv, .n_kv_heads = 1, .head_dim = 32 },
        { .kind = EXEC_STORE,
          .in = setting->a,
          .in2 = setting->a,
          .kv = setting->kv,
          .n_kv_heads = 2,
          .head_dim = 16,
          .layer = 1 },
        { .kind = EXEC_ATTEND,
          .in = setting->a,
          .out = setting->b,
          .kv = setting->kv,
          .n_heads = 3,
          .n_kv_heads = 2,
          .head_dim = 16 },
        { .kind = EXEC_ATTEND, .in = setting->a, .out = setting->b, .n_heads = 2, .n_kv_heads = 2, .head_dim = 16 },
        { .kind = EXEC_GATHER, .in = setting->a, .out = setting->b },
        { .kind = EXEC_ADD, .in = setting->a, .in2 = setting->a, .out = setting->wide },
        { .kind = EXEC_NORM,
          .in = setting->a,
          .out = setting->b,
          .weight = setting->odd }, /* its row is no part of the slot's */
        { .kind = EXEC_SCALE, .in = setting->b, .out = setting->a },
        { .kind = EXEC_SCALE, .in = setting->a, .out = setting->wide },
        { .kind = EXEC_CAP, .in = setting->a, .out = setting->wide, .cap = 1 },
        { .kind = EXEC_CAP, .in = setting->a, .out = setting->b, .cap = 0 },
        { .kind = EXEC_CAP, .in = setting->a, .out = setting->b, .cap = NAN },
        { .kind = EXEC_ATTEND,
          .in = setting->a,
          .out = setting->b,
          .kv = setting->kv,
          .n_heads = 2,
          .n_kv_heads = 2,
          .head_dim = 16,
          .cap = -1 },
        { .kind = EXEC_ADD, .in = 99, .in2 = setting->a, .out = setting->a },
        { .kind = EXEC_ADD, .in = setting->a, .in2 = setting->a, .out = EXEC_NO_SLOT },
        { .kind = EXEC_OP_COUNT },
    };

    ck_assert_int_lt(which, (int)COUNTOF(ops));
    return ops[which];
}

#define N_BAD_OPS 26

START_TEST(an_op_that_does_not_fit_is_refused_when_the_program_is_sealed)
{
    struct setting setting;
    struct exec_op op;
    struct diag diag = DIAG_INIT;

    set_up(&setting, _i);
    record_embed(&setting);
    op = bad_op(&setting, _i / FIXTURE_BACKENDS);
    exec_record(setting.program, &op);

    ck_assert_int_eq(exec_seal(setting.program, &diag), EXEC_REFUSED);

    ck_assert_msg(strstr(diag.text, "op 1"), "%s", diag.text);
    exec_close(setting.exec);
}
END_TEST

START_TEST(an_impossible_slot_is_reported_when_the_program_is_sealed)
{
    struct setting setting;
    struct diag diag = DIAG_INIT;

    set_up(&setting, _i);
    ck_assert_uint_eq(exec_slot(setting.program, "none", 0, EXEC_ROWS_ALL), EXEC_NO_SLOT);

    ck_assert_int_eq(exec_seal(setting.program, &diag), EXEC_REFUSED);
    ck_assert_msg(strstr(diag.text, "none"), "%s", diag.text);
    exec_close(setting.exec);
}
END_TEST

static const uint32_t table[] = { 0, 1, 2, 9 };

/* Batches that a sealed program refuses. */
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

static void seal_small(struct setting *setting, int backend)
{
    struct diag diag = DIAG_INIT;

    set_up(setting, backend);
    record_embed(setting);
    exec_record(setting->program, &(struct exec_op){ .kind = EXEC_ROPE,
                                                     .in = setting->a,
                                                     .out = setting->a,
                                                     .table = setting->rope,
                                                     .n_heads = 2,
                                                     .head_dim = 16 });
    exec_record(setting->program, &(struct exec_op){ .kind = EXEC_STORE,
                                                     .in = setting->a,
                                                     .in2 = setting->a,
                                                     .kv = setting->kv,
                                                     .n_kv_heads = 2,
                                                     .head_dim = 16 });
    exec_record(setting->program,
                &(struct exec_op){
                    .kind = EXEC_MATMUL, .phase = 1, .in = setting->a, .out = setting->b, .weight = setting->square });
    exec_record(setting->program,
                &(struct exec_op){ .kind = EXEC_GATHER, .phase = 2, .in = setting->b, .out = setting->wanted });
    ck_assert_msg(exec_seal(setting->program, &diag) == EXEC_OK, "%s", diag.text);
}

START_TEST(rows_outside_the_tables_are_refused)
{
    const struct bad_batch *bad = &bad_batches[_i / FIXTURE_BACKENDS];
    const uint32_t tokens[] = { bad->token, 0, 0, 0, 0 };
    const uint32_t positions[] = { bad->position, 0, 0, 0, 0 };
    const uint32_t *pages[] = { table, table, table, table, table };
    const struct exec_batch batch = { .n_rows = bad->n_rows,
                                      .tokens = tokens,
                                      .positions = positions,
                                      .pages = pages,
                                      .n_wanted = bad->n_wanted,
                                      .wanted = bad->wanted };
    struct setting setting;
    uint64_t ticket;

    seal_small(&setting, _i);

    ck_assert_int_eq(exec_bind(setting.program, &batch), -EINVAL);
    ck_assert(!exec_is_left(setting.program));
    ck_assert_int_eq(exec_submit(setting.program, 1, 0, &ticket), -EINVAL);
    exec_close(setting.exec);
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
    struct setting setting;
    struct exec_view view;

    seal_small(&setting, _i);
    ck_assert_int_eq(exec_bind(setting.program, &batch), 0);
    ck_assert_int_eq(exec_fetch(setting.program, setting.wanted, &view), -EINVAL); /* it has not run */
    fixture_run(setting.exec, setting.program);

    exec_figures(setting.program, &figures);
    ck_assert_uint_eq(figures.n_parts, _i < FIXTURE_COMPUTING ? 3 : 5); /* what goes row by row is one part */
    ck_assert_uint_eq(figures.weight_bytes, sizeof(ones));
    ck_assert_uint_eq(exec_weight_bytes(setting.program), sizeof(ones));
    ck_assert_int_eq(exec_fetch(setting.program, 4, &view), -EINVAL); /* there are four slots */
    if (_i < FIXTURE_COMPUTING) {
        ck_assert_int_eq(exec_fetch(setting.program, setting.wanted, &view), 0);
        ck_assert_float_eq(view.floats[0], 32.0f);
        ck_assert_float_eq(view.floats[31], 32.0f);
    }
    exec_close(setting.exec);
}
END_TEST

START_TEST(nothing_is_queued_or_fetched_before_a_submission_is_done)
{
    const uint32_t tokens[] = { 3 };
    const uint32_t positions[] = { 0 };
    const uint32_t *pages[] = { table };
    const struct exec_batch batch = { .n_rows = 1, .tokens = tokens, .positions = positions, .pages = pages };
    struct setting setting;
    struct exec_view view;
    uint64_t ticket;

    seal_small(&setting, 2); /* far */
    ck_assert_int_eq(exec_bind(setting.program, &batch), 0);
    ck_assert_int_eq(exec_submit(setting.program, 1, 0, &ticket), 0);
    ck_assert_int_eq(exec_submit(setting.program, 100, 0, &ticket), -EBUSY);
    ck_assert_int_eq(exec_wait(setting.exec, ticket, 0), EXEC_PENDING);
    ck_assert_int_eq(exec_wait(setting.exec, ticket, 0), EXEC_OK);
    ck_assert_int_eq(exec_submit(setting.program, 100, 0, &ticket), 0);

    ck_assert(!exec_is_left(setting.program));
    ck_assert_int_eq(exec_fetch(setting.program, setting.b, &view), -EBUSY);
    exec_close(setting.exec);
}
END_TEST

START_TEST(heads_are_normed_by_themselves_scaled_and_capped)
{
    const uint32_t tokens[] = { 3 };
    const uint32_t positions[] = { 0 };
    const uint32_t *pages[] = { table };
    const struct exec_batch batch = { .n_rows = 1, .tokens = tokens, .positions = positions, .pages = pages };
    struct diag diag = DIAG_INIT;
    struct setting setting;
    float out[N_COLS];

    for (uint32_t i = 0; i < COUNTOF(ones); i++) {
        ones[i] = i >= 3 * N_COLS + 16 && i < 4 * N_COLS ? 100.0f : 1.0f; /* the second head of token 3 */
    }
    set_up_with(&setting, _i);
    record_embed(&setting);
    exec_record(setting.program,
                &(struct exec_op){ .kind = EXEC_NORM, .in = setting.a, .out = setting.a, .weight = setting.half });
    exec_record(setting.program,
                &(struct exec_op){ .kind = EXEC_SCALE, .in = setting.a, .out = setting.b, .scale = 3.0f });
    exec_record(setting.program, &(struct exec_op){ .kind = EXEC_CAP, .in = setting.b, .out = setting.b, .cap = 2.0f });
    ck_assert_msg(exec_seal(setting.program, &diag) == EXEC_OK, "%s", diag.text);
    ck_assert_int_eq(exec_bind(setting.program, &batch), 0);
    fixture_run(setting.exec, setting.program);

    fixture_read(setting.program, setting.b, 0, out, N_COLS);
    for (uint32_t i = 0; i < N_COLS; i++) { /* each head is ones; 2 tanh(3 / 2) */
        ck_assert_float_eq_tol(out[i], 1.8102965f, 1e-6f);
    }
    exec_close(setting.exec);
}
END_TEST

START_TEST(a_program_with_too_many_windows_is_refused)
{
    struct diag diag = DIAG_INIT;
    struct setting setting;

    set_up(&setting, _i);
    record_embed(&setting);
    for (uint32_t window = 0; window <= 4; window++) {
        exec_record(setting.program, &(struct exec_op){ .kind = EXEC_ATTEND,
                                                        .in = setting.a,
                                                        .out = setting.b,
                                                        .kv = setting.kv,
                                                        .n_heads = 2,
                                                        .n_kv_heads = 2,
                                                        .head_dim = 16,
                                                        .window = window });
    }

    ck_assert_int_eq(exec_seal(setting.program, &diag), -E2BIG);
    exec_close(setting.exec);
}
END_TEST

START_TEST(the_device_time_is_told_by_phase)
{
    const uint32_t tokens[] = { 3 };
    const uint32_t positions[] = { 0 };
    const uint32_t *pages[] = { table };
    const struct exec_batch batch = { .n_rows = 1, .tokens = tokens, .positions = positions, .pages = pages };
    struct exec_figures figures;
    struct setting setting;
    uint64_t worked_ns = 0;

    seal_small(&setting, _i);
    ck_assert_int_eq(exec_bind(setting.program, &batch), 0);

    while (exec_is_left(setting.program)) {
        fixture_submit(setting.exec, setting.program, 100, 0);
        exec_figures(setting.program, &figures);
        worked_ns += figures.device_ns;
    }

    ck_assert_uint_eq(figures.phase_ns[0] + figures.phase_ns[1], worked_ns);
    ck_assert_uint_eq(figures.phase_ns[2], 0); /* no row is wanted, so the gathering has no part */
    exec_close(setting.exec);
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
    struct setting setting;
    struct diag diag = DIAG_INIT;

    set_up(&setting, _i % FIXTURE_COMPUTING);

    ck_assert_int_eq(exec_import(setting.exec, &bad_tensors[_i / FIXTURE_COMPUTING], &mem, &diag), EXEC_REFUSED);
    ck_assert_msg(strncmp(diag.text, "tensor t", 8) == 0, "%s", diag.text);
    exec_close(setting.exec);
}
END_TEST

START_TEST(a_page_has_its_numbers_and_their_scales)
{
    static const struct {
        enum exec_kv_format format;
        uint64_t n_bytes; /* bytes of a position and head of 64 elements */
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
    struct setting setting;
    struct diag diag = DIAG_INIT;

    set_up(&setting, _i);

    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    ck_assert_int_eq(exec_alloc_kv(setting.exec, &shape, &mem, &diag), EXEC_REFUSED);
    shape.format = EXEC_KV_Q4;
    shape.head_dim = 15; /* bytes hold two */
    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    shape.head_dim = EXEC_HEAD_MAX + 2;
    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    ck_assert_int_eq(exec_alloc_kv(setting.exec, &shape, &mem, &diag), EXEC_REFUSED);
    shape.format = EXEC_KV_F32;
    shape.head_dim = 16;
    shape.n_layers = UINT32_MAX;
    shape.n_kv_heads = UINT32_MAX;
    ck_assert_uint_eq(exec_kv_page_bytes(&shape), 0);
    exec_close(setting.exec);
}
END_TEST

START_TEST(a_copied_page_has_every_byte_of_the_other_and_is_charged_once)
{
    static uint8_t pages[4][2 * 2 * 16 * EXEC_PAGE_TOK * 2]; /* K and V of 2 heads of 16, F16 */
    struct mem_account before;
    struct mem_account after;
    struct setting setting;
    uint8_t bytes[sizeof(pages[0])];

    set_up(&setting, _i);
    ck_assert_uint_eq(setting.kv->row_bytes, sizeof(bytes));
    memset(bytes, 0x5a, sizeof(bytes));
    ck_assert_int_eq(setting.exec->ops->write(setting.exec, setting.kv, sizeof(bytes), bytes, sizeof(bytes)), 0);
    mem_read(MEM_KV, &before);

    ck_assert_int_eq(exec_copy_page(setting.exec, setting.kv, 1, 3), EXEC_OK);
    ck_assert_int_eq(exec_copy_page(setting.exec, setting.kv, 1, 3), EXEC_OK);

    mem_read(MEM_KV, &after);
    for (uint32_t i = 0; i < 4; i++) {
        fixture_read_page(setting.exec, setting.kv, i, pages[i]);
    }
    ck_assert_mem_eq(pages[1], bytes, sizeof(bytes));
    ck_assert_mem_eq(pages[3], bytes, sizeof(bytes));
    ck_assert_uint_eq(pages[2][0], 0);
    ck_assert_uint_eq(after.bytes - before.bytes, sizeof(bytes));
    exec_close(setting.exec);
}
END_TEST

START_TEST(a_page_outside_the_pool_or_onto_itself_is_not_copied)
{
    struct setting setting;

    set_up(&setting, _i);

    ck_assert_int_eq(exec_copy_page(setting.exec, setting.kv, 4, 0), -EINVAL);
    ck_assert_int_eq(exec_copy_page(setting.exec, setting.kv, 0, 4), -EINVAL);
    ck_assert_int_eq(exec_copy_page(setting.exec, setting.kv, 2, 2), -EINVAL);
    ck_assert_int_eq(exec_copy_page(setting.exec, setting.rope, 0, 1), -EINVAL);
    exec_close(setting.exec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec-program");
    TCase *tcase = tcase_create("program");
    const int all = FIXTURE_BACKENDS;

    tcase_add_loop_test(tcase, an_op_that_does_not_fit_is_refused_when_the_program_is_sealed, 0, all * N_BAD_OPS);
    tcase_add_loop_test(tcase, an_impossible_slot_is_reported_when_the_program_is_sealed, 0, all);
    tcase_add_loop_test(tcase, rows_outside_the_tables_are_refused, 0, all * (int)COUNTOF(bad_batches));
    tcase_add_loop_test(tcase, a_program_runs_part_by_part_and_reads_each_weight_once, 0, all);
    tcase_add_test(tcase, nothing_is_queued_or_fetched_before_a_submission_is_done);
    tcase_add_loop_test(tcase, heads_are_normed_by_themselves_scaled_and_capped, 0, FIXTURE_COMPUTING);
    tcase_add_loop_test(tcase, a_program_with_too_many_windows_is_refused, 0, FIXTURE_COMPUTING);
    tcase_add_loop_test(tcase, the_device_time_is_told_by_phase, 0, all);
    tcase_add_loop_test(tcase, a_weight_that_cannot_be_is_refused_by_name, 0,
                        FIXTURE_COMPUTING * (int)COUNTOF(bad_tensors));
    tcase_add_test(tcase, a_page_has_its_numbers_and_their_scales);
    tcase_add_loop_test(tcase, a_pool_that_cannot_be_is_refused, 0, all);
    tcase_add_loop_test(tcase, a_copied_page_has_every_byte_of_the_other_and_is_charged_once, 0, all);
    tcase_add_loop_test(tcase, a_page_outside_the_pool_or_onto_itself_is_not_copied, 0, all);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
