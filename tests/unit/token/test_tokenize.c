/*
 * Bad bytes, very long words, special entries, ceilings and pieces (O09).
 */
#include "base/buf.h"
#include "failed_alloc.h"
#include "tiny.h"
#include "unit.h"
#include <pthread.h>
#include <string.h>

#define BLANK        "\xe2\x96\x81"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define LONG_BYTES 1000000

static const struct tiny_token spm_tokens[] = {
    { "<unk>", TOKEN_UNKNOWN, 0 },    { "<s>", TOKEN_CONTROL, 0 },
    { "</s>", TOKEN_CONTROL, 0 },     { BLANK, TOKEN_NORMAL, -9 },
    { "a", TOKEN_NORMAL, -8 },        { "aa", TOKEN_NORMAL, -2 },
    { "aaaa", TOKEN_NORMAL, -1 },     { BLANK "a", TOKEN_NORMAL, -3 },
    { "\xcc\x81", TOKEN_NORMAL, -4 }, { "\xcc\x81\xcc\x81", TOKEN_NORMAL, -3 },
    { "ab", TOKEN_USER, 0 },          { "abc", TOKEN_USER, 0 },
    { "<s", TOKEN_NORMAL, -1 },       { "s>", TOKEN_NORMAL, -1 },
    { "<s>", TOKEN_NORMAL, -1 },
};

enum { UNK = 256, BOS, EOS, WHITE, A, AA, AAAA, WHITE_A, ACCENT, ACCENTS, USER_AB, USER_ABC, S1, S2, WORD_S };

static const struct tiny_token bpe_tokens[] = { { "aa", TOKEN_NORMAL, 0 },
                                                { "aaaa", TOKEN_NORMAL, 0 },
                                                { "\xc3\x8c\xc4\xa3", TOKEN_NORMAL, 0 },
                                                { "<|end|>", TOKEN_CONTROL, 0 } };
static const char *const bpe_merges[] = { "a a", "aa aa", "\xc3\x8c \xc4\xa3" };

static struct vocab *spm;
static struct vocab *bpe;

static void setup(void)
{
    struct maker maker;

    maker_init(&maker, 3);
    tiny_spm_keys(&maker, spm_tokens, COUNT(spm_tokens));
    maker_key_u32(&maker, "tokenizer.ggml.bos_token_id", BOS);
    spm = tiny_vocab(&maker);
    maker_init(&maker, 3);
    tiny_bpe_keys(&maker, "gpt-2", bpe_tokens, COUNT(bpe_tokens), bpe_merges, COUNT(bpe_merges));
    bpe = tiny_vocab(&maker);
}

static void teardown(void)
{
    vocab_destroy(spm);
    vocab_destroy(bpe);
}

/* Tokenises @text and compares with @wanted. */
static void assert_gives(const struct vocab *vocab, const char *text, unsigned flags, const uint32_t *wanted, size_t n)
{
    struct ids ids = { 0 };

    ck_assert_int_eq(vocab_tokenize(vocab, text, strlen(text), flags, &ids, NULL), TOKENIZE_OK);
    ck_assert_uint_eq(ids.n, n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(ids.ids[i], wanted[i]);
    }
    ids_finish(&ids);
}

#define GIVES(vocab, text, flags, ...)                                                                                 \
    assert_gives(vocab, text, flags, (const uint32_t[]){ __VA_ARGS__ }, COUNT(((const uint32_t[]){ __VA_ARGS__ })))

START_TEST(bad_bytes_are_refused_with_their_offset)
{
    static const struct {
        const char *text;
        const char *word;
    } cases[] = {
        { "\xe6\xad", "byte 0 (0xe6)" },     { "\xf0\x9f\x98", "byte 0 (0xf0)" },
        { "\xc3(", "byte 0 (0xc3)" },        { "a\xc0\x80", "byte 1 (0xc0)" },
        { "\xed\xa0\x80", "byte 0 (0xed)" }, { "ok \xf4\x90\x80\x80", "byte 3 (0xf4)" },
    };
    struct ids ids = { 0 };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct diag diag = DIAG_INIT;

        ck_assert_int_eq(vocab_tokenize(_i ? spm : bpe, cases[i].text, strlen(cases[i].text), 0, &ids, &diag),
                         TOKENIZE_BAD_TEXT);
        ck_assert_msg(strstr(diag.text, cases[i].word) != NULL, "\"%s\" does not say \"%s\"", diag.text, cases[i].word);
        ck_assert_uint_eq(ids.n, 0);
    }
}
END_TEST

START_TEST(nul_byte_does_not_end_a_text)
{
    struct ids ids = { 0 };

    ck_assert_int_eq(vocab_tokenize(bpe, "A\0B", 3, 0, &ids, NULL), TOKENIZE_OK);
    ck_assert_uint_eq(ids.n, 3);
    ck_assert_uint_eq(ids.ids[1], 0);
    ids.n = 0;
    ck_assert_int_eq(vocab_tokenize(spm, "A\0B", 3, TOKENIZE_MIDDLE, &ids, NULL), TOKENIZE_OK);
    ck_assert_uint_eq(ids.n, 3);
    ck_assert_uint_eq(ids.ids[1], 0);
    ids_finish(&ids);
}
END_TEST

START_TEST(no_break_space_is_text)
{
    GIVES(spm, "\xc2\xa0", TOKENIZE_MIDDLE, 0xc2, 0xa0);
    GIVES(bpe, "\xc2\xa0", 0, 0xc2, 0xa0);
}
END_TEST

START_TEST(empty_text_gives_nothing_or_bos_alone)
{
    assert_gives(spm, "", 0, NULL, 0);
    assert_gives(bpe, "", TOKENIZE_BOS, NULL, 0);
    GIVES(spm, "", TOKENIZE_BOS, BOS);
}
END_TEST

START_TEST(prefix_blank_stands_before_a_text_and_not_in_its_middle)
{
    GIVES(spm, "a", 0, WHITE_A);
    GIVES(spm, "a", TOKENIZE_MIDDLE, A);
    GIVES(spm, "aaaa", TOKENIZE_MIDDLE, AAAA);
}
END_TEST

START_TEST(entry_with_a_blank_inside_is_merged_across_it)
{
    const struct tiny_token tokens[] = { { BLANK, TOKEN_NORMAL, -3 },
                                         { "a", TOKEN_NORMAL, -3 },
                                         { "a" BLANK, TOKEN_NORMAL, -2 },
                                         { "a" BLANK "a", TOKEN_NORMAL, -1 } };
    struct vocab *vocab;
    struct maker maker;

    maker_init(&maker, 3);
    tiny_spm_keys(&maker, tokens, COUNT(tokens));
    vocab = tiny_vocab(&maker);
    GIVES(vocab, "a a", TOKENIZE_MIDDLE, 259);
    vocab_destroy(vocab);
}
END_TEST

START_TEST(control_tokens_match_only_where_asked)
{
    GIVES(spm, "</s>a", TOKENIZE_SPECIAL, EOS, WHITE_A);
    GIVES(spm, "</s>", TOKENIZE_MIDDLE, '<', '/', S2);
    GIVES(bpe, "<|end|>", TOKENIZE_SPECIAL, 259);
    GIVES(bpe, "<|end|>", 0, '<', '|', 'e', 'n', 'd', '|', '>');
}
END_TEST

START_TEST(words_never_merge_into_a_control_token)
{
    /* "<s>" is a control token and a word; merging finds the word. */
    GIVES(spm, "<s>", TOKENIZE_MIDDLE, WORD_S);
}
END_TEST

START_TEST(longest_user_piece_matches_always)
{
    GIVES(spm, "ab", TOKENIZE_MIDDLE, USER_AB);
    GIVES(spm, "abc", TOKENIZE_MIDDLE, USER_ABC);
    GIVES(spm, "aab", TOKENIZE_MIDDLE, A, USER_AB);
}
END_TEST

START_TEST(byte_without_a_token_is_left_out_before_merging)
{
    /* No byte except "a" has a token. */
    const struct tiny_token tokens[] = { { "a", TOKEN_NORMAL, 0 }, { "aa", TOKEN_NORMAL, 0 } };
    struct vocab *vocab;
    struct maker maker;

    maker_init(&maker, 3);
    tiny_keys(&maker, "gpt2", "gpt-2", tokens, 2);
    maker_key_array(&maker, "tokenizer.ggml.merges", GGUF_STRING, 1);
    maker_text(&maker, "a a");
    vocab = tiny_vocab(&maker);
    GIVES(vocab,
          "a\xcc\x81"
          "a.",
          0, 0, 0);
    GIVES(vocab, "\xe2\x80\x8b.a", 0, 0);
    assert_gives(vocab, "...", 0, NULL, 0);
    vocab_destroy(vocab);
}
END_TEST

START_TEST(ceiling_of_ids_is_kept)
{
    struct ids ids = { .max = 3 };

    ck_assert_int_eq(vocab_tokenize(bpe, "xyz", 3, 0, &ids, NULL), TOKENIZE_OK);
    ids.n = 0;
    ck_assert_int_eq(vocab_tokenize(bpe, "wxyz", 4, 0, &ids, NULL), TOKENIZE_TOO_MANY);
    ck_assert_uint_eq(ids.n, 3);
    ids_finish(&ids);
}
END_TEST

/* A million bytes of repeated @unit. The time limit of the test would fail a quadratic way. */
static void assert_endless_word(const struct vocab *vocab, const char *unit, size_t n_unit, size_t n_wanted)
{
    char *text = mem_alloc(MEM_MISC, LONG_BYTES);
    struct ids ids = { 0 };

    for (size_t i = 0; i < LONG_BYTES; i++) {
        text[i] = unit[i % n_unit];
    }
    ck_assert_int_eq(vocab_tokenize(vocab, text, LONG_BYTES, TOKENIZE_MIDDLE, &ids, NULL), TOKENIZE_OK);
    ck_assert_uint_eq(ids.n, n_wanted);
    ids_finish(&ids);
    mem_free(text);
}

START_TEST(endless_words_take_linear_time)
{
    assert_endless_word(bpe, "a", 1, LONG_BYTES / 4);
    assert_endless_word(bpe, "\xcc\x81", 2, LONG_BYTES / 2);
    assert_endless_word(bpe, " ", 1, LONG_BYTES);
    assert_endless_word(bpe, "\n", 1, LONG_BYTES);
    assert_endless_word(spm, "a", 1, LONG_BYTES / 4);
    assert_endless_word(spm, "\xcc\x81", 2, LONG_BYTES / 4);
    assert_endless_word(spm, " ", 1, LONG_BYTES);
    assert_endless_word(spm, "\xf0\x9f\x98\x80", 4, LONG_BYTES);
}
END_TEST

/* Tokenises in pieces of @n_steps, compares with the ids of the whole, and returns how many pieces there were. */
static size_t assert_pieces(const struct vocab *vocab, const char *text, size_t n, uint64_t n_steps)
{
    const struct tokenizer_text whole = { .bytes = text, .n = n, .flags = TOKENIZE_BOS | TOKENIZE_SPECIAL };
    struct tokenizer *tokenizer = NULL;
    struct ids wanted = { 0 };
    struct ids ids = { 0 };
    size_t n_pieces = 0;
    uint64_t left;
    int r;

    ck_assert_int_eq(vocab_tokenize(vocab, text, n, whole.flags, &wanted, NULL), TOKENIZE_OK);
    ck_assert_int_eq(tokenizer_create(&tokenizer, vocab, &whole), 0);
    do {
        left = n_steps;
        r = tokenizer_run(tokenizer, &left, &ids, NULL);
        n_pieces++;
    } while (r == TOKENIZE_MORE);
    ck_assert_int_eq(r, TOKENIZE_OK);
    ck_assert_uint_eq(ids.n, wanted.n);
    ck_assert_int_eq(memcmp(ids.ids, wanted.ids, ids.n * sizeof(*ids.ids)), 0);
    tokenizer_destroy(tokenizer);
    ids_finish(&wanted);
    ids_finish(&ids);
    return n_pieces;
}

START_TEST(a_text_in_pieces_has_the_ids_of_the_whole)
{
    static const char text[] = "aaaa b</s> aaa\xcc\x81 12 ab wxyz, e\xcc\x81\xcc\xa3 \xf0\x9f\x98\x80<s>  xyz";

    for (uint64_t n_steps = 1; n_steps < 40; n_steps++) {
        assert_pieces(bpe, text, strlen(text), n_steps);
        assert_pieces(spm, text, strlen(text), n_steps);
    }
}
END_TEST

START_TEST(an_endless_word_is_taken_in_pieces)
{
    char *text = mem_alloc(MEM_MISC, LONG_BYTES);

    memset(text, 'a', LONG_BYTES);
    ck_assert_uint_gt(assert_pieces(bpe, text, LONG_BYTES, 10000), LONG_BYTES / 10000);
    ck_assert_uint_gt(assert_pieces(spm, text, LONG_BYTES, 10000), LONG_BYTES / 10000);
    mem_free(text);
}
END_TEST

#define N_THREADS 4

static void *tokenize_often(void *vocab)
{
    static const char text[] = "aaaa b</s> aaa\xcc\x81 12 ab";
    struct ids first = { 0 };

    vocab_tokenize(vocab, text, strlen(text), TOKENIZE_SPECIAL, &first, NULL);
    for (int i = 0; i < 200; i++) {
        struct ids ids = { 0 };

        vocab_tokenize(vocab, text, strlen(text), TOKENIZE_SPECIAL, &ids, NULL);
        if (ids.n != first.n || memcmp(ids.ids, first.ids, ids.n * sizeof(ids.ids[0])) != 0) {
            first.n = 0;
        }
        ids_finish(&ids);
    }
    vocab = first.n == 0 ? NULL : vocab;
    ids_finish(&first);
    return vocab;
}

START_TEST(one_vocabulary_serves_many_threads)
{
    struct vocab *vocab = _i ? spm : bpe;
    pthread_t threads[N_THREADS];

    for (int i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, tokenize_often, vocab), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        void *same;

        pthread_join(threads[i], &same);
        ck_assert_ptr_eq(same, vocab);
    }
}
END_TEST

static int tokenize_and_give_back(void *vocab)
{
    static const char text[] = "aaaa b </s> c\xcc\x81";
    struct ids ids = { 0 };
    const int r = vocab_tokenize(vocab, text, strlen(text), TOKENIZE_SPECIAL, &ids, NULL);

    ids_finish(&ids);
    return r;
}

START_TEST(failing_allocation_leaks_nothing)
{
    for_each_failed_alloc(tokenize_and_give_back, _i ? spm : bpe);
}
END_TEST

START_TEST(id_outside_the_vocabulary_is_refused_in_detokenising)
{
    const uint32_t ids[] = { 'a', 256 + COUNT(spm_tokens) };
    struct diag diag = DIAG_INIT;
    struct buf out;

    buf_init(&out, MEM_MISC, 100);
    ck_assert_int_eq(vocab_detokenize(spm, ids, 2, false, &out, &diag), TOKENIZE_BAD_TEXT);
    ck_assert(diag_is_set(&diag));
    buf_finish(&out);
}
END_TEST

START_TEST(detokenising_writes_control_tokens_only_where_asked)
{
    const uint32_t ids[] = { BOS, WHITE_A, WHITE_A, EOS };
    struct buf out;

    buf_init(&out, MEM_MISC, 100);
    ck_assert_int_eq(vocab_detokenize(spm, ids, 4, false, &out, NULL), TOKENIZE_OK);
    ck_assert_uint_eq(out.n, 3);
    ck_assert_mem_eq(buf_data(&out), "a a", 3);
    buf_eat(&out, out.n);
    ck_assert_int_eq(vocab_detokenize(spm, ids, 4, true, &out, NULL), TOKENIZE_OK);
    ck_assert_uint_eq(out.n, 10);
    ck_assert_mem_eq(buf_data(&out), "<s>a a</s>", 10);
    buf_finish(&out);
}
END_TEST

START_TEST(detokenising_keeps_the_ceiling_of_its_buffer)
{
    const uint32_t ids[] = { 'a', 'b', 'c' };
    struct buf out;

    buf_init(&out, MEM_MISC, 2);
    ck_assert_int_eq(vocab_detokenize(bpe, ids, 3, false, &out, NULL), TOKENIZE_TOO_MANY);
    buf_finish(&out);
}
END_TEST

START_TEST(ids_grow_by_one_and_by_many_up_to_their_bound)
{
    static const uint32_t more[100] = { 7, [99] = 9 };
    struct ids ids = { .max = 201 };

    ck_assert_int_eq(ids_append(&ids, NULL, 0), TOKENIZE_OK);
    ck_assert_int_eq(ids_push(&ids, 5), TOKENIZE_OK);
    ck_assert_int_eq(ids_append(&ids, more, 100), TOKENIZE_OK);
    ck_assert_int_eq(ids_append(&ids, more, 100), TOKENIZE_OK);
    ck_assert_int_eq(ids_append(&ids, more, 1), TOKENIZE_TOO_MANY);
    ck_assert_int_eq(ids_push(&ids, 1), TOKENIZE_TOO_MANY);

    ck_assert_uint_eq(ids.n, 201);
    ck_assert_uint_eq(ids.ids[0], 5);
    ck_assert_uint_eq(ids.ids[1], 7);
    ck_assert_uint_eq(ids.ids[100], 9);
    ck_assert_uint_eq(ids.ids[200], 9);
    ids_finish(&ids);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token-tokenize");
    TCase *tcase = tcase_create("tokenize");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, bad_bytes_are_refused_with_their_offset, 0, 2);
    tcase_add_test(tcase, ids_grow_by_one_and_by_many_up_to_their_bound);
    tcase_add_test(tcase, nul_byte_does_not_end_a_text);
    tcase_add_test(tcase, no_break_space_is_text);
    tcase_add_test(tcase, empty_text_gives_nothing_or_bos_alone);
    tcase_add_test(tcase, prefix_blank_stands_before_a_text_and_not_in_its_middle);
    tcase_add_test(tcase, entry_with_a_blank_inside_is_merged_across_it);
    tcase_add_test(tcase, control_tokens_match_only_where_asked);
    tcase_add_test(tcase, words_never_merge_into_a_control_token);
    tcase_add_test(tcase, longest_user_piece_matches_always);
    tcase_add_test(tcase, byte_without_a_token_is_left_out_before_merging);
    tcase_add_test(tcase, ceiling_of_ids_is_kept);
    tcase_add_test(tcase, endless_words_take_linear_time);
    tcase_add_test(tcase, a_text_in_pieces_has_the_ids_of_the_whole);
    tcase_add_test(tcase, an_endless_word_is_taken_in_pieces);
    tcase_add_loop_test(tcase, one_vocabulary_serves_many_threads, 0, 2);
    tcase_add_loop_test(tcase, failing_allocation_leaks_nothing, 0, 2);
    tcase_add_test(tcase, id_outside_the_vocabulary_is_refused_in_detokenising);
    tcase_add_test(tcase, detokenising_writes_control_tokens_only_where_asked);
    tcase_add_test(tcase, detokenising_keeps_the_ceiling_of_its_buffer);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
