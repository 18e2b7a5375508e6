/*
 * Products: activations in 8 bits and matrix products have the same bits in every set, alone or together, whole or
 * in ranges; and they are as near to the truth as 8 bits allow
 */
#include "bench.h"
#include "fixture.h"
#include "unit.h"

#include "base/clean.h"
#include "kern/half.h"
#include "tensor/block.h"
#include "tensor/panel.h"

#include <math.h>
#include <string.h>

#define N_FAST (FIXTURE_N_SETS - 1)

struct product {
    uint32_t type;
    uint32_t n_cols;
    uint32_t n_weights;
    uint32_t n_rows;
    uint8_t *weights;
    bool in_panels; /* multiplies by panels that are made of the rows; n_weights is a multiple of 16 */
    float *x;
};

static void make(struct product *product, enum fixture_kind kind, struct fixture_random *random)
{
    const size_t n = (size_t)product->n_cols * product->n_rows;

    product->weights = fixture_weights(product->type, product->n_cols, product->n_weights, kind, random);
    product->x = fixture_guarded(n);
    fixture_fill(product->x, n, kind, random);
}

static void unmake(struct product *product)
{
    fixture_free_weights(product->weights);
    fixture_free_guarded(product->x, (size_t)product->n_cols * product->n_rows);
}

/* Returns the weights as panels; free() them. */
static uint8_t *panels_of(const struct product *product, uint64_t row_bytes)
{
    uint8_t *panels = malloc(product->n_weights * row_bytes + 1);

    ck_assert_ptr_nonnull(panels);
    for (uint32_t w = 0; w < product->n_weights; w += ELEM_PANEL_ROWS) {
        panel_pack(product->type, product->weights + w * row_bytes, product->n_cols, panels + w * row_bytes);
    }
    return panels;
}

/* The product by @ops into guarded memory; rows @first .. of the weights only. */
static float *multiply(const struct kern_ops *ops, const struct product *product, uint32_t first, uint32_t n)
{
    const size_t n_out = (size_t)product->n_rows * product->n_weights;
    uint64_t row_bytes;
    uint8_t *panels = NULL;
    float *out = fixture_guarded(n_out);
    struct kern_matmul op = {
        .weights = { .type = product->type, .n_cols = product->n_cols, .bytes = product->weights },
        .n_rows = product->n_rows,
        .out = out,
        .out_stride = product->n_weights,
    };
    void *acts = fixture_acts(ops, product->type, product->x, product->n_cols, product->n_rows, &op.act_bytes);

    ck_assert(elem_row_bytes(product->type, product->n_cols, &row_bytes));
    op.weights.row_bytes = row_bytes;
    op.acts = acts;
    if (product->in_panels) {
        panels = panels_of(product, row_bytes);
        op.weights.bytes = panels;
        op.weights.in_panels = true;
    }
    ops->matmul(&op, first, n);
    free(panels);
    free(acts);
    return out;
}

static void compare_sets(const struct kern_ops *ops, const struct product *product)
{
    const size_t n = (size_t)product->n_rows * product->n_weights;
    float *expected = multiply(fixture_set(0), product, 0, product->n_weights);
    float *got = multiply(ops, product, 0, product->n_weights);
    char what[96];

    snprintf(what, sizeof(what), "%s %s, %u columns, %u weight rows, %u rows", ops->name,
             elem_info(product->type)->name, product->n_cols, product->n_weights, product->n_rows);
    fixture_same(got, expected, n, what);
    fixture_free_guarded(expected, n);
    fixture_free_guarded(got, n);
}

START_TEST(sets_multiply_alike_at_every_edge)
{
    static const uint32_t counts[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 17 };
    const struct kern_ops *ops = fixture_set(1 + _i / FIXTURE_N_TYPES % N_FAST);
    const uint32_t type = fixture_types[_i % FIXTURE_N_TYPES];
    const enum fixture_kind kind = (enum fixture_kind)(_i / FIXTURE_N_TYPES / N_FAST);
    const uint32_t n_block = elem_info(type)->n_block;
    struct fixture_random random = { 11 + (uint64_t)_i };

    for (size_t c = 0; ops && c < 14; c++) { /* blocks; columns of the float types on both sides of 16 and 32 */
        static const uint32_t n_blocks[] = { 0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 172 };
        struct product product = { .type = type, .n_cols = n_blocks[c] * n_block };

        if (product.n_cols > 2304) {
            continue;
        }
        for (size_t w = 0; w < COUNTOF(counts); w++) {
            product.n_weights = counts[w];
            product.n_rows = counts[(w + c) % COUNTOF(counts)];
            make(&product, kind, &random);
            compare_sets(ops, &product);
            unmake(&product);
        }
    }
}
END_TEST

/* By the definition and by every set, at all edges of pieces and of tiles; ranges that cut a panel, too. */
START_TEST(panels_multiply_as_their_rows_do)
{
    static const uint32_t n_blocks[] = { 1, 7, 8, 9, 28 };
    static const uint32_t n_rows[] = { 1, 2, 5, 13, 100 };
    const struct kern_ops *ops = fixture_set(_i / FIXTURE_N_TYPES);
    struct product product = { .type = fixture_types[_i % FIXTURE_N_TYPES], .n_weights = 48 };
    struct fixture_random random = { 23 + (uint64_t)_i };

    if (!ops || elem_info(product.type)->n_block == 1) {
        return;
    }
    for (size_t i = 0; i < COUNTOF(n_blocks); i++) {
        const uint32_t first = i % 2 == 0 ? 0 : 3;
        const uint32_t n = i % 2 == 0 ? 48 : 30;
        float *expected, *got;

        product.n_cols = elem_info(product.type)->n_block * n_blocks[i];
        product.n_rows = n_rows[i];
        product.in_panels = false;
        make(&product, FIXTURE_ORDINARY, &random);
        expected = multiply(fixture_set(0), &product, first, n);
        product.in_panels = true;

        got = multiply(ops, &product, first, n);

        for (uint32_t r = 0; r < product.n_rows; r++) {
            fixture_same(got + r * 48 + first, expected + r * 48 + first, n, ops->name);
        }
        fixture_free_guarded(expected, (size_t)48 * product.n_rows);
        fixture_free_guarded(got, (size_t)48 * product.n_rows);
        unmake(&product);
    }
}
END_TEST

START_TEST(largest_quants_do_not_overflow)
{
    const struct kern_ops *ops = fixture_set(1 + _i / FIXTURE_N_TYPES);
    struct product product = {
        .type = fixture_types[_i % FIXTURE_N_TYPES], .n_cols = 512, .n_weights = 9, .n_rows = 5
    };
    struct fixture_random random = { 3 };
    const struct elem_info *info = elem_info(product.type);
    const bool is_signed = product.type == ELEM_Q3_K || product.type == ELEM_IQ4_NL || product.type == ELEM_IQ4_XS;

    if (!ops || info->n_block == 1) {
        return;
    }
    for (int variant = 0; variant < 4; variant++) {
        const int sign = variant % 2 == 0 ? -1 : 1;

        product.n_rows = variant < 2 ? 1 : 5;
        make(&product, FIXTURE_ORDINARY, &random);
        /* Every weight the largest its format knows (in Q8_0 the -128 no quantiser writes), all scales too. */
        memset(product.weights,
               sign > 0    ? 0xff
               : is_signed ? 0
                           : 0x80,
               (size_t)512 / info->n_block * info->n_bytes * 9);
        for (size_t b = 0; b < (size_t)512 / info->n_block * 9; b++) {
            uint8_t *block = product.weights + b * info->n_bytes;

            if (product.type == ELEM_Q6_K) {
                memset(block, 0xff, 192);
                memset(block + 192, sign < 0 ? 0x80 : 0x7f, 16);
            }
            memset(block + fixture_d_at(product.type), 0x20, 2);
            if (fixture_has_m(product.type)) {
                memset(block + fixture_d_at(product.type) + 2, 0x10, 2);
            }
        }
        for (uint32_t i = 0; i < 512 * product.n_rows; i++) {
            product.x[i] = (float)sign;
        }
        compare_sets(ops, &product);
        unmake(&product);
    }
}
END_TEST

START_TEST(products_that_underflow_keep_their_sign)
{
    const struct kern_ops *ops = fixture_set(_i / 3);
    const uint32_t types[3] = { ELEM_F32, ELEM_F16, ELEM_BF16 };
    const float weight = types[_i % 3] == ELEM_F16 ? -0x1p-24f : -0x1p-100f;
    struct product product = { .type = types[_i % 3], .n_cols = 19, .n_weights = 5, .n_rows = 4 };
    struct fixture_random random = { 19 };
    float *out;

    if (!ops) {
        return;
    }
    make(&product, FIXTURE_ORDINARY, &random);
    for (uint32_t i = 0; i < 19 * 5; i++) {
        const uint16_t bits =
            product.type == ELEM_F16 ? half_from_float(weight) : (uint16_t)(half_float_bits(weight) >> 16);

        memcpy(product.weights + i * elem_info(product.type)->n_bytes,
               product.type == ELEM_F32 ? (const void *)&weight : &bits, elem_info(product.type)->n_bytes);
    }
    for (uint32_t i = 0; i < 19 * 4; i++) {
        product.x[i] = 0x1p-130f;
    }

    out = multiply(ops, &product, 0, product.n_weights);

    for (uint32_t i = 0; i < 5 * 4; i++) { /* sixteen lanes of -0 */
        ck_assert(out[i] == 0.0f && signbit(out[i]));
    }
    fixture_free_guarded(out, 20);
    unmake(&product);
}
END_TEST

START_TEST(a_row_has_the_same_bits_alone_and_among_others)
{
    const struct kern_ops *ops = fixture_set(_i / FIXTURE_N_TYPES);
    struct product all = { .type = fixture_types[_i % FIXTURE_N_TYPES], .n_cols = 512, .n_weights = 21, .n_rows = 139 };
    struct fixture_random random = { 5 };
    float *together;

    if (!ops) {
        return;
    }
    make(&all, FIXTURE_ORDINARY, &random);
    together = multiply(ops, &all, 0, all.n_weights);

    for (uint32_t r = 0; r < all.n_rows; r += 23) {
        struct product alone = all;
        float *out;

        alone.n_rows = 1;
        alone.x = all.x + (size_t)r * all.n_cols;
        out = multiply(ops, &alone, 0, alone.n_weights);
        fixture_same(out, together + (size_t)r * all.n_weights, all.n_weights, elem_info(all.type)->name);
        fixture_free_guarded(out, all.n_weights);
    }
    fixture_free_guarded(together, (size_t)all.n_rows * all.n_weights);
    unmake(&all);
}
END_TEST

START_TEST(a_range_writes_its_own_columns_and_no_others)
{
    const struct kern_ops *ops = fixture_set(_i / FIXTURE_N_TYPES);
    struct product all = { .type = fixture_types[_i % FIXTURE_N_TYPES], .n_cols = 256, .n_weights = 29, .n_rows = 6 };
    struct fixture_random random = { 9 };
    const size_t n = (size_t)all.n_rows * all.n_weights;
    float *whole, *part;

    if (!ops) {
        return;
    }
    make(&all, FIXTURE_ORDINARY, &random);
    whole = multiply(ops, &all, 0, all.n_weights);
    part = multiply(ops, &all, 5, 13);

    for (size_t i = 0; i < n; i++) {
        const uint32_t w = (uint32_t)(i % all.n_weights);
        static const uint8_t guard[4] = { 0xa5, 0xa5, 0xa5, 0xa5 };

        ck_assert(memcmp(&part[i], w >= 5 && w < 18 ? (const void *)&whole[i] : guard, 4) == 0);
    }
    fixture_free_guarded(whole, n);
    fixture_free_guarded(part, n);
    unmake(&all);
}
END_TEST

START_TEST(products_are_as_near_as_eight_bits_allow)
{
    const struct kern_ops *ops = fixture_set(_i / FIXTURE_N_TYPES);
    struct product product = {
        .type = fixture_types[_i % FIXTURE_N_TYPES], .n_cols = 768, .n_weights = 8, .n_rows = 3
    };
    const bool in_blocks = elem_info(product.type)->n_block > 1;
    struct fixture_random random = { 13 };
    float w[768];
    uint64_t row_bytes;
    float *out;

    if (!ops) {
        return;
    }
    make(&product, FIXTURE_ORDINARY, &random);
    out = multiply(ops, &product, 0, product.n_weights);
    ck_assert(elem_row_bytes(product.type, product.n_cols, &row_bytes));

    for (uint32_t i = 0; i < product.n_weights * product.n_rows; i++) {
        const float *x = product.x + (size_t)(i / product.n_weights) * product.n_cols;
        double sum = 0, most = 0, squares = 0;

        ops->unpack(product.type, product.weights + i % product.n_weights * row_bytes, product.n_cols, w);
        for (uint32_t j = 0; j < product.n_cols; j++) {
            sum += (double)w[j] * (double)x[j];
            most += fabs((double)w[j] * (double)x[j]);
            squares += (double)w[j] * (double)w[j];
        }
        /* Rounding to 8 bits errs by up to 1/254 an element, in both directions: eight deviations are allowed. */
        ck_assert_double_le(fabs((double)out[i] - sum),
                            in_blocks ? 8.0 / 254.0 / sqrt(3.0) * sqrt(squares) + 1e-5 * most : 1e-6 * most);
    }
    fixture_free_guarded(out, (size_t)product.n_rows * product.n_weights);
    unmake(&product);
}
END_TEST

static void *quantised(const struct kern_ops *ops, enum kern_act act, const float *x, uint32_t n_cols)
{
    const size_t n_bytes = kern_act_bytes(act, n_cols);
    uint8_t *row = aligned_alloc(KERN_ACT_ALIGN, n_bytes + KERN_ACT_ALIGN);

    memset(row, 0x5a, n_bytes + KERN_ACT_ALIGN);
    ops->quantise(act, x, n_cols, row);
    return row;
}

START_TEST(sets_quantise_alike_and_write_no_further)
{
    const struct kern_ops *ops = fixture_set(1 + _i / 4);
    const enum kern_act act = _i % 2 == 0 ? KERN_ACT_Q32 : KERN_ACT_Q256;
    const uint32_t n_block = act == KERN_ACT_Q32 ? BLOCK_SMALL : BLOCK_SUPER;
    struct fixture_random random = { 17 };

    for (uint32_t n = 0; ops && n < 20; n++) {
        const uint32_t n_cols = n * n_block;
        float *x = fixture_guarded(n_cols);
        uint8_t *expected, *got;
        fixture_fill(x, n_cols, (enum fixture_kind)(_i / 2 % 2), &random);
        expected = quantised(fixture_set(0), act, x, n_cols);
        got = quantised(ops, act, x, n_cols);
        ck_assert(memcmp(got, expected, n_cols) == 0);
        fixture_same(kern_act_at(act, n_cols, got).d, kern_act_at(act, n_cols, expected).d, n, "d");
        if (act == KERN_ACT_Q32) {
            fixture_same(kern_act_at(act, n_cols, got).s, kern_act_at(act, n_cols, expected).s, n, "s");
            ck_assert(memcmp(kern_act_at(act, n_cols, got).sum, kern_act_at(act, n_cols, expected).sum, 4 * n) == 0);
        } else {
            ck_assert(memcmp(kern_act_at(act, n_cols, got).sum16, kern_act_at(act, n_cols, expected).sum16, 32 * n) ==
                      0);
        }
        for (size_t i = 0; i < KERN_ACT_ALIGN; i++) {
            ck_assert_uint_eq(got[kern_act_bytes(act, n_cols) + i], 0x5a);
        }
        free(expected);
        free(got);
        fixture_free_guarded(x, n_cols);
    }
}
END_TEST

START_TEST(a_block_rounds_as_written)
{
    const struct kern_ops *ops = fixture_set(_i);
    float x[32] = { 127.0f, -127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 63.49f };
    struct kern_act_row row;
    void *bytes;

    if (!ops) {
        return;
    }
    bytes = quantised(ops, KERN_ACT_Q32, x, 32);
    row = kern_act_at(KERN_ACT_Q32, 32, bytes);

    ck_assert_float_eq(row.d[0], 1.0f);
    ck_assert_int_eq(row.q[0], 127);
    ck_assert_int_eq(row.q[1], -127);
    ck_assert_int_eq(row.q[2], 0); /* halves go to the even neighbour */
    ck_assert_int_eq(row.q[3], 2);
    ck_assert_int_eq(row.q[4], 2);
    ck_assert_int_eq(row.q[5], 0);
    ck_assert_int_eq(row.q[6], -2);
    ck_assert_int_eq(row.q[7], 63);
    ck_assert_int_eq(row.sum[0], 65);
    ck_assert_float_eq(row.s[0], 65.0f);
    free(bytes);
}
END_TEST

START_TEST(trouble_in_a_block_stays_visible_and_tiny_ones_are_zero)
{
    const struct kern_ops *ops = fixture_set(_i);
    float x[96] = { [3] = NAN, [40] = -INFINITY, [70] = 0x1p-101f };
    struct kern_act_row row;
    void *bytes;

    if (!ops) {
        return;
    }
    bytes = quantised(ops, KERN_ACT_Q32, x, 96);
    row = kern_act_at(KERN_ACT_Q32, 96, bytes);

    ck_assert(isnan(row.d[0]) && isnan(row.d[1]));
    ck_assert_float_eq(row.d[2], 0.0f);
    for (uint32_t i = 0; i < 96; i++) {
        ck_assert_int_eq(row.q[i], 0);
    }
    free(bytes);
}
END_TEST

START_TEST(every_format_that_computes_is_tested)
{
    uint32_t n_types = 0;

    for (uint32_t type = 0; type < ELEM_TYPE_COUNT; type++) {
        const struct elem_info *info = elem_info(type);
        bool is_listed = false;

        for (uint32_t i = 0; i < FIXTURE_N_TYPES; i++) {
            is_listed = is_listed || fixture_types[i] == type;
        }
        ck_assert_msg(!info || !info->computes || is_listed, "%s is not in fixture_types", info->name);
        n_types += is_listed;
    }
    ck_assert_uint_eq(n_types, FIXTURE_N_TYPES);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("kern-dot");
    TCase *tcase = tcase_create("dot");

    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        return bench_run(argc > 2 ? argv[2] : NULL);
    }
    tcase_add_test(tcase, every_format_that_computes_is_tested);
    tcase_add_loop_test(tcase, sets_multiply_alike_at_every_edge, 0, 2 * N_FAST * FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, panels_multiply_as_their_rows_do, 0, FIXTURE_N_SETS * FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, largest_quants_do_not_overflow, 0, N_FAST * FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, products_that_underflow_keep_their_sign, 0, 3 * FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, a_row_has_the_same_bits_alone_and_among_others, 0, FIXTURE_N_SETS * FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, a_range_writes_its_own_columns_and_no_others, 0, FIXTURE_N_SETS * FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, products_are_as_near_as_eight_bits_allow, 0, FIXTURE_N_SETS * FIXTURE_N_TYPES);
    tcase_add_loop_test(tcase, sets_quantise_alike_and_write_no_further, 0, 4 * N_FAST);
    tcase_add_loop_test(tcase, a_block_rounds_as_written, 0, FIXTURE_N_SETS);
    tcase_add_loop_test(tcase, trouble_in_a_block_stays_visible_and_tiny_ones_are_zero, 0, FIXTURE_N_SETS);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
