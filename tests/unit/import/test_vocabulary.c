/*
 * A vocabulary keeps its ids, its merges and the meanings of its tokens in GGUF.
 */
#include "base/cursor.h"
#include "base/mem.h"
#include "import/fixture.h"
#include "import/import.h"

/* A tokenizer of SentencePiece's kind; "ab" is made by merge 1 and again by merge 2. */
static const char spm[] = "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": "
                          "\"Prepend\", \"prepend\": \"\\u2581\"}]},"
                          " \"added_tokens\": [{\"id\": 0, \"content\": \"<unk>\", \"special\": true},"
                          " {\"id\": 5, \"content\": \"<end>\", \"special\": true}],"
                          " \"model\": {\"type\": \"BPE\", \"byte_fallback\": true, \"unk_token\": "
                          "\"<unk>\", \"vocab\": {\"<unk>\": 0,"
                          " \"a\": 1, \"b\": 2, \"<0x0A>\": 3, \"ab\": 4, \"ba\": 6}, \"merges\": [\"b a\", "
                          "\"a b\", [\"a\", \"b\"]]}}";

static struct gguf *head_of(const char *folder)
{
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;
    struct gguf *gguf;
    const int r = import_open(&import, folder, &diag);

    ck_assert_msg(r == IMPORT_OK, "%s", diag.text);
    gguf = fixture_head(import);
    import_close(import);
    return gguf;
}

static void equal_text(const struct gguf *gguf, const char *name, const char *want)
{
    struct diag diag = DIAG_INIT;
    struct gguf_text text = { .n = 0 };

    ck_assert_msg(gguf_get_text(gguf, name, &text, &diag) == GGUF_GOT, "key %s: %s", name, diag.text);
    ck_assert_uint_eq(text.n, strlen(want));
    ck_assert_mem_eq(text.bytes, want, text.n);
}

static void equal_texts(const struct gguf *gguf, const char *name, const char *const *want, size_t n)
{
    const struct gguf_key *key = gguf_find_key(gguf, name);
    struct gguf_text text;
    size_t at = 0;

    ck_assert_uint_eq(key->n, n);
    for (size_t i = 0; gguf_next_text(key, &at, &text); i++) {
        ck_assert_msg(text.n == strlen(want[i]) && memcmp(text.bytes, want[i], text.n) == 0, "%zu of %s: %.*s", i, name,
                      (int)text.n, text.bytes);
    }
}

static void equal_types(const struct gguf *gguf, const char *digits)
{
    const struct gguf_key *key = gguf_find_key(gguf, "tokenizer.ggml.token_type");
    struct cursor cursor;

    ck_assert_uint_eq(key->n, strlen(digits));
    cursor_init(&cursor, key->value, key->n_value);
    for (size_t i = 0; i < key->n; i++) {
        ck_assert_uint_eq(cursor_u32(&cursor), (uint32_t)(digits[i] - '0'));
    }
}

START_TEST(a_byte_level_vocabulary_keeps_its_list_and_merges)
{
    static const char *const tokens[] = { "a", "b", "\u0120", "ab", "\u0120ab", "<end>", "<tool>", "[PAD7]" };
    static const char *const merges[] = { "a b", "\u0120 ab" };
    struct gguf *gguf = head_of(fixture_llama(NULL, NULL));

    equal_text(gguf, "tokenizer.ggml.model", "gpt2");
    equal_text(gguf, "tokenizer.ggml.pre", "gpt-2");
    equal_texts(gguf, "tokenizer.ggml.tokens", tokens, 8);
    equal_texts(gguf, "tokenizer.ggml.merges", merges, 2);
    equal_types(gguf, "11111345");
    gguf_destroy(gguf);
}
END_TEST

START_TEST(a_piece_scores_by_the_lowest_merge_that_makes_it)
{
    const char *folder = fixture_llama(NULL, NULL);
    const struct gguf_key *key;
    struct cursor cursor;
    float scores[8];
    struct gguf *gguf;

    fixture_write_text(folder, "tokenizer.json", spm);
    gguf = head_of(folder);
    key = gguf_find_key(gguf, "tokenizer.ggml.scores");
    cursor_init(&cursor, key->value, key->n_value);
    for (unsigned i = 0; i < 8; i++) {
        scores[i] = cursor_f32(&cursor);
    }

    equal_text(gguf, "tokenizer.ggml.model", "llama");
    equal_types(gguf, "21161315");
    ck_assert_float_eq(scores[6], -0.0f);
    ck_assert_float_eq(scores[4], -1.0f);
    ck_assert_float_lt(scores[1], scores[4]);
    ck_assert_uint_eq(fixture_u32(gguf, "tokenizer.ggml.unknown_token_id"), 0);
    gguf_destroy(gguf);
}
END_TEST

START_TEST(a_blank_is_put_in_front_where_the_file_says_so)
{
    static const char prepend[] = "{\"type\": \"Prepend\", \"prepend\": \"\\u2581\"}";
    const char *folder = fixture_llama(NULL, NULL);
    struct diag diag = DIAG_INIT;
    bool has_blank = false;
    struct gguf *gguf;

    fixture_put(folder, "tokenizer.json", spm, prepend, _i ? prepend : "");
    gguf = head_of(folder);

    ck_assert_int_eq(gguf_get_bool(gguf, "tokenizer.ggml.add_space_prefix", &has_blank, &diag), GGUF_GOT);
    ck_assert_int_eq(has_blank, _i);
    gguf_destroy(gguf);
}
END_TEST

START_TEST(the_tokenizer_configuration_has_precedence)
{
    const char *folder = fixture_llama(NULL, NULL);
    struct gguf *gguf;

    fixture_write_text(folder, "tokenizer_config.json",
                       "{\"eos_token\": {\"content\": \"ab\"}, \"bos_token\": \"<end>\", \"add_bos_token\": true}");
    fixture_write_text(folder, "generation_config.json", "{\"eos_token_id\": [3, 6], \"pad_token_id\": 7}");
    gguf = head_of(folder);

    ck_assert_uint_eq(fixture_u32(gguf, "tokenizer.ggml.eos_token_id"), 3);
    ck_assert_uint_eq(fixture_u32(gguf, "tokenizer.ggml.eot_token_id"), 6);
    ck_assert_uint_eq(fixture_u32(gguf, "tokenizer.ggml.bos_token_id"), 5);
    ck_assert_uint_eq(fixture_u32(gguf, "tokenizer.ggml.padding_token_id"), 7);
    gguf_destroy(gguf);
}
END_TEST

START_TEST(the_post_processor_decides_whether_bos_is_added)
{
    const char *folder = fixture_llama(NULL, NULL);
    struct diag diag = DIAG_INIT;
    bool adds = false;
    struct gguf *gguf;

    fixture_write_text(folder, "tokenizer_config.json", "{\"bos_token\": \"<end>\"}");
    fixture_put(folder, "tokenizer.json", fixture_tokenizer, "{",
                "{\"post_processor\": {\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\"},"
                " {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"<end>\"}}]}]},");
    gguf = head_of(folder);

    ck_assert_int_eq(gguf_get_bool(gguf, "tokenizer.ggml.add_bos_token", &adds, &diag), GGUF_GOT);
    ck_assert(adds);
    gguf_destroy(gguf);
}
END_TEST

START_TEST(a_template_file_has_precedence_over_the_configuration)
{
    const char *folder = fixture_llama(NULL, NULL);
    struct gguf *gguf;

    fixture_write_text(folder, "tokenizer_config.json", "{\"chat_template\": \"old\"}");
    if (_i) {
        fixture_write_text(folder, "chat_template.jinja", "new");
    }
    gguf = head_of(folder);

    equal_text(gguf, "tokenizer.chat_template", _i ? "new" : "old");
    gguf_destroy(gguf);
}
END_TEST

START_TEST(named_templates_are_kept_by_name)
{
    const char *folder = fixture_llama(NULL, NULL);
    struct gguf *gguf;

    fixture_write_text(folder, "tokenizer_config.json",
                       "{\"chat_template\": [{\"name\": \"default\", \"template\": \"d\"},"
                       " {\"name\": \"tool_use\", \"template\": \"t\"}]}");
    gguf = head_of(folder);

    equal_text(gguf, "tokenizer.chat_template", "d");
    equal_text(gguf, "tokenizer.chat_template.tool_use", "t");
    gguf_destroy(gguf);
}
END_TEST

static const struct {
    const char *from;
    const char *to;
    const char *says;
} refused[] = {
    { "\"BPE\"", "\"Unigram\"", "type \"Unigram\", but only BPE" },
    { "\"use_regex\": true", "\"use_regex\": false", "no known name" },
    { "\"type\": \"BPE\",", "\"type\": \"BPE\", \"ignore_merges\": true,", "(whole words, ByteLevel)" },
    { "{", "{\"normalizer\": {\"type\": \"NFC\"},", "(NFC, ByteLevel)" },
    { "\"ab\": 3", "\"ab\": 8", "has the id 8, but the embedding has 8 rows" },
    { "\"ab\": 3", "\"ab\": -1", "has the id -1" },
    { "\"ab\": 3", "\"ab\": 1", "belongs to two tokens" },
    { "\"id\": 5,", "", "lacks its id" },
    { "[\"\\u0120\", \"ab\"]", "\"ab\"", "merge 1 is not a pair" },
    { "[\"\\u0120\", \"ab\"]", "[\"a\", \"b\", \"c\"]", "merge 1 is not a pair" },
    { "[\"\\u0120\", \"ab\"]", "[\"a b\", \"c\"]", "merge 1 is not a pair" },
    { "\"merges\"", "\"fusions\"", "has no merges" },
    { "\"vocab\"", "\"words\"", "has no vocabulary" },
    { "\"ByteLevel\"", "\"Whitespace\"", "neither over bytes nor" },
};

START_TEST(unsupported_tokenizers_are_refused_with_a_reason)
{
    const char *folder = fixture_llama(NULL, NULL);
    struct diag diag = DIAG_INIT;
    struct import *import = NULL;

    fixture_put(folder, "tokenizer.json", fixture_tokenizer, refused[_i].from, refused[_i].to);

    ck_assert_int_eq(import_open(&import, folder, &diag), IMPORT_REFUSED);
    ck_assert_msg(strstr(diag.text, refused[_i].says) != NULL, "said: %s", diag.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import-words");
    TCase *tcase = tcase_create("words");

    tcase_add_test(tcase, a_byte_level_vocabulary_keeps_its_list_and_merges);
    tcase_add_test(tcase, a_piece_scores_by_the_lowest_merge_that_makes_it);
    tcase_add_loop_test(tcase, a_blank_is_put_in_front_where_the_file_says_so, 0, 2);
    tcase_add_test(tcase, the_tokenizer_configuration_has_precedence);
    tcase_add_test(tcase, the_post_processor_decides_whether_bos_is_added);
    tcase_add_loop_test(tcase, a_template_file_has_precedence_over_the_configuration, 0, 2);
    tcase_add_test(tcase, named_templates_are_kept_by_name);
    tcase_add_loop_test(tcase, unsupported_tokenizers_are_refused_with_a_reason, 0,
                        (int)(sizeof(refused) / sizeof(refused[0])));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
