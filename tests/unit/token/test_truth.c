/*
 * Ids that other programs computed for the same vocabularies and texts
 *
 * The 208 hard strings with the ids of Hugging Face's tokenizers and llama.cpp, llama.cpp's own 47, and the prompts
 * that stand beside the small models.
 */
#include "base/buf.h"
#include "base/utf8.h"
#include "load.h"
#include "unit.h"
#include <string.h>

#define TEXT_BYTES_MAX (1u << 20)
#define TWO_BLANKS     246 /* the string of two U+2581 */

struct truth {
    const char *vocab;
    const char *ids;
    const char *out; /* ids of llama.cpp's own strings */
};

static const struct truth truths[] = {
    { "tokenizers/ggml-vocab-llama-spm.gguf", "tokenizers/ids/llama-spm.json",
      "ggml-vocab-llama-spm.gguf.out" },
    { "tokenizers/ggml-vocab-gpt-2.gguf", "tokenizers/ids/gpt-2.json", "ggml-vocab-gpt-2.gguf.out" },
    { "tokenizers/ggml-vocab-starcoder.gguf", "tokenizers/ids/starcoder.json",
      "ggml-vocab-starcoder.gguf.out" },
    { "tokenizers/ggml-vocab-falcon.gguf", "tokenizers/ids/falcon.json", "ggml-vocab-falcon.gguf.out" },
    { "tokenizers/ggml-vocab-phi-3.gguf", "tokenizers/ids/phi-3.json", "ggml-vocab-phi-3.gguf.out" },
    { "tokenizers/vocab-llama3.gguf.gz", "tokenizers/ids/llama3.json", "ggml-vocab-llama-bpe.gguf.out" },
    { "tokenizers/vocab-gemma3.gguf.gz", "tokenizers/ids/gemma3.json", NULL },
};

static json_t *strings;
static uint8_t *texts[512]; /* by n */
static size_t lengths[512];

static void setup(void)
{
    json_t *row;
    size_t i;

    strings = load_json("tokenizers/strings.json");
    json_array_foreach(strings, i, row)
    {
        const json_int_t n = json_integer_value(json_object_get(row, "n"));

        ck_assert_int_lt(n, 512);
        texts[n] = from_hex(json_string_value(json_object_get(row, "hex")), &lengths[n]);
    }
}

static void teardown(void)
{
    for (size_t i = 0; i < 512; i++) {
        mem_free(texts[i]);
    }
    json_decref(strings);
}

/* True if @out is @text, or what llama.cpp makes of it where that is not the text (@row): a U+2581 in a text is a
 * blank to SentencePiece, and a byte without a token is gone. The prefix blank that llama.cpp leaves is not ours. */
static bool comes_back(const struct buf *out, const uint8_t *text, size_t n, const json_t *row)
{
    const json_t *hex = json_object_get(row, "llama_cpp_detokenized_plain_hex");
    size_t n_other = 0;
    uint8_t *other;
    bool same;

    if (out->n == n && memcmp(buf_data(out), text, n) == 0) {
        return true;
    }
    if (!hex) {
        return false;
    }
    other = from_hex(json_string_value(hex), &n_other);
    same = (out->n == n_other && memcmp(buf_data(out), other, n_other) == 0) ||
           (out->n + 1 == n_other && other[0] == ' ' && memcmp(buf_data(out), other + 1, out->n) == 0);
    mem_free(other);
    return same;
}

/* One case of ids/: plain and special ids, and back to the text. */
static void check_case(const struct vocab *vocab, const struct truth *truth, const json_t *row)
{
    const size_t n = (size_t)json_integer_value(json_object_get(row, "n"));
    const json_t *special = json_object_get(row, "special");
    struct ids ids = { 0 };
    struct diag diag = DIAG_INIT;
    struct buf out;
    char what[128];
    int r;

    snprintf(what, sizeof(what), "%s, string %zu", truth->ids, n);
    r = vocab_tokenize(vocab, texts[n], lengths[n], 0, NULL, &ids, &diag);
    if (!utf8_is_valid(texts[n], lengths[n], NULL)) {
        ck_assert_int_eq(r, TOKENIZE_BAD_TEXT);
        ids_finish(&ids);
        return;
    }
    ck_assert_msg(r == TOKENIZE_OK, "%s: %s", what, diag.text);
    assert_ids(&ids, json_object_get(row, "plain"), what);

    buf_init(&out, MEM_MISC, TEXT_BYTES_MAX);
    ck_assert_int_eq(vocab_detokenize(vocab, ids.ids, ids.n, false, &out, &diag), TOKENIZE_OK);
    ck_assert_msg(comes_back(&out, texts[n], lengths[n], row), "%s: comes back as \"%.*s\"", what, (int)out.n,
                  (const char *)buf_data(&out));
    buf_finish(&out);

    ids.n = 0;
    r = vocab_tokenize(vocab, texts[n], lengths[n], TOKENIZE_BOS | TOKENIZE_SPECIAL, NULL, &ids, &diag);
    ck_assert_int_eq(r, TOKENIZE_OK);
    strcat(what, " with specials");
    if (n == TWO_BLANKS && strstr(truth->ids, "gemma3")) {
        /* Gemma's own tokenizer joins two literal U+2581 here and not in `plain`; one of both can be followed. */
        special = json_object_get(row, "llama_cpp_special");
    }
    assert_ids(&ids, special, what);
    ids_finish(&ids);
}

START_TEST(hard_strings_give_the_published_ids)
{
    const struct truth *truth = &truths[_i];
    struct vocab *vocab = load_vocab(truth->vocab);
    json_t *json = load_json(truth->ids);
    json_t *row;
    size_t i;

    if (!vocab || !json) {
        return;
    }
    json_array_foreach(json_object_get(json, "cases"), i, row)
    {
        check_case(vocab, truth, row);
    }
    json_decref(json);
    vocab_destroy(vocab);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token-truth");
    TCase *tcase = tcase_create("truth");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, hard_strings_give_the_published_ids, 0,
                        (int)(sizeof(truths) / sizeof(truths[0])));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
