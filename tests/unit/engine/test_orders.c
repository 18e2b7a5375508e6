/* The answer to each order: life, sequences, and everything that is refused, with the scripted model. */
#include "fixture.h"

#include "base/clean.h"
#include "unit.h"
#include <fcntl.h>
#include <string.h>

#define MODEL "models/stories260K-f32.gguf"

/* Opens a sequence and takes the refusal. */
static void check_refused(Sotto__Engine__Open *open, Sotto__Engine__Refusal why)
{
    const Sotto__Engine__Refused *refused;

    fixture_open(open);
    refused = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED)->refused;
    ck_assert_uint_eq(refused->sequence, open->sequence);
    ck_assert_int_eq(refused->why, why);
}

/* ---- life */

START_TEST(start_is_answered_by_progress_and_the_models_facts)
{
    if (!fixture_ready("fake", MODEL, "pages 10\ncontext 100\n")) { /* the vocabulary is the file's */
        return;
    }

    ck_assert_uint_gt(fixture.n_progress, 0);
    ck_assert_str_eq(fixture.last->ready->build, SOTTO_VERSION);
    ck_assert_uint_eq(fixture.last->ready->vocabulary, 512);
    ck_assert_uint_eq(fixture.last->ready->pages, 10);
    ck_assert_uint_eq(fixture.last->ready->context_tokens, 100);
    ck_assert_str_eq(fixture.last->ready->numerics, "1/fake");
    ck_assert_ptr_nonnull(fixture.last->ready->cost);
    ck_assert_uint_gt(fixture.last->ready->cost->decode_row_ns, 0);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(start_of_another_build_is_hopeless)
{
    char other[] = "0.0.7";
    Sotto__Engine__Start start;

    fixture_begin();
    fixture_fill_start(&start, 0, "fake", NULL);
    start.build = other;

    fixture_start(&start);

    fixture_expect_fault("0.0.7", true);
}
END_TEST

START_TEST(start_without_a_model_descriptor_is_a_fault)
{
    Sotto__Engine__Start start;

    fixture_begin();
    fixture_fill_start(&start, 999, "fake", NULL);

    fixture_start(&start);

    fixture_expect_fault("descriptor", false);
}
END_TEST

START_TEST(second_start_is_a_fault)
{
    Sotto__Engine__Start start;

    fixture_scripted(NULL);
    fixture_fill_start(&start, 0, "fake", NULL);

    fixture_start(&start);

    fixture_expect_fault("Start came twice", false);
}
END_TEST

START_TEST(file_that_is_no_model_is_hopeless)
{
    Sotto__Engine__Start start;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    fixture_begin();
    fixture_fill_start(&start, fd, "fake", NULL);

    fixture_start(&start);

    fixture_expect_fault("", true);
    close(fd);
}
END_TEST

START_TEST(order_before_start_is_a_fault)
{
    fixture_begin();

    fixture_close(1);

    fixture_expect_fault("Close came before Start", false);
}
END_TEST

START_TEST(quit_ends_in_good_order)
{
    fixture_begin();

    fixture_quit();

    fixture_expect_end();
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(end_of_file_ends_in_good_order)
{
    fixture_begin();

    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(frame_that_is_no_message_is_a_fault)
{
    static const uint8_t garbage[] = { 5, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff };

    fixture_begin();

    fixture_bytes(garbage, sizeof(garbage));

    fixture_expect_fault("not one of this build's schema", false);
}
END_TEST

START_TEST(frame_over_the_limit_is_a_fault_from_its_head_alone)
{
    static const uint8_t head[] = { 1, 0, 0, 1 };

    fixture_begin();

    fixture_bytes(head, sizeof(head));

    fixture_expect_fault("16777217 bytes", false);
}
END_TEST

START_TEST(empty_message_is_a_fault)
{
    static const uint8_t empty[] = { 0, 0, 0, 0 };

    fixture_begin();

    fixture_bytes(empty, sizeof(empty));

    fixture_expect_fault("does not know", false);
}
END_TEST

START_TEST(script_that_is_not_understood_is_hopeless_and_named_by_line)
{
    static const char *const wrong[] = { "\nalways do dance\n",     "\nwhen do crash\n",         "\nwhen x do crash\n",
                                         "\nalways at do crash\n",  "\nload at 3 do crash\n",    "\nalways crash\n",
                                         "\nalways do slow\n",      "\nalways do tokens 1,,2\n", "\npages many\n",
                                         "\nalways do refuse it\n", "\nalways do crash now\n",   "\nsing\n" };

    for (size_t i = 0; i < COUNTOF(wrong); i++) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        Sotto__Engine__Start start;

        fixture_begin();
        fixture_fill_start(&start, fd, "fake", wrong[i]);
        fixture_start(&start);
        fixture_expect_fault("line 2", true);
        close(fd);
    }
}
END_TEST

/* ---- sequences */

START_TEST(opened_tells_the_pages_promised)
{
    fixture_scripted("pages 10\n");

    fixture_open_plain(1, prompt, COUNTOF(prompt)); /* 3 + 40 tokens */

    ck_assert_uint_eq(fixture.last->opened->pages_held, 3);
    ck_assert_uint_eq(fixture.last->opened->pages_free, 7);
    ck_assert_uint_eq(fixture_query()->pages_held, 3);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(sequence_that_does_not_fit_is_refused_and_harms_no_other)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted("pages 10\n");
    fixture_open_plain(1, prompt, COUNTOF(prompt));
    fixture_fill_open(&open, &sampler, 2, prompt, COUNTOF(prompt));

    open.reserve_tokens = 120;
    check_refused(&open, SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES);
    ck_assert_uint_eq(fixture.last->refused->pages_needed, 8);
    ck_assert_uint_eq(fixture.last->refused->pages_free, 7);
    open.reserve_tokens = 160;
    check_refused(&open, SOTTO__ENGINE__REFUSAL__REFUSAL_NEVER_FITS);
    open.reserve_tokens = 40;
    fixture_open_plain(2, prompt, COUNTOF(prompt));
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(sequence_over_the_number_is_refused)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted(NULL);
    for (uint32_t seq = 1; seq <= 4; seq++) {
        fixture_open_plain(seq, prompt, COUNTOF(prompt));
    }

    fixture_fill_open(&open, &sampler, 5, prompt, COUNTOF(prompt));
    check_refused(&open, SOTTO__ENGINE__REFUSAL__REFUSAL_TOO_MANY);

    fixture_close(2);
    fixture_open_plain(5, prompt, COUNTOF(prompt));
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(token_outside_the_vocabulary_is_refused)
{
    const uint32_t tokens[] = { 1, 512 };
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted(NULL);
    fixture_fill_open(&open, &sampler, 1, tokens, COUNTOF(tokens));

    check_refused(&open, SOTTO__ENGINE__REFUSAL__REFUSAL_BAD_TOKEN);

    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(promised_abilities_are_refused_as_unsupported)
{
    char other[] = "q8";
    uint8_t byte = 1;
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted(NULL);

    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));
    open.kv_format = other;
    check_refused(&open, SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED);
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));
    open.adapter = (ProtobufCBinaryData){ .len = 1, .data = &byte };
    check_refused(&open, SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED);
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));
    open.constraint = (ProtobufCBinaryData){ .len = 1, .data = &byte };
    check_refused(&open, SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(open_of_an_open_sequence_is_a_fault)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted(NULL);
    fixture_open_plain(1, prompt, COUNTOF(prompt));
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));

    fixture_open(&open);

    fixture_expect_fault("open or may not be", false);
}
END_TEST

/* Each iteration is a new engine. */
START_TEST(open_that_contradicts_itself_is_a_fault)
{
    const uint32_t id = 3;
    uint32_t ids[] = { id };
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_scripted(NULL);
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));
    switch (_i) {
    case 0:
        open.sequence = 0;
        break;
    case 1:
        open.sampler = NULL;
        break;
    case 2:
        sampler.n_bias_ids = 1;
        sampler.bias_ids = ids;
        break;
    default:
        open.n_prompt = COUNTOF(prompt) + 1;
        break;
    }

    fixture_open(&open);

    fixture_expect_fault("Open", false);
}
END_TEST

START_TEST(closed_sequence_gives_its_pages_back)
{
    const Sotto__Engine__Stats *stats;

    fixture_scripted("pages 10\n");
    fixture_open_plain(1, prompt, COUNTOF(prompt));
    fixture_open_plain(2, prompt, COUNTOF(prompt));

    fixture_close(1);
    fixture_close(1); /* ignored, since orders cross answers */
    fixture_close(77);

    stats = fixture_query();
    ck_assert_uint_eq(stats->sequences, 1);
    ck_assert_uint_eq(stats->pages_held, 3);
    ck_assert_uint_eq(stats->pages_free + stats->pages_cached + stats->pages_held, 10);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(trimmed_sequence_continues_from_its_remaining_rows)
{
    uint32_t tokens[3];

    fixture_scripted(NULL);
    fixture_open_plain(1, prompt, COUNTOF(prompt));
    fixture_answer(1, 1, COUNTOF(prompt), tokens, COUNTOF(tokens));

    fixture_trim(1, COUNTOF(prompt) + 1);
    fixture_step(4, 1, 0, 0);

    ck_assert_uint_eq(fixture_get_token(4), tokens[1]);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

START_TEST(warming_up_is_not_counted_as_work)
{
    const Sotto__Engine__Stats *stats;
    uint32_t tokens[2];

    fixture_scripted(NULL);
    ck_assert_uint_eq(fixture_query()->steps, 0);
    fixture_open_plain(1, prompt, COUNTOF(prompt));

    fixture_answer(1, 1, COUNTOF(prompt), tokens, COUNTOF(tokens));

    stats = fixture_query();
    ck_assert_uint_eq(stats->steps, 2);
    ck_assert_uint_eq(stats->rows, 4);
    ck_assert_uint_eq(stats->tokens, 2);
    ck_assert_uint_eq(stats->weight_passes, 2);
    ck_assert_uint_eq(stats->step_allocations, 0);
    ck_assert_uint_gt(stats->rss_bytes, 0);
    ck_assert_uint_gt(stats->n_memory, 0);
    ck_assert_int_eq(fixture_end(), 0);
}
END_TEST

static void add_life(TCase *tests)
{
    tcase_add_test(tests, start_is_answered_by_progress_and_the_models_facts);
    tcase_add_test(tests, start_of_another_build_is_hopeless);
    tcase_add_test(tests, start_without_a_model_descriptor_is_a_fault);
    tcase_add_test(tests, second_start_is_a_fault);
    tcase_add_test(tests, file_that_is_no_model_is_hopeless);
    tcase_add_test(tests, order_before_start_is_a_fault);
    tcase_add_test(tests, quit_ends_in_good_order);
    tcase_add_test(tests, end_of_file_ends_in_good_order);
    tcase_add_test(tests, frame_that_is_no_message_is_a_fault);
    tcase_add_test(tests, frame_over_the_limit_is_a_fault_from_its_head_alone);
    tcase_add_test(tests, empty_message_is_a_fault);
    tcase_add_test(tests, script_that_is_not_understood_is_hopeless_and_named_by_line);
}

int main(void)
{
    Suite *suite = suite_create("orders");
    TCase *tests = tcase_create("all");

    add_life(tests);
    tcase_add_test(tests, opened_tells_the_pages_promised);
    tcase_add_test(tests, sequence_that_does_not_fit_is_refused_and_harms_no_other);
    tcase_add_test(tests, sequence_over_the_number_is_refused);
    tcase_add_test(tests, token_outside_the_vocabulary_is_refused);
    tcase_add_test(tests, promised_abilities_are_refused_as_unsupported);
    tcase_add_test(tests, open_of_an_open_sequence_is_a_fault);
    tcase_add_loop_test(tests, open_that_contradicts_itself_is_a_fault, 0, 4);
    tcase_add_test(tests, closed_sequence_gives_its_pages_back);
    tcase_add_test(tests, trimmed_sequence_continues_from_its_remaining_rows);
    tcase_add_test(tests, warming_up_is_not_counted_as_work);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
