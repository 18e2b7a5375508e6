/*
 * A folder is opened only if its files agree.
 */
#include "import/fixture.h"
#include "import/folder.h"

#define TENSOR "{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}"

static const char *small_folder(void)
{
    const char *folder = fixture_folder();

    fixture_write_text(folder, "config.json", "{}");
    fixture_write_text(folder, "tokenizer.json", "{}");
    return folder;
}

START_TEST(one_file_of_weights_is_found)
{
    const char *path = small_folder();
    struct diag diag = DIAG_INIT;
    struct folder *folder = NULL;

    fixture_st(path, "model.safetensors", TENSOR, NULL, 1);

    ck_assert_int_eq(folder_open(&folder, path, &diag), FOLDER_OK);
    ck_assert_ptr_nonnull(folder_find(folder, "t"));
    ck_assert_ptr_null(folder_find(folder, "u"));
    folder_close(folder);
}
END_TEST

START_TEST(several_files_are_found_by_their_index)
{
    const char *path = small_folder();
    struct diag diag = DIAG_INIT;
    struct folder *folder = NULL;

    fixture_st(path, "a.safetensors", TENSOR, NULL, 1);
    fixture_st(path, "b.safetensors", "{\"u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", NULL, 1);
    fixture_write_text(path, "model.safetensors.index.json",
                       "{\"weight_map\":{\"t\":\"a.safetensors\",\"u\":\"b.safetensors\"}}");

    ck_assert_int_eq(folder_open(&folder, path, &diag), FOLDER_OK);
    ck_assert_uint_eq(folder->n_shards, 2);
    ck_assert_ptr_nonnull(folder_find(folder, "u"));
    folder_close(folder);
}
END_TEST

static const struct {
    const char *index;
    const char *says;
} indexes[] = {
    { "{}", "has no weight_map" },
    { "{\"weight_map\":{\"t\":3}}", "lies in no file" },
    { "{\"weight_map\":{\"t\":\"../a.safetensors\"}}", "lies in no file" },
    { "{\"weight_map\":{\"t\":\"/etc/passwd\"}}", "lies in no file" },
    { "{\"weight_map\":{\"t\":\".safetensors\"}}", "lies in no file" },
    { "{\"weight_map\":{\"t\":\"none.safetensors\"}}", "can't be opened" },
    { "{\"weight_map\":{\"u\":\"a.safetensors\"}}", "but it does not" },
    { "{\"weight_map\":{\"t\":\"a.safetensors\",\"u\":\"b.safetensors\"}}", "and again in" },
};

START_TEST(a_wrong_index_is_refused)
{
    const char *path = small_folder();
    struct diag diag = DIAG_INIT;
    struct folder *folder = NULL;

    fixture_st(path, "a.safetensors", TENSOR, NULL, 1);
    fixture_st(path, "b.safetensors",
               "{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
               "\"u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
               NULL, 2);
    fixture_write_text(path, "model.safetensors.index.json", indexes[_i].index);

    ck_assert_int_eq(folder_open(&folder, path, &diag), FOLDER_REFUSED);
    ck_assert_msg(strstr(diag.text, indexes[_i].says) != NULL, "said: %s", diag.text);
}
END_TEST

START_TEST(missing_files_are_named)
{
    static const char *const says[] = { "has no config.json", "has no tokenizer.json", "has neither" };
    const char *path = fixture_folder();
    struct diag diag = DIAG_INIT;
    struct folder *folder = NULL;

    if (_i > 0) {
        fixture_write_text(path, "config.json", "{}");
    }
    if (_i > 1) {
        fixture_write_text(path, "tokenizer.json", "{}");
    }

    ck_assert_int_eq(folder_open(&folder, path, &diag), FOLDER_REFUSED);
    ck_assert_msg(strstr(diag.text, says[_i]) != NULL, "said: %s", diag.text);
}
END_TEST

START_TEST(invalid_json_is_refused_with_its_place)
{
    const char *path = small_folder();
    struct diag diag = DIAG_INIT;
    struct folder *folder = NULL;

    fixture_write_text(path, "generation_config.json", "{\n\"eos_token_id\": }");

    ck_assert_int_eq(folder_open(&folder, path, &diag), FOLDER_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "generation_config.json: invalid JSON at line 2"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import-folder");
    TCase *tcase = tcase_create("folder");

    tcase_add_test(tcase, one_file_of_weights_is_found);
    tcase_add_test(tcase, several_files_are_found_by_their_index);
    tcase_add_loop_test(tcase, a_wrong_index_is_refused, 0, (int)(sizeof(indexes) / sizeof(indexes[0])));
    tcase_add_loop_test(tcase, missing_files_are_named, 0, 3);
    tcase_add_test(tcase, invalid_json_is_refused_with_its_place);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
