/*
 * Sessions over scripted logits: turn after turn on sequences that stay open, which share pages in a pool that is too
 * small for all. The fake backend's token is a hash of all tokens before it, kept in the pages, so a row that is not
 * the sequence's own changes the answer.
 */
#include "base/clean.h"
#include "failed_alloc.h"
#include "fixture.h"
#include "model/private.h"
#include "tiny.h"
#include "unit.h"
#include <errno.h>
#include <string.h>

#define N_SESSIONS 3
#define N_PAGES    12
#define N_LONGEST  70 /* tokens of a prompt */

static const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };

static struct model *open_fake(uint32_t n_pages)
{
    char path[64];

    tiny_file(&(struct tiny){ .arch = NULL }, path, sizeof(path));
    return model_fixture_open(path, &(struct model_fixture_setup){ .backend = "fake",
                                                                   .kv_format = "f16",
                                                                   .n_threads = 1,
                                                                   .n_sequences = 8,
                                                                   .n_parts = 1,
                                                                   .kv_bytes = (uint64_t)n_pages * TINY_PAGE_BYTES });
}

static struct seq_request ask_for(struct model_fixture_stream *stream)
{
    return (struct seq_request){ .id = stream->id,
                                 .tokens = stream->prompt,
                                 .n_tokens = stream->n_prompt,
                                 .n_prompt = stream->n_prompt,
                                 .n_reserve = stream->n_wanted,
                                 .params = &greedy,
                                 .salt = (const uint8_t *)stream->salt,
                                 .n_salt = strlen(stream->salt) };
}

/* Opens or extends; the outcome. */
static int begin_turn(struct model *model, struct model_fixture_stream *stream)
{
    struct seq_request request = ask_for(stream);
    struct seq_room room;
    int r = stream->extends ? seq_extend(model, &request, &room) : seq_open(model, &request, &room);

    if (r == SEQ_OK) {
        stream->n_answer = 0;
        stream->n_rows = room.n_cached;
        stream->n_cached = room.n_cached;
    }
    ck_assert(model_check(model));
    return r;
}

static void answer(struct model *model, struct model_fixture_stream *stream)
{
    struct model_fixture_run run = { .model = model, .streams = stream, .n_streams = 1, .n_chunk = 23, .step = 1 };

    while (model_fixture_turn(&run, NULL, NULL)) {
    }
    ck_assert(model_check(model));
}

/* The same answer as where nothing was computed before. */
static void check_answer(const struct model_fixture_stream *stream)
{
    struct model *model = open_fake(N_PAGES);
    struct model_fixture_stream alone = *stream;

    alone.extends = false;
    alone.salt = "";
    ck_assert_int_eq(begin_turn(model, &alone), SEQ_OK);
    answer(model, &alone);
    ck_assert_mem_eq(stream->answer, alone.answer, stream->n_answer * sizeof(alone.answer[0]));
    model_close(model);
}

/* Splitmix64: the same walk each time. */
static uint32_t draw(uint64_t *seed, uint32_t below)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)((x >> 33) % below);
}

/* A next prompt: some of what there is, then words of which there are few kinds, so that sessions meet. */
static void think(struct model_fixture_stream *stream, uint64_t *seed)
{
    uint32_t n_known = stream->n_prompt + stream->n_answer;
    uint32_t n_same = draw(seed, 3) ? n_known : draw(seed, n_known + 1);
    uint32_t kind = draw(seed, 2);

    memcpy(stream->prompt + stream->n_prompt, stream->answer, stream->n_answer * sizeof(stream->answer[0]));
    stream->n_prompt = n_same + 1 + draw(seed, 20);
    if (stream->n_prompt > N_LONGEST) {
        stream->n_prompt = 1 + draw(seed, N_LONGEST);
    }
    for (uint32_t i = n_same; i < stream->n_prompt; i++) {
        stream->prompt[i] = (7 * i + kind) % TINY_TOKENS;
    }
    stream->n_wanted = 1 + draw(seed, 12);
}

START_TEST(turn_after_turn_each_answer_is_its_own)
{
    struct model *model = open_fake(N_PAGES);
    struct model_fixture_stream sessions[N_SESSIONS] = { { .salt = "rig" }, { .salt = "rig" }, { .salt = "" } };
    uint64_t seed = 7;
    uint64_t n_kept = 0, n_extended = 0, n_refused = 0;
    uint32_t n_made = 0;

    for (int round = 0; round < 600; round++) {
        struct model_fixture_stream *session = &sessions[draw(&seed, N_SESSIONS)];
        bool was_open = session->extends;

        think(session, &seed);
        session->id = was_open ? session->id : ++n_made;
        if (begin_turn(model, session) != SEQ_OK) {
            n_refused += was_open;
            seq_close(model, session->id, draw(&seed, 2));
            session->extends = false;
            session->n_answer = 0;
            continue;
        }
        n_extended += was_open;
        n_kept += was_open ? session->n_cached : 0;
        session->extends = true;
        answer(model, session);
        check_answer(session);
    }

    ck_assert_uint_gt(n_refused, 20);
    ck_assert_uint_gt(n_kept, n_extended * 15);
    model_close(model);
}
END_TEST

/* ---- refused */

static struct model_fixture_stream told(struct model *model)
{
    struct model_fixture_stream stream = { .id = 1, .n_prompt = 20, .n_wanted = 3, .salt = "rig" };

    for (uint32_t i = 0; i < stream.n_prompt; i++) {
        stream.prompt[i] = 3 * i + 1;
    }
    ck_assert_int_eq(begin_turn(model, &stream), SEQ_OK);
    stream.extends = true;
    return stream;
}

static const struct refusal {
    const char *what;
    uint32_t n_tokens;
    uint32_t n_prompt;
    uint32_t n_reserve;
    uint32_t last_token;
    enum seq_outcome why;
} refusals[] = {
    { "no token", 0, 0, 10, 0, SEQ_BAD_TOKEN },
    { "more prompt than tokens", 10, 11, 10, 0, SEQ_BAD_TOKEN },
    { "a token that there is not", 10, 10, 10, TINY_TOKENS, SEQ_BAD_TOKEN },
    { "longer than the context", 10, 10, TINY_CONTEXT, 0, SEQ_NEVER_FITS },
    { "pages that others have", 60, 60, 20, 5, SEQ_NO_PAGES },
};

START_TEST(what_is_refused_changes_nothing)
{
    const struct refusal *refusal = &refusals[_i];
    struct model *model = open_fake(9);
    struct model_fixture_stream stream = told(model);
    struct model_fixture_stream other = { .id = 2, .n_prompt = 70, .n_wanted = 10, .salt = "" };
    uint32_t tokens[TINY_CONTEXT] = { 0 };
    struct seq_request request = ask_for(&stream);
    struct seq_room room;

    ck_assert_int_eq(begin_turn(model, &other), SEQ_OK);
    tokens[refusal->n_tokens ? refusal->n_tokens - 1 : 0] = refusal->last_token;
    request.tokens = tokens;
    request.n_tokens = refusal->n_tokens;
    request.n_prompt = refusal->n_prompt;
    request.n_reserve = refusal->n_reserve;

    ck_assert_msg(seq_extend(model, &request, &room) == (int)refusal->why, "%s", refusal->what);

    answer(model, &stream);
    check_answer(&stream);
    model_close(model);
}
END_TEST

START_TEST(a_sequence_that_slid_is_not_extended)
{
    struct model *model = open_fake(N_PAGES);
    struct model_fixture_stream stream = { .id = 1, .n_prompt = 20, .n_wanted = 3, .salt = "" };
    struct seq_request request = ask_for(&stream);
    struct seq_room room;

    request.n_slid = 5;
    ck_assert_int_eq(seq_open(model, &request, &room), SEQ_OK);
    request.n_slid = 0;

    ck_assert_int_eq(seq_extend(model, &request, &room), SEQ_UNSUPPORTED);

    answer(model, &stream);
    model_close(model);
}
END_TEST

static bool never(void *owner)
{
    return false;
}

START_TEST(only_what_is_open_and_in_no_step_is_extended)
{
    struct model *model = open_fake(N_PAGES);
    struct model_fixture_stream stream = told(model);
    struct seq_request request = ask_for(&stream);
    const struct step_entry entry = { .seq = 1, .n_prefill = 20 };
    struct step_report report;
    struct seq_room room;
    struct diag diag = DIAG_INIT;

    ck_assert_int_eq(step_begin(model, 1, &entry, 1, &diag), 0);
    ck_assert_int_eq(step_run(model, 1, never, NULL, &report), STEP_SUSPENDED);
    ck_assert_int_eq(seq_extend(model, &request, &room), -EBUSY);
    ck_assert_int_eq(step_run(model, 1, NULL, NULL, &report), STEP_DONE);
    ck_assert_int_eq(seq_extend(model, &request, &room), SEQ_OK);
    request.id = 9;
    ck_assert_int_eq(seq_extend(model, &request, &room), -ENOENT);

    answer(model, &stream);
    check_answer(&stream);
    model_close(model);
}
END_TEST

static int extend_and_answer(void *data)
{
    static const struct sample_bias bias = { .id = 3, .bias = 1.0f };
    static const uint32_t never_ids[] = { 4 };
    const struct sample_params params = {
        .top_p = 1.0f, .biases = &bias, .n_biases = 1, .never = never_ids, .n_never = 1, .n_top = 5
    };
    struct model_fixture_stream stream = { .id = 1, .n_prompt = 25, .n_wanted = 3, .salt = "rig" };
    struct seq_request request = ask_for(&stream);
    struct seq_room room;
    int r;

    request.params = &params;
    r = seq_extend(data, &request, &room);
    if (r == 0) {
        request.params = &greedy; /* what was copied goes back */
        r = seq_extend(data, &request, &room);
        ck_assert(r == 0 || seq_extend(data, &request, &room) == SEQ_OK);
    }
    return r;
}

START_TEST(an_allocation_that_fails_leaves_it_as_it_was)
{
    struct model *model = open_fake(N_PAGES);
    struct model_fixture_stream stream = told(model);

    answer(model, &stream);
    extend_and_answer(model);
    for_each_failed_alloc(extend_and_answer, model);
    ck_assert(model_check(model));
    model_close(model);
}
END_TEST

START_TEST(a_shorter_turn_gives_pages_back)
{
    struct model *model = open_fake(N_PAGES);
    struct model_fixture_stream stream = told(model);
    struct model_figures figures;

    stream.n_wanted = 100;
    ck_assert_int_eq(begin_turn(model, &stream), SEQ_OK);
    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_held, 8);

    stream.n_wanted = 5;
    ck_assert_int_eq(begin_turn(model, &stream), SEQ_OK);

    model_figures(model, &figures);
    ck_assert_uint_eq(figures.n_held, 2);
    model_close(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-turns");
    TCase *tcase = tcase_create("turns");

    tcase_add_test(tcase, turn_after_turn_each_answer_is_its_own);
    tcase_add_loop_test(tcase, what_is_refused_changes_nothing, 0, (int)COUNTOF(refusals));
    tcase_add_test(tcase, a_sequence_that_slid_is_not_extended);
    tcase_add_test(tcase, only_what_is_open_and_in_no_step_is_extended);
    tcase_add_test(tcase, an_allocation_that_fails_leaves_it_as_it_was);
    tcase_add_test(tcase, a_shorter_turn_gives_pages_back);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
