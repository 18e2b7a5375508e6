/*
 * Stop strings over several tokens (O10), and characters cut by the budget (O11).
 */
#include "base/utf8.h"
#include "failed_alloc.h"
#include "text/output_filter.h"
#include "tiny.h"
#include "unit.h"
#include <string.h>

#define N_BYTES 256u /* lower ids of the tiny vocabulary are single bytes */

/* The released text and ids of a filter. */
struct shown {
    char text[4096];
    size_t n_text;
    uint32_t ids[1024];
    uint32_t n_ids;
    int stop;
};

static struct vocab *vocab;

static const struct tiny_token pieces[] = {
    { "A", TOKEN_NORMAL, 0 },        { " B", TOKEN_NORMAL, 0 },
    { " O", TOKEN_NORMAL, 0 },       { " P", TOKEN_NORMAL, 0 },
    { " Q", TOKEN_NORMAL, 0 },       { " R", TOKEN_NORMAL, 0 },
    { " X", TOKEN_NORMAL, 0 },       { "a", TOKEN_NORMAL, 0 },
    { "b", TOKEN_NORMAL, 0 },        { "xaby", TOKEN_NORMAL, 0 },
    { "\xf0\x9f", TOKEN_NORMAL, 0 }, { "\x98\x80", TOKEN_NORMAL, 0 },
    { "<|end|>", TOKEN_CONTROL, 0 }, { "\xf0\x9f\x98\x80", TOKEN_NORMAL, 0 },
};

enum piece { A = N_BYTES, B, O, P, Q, R, X, SMALL_A, SMALL_B, XABY, HALF, REST, CONTROL, SMILE };

static void setup(void)
{
    struct maker maker;

    maker_init(&maker, 3);
    tiny_spm_keys(&maker, pieces, sizeof(pieces) / sizeof(pieces[0]));
    vocab = tiny_vocab(&maker);
}

static void teardown(void)
{
    vocab_destroy(vocab);
}

static void collect(struct shown *shown, const struct output_filter_out *out)
{
    ck_assert_uint_eq(out->first, shown->n_ids);
    ck_assert(utf8_is_valid(out->text, out->n_text, NULL));
    memcpy(shown->text + shown->n_text, out->text, out->n_text);
    shown->n_text += out->n_text;
    if (out->n_tokens > 0) {
        memcpy(shown->ids + shown->n_ids, out->tokens, out->n_tokens * sizeof(out->tokens[0]));
    }
    shown->n_ids += out->n_tokens;
    shown->stop = out->stop;
}

/* Pushes @ids through a new filter with @stops (ended by NULL), and flushes it unless a stop string was met. */
static struct shown play(const uint32_t *ids, size_t n, const char *const *stops)
{
    struct shown shown = { .n_text = 0 };
    struct stop_text texts[8];
    struct output_filter_out out;
    struct output_filter *filter;
    size_t n_stops = 0;
    int r = OUTPUT_FILTER_OK;

    for (; stops[n_stops]; n_stops++) {
        texts[n_stops] = (struct stop_text){ .bytes = (const uint8_t *)stops[n_stops], .n = strlen(stops[n_stops]) };
    }
    ck_assert_int_eq(output_filter_create(&filter, vocab, texts, n_stops), 0);
    for (size_t i = 0; i < n && r == OUTPUT_FILTER_OK; i++) {
        r = output_filter_push(filter, ids[i], &out);
        collect(&shown, &out);
    }
    if (r == OUTPUT_FILTER_OK) {
        output_filter_flush(filter, &out);
        collect(&shown, &out);
    }
    ck_assert_uint_eq(output_filter_n_shown(filter), shown.n_ids);
    ck_assert_uint_eq(output_filter_n_bytes(filter), shown.n_text);
    output_filter_destroy(filter);
    return shown;
}

#define PLAY(stops, ...)                                                                                               \
    play((const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t),              \
         (const char *const[]){ stops, NULL })

static void assert_shown(const struct shown *shown, const char *text, uint32_t n_ids, int stop)
{
    ck_assert_msg(shown->n_text == strlen(text) && memcmp(shown->text, text, shown->n_text) == 0, "shown \"%.*s\"",
                  (int)shown->n_text, shown->text);
    ck_assert_uint_eq(shown->n_ids, n_ids);
    ck_assert_int_eq(shown->stop, stop);
}

START_TEST(without_stop_strings_every_token_is_released_at_once)
{
    const uint32_t ids[] = { A, B, O };
    struct output_filter_out out;
    struct output_filter *filter;

    ck_assert_int_eq(output_filter_create(&filter, vocab, NULL, 0), 0);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(output_filter_push(filter, ids[i], &out), OUTPUT_FILTER_OK);
        ck_assert_uint_eq(out.n_tokens, 1);
        ck_assert_uint_eq(out.tokens[0], ids[i]);
    }
    output_filter_destroy(filter);
}
END_TEST

START_TEST(stop_string_over_three_tokens_is_found)
{
    struct shown shown = PLAY(" O P Q", A, B, O, P, Q, R);

    assert_shown(&shown, "A B", 2, 0);
}
END_TEST

START_TEST(near_miss_is_released_once)
{
    struct shown shown = PLAY(" O P Q", A, O, P, X);

    assert_shown(&shown, "A O P X", 4, -1);
}
END_TEST

START_TEST(stop_that_began_later_is_found)
{
    struct shown shown = PLAY("aab", SMALL_A, SMALL_A, SMALL_A, SMALL_B);

    assert_shown(&shown, "a", 1, 0);
}
END_TEST

START_TEST(of_two_stops_the_first_to_end_counts)
{
    const uint32_t ids[] = { A, O, P, Q };
    const char *const stops[] = { " O P Q", " O P", NULL };
    struct shown shown = play(ids, 4, stops);

    assert_shown(&shown, "A", 1, 1);
}
END_TEST

START_TEST(of_two_stops_that_end_together_the_longer_counts)
{
    const uint32_t ids[] = { A, O, P };
    const char *const stops[] = { " P", " O P", NULL };
    struct shown shown = play(ids, 3, stops);

    assert_shown(&shown, "A", 1, 1);
}
END_TEST

START_TEST(stop_inside_a_piece_cuts_it)
{
    struct shown shown = PLAY("ab", A, XABY);

    assert_shown(&shown, "Ax", 2, 0);
    ck_assert_uint_eq(shown.ids[1], XABY);
}
END_TEST

START_TEST(stop_that_begins_inside_a_character_leaves_one_replacement)
{
    struct shown shown = PLAY("\x98\x80", A, SMILE, B);

    assert_shown(&shown, "A\xef\xbf\xbd", 2, 0);
}
END_TEST

START_TEST(half_a_character_waits_for_its_rest)
{
    struct output_filter_out out;
    struct output_filter *filter;

    ck_assert_int_eq(output_filter_create(&filter, vocab, NULL, 0), 0);
    ck_assert_int_eq(output_filter_push(filter, HALF, &out), OUTPUT_FILTER_OK);
    ck_assert_uint_eq(out.n_tokens, 0);
    ck_assert_uint_eq(out.n_text, 0);
    ck_assert_int_eq(output_filter_push(filter, REST, &out), OUTPUT_FILTER_OK);
    ck_assert_uint_eq(out.n_tokens, 2);
    ck_assert_uint_eq(out.n_text, 4);
    ck_assert_mem_eq(out.text, "\xf0\x9f\x98\x80", 4);
    output_filter_destroy(filter);
}
END_TEST

START_TEST(half_a_character_at_the_end_becomes_one_replacement)
{
    struct shown shown = play((const uint32_t[]){ A, HALF }, 2, (const char *const[]){ NULL });

    assert_shown(&shown, "A\xef\xbf\xbd", 2, -1);
}
END_TEST

START_TEST(half_a_character_that_never_ends_becomes_one_replacement)
{
    struct shown shown = play((const uint32_t[]){ HALF, SMALL_A, REST }, 3, (const char *const[]){ NULL });

    assert_shown(&shown,
                 "\xef\xbf\xbd"
                 "a\xef\xbf\xbd\xef\xbf\xbd",
                 3, -1);
}
END_TEST

START_TEST(token_without_text_keeps_its_place)
{
    struct shown shown = PLAY(" O P Q", A, CONTROL, O, CONTROL, X);

    assert_shown(&shown, "A O X", 5, -1);
    ck_assert_uint_eq(shown.ids[1], CONTROL);
    ck_assert_uint_eq(shown.ids[3], CONTROL);
}
END_TEST

START_TEST(token_without_text_is_released_before_a_stop_and_dropped_after_it)
{
    struct shown shown = PLAY(" O P", A, CONTROL, O, CONTROL, P);

    assert_shown(&shown, "A", 2, 0);
    ck_assert_uint_eq(shown.ids[1], CONTROL);
}
END_TEST

START_TEST(nul_bytes_are_text)
{
    struct shown shown = play((const uint32_t[]){ A, 0, SMALL_B }, 3, (const char *const[]){ NULL });

    ck_assert_uint_eq(shown.n_text, 3);
    ck_assert_mem_eq(shown.text, "A\0b", 3);
}
END_TEST

static int push_and_give_back(void *data)
{
    const struct stop_text stop = { .bytes = (const uint8_t *)"stop", .n = 4 };
    struct output_filter *filter = NULL;
    struct output_filter_out out;
    int r = output_filter_create(&filter, vocab, &stop, 1);

    r = r ? r : output_filter_push(filter, A, &out);
    output_filter_destroy(filter);
    return r;
}

START_TEST(failing_allocation_leaks_nothing)
{
    for_each_failed_alloc(push_and_give_back, NULL);
}
END_TEST

/* ---- the property: any pieces, any stops, against a reference that sees the whole text at once */

#define N_ROUNDS   3000
#define N_IDS_MAX  24
#define N_STOP_MAX 5

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

struct round {
    uint32_t ids[N_IDS_MAX];
    size_t n_ids;
    uint8_t stops[3][N_STOP_MAX];
    size_t n_stop[3];
    size_t n_stops;
    uint8_t bytes[256]; /* all pieces in a row */
    size_t ends[N_IDS_MAX];
    size_t n_bytes;
};

/* Few letters, so that stop strings are met often; parts of characters, stray bytes, and empty pieces. */
static void make_round(struct round *round)
{
    static const uint32_t choice[] = { SMALL_A, SMALL_B, XABY, HALF, REST,    CONTROL,
                                       SMILE,   0x80,    0xc3, 0xa9, SMALL_A, SMALL_B };
    static const uint8_t letters[] = { 'a', 'b', 'a', 'b', 'x', 0x98, 0x80, 0xf0, 0x9f };

    *round = (struct round){ .n_ids = 1 + random_below(N_IDS_MAX), .n_stops = random_below(4) };
    for (size_t i = 0; i < round->n_ids; i++) {
        const uint32_t id = choice[random_below(sizeof(choice) / sizeof(choice[0]))];
        const struct gguf_text piece = vocab_piece(vocab, id);

        round->ids[i] = id;
        memcpy(round->bytes + round->n_bytes, piece.bytes, piece.n);
        round->n_bytes += piece.n;
        round->ends[i] = round->n_bytes;
    }
    for (size_t i = 0; i < round->n_stops; i++) {
        round->n_stop[i] = 1 + random_below(N_STOP_MAX);
        for (size_t k = 0; k < round->n_stop[i]; k++) {
            round->stops[i][k] = letters[random_below(sizeof(letters))];
        }
    }
}

/* Finds the first stop string to end, of several the longest: where it begins and its index. False: none is met. */
static bool find_stop(const struct round *round, size_t *ret_at, int *ret_stop)
{
    for (size_t end = 1; end <= round->n_bytes; end++) {
        size_t n_best = 0;

        for (size_t i = 0; i < round->n_stops; i++) {
            const size_t n = round->n_stop[i];

            if (n <= end && n > n_best && memcmp(round->bytes + end - n, round->stops[i], n) == 0) {
                n_best = n;
                *ret_at = end - n;
                *ret_stop = (int)i;
            }
        }
        if (n_best > 0) {
            return true;
        }
    }
    return false;
}

/* True if the first @n bytes are whole characters, bad ones counted as such. */
static bool is_whole(const uint8_t *bytes, size_t n)
{
    size_t used;

    for (size_t i = 0; i < n; i += used) {
        if (utf8_step(bytes + i, n - i, &used, NULL) == UTF8_MORE) {
            return false;
        }
    }
    return true;
}

/* Returns how many bytes at the end of the first @n may belong to a stop string. */
static size_t n_claimed(const struct round *round, size_t n)
{
    size_t best = 0;

    for (size_t i = 0; i < round->n_stops; i++) {
        for (size_t k = 1; k < round->n_stop[i] && k <= n; k++) {
            if (k > best && memcmp(round->bytes + n - k, round->stops[i], k) == 0) {
                best = k;
            }
        }
    }
    return best;
}

/* Returns how many tokens may be shown after the first @n_pushed, by the definition. */
static uint32_t n_showable(const struct round *round, size_t n_pushed)
{
    const size_t n = round->ends[n_pushed - 1];
    const size_t n_safe = n - n_claimed(round, n);
    uint32_t n_show = (uint32_t)n_pushed;

    while (n_show > 0 && (round->ends[n_show - 1] > n_safe || !is_whole(round->bytes, round->ends[n_show - 1]))) {
        n_show--;
    }
    return n_show;
}

static void assert_text(const struct shown *shown, const struct round *round, size_t n_bytes)
{
    uint8_t mended[3 * sizeof(round->bytes)];
    const size_t n = utf8_mend(round->bytes, n_bytes, mended, sizeof(mended));

    ck_assert_uint_eq(shown->n_text, n);
    ck_assert_mem_eq(shown->text, mended, n);
}

static void check_round(const struct round *round)
{
    struct stop_text texts[3];
    struct shown shown = { .n_text = 0 };
    struct output_filter_out out;
    struct output_filter *filter;
    size_t at = round->n_bytes;
    int stop = -1;
    int r = OUTPUT_FILTER_OK;

    for (size_t i = 0; i < round->n_stops; i++) {
        texts[i] = (struct stop_text){ .bytes = round->stops[i], .n = round->n_stop[i] };
    }
    ck_assert_int_eq(output_filter_create(&filter, vocab, texts, round->n_stops), 0);
    find_stop(round, &at, &stop);
    for (size_t i = 0; i < round->n_ids && r == OUTPUT_FILTER_OK; i++) {
        r = output_filter_push(filter, round->ids[i], &out);
        collect(&shown, &out);
        if (r == OUTPUT_FILTER_OK) {
            ck_assert_uint_eq(shown.n_ids, n_showable(round, i + 1));
            assert_text(&shown, round, shown.n_ids ? round->ends[shown.n_ids - 1] : 0);
        }
    }
    ck_assert_int_eq(r, stop >= 0 ? OUTPUT_FILTER_STOPPED : OUTPUT_FILTER_OK);
    if (r == OUTPUT_FILTER_OK) {
        output_filter_flush(filter, &out);
        collect(&shown, &out);
        ck_assert_uint_eq(shown.n_ids, round->n_ids);
    }
    assert_text(&shown, round, at);
    ck_assert_int_eq(shown.stop, stop);
    ck_assert_mem_eq(shown.ids, round->ids, shown.n_ids * sizeof(round->ids[0]));
    /* The last id carries text that is shown, or no text; the next one lies inside the stop string. */
    ck_assert(shown.n_ids == 0 || (shown.n_ids > 1 ? round->ends[shown.n_ids - 2] : 0) <= at);
    ck_assert(shown.n_ids == round->n_ids || (shown.n_ids > 0 ? round->ends[shown.n_ids - 1] : 0) >= at);
    output_filter_destroy(filter);
}

START_TEST(any_pieces_and_stops_agree_with_the_whole_text)
{
    struct round round;

    random_state = (uint64_t)_i + 1;
    for (int i = 0; i < N_ROUNDS; i++) {
        make_round(&round);
        check_round(&round);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text-stage");
    TCase *tcase = tcase_create("stage");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, without_stop_strings_every_token_is_released_at_once);
    tcase_add_test(tcase, stop_string_over_three_tokens_is_found);
    tcase_add_test(tcase, near_miss_is_released_once);
    tcase_add_test(tcase, stop_that_began_later_is_found);
    tcase_add_test(tcase, of_two_stops_the_first_to_end_counts);
    tcase_add_test(tcase, of_two_stops_that_end_together_the_longer_counts);
    tcase_add_test(tcase, stop_inside_a_piece_cuts_it);
    tcase_add_test(tcase, stop_that_begins_inside_a_character_leaves_one_replacement);
    tcase_add_test(tcase, half_a_character_waits_for_its_rest);
    tcase_add_test(tcase, half_a_character_at_the_end_becomes_one_replacement);
    tcase_add_test(tcase, half_a_character_that_never_ends_becomes_one_replacement);
    tcase_add_test(tcase, token_without_text_keeps_its_place);
    tcase_add_test(tcase, token_without_text_is_released_before_a_stop_and_dropped_after_it);
    tcase_add_test(tcase, nul_bytes_are_text);
    tcase_add_test(tcase, failing_allocation_leaks_nothing);
    tcase_add_loop_test(tcase, any_pieces_and_stops_agree_with_the_whole_text, 0, 3);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
