/*
 * A safetensors file gives the tensors it holds, and none that it only claims to hold.
 */
#include "import/fixture.h"
#include "import/st.h"

#define ONE(offsets) "{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" offsets "}}"

/* Opens a file with @head and @n_data bytes of data. */
static int open_head(struct st **ret_st, const char *head, size_t n_data, struct diag *diag)
{
    const char *folder = fixture_folder();

    fixture_st(folder, "x.safetensors", head, NULL, n_data);
    return st_open(ret_st, fixture_path(folder, "x.safetensors"), diag);
}

START_TEST(tensors_have_shape_type_and_bytes)
{
    struct diag diag = DIAG_INIT;
    const char *folder = fixture_folder();
    const struct st_tensor *tensor;
    struct st *st = NULL;
    uint8_t bytes[4];

    fixture_st(folder, "x.safetensors",
               "{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"BF16\",\"shape\":[2,1],\"data_"
               "offsets\":[4,8]},"
               "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
               "01234567", 8);
    ck_assert_int_eq(st_open(&st, fixture_path(folder, "x.safetensors"), &diag), ST_OK);
    ck_assert_uint_eq(st_n_tensors(st), 2);
    ck_assert_str_eq(st_tensor_at(st, 0)->name, "a");
    tensor = st_find(st, "b");

    ck_assert_int_eq(tensor->type, ST_BF16);
    ck_assert_uint_eq(tensor->n_dims, 2);
    ck_assert_uint_eq(tensor->dims[0], 2);
    ck_assert_uint_eq(tensor->dims[1], 1);
    ck_assert_int_eq(st_read(tensor, 0, bytes, 4, &diag), ST_OK);
    ck_assert_mem_eq(bytes, "4567", 4);
    ck_assert_ptr_null(st_find(st, "c"));
    st_close(st);
}
END_TEST

static const struct {
    const char *head;
    size_t n_data;
    const char *says;
} hostile[] = {
    { "{", 0, "invalid JSON" },
    { "[]", 0, "must be a JSON object" },
    { "{\"t\":3}", 0, "has no dtype" },
    { "{\"t\":{\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "dtype F31 is not known" },
    { "{\"t\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8, "must be a list of at most 4" },
    { "{\"t\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,2],\"data_offsets\":[0,8]}}", 8, "must be a list of at most 4" },
    { "{\"t\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "not a whole number" },
    { "{\"t\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8, "not a whole number" },
    { "{\"t\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}", 8, "too many elements" },
    { "{\"t\":{\"dtype\":\"F32\",\"shape\":[4611686018427387906],\"data_offsets\":[0,8]}}", 8, "do not fill" },
    { ONE("[0]"), 8, "two rising numbers" },
    { ONE("[8,0]"), 8, "two rising numbers" },
    { ONE("[-8,0]"), 8, "two rising numbers" },
    { ONE("[0,12]"), 12, "do not fill" },
    { ONE("[0,8]"), 7, "ends 1 bytes past the file" },
    { ONE("[0,9223372036854775807]"), 8, "past the file" },
    { ONE("[0,8]"), 9, "behind the last tensor" },
    { ONE("[4,12]"), 12, "belong to none" },
    { "{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
      "\"u\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
      12, "overlaps" },
    { "{\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
      "\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
      0, "invalid JSON" },
};

START_TEST(contradictions_are_refused_with_a_reason)
{
    struct diag diag = DIAG_INIT;
    struct st *st = NULL;

    ck_assert_int_eq(open_head(&st, hostile[_i].head, hostile[_i].n_data, &diag), ST_REFUSED);

    ck_assert_msg(strstr(diag.text, hostile[_i].says) != NULL, "said: %s", diag.text);
    ck_assert_ptr_null(st);
}
END_TEST

START_TEST(a_head_longer_than_the_file_is_refused)
{
    static const uint8_t lengths[][8] = { { 1 }, { 255, 255, 255, 255, 255, 255, 255, 255 }, { 0, 0, 0, 8 } };
    const char *folder = fixture_folder();
    struct diag diag = DIAG_INIT;
    struct st *st = NULL;

    fixture_write(folder, "x", lengths[_i], 8);

    ck_assert_int_eq(st_open(&st, fixture_path(folder, "x"), &diag), ST_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "does not fit"));
}
END_TEST

START_TEST(a_file_of_fewer_than_eight_bytes_is_refused)
{
    const char *folder = fixture_folder();
    struct diag diag = DIAG_INIT;
    struct st *st = NULL;

    fixture_write(folder, "x", "1234567", (size_t)_i);

    ck_assert_int_eq(st_open(&st, fixture_path(folder, "x"), &diag), ST_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "does not fit"));
}
END_TEST

START_TEST(a_folder_is_no_file)
{
    struct diag diag = DIAG_INIT;
    struct st *st = NULL;

    ck_assert_int_eq(st_open(&st, fixture_folder(), &diag), ST_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "not a regular file"));
}
END_TEST

START_TEST(a_file_that_shrinks_is_refused)
{
    struct diag diag = DIAG_INIT;
    const char *folder = fixture_folder();
    struct st *st = NULL;
    uint8_t bytes[8];

    fixture_st(folder, "x", ONE("[0,8]"), NULL, 8);
    ck_assert_int_eq(st_open(&st, fixture_path(folder, "x"), &diag), ST_OK);
    ck_assert_int_eq(truncate(fixture_path(folder, "x"), 20), 0);

    ck_assert_int_eq(st_read(st_find(st, "t"), 0, bytes, 8, &diag), ST_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "was cut"));
    st_close(st);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import-st");
    TCase *tcase = tcase_create("st");

    tcase_add_test(tcase, tensors_have_shape_type_and_bytes);
    tcase_add_loop_test(tcase, contradictions_are_refused_with_a_reason, 0,
                        (int)(sizeof(hostile) / sizeof(hostile[0])));
    tcase_add_loop_test(tcase, a_head_longer_than_the_file_is_refused, 0, 3);
    tcase_add_loop_test(tcase, a_file_of_fewer_than_eight_bytes_is_refused, 0, 8);
    tcase_add_test(tcase, a_folder_is_no_file);
    tcase_add_test(tcase, a_file_that_shrinks_is_refused);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
