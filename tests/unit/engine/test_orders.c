/*
 * What each order comes to: life, sequences, and all that is refused. The model is the scripted one.
 */
#include "fixture.h"

#include "base/clean.h"
#include "unit.h"
#include <fcntl.h>
#include <string.h>

#define MODEL "models/stories260K-f32.gguf"

static const uint32_t prompt[] = { 1, 300, 301 };

static bool ready(struct fixture *fixture, const char *script)
{
    return fixture_ready(fixture, "fake", MODEL, script);
}

/* Opens, and takes the refusal. */
static void check_refused(struct fixture *fixture, Sotto__Engine__Open *open, Sotto__Engine__Refusal why)
{
    const Sotto__Engine__Refused *refused;

    fixture_open(fixture, open);
    refused = fixture_get(fixture, SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED)->refused;
    ck_assert_uint_eq(refused->sequence, open->sequence);
    ck_assert_int_eq(refused->why, why);
}

/* ---- life */

START_TEST(start_is_answered_by_progress_and_the_models_facts)
{
    struct fixture fixture;

    if (!ready(&fixture, "pages 10\ncontext 100\n")) {
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
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(start_of_another_build_is_hopeless)
{
    char other[] = "0.0.7";
    Sotto__Engine__Start start;
    struct fixture fixture;

    fixture_begin(&fixture);
    fixture_fill_start(&fixture, &start, 0, "fake", NULL);
    start.build = other;

    fixture_start(&fixture, &start);

    fixture_expect_fault(&fixture, "0.0.7", true);
}
END_TEST

START_TEST(start_without_a_model_descriptor_is_a_fault)
{
    Sotto__Engine__Start start;
    struct fixture fixture;

    fixture_begin(&fixture);
    fixture_fill_start(&fixture, &start, 999, "fake", NULL);

    fixture_start(&fixture, &start);

    fixture_expect_fault(&fixture, "descriptor", false);
}
END_TEST

START_TEST(second_start_is_a_fault)
{
    Sotto__Engine__Start start;
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    fixture_fill_start(&fixture, &start, 0, "fake", NULL);

    fixture_start(&fixture, &start);

    fixture_expect_fault(&fixture, "Start came twice", false);
}
END_TEST

START_TEST(file_that_is_no_model_is_hopeless)
{
    Sotto__Engine__Start start;
    struct fixture fixture;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    fixture_begin(&fixture);
    fixture_fill_start(&fixture, &start, fd, "fake", NULL);

    fixture_start(&fixture, &start);

    fixture_expect_fault(&fixture, "", true);
    close(fd);
}
END_TEST

START_TEST(order_before_start_is_a_fault)
{
    struct fixture fixture;

    fixture_begin(&fixture);

    fixture_close(&fixture, 1);

    fixture_expect_fault(&fixture, "Close came before Start", false);
}
END_TEST

START_TEST(quit_ends_in_good_order)
{
    struct fixture fixture;

    fixture_begin(&fixture);

    fixture_quit(&fixture);

    fixture_expect_end(&fixture);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(end_of_file_ends_in_good_order)
{
    struct fixture fixture;

    fixture_begin(&fixture);

    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(frame_that_is_no_message_is_a_fault)
{
    static const uint8_t garbage[] = { 5, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff };
    struct fixture fixture;

    fixture_begin(&fixture);

    fixture_bytes(&fixture, garbage, sizeof(garbage));

    fixture_expect_fault(&fixture, "not one of this build's schema", false);
}
END_TEST

START_TEST(frame_over_the_limit_is_a_fault_from_its_head_alone)
{
    static const uint8_t head[] = { 1, 0, 0, 1 };
    struct fixture fixture;

    fixture_begin(&fixture);

    fixture_bytes(&fixture, head, sizeof(head));

    fixture_expect_fault(&fixture, "16777217 bytes", false);
}
END_TEST

START_TEST(empty_message_is_a_fault)
{
    static const uint8_t empty[] = { 0, 0, 0, 0 };
    struct fixture fixture;

    fixture_begin(&fixture);

    fixture_bytes(&fixture, empty, sizeof(empty));

    fixture_expect_fault(&fixture, "does not know", false);
}
END_TEST

START_TEST(script_that_is_not_understood_is_hopeless_and_named_by_line)
{
    static const char *const wrong[] = { "\nalways do dance\n",     "\nwhen do crash\n",         "\nwhen x do crash\n",
                                         "\nalways at do crash\n",  "\nload at 3 do crash\n",    "\nalways crash\n",
                                         "\nalways do slow\n",      "\nalways do tokens 1,,2\n", "\npages many\n",
                                         "\nalways do refuse it\n", "\nalways do crash now\n",   "\nsing\n" };
    char path[512];

    if (!unit_truth(MODEL, path, sizeof(path))) {
        return;
    }
    for (size_t i = 0; i < COUNTOF(wrong); i++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        Sotto__Engine__Start start;
        struct fixture fixture;

        fixture_begin(&fixture);
        fixture_fill_start(&fixture, &start, fd, "fake", wrong[i]);
        fixture_start(&fixture, &start);
        fixture_expect_fault(&fixture, "line 2", true);
        close(fd);
    }
}
END_TEST

/* ---- sequences */

START_TEST(opened_tells_the_pages_promised)
{
    struct fixture fixture;

    if (!ready(&fixture, "pages 10\n")) {
        return;
    }

    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt)); /* 3 + 40 tokens */

    ck_assert_uint_eq(fixture.last->opened->pages_held, 3);
    ck_assert_uint_eq(fixture.last->opened->pages_free, 7);
    ck_assert_uint_eq(fixture_query(&fixture)->pages_held, 3);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(sequence_without_room_is_refused_and_harms_nobody)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, "pages 10\n")) {
        return;
    }
    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));
    fixture_fill_open(&open, &sampler, 2, prompt, COUNTOF(prompt));

    open.reserve_tokens = 120;
    check_refused(&fixture, &open, SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES);
    ck_assert_uint_eq(fixture.last->refused->pages_needed, 8);
    ck_assert_uint_eq(fixture.last->refused->pages_free, 7);
    open.reserve_tokens = 160;
    check_refused(&fixture, &open, SOTTO__ENGINE__REFUSAL__REFUSAL_NEVER_FITS);
    open.reserve_tokens = 40;
    fixture_open_plain(&fixture, 2, prompt, COUNTOF(prompt));
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(sequence_over_the_number_is_refused)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    for (uint32_t seq = 1; seq <= 4; seq++) {
        fixture_open_plain(&fixture, seq, prompt, COUNTOF(prompt));
    }

    fixture_fill_open(&open, &sampler, 5, prompt, COUNTOF(prompt));
    check_refused(&fixture, &open, SOTTO__ENGINE__REFUSAL__REFUSAL_TOO_MANY);

    fixture_close(&fixture, 2);
    fixture_open_plain(&fixture, 5, prompt, COUNTOF(prompt));
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(token_outside_the_vocabulary_is_refused)
{
    const uint32_t tokens[] = { 1, 512 };
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    fixture_fill_open(&open, &sampler, 1, tokens, COUNTOF(tokens));

    check_refused(&fixture, &open, SOTTO__ENGINE__REFUSAL__REFUSAL_BAD_TOKEN);

    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(promised_abilities_are_refused_as_unsupported)
{
    char other[] = "q8";
    uint8_t byte = 1;
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }

    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));
    open.kv_format = other;
    check_refused(&fixture, &open, SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED);
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));
    open.adapter = (ProtobufCBinaryData){ .len = 1, .data = &byte };
    check_refused(&fixture, &open, SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED);
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));
    open.constraint = (ProtobufCBinaryData){ .len = 1, .data = &byte };
    check_refused(&fixture, &open, SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(open_of_an_open_sequence_is_a_fault)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));
    fixture_fill_open(&open, &sampler, 1, prompt, COUNTOF(prompt));

    fixture_open(&fixture, &open);

    fixture_expect_fault(&fixture, "open or may not be", false);
}
END_TEST

/* Each loop of Check is an own engine. */
START_TEST(open_that_contradicts_itself_is_a_fault)
{
    const uint32_t id = 3;
    uint32_t ids[] = { id };
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
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

    fixture_open(&fixture, &open);

    fixture_expect_fault(&fixture, "Open", false);
}
END_TEST

START_TEST(closed_sequence_gives_its_pages_back)
{
    const Sotto__Engine__Stats *stats;
    struct fixture fixture;

    if (!ready(&fixture, "pages 10\n")) {
        return;
    }
    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));
    fixture_open_plain(&fixture, 2, prompt, COUNTOF(prompt));

    fixture_close(&fixture, 1);
    fixture_close(&fixture, 1); /* orders cross: ignored */
    fixture_close(&fixture, 77);

    stats = fixture_query(&fixture);
    ck_assert_uint_eq(stats->sequences, 1);
    ck_assert_uint_eq(stats->pages_held, 3);
    ck_assert_uint_eq(stats->pages_free + stats->pages_cached + stats->pages_held, 10);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(trimmed_sequence_goes_on_from_what_was_kept)
{
    uint32_t tokens[3];
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));
    fixture_answer(&fixture, 1, 1, COUNTOF(prompt), tokens, COUNTOF(tokens));

    fixture_trim(&fixture, 1, COUNTOF(prompt) + 1);
    fixture_step(&fixture, 4, 1, 0, 0);

    ck_assert_uint_eq(fixture_get_token(&fixture, 4), tokens[1]);
    ck_assert_int_eq(fixture_end(&fixture), 0);
}
END_TEST

START_TEST(warming_up_is_not_counted_as_work)
{
    const Sotto__Engine__Stats *stats;
    uint32_t tokens[2];
    struct fixture fixture;

    if (!ready(&fixture, NULL)) {
        return;
    }
    ck_assert_uint_eq(fixture_query(&fixture)->steps, 0);
    fixture_open_plain(&fixture, 1, prompt, COUNTOF(prompt));

    fixture_answer(&fixture, 1, 1, COUNTOF(prompt), tokens, COUNTOF(tokens));

    stats = fixture_query(&fixture);
    ck_assert_uint_eq(stats->steps, 2);
    ck_assert_uint_eq(stats->rows, 4);
    ck_assert_uint_eq(stats->tokens, 2);
    ck_assert_uint_eq(stats->weight_passes, 2);
    ck_assert_uint_eq(stats->step_allocations, 0);
    ck_assert_uint_gt(stats->rss_bytes, 0);
    ck_assert_uint_gt(stats->n_memory, 0);
    ck_assert_int_eq(fixture_end(&fixture), 0);
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
    tcase_add_test(tests, sequence_without_room_is_refused_and_harms_nobody);
    tcase_add_test(tests, sequence_over_the_number_is_refused);
    tcase_add_test(tests, token_outside_the_vocabulary_is_refused);
    tcase_add_test(tests, promised_abilities_are_refused_as_unsupported);
    tcase_add_test(tests, open_of_an_open_sequence_is_a_fault);
    tcase_add_loop_test(tests, open_that_contradicts_itself_is_a_fault, 0, 4);
    tcase_add_test(tests, closed_sequence_gives_its_pages_back);
    tcase_add_test(tests, trimmed_sequence_goes_on_from_what_was_kept);
    tcase_add_test(tests, warming_up_is_not_counted_as_work);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
