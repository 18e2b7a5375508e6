/*
 * Surveys of the files of the truth folder, and of copies of one with more or fewer tensors.
 */
#include "base/clean.h"
#include "gguf/write.h"
#include "tool/survey.h"
#include "unit.h"
#include <string.h>

static char path[] = "/tmp/sotto-survey-XXXXXX";

/* Copies stories260K with the tensors @more (16 floats each, ends with NULL) and without the one called @less. Returns
 * false if that is not available. */
static bool copy(const char *const *more, const char *less)
{
    static const float floats[16] = { 0 };
    const uint64_t dims[] = { 16 };
    cleanup(gguf_writer_destroyp) struct gguf_writer *writer = NULL;
    struct model_file file = { .fd = -1 };
    struct diag diag = DIAG_INIT;
    char from[512];

    if (!unit_truth("models/stories260K-f32.gguf", from, sizeof(from))) {
        return false;
    }
    ck_assert_int_eq(model_file_open(&file, from, &diag), MODEL_FILE_OK);
    ck_assert_int_eq(model_file_map(&file), 0);
    ck_assert_int_eq(gguf_writer_create(&writer), 0);
    for (size_t i = 0; i < gguf_n_keys(file.gguf); i++) {
        gguf_put_key(writer, gguf_key_at(file.gguf, i));
    }
    for (size_t i = 0; i < gguf_n_tensors(file.gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(file.gguf, i);

        if (!less || tensor->name.n != strlen(less) || memcmp(tensor->name.bytes, less, tensor->name.n) != 0) {
            gguf_put_tensor(writer, tensor->name, tensor->type, tensor->n_dims, tensor->dims);
        }
    }
    for (const char *const *name = more; name && *name; name++) {
        gguf_put_tensor(writer, (struct gguf_text){ *name, strlen(*name) }, ELEM_F32, 1, dims);
    }
    ck_assert_msg(gguf_writer_begin(writer, path, true, &diag) == GGUF_WRITE_OK, "%s", diag.text);
    while (gguf_writer_left(writer) > 0) { /* data does not matter here */
        uint64_t n = gguf_writer_left(writer);

        gguf_write_data(writer, floats, n < sizeof(floats) ? n : sizeof(floats));
    }
    ck_assert_msg(gguf_writer_finish(writer, &diag) == GGUF_WRITE_OK, "%s", diag.text);
    model_file_close(&file);
    return true;
}

static struct model_file file = { .fd = -1 };
static struct survey survey;

static void set_up(void)
{
    strcpy(path, "/tmp/sotto-survey-XXXXXX");
    close(mkstemp(path));
}

static void tear_down(void)
{
    survey_finish(&survey);
    model_file_close(&file);
    unlink(path);
}

static void look(const char *at)
{
    struct diag diag = DIAG_INIT;

    ck_assert_msg(model_file_open(&file, at, &diag) == MODEL_FILE_OK, "%s", diag.text);
    ck_assert_int_eq(survey_create(&survey, &file), 0);
}

START_TEST(each_family_of_the_truth_folder_runs_and_uses_all_its_tensors)
{
    static const char *const names[] = { "f32",          "q4_0",        "wide-q4_k_m", "as-qwen2-f32",
                                         "as-qwen3-f32", "as-phi3-f32", "as-gemma-f32" };
    char name[64];
    char at[512];

    for (size_t i = 0; i < COUNTOF(names); i++) {
        snprintf(name, sizeof(name), "models/stories260K-%s.gguf", names[i]);
        if (!unit_truth(name, at, sizeof(at))) {
            return;
        }
        look(at);

        ck_assert_msg(survey_runs(&survey), "%s: %s", names[i], survey.refusals[SURVEY_TENSORS].text);
        ck_assert_uint_eq(survey.n_surplus, 0);
        /* The embedding is read as the output where there is no other. */
        ck_assert(gguf_find_tensor(file.gguf, "output.weight") ? survey.n_passed < survey.n_bytes
                                                               : survey.n_passed == survey.n_bytes);
        survey_finish(&survey);
        model_file_close(&file);
    }
}
END_TEST

START_TEST(a_tensor_that_the_family_does_not_read_is_surplus)
{
    static const char *const more[] = { "extra.weight", "blk.5.attn_norm.weight", "blk.x.attn_norm.weight",
                                        "attn_norm.weight", NULL };

    if (!copy(more, NULL)) {
        return;
    }
    look(path);

    ck_assert_uint_eq(survey.n_surplus, 4);
    for (const char *const *name = more; *name; name++) {
        ck_assert_str_eq(survey_use(&survey, gguf_find_tensor(file.gguf, *name)), "surplus");
    }
    ck_assert_str_eq(survey_use(&survey, gguf_find_tensor(file.gguf, "blk.4.attn_norm.weight")), "used");
}
END_TEST

START_TEST(a_missing_tensor_is_named_and_the_vocabulary_is_still_checked)
{
    if (!copy(NULL, "blk.3.ffn_up.weight")) {
        return;
    }
    look(path);

    ck_assert(!survey_runs(&survey));
    ck_assert_ptr_nonnull(strstr(survey.refusals[SURVEY_TENSORS].text, "blk.3.ffn_up.weight"));
    ck_assert(survey.has_params);
    ck_assert_ptr_nonnull(survey.vocab);
    ck_assert(!diag_is_set(&survey.refusals[SURVEY_VOCAB]));
}
END_TEST

START_TEST(with_an_output_tensor_a_token_reads_one_row_of_the_embedding)
{
    static const char *const more[] = { "output.weight", NULL };

    if (!copy(more, NULL)) {
        return;
    }
    look(path);

    /* All but the embedding's 512 rows, and one of them. */
    ck_assert_uint_eq(survey.n_passed, survey.n_bytes - 511 * 64 * sizeof(float));
}
END_TEST

START_TEST(an_unknown_family_leaves_tensors_unknown)
{
    char at[512];

    if (!unit_truth("tokenizers/ggml-vocab-gpt-2.gguf", at, sizeof(at))) {
        return;
    }
    look(at);

    ck_assert(!survey_runs(&survey));
    ck_assert(diag_is_set(&survey.refusals[SURVEY_FAMILY]));
    ck_assert_ptr_nonnull(survey.vocab);
    ck_assert_str_eq(survey_use(&survey, &(struct gguf_tensor){ .name = { "x", 1 } }), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool-survey");
    TCase *tcase = tcase_create("facts");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    unit_add(tcase, each_family_of_the_truth_folder_runs_and_uses_all_its_tensors,
             a_tensor_that_the_family_does_not_read_is_surplus,
             a_missing_tensor_is_named_and_the_vocabulary_is_still_checked,
             with_an_output_tensor_a_token_reads_one_row_of_the_embedding, an_unknown_family_leaves_tensors_unknown);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
