/*
 * Bench: one thread; the best of many short passes, since neighbours on the machine only ever make it slower
 *
 * GB/s counts the bytes of weights (of K and V for attention), Gop/s two operations for each weight and row. The
 * matrix of 1536 x 576 is a feed-forward layer of SmolLM2-135M and fits into the second cache; the one of 8192 x 4096
 * comes from memory.
 */
#include "bench.h"
#include "fixture.h"
#include "unit.h"

#include "base/clean.h"
#include "tensor/block.h"
#include "tensor/panel.h"

#include <string.h>
#include <time.h>

#define PASS_US  4000 /* time of a pass, at least */
#define N_PASSES 25

typedef void (*bench_fn)(void *ctx);

/* Time that this thread has had a processor: others on the machine may have had it in between. */
static double used_us(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Microseconds of one call. */
static double time_of(bench_fn fn, void *ctx)
{
    double best = 1e30;

    for (int pass = 0; pass < N_PASSES; pass++) {
        const double start = used_us();
        double now = start;
        uint32_t n = 0;

        for (; now - start < PASS_US; n++) {
            fn(ctx);
            now = used_us();
        }
        best = (now - start) / n < best ? (now - start) / n : best;
    }
    return best;
}

struct bench_matmul {
    const struct kern_ops *ops;
    struct kern_matmul op;
    uint32_t n_weights;
};

static void run_matmul(void *ctx)
{
    const struct bench_matmul *bench = ctx;

    bench->ops->matmul(&bench->op, 0, bench->n_weights);
}

static void print_matmul(struct bench_matmul *bench)
{
    const struct kern_matmul *op = &bench->op;
    const double us = time_of(run_matmul, bench);

    printf("%-7s %s %-5s %5u x %4u, %3u rows: %8.1f us  %6.2f GB/s  %7.1f Gop/s\n", bench->ops->name,
           op->weights.in_panels ? "panels" : "matmul", elem_info(op->weights.type)->name, bench->n_weights,
           op->weights.n_cols, op->n_rows, us, (double)op->weights.row_bytes * bench->n_weights / us / 1e3,
           2.0 * op->weights.n_cols * bench->n_weights * op->n_rows / us / 1e3);
}

/* Measures the product by rows and, for weights in blocks, by panels. */
static void bench_matmul(const struct kern_ops *ops, uint32_t type, uint32_t n_cols, uint32_t n_weights,
                         uint32_t n_rows)
{
    struct fixture_random random = { 1 };
    struct bench_matmul bench = { .ops = ops, .n_weights = n_weights };
    uint8_t *weights = fixture_weights(type, n_cols, n_weights, FIXTURE_ORDINARY, &random);
    float *x = fixture_guarded((size_t)n_cols * n_rows);
    float *out = fixture_guarded((size_t)n_weights * n_rows);
    uint64_t row_bytes = 0;
    void *acts;

    ck_assert(elem_row_bytes(type, n_cols, &row_bytes));
    fixture_fill(x, (size_t)n_cols * n_rows, FIXTURE_ORDINARY, &random);
    bench.op = (struct kern_matmul){
        .weights = { .type = type, .n_cols = n_cols, .bytes = weights, .row_bytes = row_bytes },
        .n_rows = n_rows,
        .out = out,
        .out_stride = n_weights,
    };
    acts = fixture_acts(ops, type, x, n_cols, n_rows, &bench.op.act_bytes);
    bench.op.acts = acts;
    print_matmul(&bench);
    if (elem_info(type)->n_block > 1) {
        uint8_t *panels = aligned_alloc(64, (n_weights * row_bytes + 63) / 64 * 64);

        ck_assert_ptr_nonnull(panels);
        for (uint32_t w = 0; w < n_weights; w += ELEM_PANEL_ROWS) {
            panel_pack(type, weights + w * row_bytes, n_cols, panels + w * row_bytes);
        }
        bench.op.weights.bytes = panels;
        bench.op.weights.in_panels = true;
        print_matmul(&bench);
        free(panels);
    }
    free(acts);
    fixture_free_weights(weights);
    fixture_free_guarded(x, (size_t)n_cols * n_rows);
    fixture_free_guarded(out, (size_t)n_weights * n_rows);
}

struct bench_attend {
    const struct kern_ops *ops;
    struct kern_attend op;
};

static void run_attend(void *ctx)
{
    const struct bench_attend *bench = ctx;

    bench->ops->attend(&bench->op, 0, bench->op.n_rows * bench->op.n_heads);
}

/* Nine heads of 64 on three of KV, the last @n_rows rows of @n_pos. */
static void bench_attend(const struct kern_ops *ops, enum kern_kv kv, uint32_t n_pos, uint32_t n_rows)
{
    static const char *const names[KERN_KV_COUNT] = {
        [KERN_KV_F16] = "f16", [KERN_KV_F32] = "f32", [KERN_KV_Q8] = "q8", [KERN_KV_Q4] = "q4"
    };
    struct fixture_random random = { 2 };
    struct bench_attend bench = { .ops = ops };
    struct kern_kv_shape shape = { .kv = kv, .n_kv_heads = 3, .head_dim = 64 };
    const uint32_t n_pages = (n_pos + KERN_PAGE_TOK - 1) / KERN_PAGE_TOK;
    struct kern_kv_row *rows = calloc(n_pos, sizeof(rows[0]));
    uint32_t *pages = calloc(n_pages, sizeof(pages[0]));
    float *x = fixture_guarded((size_t)n_pos * 576);
    float *out = fixture_guarded((size_t)n_pos * 576);
    struct kern_store store = { .rows = rows, .k = x, .v = x, .k_stride = 576, .v_stride = 576 };
    double us, n_seen = 0;

    shape.page_bytes = kern_kv_page_bytes(kv, 3, 64);
    shape.base = aligned_alloc(64, shape.page_bytes * n_pages);
    fixture_fill(x, (size_t)n_pos * 576, FIXTURE_ORDINARY, &random);
    for (uint32_t i = 0; i < n_pages; i++) {
        pages[i] = i;
    }
    for (uint32_t i = 0; i < n_pos; i++) {
        rows[i] = (struct kern_kv_row){ .pages = pages, .pos = i };
    }
    store.shape = shape;
    ops->store(&store, 0, n_pos);
    bench.op = (struct kern_attend){ .shape = shape,
                                     .n_heads = 9,
                                     .n_rows = n_rows,
                                     .rows = rows + n_pos - n_rows,
                                     .scale = 0.125f,
                                     .q = x,
                                     .out = out,
                                     .q_stride = 576,
                                     .out_stride = 576 };
    for (uint32_t i = n_pos - n_rows; i < n_pos; i++) {
        n_seen += i + 1;
    }
    us = time_of(run_attend, &bench);
    printf("%-7s attend %s 9/3 heads of 64, %4u positions, %3u rows: %8.1f us  %7.1f Gop/s\n", ops->name, names[kv],
           n_pos, n_rows, us, 4.0 * 64 * 9 * n_seen / us / 1e3);
    free(shape.base);
    free(rows);
    free(pages);
    fixture_free_guarded(x, (size_t)n_pos * 576);
    fixture_free_guarded(out, (size_t)n_pos * 576);
}

struct bench_rows {
    const struct kern_ops *ops;
    float *x, *out;
    void *acts;
    enum kern_act act;
};

#define ROW_COLS 1536

static void run_quantise(void *ctx)
{
    const struct bench_rows *bench = ctx;

    bench->ops->quantise(bench->act, bench->x, ROW_COLS, bench->acts);
}

static void run_norm(void *ctx)
{
    const struct bench_rows *bench = ctx;

    bench->ops->rms_norm(bench->out, bench->x, bench->x, 1e-5f, ROW_COLS);
}

static void run_silu(void *ctx)
{
    const struct bench_rows *bench = ctx;

    bench->ops->silu_mul(bench->out, bench->x, bench->x, ROW_COLS);
}

static void bench_elements(const struct kern_ops *ops)
{
    struct fixture_random random = { 3 };
    struct bench_rows bench = { .ops = ops, .x = fixture_guarded(ROW_COLS), .out = fixture_guarded(ROW_COLS) };

    bench.acts = aligned_alloc(KERN_ACT_ALIGN, 2 * ROW_COLS);
    fixture_fill(bench.x, ROW_COLS, FIXTURE_ORDINARY, &random);
    bench.act = KERN_ACT_Q32;
    printf("%-7s quantise Q32, %d columns: %6.2f us\n", ops->name, ROW_COLS, time_of(run_quantise, &bench));
    bench.act = KERN_ACT_Q256;
    printf("%-7s quantise Q256, %d columns: %6.2f us\n", ops->name, ROW_COLS, time_of(run_quantise, &bench));
    printf("%-7s rms_norm, %d columns: %6.2f us\n", ops->name, ROW_COLS, time_of(run_norm, &bench));
    printf("%-7s silu_mul, %d columns: %6.2f us\n", ops->name, ROW_COLS, time_of(run_silu, &bench));
    free(bench.acts);
    fixture_free_guarded(bench.x, ROW_COLS);
    fixture_free_guarded(bench.out, ROW_COLS);
}

static void bench_set(const struct kern_ops *ops)
{
    static const uint32_t n_rows[] = { 1, 4, 8, 64, 256 };
    const bool fast = strcmp(ops->name, "scalar") != 0;

    for (size_t i = 0; i < FIXTURE_N_TYPES; i++) {
        const uint32_t type = fixture_types[i];
        const uint32_t n_cols = elem_info(type)->n_block == BLOCK_SUPER ? 768 : 576;

        for (size_t r = 0; r < (fast ? COUNTOF(n_rows) : 1); r++) {
            bench_matmul(ops, type, n_cols, 1536, n_rows[r]);
        }
        if (fast) {
            bench_matmul(ops, type, 4096, 8192, 1);
        }
    }
    for (int kv = 0; kv < KERN_KV_COUNT; kv++) {
        bench_attend(ops, (enum kern_kv)kv, 500, 1);
        bench_attend(ops, (enum kern_kv)kv, 256, fast ? 256 : 16);
    }
    bench_elements(ops);
}

static const char *wanted; /* set to measure; NULL: all */

START_TEST(kernels_run_at_speed)
{
    for (int i = 0; i < FIXTURE_N_SETS; i++) {
        const struct kern_ops *ops = fixture_set(i);

        if (ops && (!wanted || strcmp(wanted, ops->name) == 0)) {
            bench_set(ops);
        }
    }
}
END_TEST

/* The fixture asserts, and asserting works inside tests only: so this is one, without a time limit. */
int bench_run(const char *set)
{
    Suite *suite = suite_create("kern-bench");
    TCase *tcase = tcase_create("bench");

    wanted = set;
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, kernels_run_at_speed);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
