/*
 * Vocabularies that contradict themselves are refused at load, with the key (O02); unusual but sound ones load.
 */
#include "tiny.h"
#include "unit.h"
#include <string.h>

static const struct tiny_token letters[] = { { "a", TOKEN_NORMAL, 0 },
                                             { "b", TOKEN_NORMAL, -1 },
                                             { "ab", TOKEN_NORMAL, -2 } };
static const struct tiny_token marked[] = {
    { "<unk>", TOKEN_UNKNOWN, 0 },
    { "<s>", TOKEN_CONTROL, 0 },
    { "</s>", TOKEN_CONTROL, 0 },
    { "a", TOKEN_NORMAL, 0 },
    { "\xe2\x96\x81"
      "a",
      TOKEN_NORMAL, -1 },
    { "<|eot_id|>", TOKEN_CONTROL, 0 },
    { "<|im_end|>", TOKEN_NORMAL, 0 },
    { "gone", TOKEN_UNUSED, 0 },
    { "user piece", TOKEN_USER, 0 },
};

enum { UNK = 256, BOS, EOS, LETTER, BLANK_LETTER, EOT, LOOKS_LIKE_END, GONE, USER };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct maker maker;

static struct vocab *create(const struct gguf *gguf)
{
    struct vocab *vocab = NULL;

    ck_assert_int_eq(vocab_create(&vocab, gguf, NULL), VOCAB_OK);
    return vocab;
}

static void setup(void)
{
    maker_init(&maker, 3);
}

static void teardown(void)
{
    maker_finish(&maker);
}

START_TEST(pieces_are_the_text_of_an_answer)
{
    struct vocab *vocab;
    struct gguf_text piece;

    tiny_spm_keys(&maker, marked, COUNT(marked));
    vocab = tiny_vocab(&maker);

    piece = vocab_piece(vocab, 0x0a);
    ck_assert_uint_eq(piece.n, 1);
    ck_assert_int_eq(piece.bytes[0], '\n');
    piece = vocab_piece(vocab, BLANK_LETTER);
    ck_assert_uint_eq(piece.n, 2);
    ck_assert_mem_eq(piece.bytes, " a", 2);
    ck_assert_uint_eq(vocab_piece(vocab, BOS).n, 0);
    ck_assert_uint_eq(vocab_piece(vocab, UNK).n, 0);
    ck_assert_uint_eq(vocab_piece(vocab, GONE).n, 0);
    ck_assert_uint_eq(vocab_piece(vocab, USER).n, 10);
    ck_assert_uint_eq(vocab_text(vocab, BOS).n, 3);
    vocab_destroy(vocab);
}
END_TEST

START_TEST(byte_level_pieces_are_decoded)
{
    static const char *const merges[] = { "\xc4\xa0 a" };
    const struct tiny_token tokens[] = { { "\xc4\xa0"
                                           "a",
                                           TOKEN_NORMAL, 0 },
                                         { "two words", TOKEN_NORMAL, 0 } };
    struct vocab *vocab;

    tiny_bpe_keys(&maker, "gpt-2", tokens, 2, merges, 1);
    vocab = tiny_vocab(&maker);

    for (unsigned byte = 0; byte < 256; byte++) {
        const struct gguf_text piece = vocab_piece(vocab, byte);

        ck_assert_uint_eq(piece.n, 1);
        ck_assert_uint_eq((uint8_t)piece.bytes[0], byte);
    }
    ck_assert_mem_eq(vocab_piece(vocab, 256).bytes, " a", 2);
    ck_assert_uint_eq(vocab_piece(vocab, 257).n, 9);
    vocab_destroy(vocab);
}
END_TEST

START_TEST(end_tokens_come_from_keys_and_known_control_texts)
{
    struct vocab *vocab;

    tiny_spm_keys(&maker, marked, COUNT(marked));
    maker_key_u32(&maker, "tokenizer.ggml.eos_token_id", EOS);
    vocab = tiny_vocab(&maker);

    ck_assert(vocab_ends(vocab, EOS));
    ck_assert(vocab_ends(vocab, EOT));
    ck_assert(!vocab_ends(vocab, LOOKS_LIKE_END));
    ck_assert(!vocab_ends(vocab, BOS));
    vocab_destroy(vocab);
}
END_TEST

START_TEST(unused_ids_are_never_to_be_sampled)
{
    struct vocab *vocab;
    const uint32_t *never;
    size_t n;

    tiny_spm_keys(&maker, marked, COUNT(marked));
    vocab = tiny_vocab(&maker);

    never = vocab_never(vocab, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(never[0], GONE);
    vocab_destroy(vocab);
}
END_TEST

START_TEST(special_is_found_by_its_whole_text_only)
{
    static const struct {
        const char *text;
        uint32_t id; /* the special token that the text becomes, or VOCAB_NO_ID */
    } rows[] = {
        { "</s>", EOS },      { "user piece", USER }, { "</s", VOCAB_NO_ID }, { "user piec", VOCAB_NO_ID },
        { "a", VOCAB_NO_ID },
    };
    struct vocab *vocab;

    tiny_spm_keys(&maker, marked, COUNT(marked));
    vocab = tiny_vocab(&maker);

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct ids ids = { 0 };
        bool is_special;

        ck_assert_int_eq(vocab_tokenize(vocab, rows[i].text, strlen(rows[i].text), TOKENIZE_SPECIAL, &ids, NULL),
                         TOKENIZE_OK);
        is_special = ids.n == 1 &&
                     (vocab_type(vocab, ids.ids[0]) == TOKEN_CONTROL || vocab_type(vocab, ids.ids[0]) == TOKEN_USER);
        ck_assert_uint_eq(is_special ? ids.ids[0] : VOCAB_NO_ID, rows[i].id);
        ids_finish(&ids);
    }
    vocab_destroy(vocab);
}
END_TEST

START_TEST(bos_is_added_where_kind_or_key_says)
{
    struct vocab *vocab;

    tiny_spm_keys(&maker, marked, COUNT(marked));
    maker_key_u32(&maker, "tokenizer.ggml.bos_token_id", BOS);
    vocab = tiny_vocab(&maker);
    ck_assert(vocab_adds_bos(vocab));
    ck_assert_uint_eq(vocab_bos(vocab), BOS);
    vocab_destroy(vocab);

    maker_init(&maker, 3);
    tiny_spm_keys(&maker, marked, COUNT(marked));
    maker_key_u32(&maker, "tokenizer.ggml.bos_token_id", BOS);
    maker_key_bool(&maker, "tokenizer.ggml.add_bos_token", false);
    vocab = tiny_vocab(&maker);
    ck_assert(!vocab_adds_bos(vocab));
    vocab_destroy(vocab);
}
END_TEST

START_TEST(adding_bos_without_an_id_is_refused)
{
    tiny_spm_keys(&maker, letters, COUNT(letters));
    maker_key_bool(&maker, "tokenizer.ggml.add_bos_token", true);
    tiny_refused(&maker, "tokenizer.ggml.bos_token_id does not say which");
}
END_TEST

START_TEST(ids_outside_the_vocabulary_are_refused)
{
    static const char *const keys[] = { "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                                        "tokenizer.ggml.eot_token_id", "tokenizer.ggml.unknown_token_id" };

    for (size_t i = 0; i < COUNT(keys); i++) {
        tiny_spm_keys(&maker, letters, COUNT(letters));
        maker_key_u32(&maker, keys[i], 256 + COUNT(letters));
        tiny_refused(&maker, keys[i]);
        maker_init(&maker, 3);
    }
}
END_TEST

START_TEST(token_text_twice_gives_the_lower_id)
{
    const struct tiny_token twice[] = { { "a", TOKEN_NORMAL, 0 }, { "a", TOKEN_NORMAL, 0 } };
    struct ids ids = { 0 };
    struct vocab *vocab;

    tiny_spm_keys(&maker, twice, 2);
    maker_key_bool(&maker, "tokenizer.ggml.add_space_prefix", false);
    vocab = tiny_vocab(&maker);

    ck_assert_int_eq(vocab_tokenize(vocab, "a", 1, 0, &ids, NULL), TOKENIZE_OK);
    ck_assert_uint_eq(ids.n, 1);
    ck_assert_uint_eq(ids.ids[0], 256);
    ck_assert_uint_eq(vocab_piece(vocab, 257).n, 1);
    ids_finish(&ids);
    vocab_destroy(vocab);
}
END_TEST

/* Writes a SentencePiece list of three tokens, with types and scores of the given lengths. */
static void put_lists(uint32_t types_elem, uint64_t n_types, uint32_t scores_elem, uint64_t n_scores)
{
    maker_key_text(&maker, "tokenizer.ggml.model", "llama");
    maker_key_array(&maker, "tokenizer.ggml.tokens", GGUF_STRING, 3);
    for (size_t i = 0; i < 3; i++) {
        maker_text(&maker, letters[i].text);
    }
    maker_key_u32(&maker, "tokenizer.ggml.unknown_token_id", 0);
    maker_key_array(&maker, "tokenizer.ggml.token_type", types_elem, n_types);
    for (uint64_t i = 0; i < n_types; i++) {
        maker_bytes(&maker, "\1\0\0\0", types_elem == GGUF_I8 ? 1 : 4);
    }
    maker_key_array(&maker, "tokenizer.ggml.scores", scores_elem, n_scores);
    for (uint64_t i = 0; i < n_scores; i++) {
        maker_bytes(&maker, "\0\0\0\0", scores_elem == GGUF_U8 ? 1 : 4);
    }
}

START_TEST(lists_must_be_of_one_length_and_the_right_types)
{
    put_lists(GGUF_I32, 2, GGUF_F32, 3);
    tiny_refused(&maker, "token_type: has 2 elements, but there are 3 tokens");
    maker_init(&maker, 3);
    put_lists(GGUF_I32, 3, GGUF_F32, 4);
    tiny_refused(&maker, "scores: has 4 elements, but there are 3 tokens");
    maker_init(&maker, 3);
    put_lists(GGUF_I8, 3, GGUF_F32, 3);
    tiny_refused(&maker, "token_type: must be an array of 32-bit integers");
    maker_init(&maker, 3);
    put_lists(GGUF_I32, 3, GGUF_U8, 3);
    tiny_refused(&maker, "scores: must be an array of 32-bit floats");
    maker_init(&maker, 3);
    put_lists(GGUF_I32, 3, GGUF_F32, 3);
    vocab_destroy(tiny_vocab(&maker));
}
END_TEST

START_TEST(missing_keys_are_named)
{
    tiny_refused(&maker, "tokenizer.ggml.model is missing");
    maker_init(&maker, 3);
    maker_key_text(&maker, "tokenizer.ggml.model", "llama");
    tiny_refused(&maker, "tokenizer.ggml.tokens is missing");
    maker_init(&maker, 3);
    tiny_keys(&maker, "gpt2", NULL, letters, COUNT(letters));
    tiny_refused(&maker, "tokenizer.ggml.pre is missing");
    maker_init(&maker, 3);
    tiny_keys(&maker, "gpt2", "gpt-2", letters, COUNT(letters));
    tiny_refused(&maker, "tokenizer.ggml.merges");
}
END_TEST

START_TEST(unknown_kind_and_split_are_refused_by_name)
{
    tiny_keys(&maker, "nonesuch", NULL, letters, COUNT(letters));
    tiny_refused(&maker, "\"nonesuch\"");
    maker_init(&maker, 3);
    tiny_bpe_keys(&maker, "some-split", letters, 0, NULL, 0);
    tiny_refused(&maker, "\"some-split\"");
}
END_TEST

START_TEST(unknown_token_type_is_refused)
{
    const struct tiny_token odd[] = { { "a", 99, 0 } };

    tiny_spm_keys(&maker, odd, 1);
    tiny_refused(&maker, "token 256 has the unknown type 99");
}
END_TEST

START_TEST(byte_token_must_be_spelled_as_one)
{
    static const char *const texts[] = { "<0xZZ>", "<0x0>", "", "<0x0A> ", "<0x0a>" };

    for (size_t i = 0; i < COUNT(texts); i++) {
        const struct tiny_token odd[] = { { texts[i], TOKEN_BYTE, 0 } };

        tiny_spm_keys(&maker, odd, 1);
        tiny_refused(&maker, "token 256 is a byte");
        maker_init(&maker, 3);
    }
}
END_TEST

START_TEST(vocabulary_that_cannot_spell_every_text_is_refused)
{
    tiny_keys(&maker, "llama", NULL, letters, COUNT(letters));
    tiny_refused(&maker, "no token <0x00> and no unknown token");
}
END_TEST

START_TEST(merges_must_be_pairs_of_known_tokens)
{
    static const struct {
        const char *merge;
        const char *word;
    } cases[] = {
        { "ab", "not a pair" },
        { "", "not a pair" },
        { "a ", "not a pair" },
        { " ", "not a pair" },
        { "a b c", "outside the byte alphabet" },
        { "b a", "names" },
        { "\xe4\xb8\xad a", "outside the byte alphabet" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        tiny_bpe_keys(&maker, "gpt-2", letters, COUNT(letters), &cases[i].merge, 1);
        tiny_refused(&maker, cases[i].word);
        maker_init(&maker, 3);
    }
}
END_TEST

START_TEST(duplicate_merge_is_refused)
{
    static const char *const merges[] = { "a b", "a b" };

    tiny_bpe_keys(&maker, "gpt-2", letters, COUNT(letters), merges, 2);
    tiny_refused(&maker, "merge 1 is a duplicate");
}
END_TEST

START_TEST(list_must_agree_with_the_rows_of_the_tensors)
{
    static const char *const names[] = { "token_embd.weight", "output.weight" };
    const uint64_t dims[2] = { 8, 250 };

    for (size_t i = 0; i < COUNT(names); i++) {
        tiny_spm_keys(&maker, letters, COUNT(letters));
        maker_tensor(&maker, names[i], 2, dims, ELEM_F32, 0);
        maker_data(&maker, 32, 8 * 250 * 4);
        tiny_refused(&maker, "has 259 entries, but tensor");
        maker_init(&maker, 3);
    }
}
END_TEST

START_TEST(overlong_special_is_refused)
{
    char text[300];
    const struct tiny_token odd[] = { { text, TOKEN_CONTROL, 0 } };

    memset(text, 'x', sizeof(text));
    text[299] = '\0';
    tiny_spm_keys(&maker, odd, 1);
    tiny_refused(&maker, "token 256 has 299 bytes");
}
END_TEST

START_TEST(failing_allocation_leaks_nothing)
{
    struct gguf *gguf = NULL;
    uint64_t n_allocs;

    tiny_bpe_keys(&maker, "falcon", marked, COUNT(marked), NULL, 0);
    maker_key_text(&maker, "tokenizer.chat_template", "x");
    ck_assert_int_eq(maker_parse(&maker, &gguf, NULL), GGUF_OK);
    n_allocs = mem_n_allocs();
    vocab_destroy(create(gguf));
    n_allocs = mem_n_allocs() - n_allocs;

    for (uint64_t nth = 0; nth < n_allocs; nth++) {
        struct vocab *vocab = NULL;

        /* Some failures are survived: PCRE2 continues without its just-in-time code. */
        mem_fail_nth((int64_t)nth);
        ck_assert_int_le(vocab_create(&vocab, gguf, NULL), 0);
        vocab_destroy(vocab);
    }
    mem_fail_nth(-1);
    gguf_destroy(gguf);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token-vocab");
    TCase *tcase = tcase_create("vocab");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, pieces_are_the_text_of_an_answer);
    tcase_add_test(tcase, byte_level_pieces_are_decoded);
    tcase_add_test(tcase, end_tokens_come_from_keys_and_known_control_texts);
    tcase_add_test(tcase, unused_ids_are_never_to_be_sampled);
    tcase_add_test(tcase, special_is_found_by_its_whole_text_only);
    tcase_add_test(tcase, bos_is_added_where_kind_or_key_says);
    tcase_add_test(tcase, adding_bos_without_an_id_is_refused);
    tcase_add_test(tcase, ids_outside_the_vocabulary_are_refused);
    tcase_add_test(tcase, token_text_twice_gives_the_lower_id);
    tcase_add_test(tcase, lists_must_be_of_one_length_and_the_right_types);
    tcase_add_test(tcase, missing_keys_are_named);
    tcase_add_test(tcase, unknown_kind_and_split_are_refused_by_name);
    tcase_add_test(tcase, unknown_token_type_is_refused);
    tcase_add_test(tcase, byte_token_must_be_spelled_as_one);
    tcase_add_test(tcase, vocabulary_that_cannot_spell_every_text_is_refused);
    tcase_add_test(tcase, merges_must_be_pairs_of_known_tokens);
    tcase_add_test(tcase, duplicate_merge_is_refused);
    tcase_add_test(tcase, list_must_agree_with_the_rows_of_the_tensors);
    tcase_add_test(tcase, overlong_special_is_refused);
    tcase_add_test(tcase, failing_allocation_leaks_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
