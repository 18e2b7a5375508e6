/*
 * Pins: what is pinned stays whatever the pressure, is found by those who may look, and changes no bit of what they
 * say
 */
#include "base/clean.h"
#include "failed_alloc.h"
#include "model/pin.h"
#include "model/private.h"
#include "reference.h"
#include "tiny.h"
#include "unit.h"
#include <errno.h>
#include <string.h>

#define PINS     "pins" /* the domain of what is pinned */
#define N_ANSWER 8
#define N_TOKENS 256 /* of both kinds of models */
#define N_LOGITS ((size_t)N_ANSWER * MODEL_FIXTURE_VOCAB)

static struct model *open_fake(uint32_t n_pages)
{
    char path[64];

    tiny_file(&(struct tiny){ .arch = NULL }, path, sizeof(path));
    return model_fixture_open(path, &(struct model_fixture_setup){ .backend = "fake",
                                                                   .kv_format = "f16",
                                                                   .n_threads = 1,
                                                                   .n_sequences = 8,
                                                                   .kv_bytes = (uint64_t)n_pages * TINY_PAGE_BYTES });
}

/* A stream of @n_prompt tokens, the first @n_same of which are those of every stream here. */
static struct model_fixture_stream stream_of(uint32_t n_prompt, uint32_t n_same)
{
    static uint32_t n_made;
    struct model_fixture_stream stream = { .n_prompt = n_prompt, .n_wanted = N_ANSWER, .keeps = true, .pins = PINS };

    stream.id = ++n_made;
    for (uint32_t i = 0; i < n_prompt; i++) {
        stream.prompt[i] = (i < n_same ? 7 * i + 1 : 11 * i + 3 * stream.id) % N_TOKENS;
    }
    return stream;
}

static struct model_figures figures_of(const struct model *model)
{
    struct model_figures figures;

    ck_assert(model_check(model));
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_free + figures.n_cached + figures.n_held, model->kv.n_pages);
    return figures;
}

static void drive(struct model *model, struct model_fixture_stream *stream)
{
    model_fixture_drive(model, stream, 1, 64, NULL, NULL);
    figures_of(model);
}

/* Computes the first @n tokens of all streams, in @salt's domain; does not pin them. Its sequence. */
static uint32_t compute(struct model *model, const char *salt, uint32_t n)
{
    struct model_fixture_stream stream = stream_of(n, n);
    struct model_fixture_run run = { .model = model, .streams = &stream, .n_streams = 1, .n_chunk = 64, .step = 9 };

    stream.n_wanted = 1;
    stream.salt = salt;
    model_fixture_begin(&run);
    while (model_fixture_turn(&run, NULL, NULL)) {
    }
    return stream.id;
}

static void pin(struct model *model, uint32_t id, uint32_t n)
{
    ck_assert_int_eq(pin_keep(model, id, compute(model, PINS, n)), PIN_OK);
    figures_of(model);
}

/* The same answer as where nothing is pinned or shared. */
static void check_answer(const struct model_fixture_stream *stream)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream alone = *stream;

    alone.n_answer = 0;
    alone.salt = "";
    alone.pins = NULL;
    alone.extends = false;
    drive(model, &alone);
    ck_assert_uint_eq(alone.n_cached, 0);
    ck_assert_mem_eq(stream->answer, alone.answer, sizeof(stream->answer));
    model_close(model);
}

/* ---- finding */

/* What a stream finds of a pin of @n_pin tokens. */
static const struct meeting {
    uint32_t n_pin, n_same, n_prompt, n_found;
} meetings[] = {
    { 40, 40, 60, 40 },                     /* two pages, and eight rows that are copied */
    { 40, 40, 40, 39 },                     /* the very same: its last row is computed */
    { 32, 32, 60, 32 }, { 34, 34, 60, 32 }, /* two rows more are not worth a page */
    { 40, 20, 60, 20 }, { 40, 16, 60, 16 }, { 40, 0, 60, 0 }, { 8, 8, 20, 8 }, { 3, 3, 20, 0 },
};

START_TEST(a_prompt_finds_as_much_as_it_has_in_common_with_a_pin)
{
    const struct meeting *meeting = &meetings[_i];
    struct model *model = open_fake(16);
    struct model_fixture_stream stream = stream_of(meeting->n_prompt, meeting->n_same);

    pin(model, 1, meeting->n_pin);
    drive(model, &stream);

    ck_assert_uint_eq(stream.n_cached, meeting->n_found);
    ck_assert_uint_eq(stream.n_pinned, meeting->n_found);
    check_answer(&stream);
    model_close(model);
}
END_TEST

START_TEST(who_was_not_told_of_the_domain_finds_nothing)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream stream = stream_of(60, 40);

    stream.pins = NULL;
    pin(model, 1, 40);
    drive(model, &stream);

    ck_assert_uint_eq(stream.n_cached, 0);
    check_answer(&stream);
    model_close(model);
}
END_TEST

START_TEST(who_shares_with_nobody_finds_it_and_leaves_nothing)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream stream = stream_of(60, 40);

    stream.salt = "";
    pin(model, 1, 40);
    drive(model, &stream);

    ck_assert_uint_eq(stream.n_cached, 40);
    ck_assert_uint_eq(figures_of(model).n_held, 3);
    ck_assert_uint_eq(figures_of(model).n_cached, 0);
    check_answer(&stream);
    model_close(model);
}
END_TEST

/* Both begin with the pin and go on the same: the second one finds what the first one computed behind it only if both
 * are of one domain, in whole pages and in pieces of one. */
START_TEST(what_one_computes_behind_a_pin_is_not_found_by_another)
{
    static const uint32_t lengths[] = { 40, 43, 56, 70 };

    for (size_t i = 0; i < COUNTOF(lengths); i++) {
        struct model *model = open_fake(32);
        struct model_fixture_stream mine = stream_of(lengths[i], lengths[i]);
        struct model_fixture_stream theirs = stream_of(lengths[i], lengths[i]);
        struct model_fixture_stream again = stream_of(lengths[i], lengths[i]);

        theirs.salt = "other";
        pin(model, 1, 32);
        drive(model, &mine);
        drive(model, &theirs);
        drive(model, &again);

        ck_assert_uint_eq(theirs.n_cached, 32);
        ck_assert_uint_eq(again.n_cached, lengths[i] - 1);
        ck_assert_uint_eq(again.n_pinned, 32);
        check_answer(&theirs);
        check_answer(&again);
        model_close(model);
    }
}
END_TEST

/* However much others have computed behind the same page. */
START_TEST(others_do_not_hide_what_is_ones_own)
{
    struct model *model = open_fake(256);
    struct model_fixture_stream mine = stream_of(28, 28);
    struct model_fixture_stream again = mine;

    pin(model, 1, 16);
    drive(model, &mine);
    for (uint32_t i = 0; i < 100; i++) {
        struct model_fixture_stream theirs = stream_of(28, 16);

        theirs.salt = "other";
        drive(model, &theirs);
    }
    again.id = mine.id + 1000;
    drive(model, &again);

    ck_assert_uint_eq(again.n_cached, 27);
    model_close(model);
}
END_TEST

START_TEST(a_longer_pin_stands_behind_a_shorter_one)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream stream = stream_of(70, 64);

    pin(model, 1, 32);
    pin(model, 2, 64);
    ck_assert_uint_eq(figures_of(model).n_held, 4);
    ck_assert_int_eq(pin_drop(model, 1), 0);
    ck_assert_uint_eq(figures_of(model).n_held, 4);
    drive(model, &stream);

    ck_assert_uint_eq(stream.n_cached, 64);
    model_close(model);
}
END_TEST

START_TEST(a_turn_that_forgets_finds_the_pin_again)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream first = stream_of(40, 0);
    struct model_fixture_stream second = stream_of(60, 32);
    struct model_fixture_run run = { .model = model, .streams = &first, .n_streams = 1, .n_chunk = 64, .step = 5 };

    pin(model, 1, 32);
    model_fixture_begin(&run);
    while (model_fixture_turn(&run, NULL, NULL)) {
    }
    second.id = first.id;
    second.extends = true;
    drive(model, &second);

    ck_assert_uint_eq(second.n_cached, 32);
    check_answer(&second);
    model_close(model);
}
END_TEST

/* ---- staying */

START_TEST(a_pin_stays_whatever_comes_by)
{
    struct model *model = open_fake(12);
    struct model_fixture_stream stream = stream_of(60, 40);

    pin(model, 1, 40);
    for (uint32_t i = 0; i < 40; i++) {
        struct model_fixture_stream passing = stream_of(90, (i % 3) * 20);

        passing.salt = i % 2 ? "other" : NULL;
        drive(model, &passing);
    }
    ck_assert_uint_gt(figures_of(model).n_evicted, 50);
    drive(model, &stream);

    ck_assert_uint_ge(stream.n_cached, 40);
    check_answer(&stream);
    model_close(model);
}
END_TEST

START_TEST(a_pin_stays_where_pages_are_taken_back)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream stream = stream_of(60, 40);

    pin(model, 1, 40);
    model_limit_kv(model, 1);
    ck_assert_uint_eq(figures_of(model).n_held, 3);
    model_limit_kv(model, UINT64_MAX);
    drive(model, &stream);

    ck_assert_uint_eq(stream.n_cached, 40);
    model_close(model);
}
END_TEST

START_TEST(a_pin_takes_no_seat)
{
    struct model *model = open_fake(64);

    for (uint32_t i = 1; i <= 20; i++) {
        pin(model, i, 16 + i);
    }
    ck_assert_uint_eq(figures_of(model).n_seqs, 0);
    model_close(model);
}
END_TEST

/* The last rows of a page that was computed before and may go: the pin has one of its own. */
START_TEST(a_pin_that_was_computed_before_is_whole)
{
    struct model *model = open_fake(12);
    struct model_fixture_stream stream = stream_of(60, 40);

    seq_close(model, compute(model, PINS, 40), true);
    pin(model, 1, 40);
    for (uint32_t i = 0; i < 10; i++) {
        struct model_fixture_stream passing = stream_of(120, 0);

        drive(model, &passing);
    }
    drive(model, &stream);

    ck_assert_uint_eq(stream.n_cached, 40);
    model_close(model);
}
END_TEST

/* ---- going */

START_TEST(a_dropped_pin_gives_its_pages_back)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream stream = stream_of(60, 40);

    pin(model, 1, 40);
    ck_assert_int_eq(pin_drop(model, 1), 0);
    ck_assert_uint_eq(figures_of(model).n_free, 16);
    ck_assert(list_is_empty(&model->kv.chain.domains));
    drive(model, &stream);

    ck_assert_uint_eq(stream.n_cached, 0);
    model_close(model);
}
END_TEST

START_TEST(a_dropped_pin_stays_for_those_who_hold_it)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream stream = stream_of(60, 40);
    struct model_fixture_run run = { .model = model, .streams = &stream, .n_streams = 1, .n_chunk = 64, .step = 5 };

    pin(model, 1, 40);
    model_fixture_begin(&run);
    ck_assert_int_eq(pin_drop(model, 1), 0);
    figures_of(model);
    while (model_fixture_turn(&run, NULL, NULL)) {
    }
    model_fixture_end(&run);
    figures_of(model);

    ck_assert_uint_eq(stream.n_cached, 40);
    check_answer(&stream);
    model_close(model);
}
END_TEST

START_TEST(a_model_closes_with_its_pins)
{
    struct model *model = open_fake(16);

    pin(model, 1, 40);
    pin(model, 7, 20);
    model_close(model);
}
END_TEST

/* ---- refusing */

START_TEST(what_is_not_there_is_no_pin)
{
    struct model *model = open_fake(16);

    ck_assert_int_eq(pin_keep(model, 1, 77), -ENOENT);
    ck_assert_int_eq(pin_drop(model, 1), -ENOENT);
    pin(model, 1, 40);
    ck_assert_int_eq(pin_keep(model, 1, compute(model, PINS, 20)), -EEXIST);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_without_a_domain_is_not_pinned)
{
    struct model *model = open_fake(16);
    uint32_t id = compute(model, "", 40);

    ck_assert_int_eq(pin_keep(model, 1, id), PIN_UNSUPPORTED);
    ck_assert_ptr_nonnull(seq_find(model, id));
    model_close(model);
}
END_TEST

START_TEST(what_is_not_computed_is_not_pinned)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream stream = stream_of(40, 40);
    struct model_fixture_run run = { .model = model, .streams = &stream, .n_streams = 1, .n_chunk = 16, .step = 5 };
    const struct step_entry entry = { .seq = stream.id, .n_prefill = 16 };
    struct step_report report;
    struct diag diag = DIAG_INIT;

    model_fixture_begin(&run);
    ck_assert_int_eq(step_begin(model, 5, &entry, 1, &diag), 0);
    ck_assert_int_eq(pin_keep(model, 1, stream.id), -EBUSY);
    ck_assert_int_eq(step_run(model, 5, NULL, NULL, &report), STEP_DONE);
    ck_assert_int_eq(pin_keep(model, 1, stream.id), PIN_UNFINISHED);
    ck_assert_ptr_nonnull(seq_find(model, stream.id));
    model_close(model);
}
END_TEST

/* ---- bits */

static void open_answer(struct model_fixture_stream *stream)
{
    stream->temperature = 0.7f;
    stream->seed = 5;
    stream->logprobs = calloc(N_LOGITS, sizeof(float));
    ck_assert_ptr_nonnull(stream->logprobs);
}

static void check_bits(const struct reference_model *reference, const char *format)
{
    const struct model_fixture_setup setup = { .kv_format = format };
    struct model *model = model_fixture_open(reference->path, &setup);
    struct model *other = model_fixture_open(reference->path, &setup);
    struct model_fixture_stream warm = stream_of(70, 42);
    struct model_fixture_stream cold = warm;
    bool recurs = reference->reference->attends_every > 0;

    open_answer(&warm);
    open_answer(&cold);
    cold.pins = NULL;
    ck_assert_int_eq(pin_keep(model, 1, compute(model, PINS, 42)), recurs ? PIN_UNSUPPORTED : PIN_OK);
    drive(model, &warm);
    drive(other, &cold);

    ck_assert_uint_eq(warm.n_cached, recurs ? 0 : 42);
    ck_assert_msg(memcmp(warm.answer, cold.answer, sizeof(cold.answer)) == 0, "%s, %s: other tokens",
                  reference->reference->name, format);
    ck_assert_msg(memcmp(warm.logprobs, cold.logprobs, N_LOGITS * sizeof(float)) == 0, "%s, %s: other bits",
                  reference->reference->name, format);
    free(warm.logprobs);
    free(cold.logprobs);
    model_close(model);
    model_close(other);
}

START_TEST(behind_a_pin_every_family_has_the_same_bits_in_every_format)
{
    static const char *const formats[] = { "f32", "f16", "q8", "q4" };
    static struct reference_model reference;

    reference_make(&reference, &references[_i]);
    for (size_t i = 0; i < COUNTOF(formats); i++) {
        check_bits(&reference, formats[i]);
    }
    reference_free(&reference);
}
END_TEST

/* ---- allocations that fail */

static int open_and_pin(void *owner)
{
    static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    static const struct seq_salt pins = { .bytes = (const uint8_t *)PINS, .n = sizeof(PINS) - 1 };
    const struct step_entry entry = { .seq = 9000, .n_prefill = 64 };
    struct model_fixture_stream stream = stream_of(40, 40);
    struct model *model = owner;
    struct step_report report;
    struct diag diag = DIAG_INIT;
    struct seq_room room;
    int r;

    r = seq_open(model,
                 &(struct seq_request){ .id = 9000,
                                        .tokens = stream.prompt,
                                        .n_tokens = 40,
                                        .n_prompt = 40,
                                        .params = &greedy,
                                        .salt = (const uint8_t *)"s",
                                        .n_salt = 1,
                                        .pins = &pins,
                                        .n_pins = 1 },
                 &room);
    if (r) {
        return r;
    }
    ck_assert_int_eq(step_begin(model, 5, &entry, 1, &diag), 0);
    ck_assert_int_eq(step_run(model, 5, NULL, NULL, &report), STEP_DONE);
    r = pin_keep(model, 3, 9000);
    if (r) {
        seq_close(model, 9000, false);
    } else {
        ck_assert_int_eq(pin_drop(model, 3), 0);
    }
    seq_free_closed(model);
    figures_of(model);
    return r;
}

START_TEST(without_memory_nothing_is_pinned_and_nothing_lost)
{
    struct model *model = open_fake(16);

    open_and_pin(model); /* tables that grow only once */
    for_each_failed_alloc(open_and_pin, model);
    model_close(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-pin");
    TCase *tcase = tcase_create("pin");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, a_prompt_finds_as_much_as_it_has_in_common_with_a_pin, 0, (int)COUNTOF(meetings));
    tcase_add_test(tcase, who_was_not_told_of_the_domain_finds_nothing);
    tcase_add_test(tcase, who_shares_with_nobody_finds_it_and_leaves_nothing);
    tcase_add_test(tcase, what_one_computes_behind_a_pin_is_not_found_by_another);
    tcase_add_test(tcase, others_do_not_hide_what_is_ones_own);
    tcase_add_test(tcase, a_longer_pin_stands_behind_a_shorter_one);
    tcase_add_test(tcase, a_turn_that_forgets_finds_the_pin_again);
    tcase_add_test(tcase, a_pin_stays_whatever_comes_by);
    tcase_add_test(tcase, a_pin_stays_where_pages_are_taken_back);
    tcase_add_test(tcase, a_pin_takes_no_seat);
    tcase_add_test(tcase, a_pin_that_was_computed_before_is_whole);
    tcase_add_test(tcase, a_dropped_pin_gives_its_pages_back);
    tcase_add_test(tcase, a_dropped_pin_stays_for_those_who_hold_it);
    tcase_add_test(tcase, a_model_closes_with_its_pins);
    tcase_add_test(tcase, what_is_not_there_is_no_pin);
    tcase_add_test(tcase, a_sequence_without_a_domain_is_not_pinned);
    tcase_add_test(tcase, what_is_not_computed_is_not_pinned);
    tcase_add_loop_test(tcase, behind_a_pin_every_family_has_the_same_bits_in_every_format, 0, n_references);
    tcase_add_test(tcase, without_memory_nothing_is_pinned_and_nothing_lost);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
