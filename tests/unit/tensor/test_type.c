/*
 * Types and shapes: the published table, and sizes that are exact or refused
 */
#include "unit.h"

#include "base/clean.h"
#include "tensor/block.h"
#include "tensor/shape.h"

#include <string.h>

START_TEST(published_types_have_their_names_and_sizes)
{
    static const struct {
        uint32_t type;
        const char *name;
        uint32_t n_block, n_bytes;
        bool computes;
    } rows[] = {
        { 0, "F32", 1, 4, true },       { 1, "F16", 1, 2, true },         { 2, "Q4_0", 32, 18, true },
        { 3, "Q4_1", 32, 20, true },    { 6, "Q5_0", 32, 22, true },      { 7, "Q5_1", 32, 24, true },
        { 8, "Q8_0", 32, 34, true },    { 10, "Q2_K", 256, 84, true },    { 11, "Q3_K", 256, 110, true },
        { 12, "Q4_K", 256, 144, true }, { 13, "Q5_K", 256, 176, true },   { 14, "Q6_K", 256, 210, true },
        { 20, "IQ4_NL", 32, 18, true }, { 23, "IQ4_XS", 256, 136, true }, { 30, "BF16", 1, 2, true },
        { 39, "MXFP4", 32, 17, false },
    };

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        const struct elem_info *info = elem_info(rows[i].type);

        ck_assert_ptr_nonnull(info);
        ck_assert_str_eq(info->name, rows[i].name);
        ck_assert_uint_eq(info->n_block, rows[i].n_block);
        ck_assert_uint_eq(info->n_bytes, rows[i].n_bytes);
        ck_assert(info->computes == rows[i].computes);
    }
}
END_TEST

START_TEST(the_computed_types_are_listed)
{
    char text[160];

    ck_assert_str_eq(elem_computed(text, sizeof(text)),
                     "F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, "
                     "Q6_K, IQ4_NL, IQ4_XS, BF16");
    ck_assert_str_eq(elem_computed(text, 5), "F32,");
}
END_TEST

START_TEST(other_types_are_unknown)
{
    static const uint32_t ids[] = { 4, 5, 31, 32, 33, 38, 63, 64, 65, 1u << 31, UINT32_MAX };

    for (size_t i = 0; i < COUNTOF(ids); i++) {
        uint64_t n_bytes = 7;

        ck_assert_ptr_null(elem_info(ids[i]));
        ck_assert(!elem_row_bytes(ids[i], 256, &n_bytes));
        ck_assert_uint_eq(n_bytes, 7);
    }
}
END_TEST

START_TEST(rows_are_whole_blocks_and_never_wrap)
{
    uint64_t n_bytes = 7;

    ck_assert(elem_row_bytes(ELEM_Q4_K, 512, &n_bytes));
    ck_assert_uint_eq(n_bytes, 288);
    ck_assert(elem_row_bytes(ELEM_F32, 0, &n_bytes));
    ck_assert_uint_eq(n_bytes, 0);
    ck_assert(!elem_row_bytes(ELEM_Q4_K, 511, &n_bytes));
    ck_assert(!elem_row_bytes(ELEM_Q8_0, 33, &n_bytes));
    ck_assert(!elem_row_bytes(ELEM_F32, UINT64_MAX / 4 + 1, &n_bytes));
    ck_assert(!elem_row_bytes(ELEM_Q8_0, UINT64_MAX - 31, &n_bytes));
    ck_assert_uint_eq(n_bytes, 0);
    ck_assert(elem_row_bytes(ELEM_F32, UINT64_MAX / 4, &n_bytes));
    ck_assert_uint_eq(n_bytes, UINT64_MAX - 3);
}
END_TEST

START_TEST(a_shape_knows_its_sizes)
{
    const uint64_t dims[3] = { 256, 10, 3 };
    struct shape shape;

    ck_assert(shape_make(&shape, ELEM_Q6_K, 3, dims));

    ck_assert_uint_eq(shape_n_elems(&shape), 7680);
    ck_assert_uint_eq(shape_n_rows(&shape), 30);
    ck_assert_uint_eq(shape_row_bytes(&shape), 210);
    ck_assert_uint_eq(shape_bytes(&shape), 6300);
    ck_assert(!shape_is(&shape, 256, 10));
    ck_assert(shape_make(&shape, ELEM_Q6_K, 2, dims));
    ck_assert(shape_is(&shape, 256, 10));
    ck_assert(!shape_is(&shape, 256, 11));
    ck_assert(!shape_is(&shape, 512, 10));
}
END_TEST

START_TEST(a_shape_may_be_empty)
{
    const uint64_t dims[2] = { 256, 0 };
    struct shape shape;

    ck_assert(shape_make(&shape, ELEM_F16, 2, dims));
    ck_assert_uint_eq(shape_bytes(&shape), 0);
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    static const struct {
        uint32_t type, n_dims;
        uint64_t dims[4];
    } rows[] = {
        { ELEM_F32, 0, { 1 } },
        { ELEM_F32, 5, { 1, 1, 1, 1 } },
        { 4, 1, { 32 } },
        { ELEM_Q8_0, 1, { 31 } },
        { ELEM_F32, 2, { 1ull << 62, 4 } },                /* bytes wrap */
        { ELEM_F32, 2, { 1ull << 32, 1ull << 32 } },       /* elements wrap to 0 */
        { ELEM_F32, 4, { 0, 1ull << 32, 1ull << 32, 1 } }, /* empty, but its rows wrap */
        { ELEM_Q4_0, 4, { 1ull << 40, 1ull << 20, 1ull << 5, 1 } },
    };
    const struct shape before = { .n_dims = 99 };

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        struct shape shape = before;

        ck_assert(!shape_make(&shape, rows[i].type, rows[i].n_dims, rows[i].dims));
        ck_assert_uint_eq(shape.n_dims, 99);
    }
}
END_TEST

START_TEST(block_structs_have_the_size_of_the_table)
{
    ck_assert_uint_eq(elem_info(ELEM_Q4_0)->n_bytes, sizeof(struct block_q4_0));
    ck_assert_uint_eq(elem_info(ELEM_Q4_1)->n_bytes, sizeof(struct block_q4_1));
    ck_assert_uint_eq(elem_info(ELEM_Q5_0)->n_bytes, sizeof(struct block_q5_0));
    ck_assert_uint_eq(elem_info(ELEM_Q5_1)->n_bytes, sizeof(struct block_q5_1));
    ck_assert_uint_eq(elem_info(ELEM_Q8_0)->n_bytes, sizeof(struct block_q8_0));
    ck_assert_uint_eq(elem_info(ELEM_Q2_K)->n_bytes, sizeof(struct block_q2_k));
    ck_assert_uint_eq(elem_info(ELEM_Q3_K)->n_bytes, sizeof(struct block_q3_k));
    ck_assert_uint_eq(elem_info(ELEM_Q4_K)->n_bytes, sizeof(struct block_q4_k));
    ck_assert_uint_eq(elem_info(ELEM_Q5_K)->n_bytes, sizeof(struct block_q5_k));
    ck_assert_uint_eq(elem_info(ELEM_Q6_K)->n_bytes, sizeof(struct block_q6_k));
    ck_assert_uint_eq(elem_info(ELEM_IQ4_NL)->n_bytes, sizeof(struct block_iq4_nl));
    ck_assert_uint_eq(elem_info(ELEM_IQ4_XS)->n_bytes, sizeof(struct block_iq4_xs));
}
END_TEST

int main(void)
{
    return unit_facts("tensor-type", published_types_have_their_names_and_sizes, the_computed_types_are_listed,
                      other_types_are_unknown, rows_are_whole_blocks_and_never_wrap, a_shape_knows_its_sizes,
                      a_shape_may_be_empty, shapes_that_do_not_fit_are_refused,
                      block_structs_have_the_size_of_the_table);
}
