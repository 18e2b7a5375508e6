/*
 * A reader shows the logits of every token that is looked at, with the bits of a text that ends there.
 */
#include "base/clean.h"
#include "tool/reader.h"
#include "tool/survey.h"
#include "unit.h"
#include <string.h>

#define N_TOKENS 90 /* more than a step shows, and over several pages */
#define N_VOCAB  512

struct seen {
    float logits[N_TOKENS][N_VOCAB];
    uint32_t n;
    uint32_t first;
};

static void on_logits(void *owner, uint32_t position, const float *logits, uint32_t n)
{
    struct seen *seen = owner;

    ck_assert_uint_eq(n, N_VOCAB);
    seen->first = seen->n ? seen->first : position;
    ck_assert_uint_eq(position, seen->first + seen->n);
    memcpy(seen->logits[seen->n++], logits, sizeof(seen->logits[0]));
}

static struct reader reader;
static uint32_t tokens[N_TOKENS];
static struct seen all;
static struct seen one;

static bool open_reader(const char *kv_format)
{
    struct diag diag = DIAG_INIT;
    char path[512];

    if (!unit_truth("models/stories260K-q8_0.gguf", path, sizeof(path))) {
        return false;
    }
    ck_assert_msg(reader_open(&reader,
                              &(struct reader_setup){
                                  .path = path, .backend = "cpu", .kv_format = kv_format, .n_context = 128 },
                              &diag) == READER_OK,
                  "%s", diag.text);
    for (uint32_t i = 0; i < N_TOKENS; i++) {
        tokens[i] = 1 + i * 37 % 500;
    }
    memset(&all, 0, sizeof(all));
    memset(&one, 0, sizeof(one));
    return true;
}

static void close_reader(void)
{
    reader_close(&reader);
}

START_TEST(every_row_has_the_bits_of_a_text_that_ends_there)
{
    static const uint32_t ends[] = { 1, 2, 16, 17, 33, N_TOKENS };
    struct diag diag = DIAG_INIT;

    if (!open_reader("f16")) {
        return;
    }
    ck_assert_int_eq(reader_read(&reader, tokens, N_TOKENS, 0, on_logits, &all, &diag), READER_OK);

    ck_assert_uint_eq(all.n, N_TOKENS);
    for (size_t i = 0; i < COUNTOF(ends); i++) {
        one.n = 0;
        ck_assert_int_eq(reader_read(&reader, tokens, ends[i], ends[i] - 1, on_logits, &one, &diag), READER_OK);
        ck_assert_uint_eq(one.n, 1);
        ck_assert_uint_eq(one.first, ends[i] - 1);
        ck_assert_msg(memcmp(one.logits[0], all.logits[ends[i] - 1], sizeof(one.logits[0])) == 0, "at %u", ends[i]);
    }
}
END_TEST

START_TEST(logits_begin_at_the_index_that_was_asked_for)
{
    struct diag diag = DIAG_INIT;

    if (!open_reader("q8")) {
        return;
    }
    ck_assert_int_eq(reader_read(&reader, tokens, N_TOKENS, 0, on_logits, &all, &diag), READER_OK);
    ck_assert_int_eq(reader_read(&reader, tokens, N_TOKENS, 40, on_logits, &one, &diag), READER_OK);

    ck_assert_uint_eq(one.first, 40);
    ck_assert_uint_eq(one.n, N_TOKENS - 40);
    ck_assert_mem_eq(one.logits, all.logits[40], one.n * sizeof(one.logits[0]));
}
END_TEST

START_TEST(a_step_passes_on_at_most_its_limit)
{
    struct diag diag = DIAG_INIT;

    if (!open_reader("f16")) {
        return;
    }
    ck_assert_int_eq(reader_begin(&reader, tokens, N_TOKENS, 10, on_logits, &all, &diag), READER_OK);
    while (reader_is_left(&reader)) {
        uint32_t n = all.n;

        ck_assert_int_eq(reader_step(&reader, &diag), READER_OK);
        ck_assert_uint_le(all.n - n, READER_SHOWN);
    }
    reader_end(&reader);

    ck_assert_uint_eq(all.n, N_TOKENS - 10);
}
END_TEST

START_TEST(tokens_that_do_not_fit_are_refused_with_a_sentence)
{
    static uint32_t many[128];
    const uint32_t unknown[] = { 1, 512 };
    struct diag diag = DIAG_INIT;

    if (!open_reader("f16")) {
        return;
    }
    ck_assert_int_eq(reader_read(&reader, many, 128, 0, on_logits, &all, &diag), READER_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "128 tokens do not fit the context of 128"));
    diag_clear(&diag);
    ck_assert_int_eq(reader_read(&reader, unknown, 2, 0, on_logits, &all, &diag), READER_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "above 511, the last of the vocabulary"));
    ck_assert_uint_eq(all.n, 0);
}
END_TEST

START_TEST(the_size_of_a_token_is_that_in_an_engine)
{
    struct diag diag = DIAG_INIT;

    for (size_t i = 0; i < KVSIZE_COUNT; i++) {
        struct survey survey;

        if (!open_reader(kvsizes[i].name)) {
            return;
        }
        ck_assert_int_eq(survey_create(&survey, &reader.file), 0);

        ck_assert_uint_eq(kvsize_token(&kvsizes[i], &survey.params), reader.facts.kv_token_bytes);
        survey_finish(&survey);
        close_reader();
    }
    ck_assert_int_eq(reader_open(&reader, &(struct reader_setup){ .path = "/nowhere", .backend = "cpu" }, &diag),
                     READER_REFUSED);
    ck_assert_ptr_nonnull(strstr(diag.text, "/nowhere: can't open it"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool-reader");
    TCase *tcase = tcase_create("facts");

    tcase_add_checked_fixture(tcase, NULL, close_reader);
    unit_add(tcase, every_row_has_the_bits_of_a_text_that_ends_there, logits_begin_at_the_index_that_was_asked_for,
             a_step_passes_on_at_most_its_limit, the_size_of_a_token_is_that_in_an_engine,
             tokens_that_do_not_fit_are_refused_with_a_sentence);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
