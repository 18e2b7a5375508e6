/*
 * Heads of files load, or are refused with the name of the key or tensor.
 *
 * This is the list of O01: sizes that wrap, divide by zero, or exceed the file.
 */
#include "base/clean.h"
#include "failed_alloc.h"
#include "maker.h"
#include "tensor/panel.h"
#include "unit.h"
#include <string.h>

/* A file with keys of several kinds and two tensors, which parses. */
static void make_good(struct maker *maker)
{
    const uint64_t dims[2] = { 32, 2 };

    maker_init(maker, 3);
    maker_key_text(maker, "general.architecture", "llama");
    maker_key_u32(maker, "x.count", 7);
    maker_key_array(maker, "x.words", GGUF_STRING, 2);
    maker_text(maker, "one");
    maker_text(maker, "");
    maker_key_array(maker, "x.none", GGUF_U64, 0);
    maker_tensor(maker, "a", 2, dims, ELEM_F32, 0);
    maker_tensor(maker, "b", 1, dims, ELEM_Q8_0, 256);
    maker_data(maker, 32, 256 + 34);
}

/* Asserts that the file is refused with @word in the sentence. */
static void assert_refused(struct maker *maker, const char *word)
{
    struct gguf *gguf = NULL;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(maker_parse(maker, &gguf, &diag), GGUF_REFUSED);
    ck_assert_ptr_null(gguf);
    ck_assert_msg(strstr(diag.text, word) != NULL, "\"%s\" does not say \"%s\"", diag.text, word);
    maker_finish(maker);
}

/* Makes a file with one such tensor and @n_data bytes behind the head. */
static void make_tensor(struct maker *maker, uint32_t n_dims, const uint64_t *dims, uint32_t type, uint64_t offset,
                        size_t n_data)
{
    maker_init(maker, 3);
    maker_tensor(maker, "t", n_dims, dims, type, offset);
    maker_data(maker, 32, n_data);
}

START_TEST(good_file_gives_its_keys_and_tensors)
{
    struct maker maker;
    struct gguf *gguf = NULL;
    const struct gguf_tensor *tensor;

    make_good(&maker);
    ck_assert_int_eq(maker_parse(&maker, &gguf, NULL), GGUF_OK);

    ck_assert_uint_eq(gguf_version(gguf), 3);
    ck_assert_uint_eq(gguf_n_keys(gguf), 4);
    ck_assert_uint_eq(gguf_n_tensors(gguf), 2);
    ck_assert_uint_eq(gguf_head_bytes(gguf) % 32, 0);
    tensor = gguf_find_tensor(gguf, "b");
    ck_assert_ptr_nonnull(tensor);
    ck_assert_uint_eq(tensor->offset, gguf_head_bytes(gguf) + 256);
    ck_assert_uint_eq(tensor->n_bytes, 34);
    ck_assert_uint_eq(tensor->dims[3], 1);
    ck_assert_ptr_eq(gguf_find_tensor(gguf, "c"), NULL);
    gguf_destroy(gguf);
    maker_finish(&maker);
}
END_TEST

START_TEST(every_prefix_of_a_good_file_is_refused)
{
    struct maker maker;
    size_t n;
    const uint8_t *bytes;

    make_good(&maker);
    bytes = maker_file(&maker, &n);

    for (size_t cut = 0; cut < n; cut++) {
        /* The block has exactly this size, so that the sanitizer sees a read past it. */
        uint8_t *copy = mem_alloc(MEM_MISC, cut);
        struct gguf *gguf = NULL;
        struct diag diag = DIAG_INIT;
        uint64_t wanted;

        memcpy(copy, bytes, cut);
        ck_assert_int_eq(gguf_parse(&gguf, copy, cut, cut, &wanted, &diag), GGUF_REFUSED);
        ck_assert(diag_is_set(&diag));
        mem_free(copy);
    }
    maker_finish(&maker);
}
END_TEST

START_TEST(every_prefix_of_a_head_asks_for_more)
{
    struct maker maker;
    struct gguf *gguf = NULL;
    uint64_t wanted = 0;
    size_t n_have = 0;
    size_t n;
    const uint8_t *bytes;
    int r;

    make_good(&maker);
    bytes = maker_file(&maker, &n);

    while ((r = gguf_parse(&gguf, bytes, n_have, n, &wanted, NULL)) == GGUF_MORE) {
        ck_assert_uint_gt(wanted, n_have);
        ck_assert_uint_le(wanted, n);
        n_have = (size_t)wanted;
    }

    ck_assert_int_eq(r, GGUF_OK);
    ck_assert_uint_le(n_have, gguf_head_bytes(gguf));
    gguf_destroy(gguf);
    maker_finish(&maker);
}
END_TEST

static int parse_and_give_back(void *maker)
{
    struct gguf *gguf = NULL;
    const int r = maker_parse(maker, &gguf, NULL);

    gguf_destroy(gguf);
    return r;
}

START_TEST(failing_allocation_leaks_nothing)
{
    struct maker maker;

    make_good(&maker);
    for_each_failed_alloc(parse_and_give_back, &maker);
    maker_finish(&maker);
}
END_TEST

START_TEST(foreign_magic_is_refused)
{
    struct maker maker;

    make_good(&maker);
    memcpy(maker.buf.bytes + maker.buf.head, "GGML", 4);
    assert_refused(&maker, "47 47 4d 4c");
}
END_TEST

START_TEST(other_versions_are_refused_by_number)
{
    struct maker maker;

    maker_init(&maker, 1);
    assert_refused(&maker, "version 1");
    maker_init(&maker, 0x03000000);
    assert_refused(&maker, "big-endian");
}
END_TEST

START_TEST(claimed_counts_are_compared_with_the_size)
{
    struct maker maker;

    maker_init(&maker, 3);
    maker.n_keys = (1ull << 60) + 2;
    assert_refused(&maker, "keys");
    maker_init(&maker, 3);
    maker.n_tensors = UINT64_MAX;
    assert_refused(&maker, "tensors");
}
END_TEST

START_TEST(string_longer_than_the_file_is_refused)
{
    struct maker maker;

    maker_init(&maker, 3);
    maker_key(&maker, "x", GGUF_STRING);
    maker_u64(&maker, 0x3fffffff);
    assert_refused(&maker, "value of key 0");
}
END_TEST

START_TEST(array_whose_size_wraps_is_refused)
{
    struct maker maker;

    maker_init(&maker, 3);
    maker_key_array(&maker, "x", GGUF_U32, (1ull << 62) + 4);
    maker_u64(&maker, 0);
    maker_u64(&maker, 0);
    assert_refused(&maker, "key x: has a length that overflows");
}
END_TEST

START_TEST(more_strings_than_the_file_holds_are_refused)
{
    struct maker maker;

    maker_init(&maker, 3);
    maker_key_array(&maker, "x", GGUF_STRING, 1ull << 40);
    assert_refused(&maker, "key x: claims more strings");
}
END_TEST

START_TEST(nested_arrays_are_refused)
{
    struct maker maker;

    maker_init(&maker, 3);
    maker_key_array(&maker, "x", GGUF_ARRAY, 1);
    for (int i = 0; i < 5000; i++) {
        maker_u32(&maker, GGUF_ARRAY);
        maker_u64(&maker, 1);
    }
    assert_refused(&maker, "key x: is an array of arrays");
}
END_TEST

START_TEST(unknown_value_types_are_refused)
{
    struct maker maker;

    maker_init(&maker, 3);
    maker_key(&maker, "x", GGUF_TYPE_COUNT);
    maker_u64(&maker, 0);
    assert_refused(&maker, "key x: has a type");
    maker_init(&maker, 3);
    maker_key_array(&maker, "x", 0x80000000u, 1);
    maker_u64(&maker, 0);
    assert_refused(&maker, "array of an unknown type");
}
END_TEST

START_TEST(doubled_key_is_refused)
{
    struct maker maker;

    maker_init(&maker, 3);
    maker_key_u32(&maker, "x", 1);
    maker_key_u32(&maker, "x", 1);
    assert_refused(&maker, "key x: is a duplicate");
}
END_TEST

START_TEST(key_without_a_name_is_refused)
{
    struct maker maker;

    maker_init(&maker, 3);
    maker_key_u32(&maker, "", 1);
    assert_refused(&maker, "key 0: its name has 0 bytes");
}
END_TEST

START_TEST(alignment_must_be_a_small_multiple_of_8)
{
    const uint32_t bad[] = { 0, 3, 31, 1u << 30, 1u << 31 };
    struct maker maker;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        maker_init(&maker, 3);
        maker_key_u32(&maker, "general.alignment", bad[i]);
        assert_refused(&maker, "general.alignment");
    }
}
END_TEST

START_TEST(alignment_of_another_type_is_refused)
{
    struct maker maker;

    maker_init(&maker, 3);
    maker_key_text(&maker, "general.alignment", "32");
    assert_refused(&maker, "general.alignment");
    maker_init(&maker, 3);
    maker_key(&maker, "general.alignment", GGUF_I8);
    maker_bytes(&maker, " ", 1);
    assert_refused(&maker, "general.alignment");
    maker_init(&maker, 3);
    maker_key(&maker, "general.alignment", GGUF_I32);
    maker_u32(&maker, 32);
    assert_refused(&maker, "general.alignment");
}
END_TEST

START_TEST(alignment_8_is_used)
{
    const uint64_t dims[1] = { 2 };
    struct maker maker;
    struct gguf *gguf = NULL;

    maker_init(&maker, 3);
    maker_key_u32(&maker, "general.alignment", 8);
    maker_tensor(&maker, "a", 1, dims, ELEM_F32, 0);
    maker_tensor(&maker, "b", 1, dims, ELEM_F32, 8);
    maker_data(&maker, 8, 16);

    ck_assert_int_eq(maker_parse(&maker, &gguf, NULL), GGUF_OK);
    ck_assert_uint_eq(gguf_head_bytes(gguf) % 8, 0);
    gguf_destroy(gguf);
    maker_finish(&maker);
}
END_TEST

START_TEST(dimension_of_zero_is_refused)
{
    const uint64_t dims[2] = { 1, 0 };
    struct maker maker;

    make_tensor(&maker, 2, dims, ELEM_F32, 0, 64);
    assert_refused(&maker, "tensor t: has a dimension of 0");
}
END_TEST

START_TEST(dimensions_whose_product_wraps_are_refused)
{
    const uint64_t square[2] = { 1ull << 32, 1ull << 32 };
    const uint64_t row[2] = { 1ull << 62, 1 };
    struct maker maker;

    make_tensor(&maker, 2, square, ELEM_F32, 0, 64);
    assert_refused(&maker, "tensor t: its dimensions");
    make_tensor(&maker, 2, row, ELEM_F32, 0, 64);
    assert_refused(&maker, "tensor t: its rows");
}
END_TEST

START_TEST(row_that_is_no_whole_number_of_blocks_is_refused)
{
    const uint64_t dims[1] = { 33 };
    struct maker maker;

    make_tensor(&maker, 1, dims, ELEM_Q4_0, 0, 64);
    assert_refused(&maker, "tensor t: its rows of 33 elements are not a whole number of Q4_0 blocks of 32");
}
END_TEST

START_TEST(rows_in_panels_are_told_from_the_type)
{
    const uint64_t dims[2] = { 64, 32 };
    struct gguf *gguf = NULL;
    struct maker maker;

    make_tensor(&maker, 2, dims, ELEM_Q4_0 | ELEM_PANELS, 0, 2 * 18 * 32);
    ck_assert_int_eq(maker_parse(&maker, &gguf, NULL), GGUF_OK);

    ck_assert_uint_eq(gguf_tensor_at(gguf, 0)->type, ELEM_Q4_0);
    ck_assert(gguf_tensor_at(gguf, 0)->in_panels);
    ck_assert_uint_eq(gguf_tensor_at(gguf, 0)->n_bytes, 2 * 18 * 32);
    gguf_destroy(gguf);
    maker_finish(&maker);
}
END_TEST

START_TEST(panels_of_a_wrong_shape_are_refused)
{
    static const struct wrong {
        uint32_t n_dims;
        uint64_t dims[3];
        uint32_t type;
    } wrongs[] = {
        { 2, { 32, 24 }, ELEM_Q4_0 },    /* one and a half panels */
        { 1, { 512 }, ELEM_Q4_0 },       /* a row */
        { 3, { 32, 16, 2 }, ELEM_Q4_0 }, /* several matrices */
        { 2, { 32, 16 }, ELEM_F32 },     /* no blocks */
    };

    for (size_t i = 0; i < COUNTOF(wrongs); i++) {
        struct maker maker;

        make_tensor(&maker, wrongs[i].n_dims, wrongs[i].dims, wrongs[i].type | ELEM_PANELS, 0, 4096);
        assert_refused(&maker, "tensor t: is packed in panels of 16 rows, for which its type or shape is wrong");
    }
}
END_TEST

START_TEST(number_of_dimensions_outside_1_to_4_is_refused)
{
    const uint64_t dims[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    struct maker maker;

    make_tensor(&maker, 5, dims, ELEM_F32, 0, 64);
    assert_refused(&maker, "tensor t: has 5 dimensions");
    make_tensor(&maker, UINT32_MAX, dims, ELEM_F32, 0, 64);
    assert_refused(&maker, "tensor t: has 4294967295 dimensions");
    make_tensor(&maker, 0, dims, ELEM_F32, 0, 64);
    assert_refused(&maker, "tensor t: has 0 dimensions");
}
END_TEST

START_TEST(withdrawn_element_type_is_refused)
{
    const uint64_t dims[1] = { 32 };
    struct maker maker;

    make_tensor(&maker, 1, dims, 4, 0, 128);
    assert_refused(&maker, "tensor t: its element type 4");
}
END_TEST

START_TEST(misplaced_offsets_are_refused)
{
    const uint64_t dims[1] = { 16 };
    struct maker maker;

    make_tensor(&maker, 1, dims, ELEM_F32, 1, 96);
    assert_refused(&maker, "multiple of the alignment");
    make_tensor(&maker, 1, dims, ELEM_F32, 64, 64);
    assert_refused(&maker, "tensor t: ends 64 bytes past the file");
    make_tensor(&maker, 1, dims, ELEM_F32, UINT64_MAX - 63, 64);
    assert_refused(&maker, "more than 2^64");
}
END_TEST

START_TEST(tensors_that_share_bytes_are_refused)
{
    const uint64_t dims[1] = { 16 };
    struct maker maker;

    maker_init(&maker, 3);
    maker_tensor(&maker, "late", 1, dims, ELEM_F32, 32);
    maker_tensor(&maker, "early", 1, dims, ELEM_F32, 0);
    maker_data(&maker, 32, 128);
    assert_refused(&maker, "tensor late: shares bytes with tensor early");
}
END_TEST

START_TEST(tensor_names_must_be_short_and_single)
{
    const uint64_t dims[1] = { 8 };
    char name[65];
    struct maker maker;

    maker_init(&maker, 3);
    maker_tensor(&maker, "t", 1, dims, ELEM_F32, 0);
    maker_tensor(&maker, "t", 1, dims, ELEM_F32, 32);
    maker_data(&maker, 32, 64);
    assert_refused(&maker, "tensor t: is a duplicate");

    memset(name, 'n', 64);
    name[64] = '\0';
    maker_init(&maker, 3);
    maker_tensor(&maker, name, 1, dims, ELEM_F32, 0);
    maker_data(&maker, 32, 32);
    assert_refused(&maker, "tensor 0: its name has 64 bytes");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gguf-parse");
    TCase *tcase = tcase_create("parse");

    tcase_add_test(tcase, good_file_gives_its_keys_and_tensors);
    tcase_add_test(tcase, every_prefix_of_a_good_file_is_refused);
    tcase_add_test(tcase, every_prefix_of_a_head_asks_for_more);
    tcase_add_test(tcase, failing_allocation_leaks_nothing);
    tcase_add_test(tcase, foreign_magic_is_refused);
    tcase_add_test(tcase, other_versions_are_refused_by_number);
    tcase_add_test(tcase, claimed_counts_are_compared_with_the_size);
    tcase_add_test(tcase, string_longer_than_the_file_is_refused);
    tcase_add_test(tcase, array_whose_size_wraps_is_refused);
    tcase_add_test(tcase, more_strings_than_the_file_holds_are_refused);
    tcase_add_test(tcase, nested_arrays_are_refused);
    tcase_add_test(tcase, unknown_value_types_are_refused);
    tcase_add_test(tcase, doubled_key_is_refused);
    tcase_add_test(tcase, key_without_a_name_is_refused);
    tcase_add_test(tcase, alignment_must_be_a_small_multiple_of_8);
    tcase_add_test(tcase, alignment_of_another_type_is_refused);
    tcase_add_test(tcase, alignment_8_is_used);
    tcase_add_test(tcase, dimension_of_zero_is_refused);
    tcase_add_test(tcase, dimensions_whose_product_wraps_are_refused);
    tcase_add_test(tcase, row_that_is_no_whole_number_of_blocks_is_refused);
    tcase_add_test(tcase, rows_in_panels_are_told_from_the_type);
    tcase_add_test(tcase, panels_of_a_wrong_shape_are_refused);
    tcase_add_test(tcase, number_of_dimensions_outside_1_to_4_is_refused);
    tcase_add_test(tcase, withdrawn_element_type_is_refused);
    tcase_add_test(tcase, misplaced_offsets_are_refused);
    tcase_add_test(tcase, tensors_that_share_bytes_are_refused);
    tcase_add_test(tcase, tensor_names_must_be_short_and_single);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
