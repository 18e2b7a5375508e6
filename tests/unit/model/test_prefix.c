/*
 * Prefixes over scripted logits: the fake backend's token is a hash of all tokens before it, kept in the pages, so a
 * row that is not the prompt's own changes the answer. Each stream that finds something is compared with one that
 * shares with nobody.
 */
#include "base/clean.h"
#include "failed_alloc.h"
#include "fixture.h"
#include "model/private.h"
#include "tiny.h"
#include "unit.h"
#include <string.h>

#define N_ANSWER 10

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

/* A stream of @n_prompt tokens, the first @n_same of which all streams of the same @kind have. */
static struct model_fixture_stream stream_of(uint32_t n_prompt, uint32_t n_same, uint32_t kind)
{
    static uint32_t n_made;
    struct model_fixture_stream stream = { .n_prompt = n_prompt, .n_wanted = N_ANSWER, .keeps = true };

    stream.id = ++n_made;
    for (uint32_t i = 0; i < n_prompt; i++) {
        stream.prompt[i] = (i < n_same ? 7 * i + kind : 11 * i + 3 * stream.id) % TINY_TOKENS;
    }
    return stream;
}

static void drive(struct model *model, struct model_fixture_stream *stream)
{
    model_fixture_drive(model, stream, 1, 64, NULL, NULL);
}

/* The same answer as where nothing is shared. */
static void check_answer(const struct model_fixture_stream *stream)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream alone = *stream;

    alone.n_answer = 0;
    alone.salt = "";
    drive(model, &alone);
    ck_assert_uint_eq(alone.n_cached, 0);
    ck_assert_mem_eq(stream->answer, alone.answer, sizeof(stream->answer));
    model_close(model);
}

static struct model_figures figures_of(const struct model *model)
{
    struct model_figures figures;

    ck_assert(model_check(model));
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_free + figures.n_cached + figures.n_held, model->kv.n_pages);
    return figures;
}

/* What a stream finds after one of @n_before tokens that begins with the same @n_same. */
static const struct meeting {
    uint32_t n_before, n_same, n_prompt, n_found;
} meetings[] = {
    { 40, 40, 40, 39 }, /* its last row is computed, as always */
    { 40, 40, 60, 40 }, /* whole pages, and a piece of one */
    { 32, 32, 32, 31 }, { 33, 33, 33, 32 }, { 16, 16, 16, 15 }, { 16, 16, 17, 16 },
    { 64, 20, 64, 20 }, { 64, 16, 64, 16 }, { 64, 19, 64, 16 }, /* three rows are not worth a copy */
    { 64, 3, 64, 0 },   { 64, 0, 64, 0 },   { 5, 5, 5, 4 },     { 1, 1, 1, 0 },
};

START_TEST(a_prompt_finds_as_much_as_it_has_in_common_with_an_earlier_one)
{
    const struct meeting *meeting = &meetings[_i];
    struct model *model = open_fake(16);
    struct model_fixture_stream before = stream_of(meeting->n_before, meeting->n_same, 1);
    struct model_fixture_stream stream = stream_of(meeting->n_prompt, meeting->n_same, 1);

    drive(model, &before);
    drive(model, &stream);

    ck_assert_uint_eq(stream.n_cached, meeting->n_found);
    check_answer(&stream);
    model_close(model);
}
END_TEST

START_TEST(a_second_turn_finds_the_first_and_its_answer)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream first = stream_of(30, 30, 1);
    struct model_fixture_stream second = stream_of(60, 0, 1);

    drive(model, &first);
    memcpy(second.prompt, first.prompt, 30 * sizeof(uint32_t));
    memcpy(second.prompt + 30, first.answer, N_ANSWER * sizeof(uint32_t));
    drive(model, &second);

    /* The row of the answer's last token was never computed. */
    ck_assert_uint_eq(second.n_cached, 30 + N_ANSWER - 1);
    check_answer(&second);
    model_close(model);
}
END_TEST

START_TEST(another_salt_finds_nothing)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream mine = stream_of(40, 40, 1);
    struct model_fixture_stream theirs = stream_of(40, 40, 1);

    drive(model, &mine);
    theirs.salt = "rih";
    drive(model, &theirs);

    ck_assert_uint_eq(theirs.n_cached, 0);
    check_answer(&theirs);
    model_close(model);
}
END_TEST

START_TEST(without_a_salt_nothing_is_found_and_nothing_stays)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream streams[2] = { stream_of(40, 40, 1), stream_of(40, 40, 1) };

    for (int i = 0; i < 2; i++) {
        streams[i].salt = "";
        drive(model, &streams[i]);
        ck_assert_uint_eq(streams[i].n_cached, 0);
        ck_assert_uint_eq(figures_of(model).n_free, 16);
    }
    model_close(model);
}
END_TEST

START_TEST(a_family_with_a_state_of_its_own_never_shares)
{
    struct model *model = open_fake(16);
    struct arch arch = *model->arch;
    struct model_fixture_stream streams[2] = { stream_of(40, 40, 1), stream_of(40, 40, 1) };

    arch.never_shares = true;
    model->arch = &arch;
    for (int i = 0; i < 2; i++) {
        drive(model, &streams[i]);
        ck_assert_uint_eq(streams[i].n_cached, 0);
    }
    ck_assert_uint_eq(figures_of(model).n_free, 16);
    model_close(model);
}
END_TEST

START_TEST(what_is_not_kept_is_forgotten_but_not_what_was_found)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream kept = stream_of(36, 32, 1);
    struct model_fixture_stream passing = stream_of(80, 32, 1);
    struct model_fixture_stream late = stream_of(36, 32, 1);
    uint32_t n_cached;

    drive(model, &kept);
    n_cached = figures_of(model).n_cached;
    ck_assert_uint_eq(n_cached, 3); /* 45 rows */
    passing.keeps = false;
    drive(model, &passing);
    ck_assert_uint_eq(passing.n_cached, 32);
    ck_assert_uint_eq(figures_of(model).n_cached, n_cached);
    drive(model, &late);

    ck_assert_uint_eq(late.n_cached, 32);
    model_close(model);
}
END_TEST

START_TEST(a_found_page_at_the_end_of_its_chain_is_not_forgotten)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream kept = stream_of(28, 28, 1);
    struct model_fixture_stream passing = stream_of(50, 0, 1);

    kept.n_wanted = 5; /* 32 rows: two pages, and no piece behind them */
    drive(model, &kept);
    ck_assert_uint_eq(figures_of(model).n_cached, 2);
    memcpy(passing.prompt, kept.prompt, 28 * sizeof(uint32_t));
    memcpy(passing.prompt + 28, kept.answer, 4 * sizeof(uint32_t));
    passing.keeps = false;
    drive(model, &passing);

    ck_assert_uint_eq(passing.n_cached, 32);
    ck_assert_uint_eq(figures_of(model).n_cached, 2);
    model_close(model);
}
END_TEST

START_TEST(a_domain_goes_with_the_last_that_is_in_it)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream stream = stream_of(40, 40, 1);

    drive(model, &stream);
    ck_assert(!list_is_empty(&model->kv.chain.domains));
    model_limit_kv(model, 1);

    ck_assert_uint_eq(figures_of(model).n_free, 16);
    ck_assert(list_is_empty(&model->kv.chain.domains));
    model_close(model);
}
END_TEST

START_TEST(streams_that_compute_the_same_at_once_have_one_page_in_the_end)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream streams[2] = { stream_of(40, 40, 1), stream_of(40, 40, 1) };

    model_fixture_drive(model, streams, 2, 7, NULL, NULL);

    ck_assert_mem_eq(streams[0].answer, streams[1].answer, sizeof(streams[0].answer));
    ck_assert_uint_eq(streams[1].n_cached, 0);
    ck_assert_uint_eq(figures_of(model).n_cached, 3);
    check_answer(&streams[1]);
    model_close(model);
}
END_TEST

/* ---- driven by hand: sequences that live beside each other */

static int open_seq(struct model *model, const struct model_fixture_stream *stream, uint32_t n_reserve,
                    struct seq_room *ret_room)
{
    static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };

    return seq_open(model,
                    &(struct seq_request){ .id = stream->id,
                                           .tokens = stream->prompt,
                                           .n_tokens = stream->n_prompt,
                                           .n_prompt = stream->n_prompt,
                                           .n_reserve = n_reserve,
                                           .params = &greedy,
                                           .salt = (const uint8_t *)"rig",
                                           .n_salt = 3 },
                    ret_room);
}

static uint32_t must_open(struct model *model, const struct model_fixture_stream *stream)
{
    struct seq_room room;

    ck_assert_int_eq(open_seq(model, stream, N_ANSWER, &room), SEQ_OK);
    figures_of(model);
    return room.n_cached;
}

/* The next token of @id, however many rows that needs. */
static uint32_t next_token(struct model *model, uint32_t id)
{
    const struct step_entry entry = { .seq = id, .n_prefill = 128 };
    struct step_report report;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(step_begin(model, 1, &entry, 1, &diag), 0);
    ck_assert_int_eq(step_run(model, 1, NULL, NULL, &report), STEP_DONE);
    ck_assert_uint_eq(report.n_allocs, 0);
    ck_assert_int_eq(report.results[0].outcome, STEP_ENTRY_DONE);
    ck_assert_uint_eq(report.results[0].n_tokens, 1);
    figures_of(model);
    return report.results[0].tokens[0];
}

START_TEST(a_running_sequence_shares_what_it_has_computed)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream old = stream_of(40, 32, 1);
    struct model_fixture_stream young = stream_of(40, 32, 1);

    must_open(model, &old);
    old.answer[0] = next_token(model, old.id);
    ck_assert_uint_eq(must_open(model, &young), 32);
    ck_assert_uint_eq(figures_of(model).n_held, 4 + 2); /* 50 tokens each, two pages in common */
    seq_close(model, old.id, false);
    ck_assert_uint_eq(figures_of(model).n_held, 4);
    for (uint32_t i = 0; i < N_ANSWER; i++) {
        young.answer[i] = next_token(model, young.id);
    }

    check_answer(&young);
    model_close(model);
}
END_TEST

START_TEST(a_trimmed_sequence_leaves_shared_pages_as_they_are)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream whole = stream_of(60, 60, 1);
    struct model_fixture_stream cut = stream_of(20, 20, 1);
    struct model_fixture_stream again = stream_of(60, 60, 1);
    uint32_t id = again.id + 1000;

    must_open(model, &whole);
    next_token(model, whole.id);
    again.id = id;
    ck_assert_uint_eq(must_open(model, &again), 48);
    seq_trim(model, id, 20);
    for (uint32_t i = 0; i < N_ANSWER; i++) {
        cut.answer[i] = next_token(model, id);
    }
    check_answer(&cut);
    seq_close(model, id, true);
    seq_close(model, whole.id, true);
    again.id++;
    drive(model, &again);

    ck_assert_uint_eq(again.n_cached, 59);
    check_answer(&again);
    model_close(model);
}
END_TEST

START_TEST(a_trimmed_sequence_goes_on_where_no_page_is_left_to_copy_into)
{
    struct model *model = open_fake(8);
    struct model_fixture_stream whole = stream_of(100, 100, 1);
    struct model_fixture_stream other = stream_of(100, 100, 1);
    struct model_fixture_stream cut = stream_of(20, 20, 1);
    struct model_fixture_stream rest = stream_of(1, 0, 2);

    must_open(model, &whole); /* 7 pages */
    next_token(model, whole.id);
    ck_assert_uint_eq(must_open(model, &other), 96); /* 1 of its own */
    ck_assert_uint_eq(figures_of(model).n_free, 0);
    ck_assert_int_eq(open_seq(model, &rest, 1, &(struct seq_room){ 0 }), SEQ_NO_PAGES);
    seq_trim(model, other.id, 20);
    cut.answer[0] = next_token(model, other.id);
    for (uint32_t i = 1; i < N_ANSWER; i++) {
        cut.answer[i] = next_token(model, other.id);
    }

    check_answer(&cut);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_closed_inside_a_step_keeps_its_pages_when_the_step_ends)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream first = stream_of(40, 40, 1);
    struct model_fixture_stream second = stream_of(40, 40, 1);
    const struct step_entry entry = { .seq = first.id, .n_prefill = 40 };
    struct step_report report;
    struct diag diag = DIAG_INIT;

    must_open(model, &first);
    ck_assert_int_eq(step_begin(model, 1, &entry, 1, &diag), 0);
    seq_close(model, first.id, true);
    ck_assert_int_eq(step_run(model, 1, NULL, NULL, &report), STEP_DONE);
    ck_assert_uint_eq(figures_of(model).n_held, 0);

    /* Nobody waited for its rows: they were not computed, and nothing of them may be found. */
    ck_assert_uint_eq(must_open(model, &second), 0);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_closed_inside_a_step_that_computes_it_is_kept_or_not_as_told)
{
    for (int keep = 0; keep < 2; keep++) {
        struct model *model = open_fake(16);
        struct model_fixture_stream closed = stream_of(40, 40, 1);
        struct model_fixture_stream other = stream_of(10, 0, 2);
        struct model_fixture_stream again = stream_of(40, 40, 1);
        const struct step_entry entries[] = { { .seq = closed.id, .n_prefill = 40 },
                                              { .seq = other.id, .n_prefill = 10 } };
        struct step_report report;
        struct diag diag = DIAG_INIT;

        must_open(model, &closed);
        must_open(model, &other);
        ck_assert_int_eq(step_begin(model, 1, entries, 2, &diag), 0);
        seq_close(model, closed.id, keep);
        ck_assert_int_eq(step_run(model, 1, NULL, NULL, &report), STEP_DONE);
        figures_of(model);

        ck_assert_uint_eq(must_open(model, &again), keep ? 39 : 0);
        model_close(model);
    }
}
END_TEST

/* ---- room */

START_TEST(the_pages_that_were_used_longest_ago_go_first_and_from_the_end)
{
    struct model *model = open_fake(9);
    struct model_fixture_stream streams[] = { stream_of(45, 45, 1), stream_of(45, 45, 2), stream_of(45, 45, 3) };
    struct model_fixture_stream again[] = { stream_of(45, 45, 1), stream_of(45, 45, 2), stream_of(45, 45, 3) };

    for (int i = 0; i < 3; i++) { /* 54 rows each: 3 pages and a piece */
        drive(model, &streams[i]);
    }
    ck_assert_uint_eq(figures_of(model).n_free, 0);
    ck_assert_uint_eq(figures_of(model).n_evicted, 3); /* of the first: the piece and two pages */

    ck_assert_uint_eq(must_open(model, &again[0]), 16);
    seq_close(model, again[0].id, true);
    ck_assert_uint_eq(must_open(model, &again[2]), 44);
    model_close(model);
}
END_TEST

START_TEST(cached_pages_that_are_taken_over_count_as_taken)
{
    struct model *model = open_fake(6);
    struct model_fixture_stream first = stream_of(50, 50, 1);
    struct model_fixture_stream second = stream_of(50, 50, 1);
    struct model_fixture_stream third = stream_of(38, 0, 2);
    struct seq_room room;

    drive(model, &first);
    ck_assert_uint_eq(figures_of(model).n_cached, 4);
    must_open(model, &second);
    ck_assert_uint_eq(figures_of(model).n_held, 4);

    ck_assert_int_eq(open_seq(model, &third, N_ANSWER, &room), SEQ_NO_PAGES);
    ck_assert_uint_eq(room.n_needed, 3);
    ck_assert_uint_eq(room.n_free, 2);
    figures_of(model);
    model_close(model);
}
END_TEST

START_TEST(the_page_to_copy_from_may_be_the_last_one_there_is)
{
    struct model *model = open_fake(3);
    struct model_fixture_stream first = stream_of(40, 40, 1);
    struct model_fixture_stream second = stream_of(38, 38, 1);

    first.n_wanted = 8;
    drive(model, &first);
    ck_assert_uint_eq(figures_of(model).n_cached, 3);

    drive(model, &second); /* 48 tokens: all three pages */
    ck_assert_uint_eq(second.n_cached, 32);
    check_answer(&second);
    model_close(model);
}
END_TEST

START_TEST(a_lowered_limit_lets_cached_pages_go)
{
    struct model *model = open_fake(8);
    struct model_fixture_stream first = stream_of(100, 100, 1);
    struct model_fixture_stream second = stream_of(40, 40, 1);

    drive(model, &first);
    ck_assert_uint_eq(figures_of(model).n_cached, 7);
    model_limit_kv(model, 5 * TINY_PAGE_BYTES);
    ck_assert_uint_eq(figures_of(model).n_cached, 5);
    drive(model, &second);

    ck_assert_uint_eq(second.n_cached, 39);
    ck_assert_uint_le(figures_of(model).n_cached, 5);
    check_answer(&second);
    model_close(model);
}
END_TEST

/* Splitmix64: the same walk each time. */
static uint32_t draw(uint64_t *seed, uint32_t below)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)((x >> 33) % below);
}

START_TEST(whatever_is_shared_cut_and_evicted_each_answer_is_its_own)
{
    struct model *model = open_fake(12);
    uint64_t seed = 30;
    uint64_t n_found = 0;

    for (int round = 0; round < 150; round++) {
        struct model_fixture_stream streams[2];

        for (int i = 0; i < 2; i++) {
            uint32_t n_prompt = 1 + draw(&seed, 70);

            streams[i] = stream_of(n_prompt, draw(&seed, n_prompt + 1), draw(&seed, 3));
            streams[i].n_wanted = 1 + draw(&seed, 12);
            streams[i].keeps = draw(&seed, 4) > 0;
            streams[i].salt = draw(&seed, 5) > 0 ? "rig" : "other";
            streams[i].reopen_at = draw(&seed, 3) ? 0 : 1 + draw(&seed, 10);
        }
        model_fixture_drive(model, streams, 2, 1 + draw(&seed, 30), NULL, NULL);
        figures_of(model);
        for (int i = 0; i < 2; i++) {
            n_found += streams[i].n_cached;
            check_answer(&streams[i]);
        }
    }
    ck_assert_uint_gt(n_found, 500);
    ck_assert_uint_gt(figures_of(model).n_evicted, 200);
    model_close(model);
}
END_TEST

static int open_and_close(void *data)
{
    struct model *model = data;
    struct model_fixture_stream stream = stream_of(40, 40, 1);
    struct seq_room room;
    int r = open_seq(model, &stream, N_ANSWER, &room);

    ck_assert(model_check(model));
    seq_close(model, stream.id, true);
    seq_free_closed(model);
    return r;
}

START_TEST(an_opening_that_lacks_memory_takes_nothing)
{
    struct model *model = open_fake(16);
    struct model_fixture_stream first = stream_of(40, 40, 1);

    drive(model, &first);
    seq_free_closed(model);
    for_each_failed_alloc(open_and_close, model);
    ck_assert_uint_eq(figures_of(model).n_cached, 3);
    model_close(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-prefix");
    TCase *tcase = tcase_create("prefix");

    tcase_add_loop_test(tcase, a_prompt_finds_as_much_as_it_has_in_common_with_an_earlier_one, 0,
                        (int)COUNTOF(meetings));
    tcase_add_test(tcase, a_second_turn_finds_the_first_and_its_answer);
    tcase_add_test(tcase, another_salt_finds_nothing);
    tcase_add_test(tcase, without_a_salt_nothing_is_found_and_nothing_stays);
    tcase_add_test(tcase, a_family_with_a_state_of_its_own_never_shares);
    tcase_add_test(tcase, what_is_not_kept_is_forgotten_but_not_what_was_found);
    tcase_add_test(tcase, a_found_page_at_the_end_of_its_chain_is_not_forgotten);
    tcase_add_test(tcase, a_domain_goes_with_the_last_that_is_in_it);
    tcase_add_test(tcase, streams_that_compute_the_same_at_once_have_one_page_in_the_end);
    tcase_add_test(tcase, a_running_sequence_shares_what_it_has_computed);
    tcase_add_test(tcase, a_trimmed_sequence_leaves_shared_pages_as_they_are);
    tcase_add_test(tcase, a_trimmed_sequence_goes_on_where_no_page_is_left_to_copy_into);
    tcase_add_test(tcase, a_sequence_closed_inside_a_step_keeps_its_pages_when_the_step_ends);
    tcase_add_test(tcase, a_sequence_closed_inside_a_step_that_computes_it_is_kept_or_not_as_told);
    tcase_add_test(tcase, the_pages_that_were_used_longest_ago_go_first_and_from_the_end);
    tcase_add_test(tcase, cached_pages_that_are_taken_over_count_as_taken);
    tcase_add_test(tcase, the_page_to_copy_from_may_be_the_last_one_there_is);
    tcase_add_test(tcase, a_lowered_limit_lets_cached_pages_go);
    tcase_add_test(tcase, whatever_is_shared_cut_and_evicted_each_answer_is_its_own);
    tcase_add_test(tcase, an_opening_that_lacks_memory_takes_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
