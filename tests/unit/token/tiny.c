#include "tiny.h"
#include "base/utf8.h"
#include <check.h>
#include <stdio.h>
#include <string.h>

void tiny_keys(struct maker *maker, const char *model, const char *pre, const struct tiny_token *tokens, size_t n)
{
    maker_key_text(maker, "tokenizer.ggml.model", model);
    if (pre) {
        maker_key_text(maker, "tokenizer.ggml.pre", pre);
    }
    maker_key_array(maker, "tokenizer.ggml.tokens", GGUF_STRING, n);
    for (size_t i = 0; i < n; i++) {
        maker_text(maker, tokens[i].text);
    }
    maker_key_array(maker, "tokenizer.ggml.token_type", GGUF_I32, n);
    for (size_t i = 0; i < n; i++) {
        maker_u32(maker, tokens[i].type);
    }
    maker_key_array(maker, "tokenizer.ggml.scores", GGUF_F32, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &tokens[i].score, sizeof(bits));
        maker_u32(maker, bits);
    }
}

void tiny_spm_keys(struct maker *maker, const struct tiny_token *tokens, size_t n)
{
    struct tiny_token all[1024];
    char bytes[256][8];

    ck_assert_uint_le(256 + n, 1024);
    for (unsigned i = 0; i < 256; i++) {
        snprintf(bytes[i], sizeof(bytes[i]), "<0x%02X>", i);
        all[i] = (struct tiny_token){ .text = bytes[i], .type = TOKEN_BYTE };
    }
    memcpy(all + 256, tokens, n * sizeof(*tokens));
    tiny_keys(maker, "llama", NULL, all, 256 + n);
}

/* Writes GPT-2's spelling of @byte: a printable one as itself, the n-th of the others as U+0100 + n. */
static void spell(unsigned byte, char *out)
{
    uint32_t n_odd = 0;
    uint32_t point = byte;

    for (unsigned i = 0; i <= byte; i++) {
        const bool printable = (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae;

        if (!printable) {
            point = i == byte ? 0x100 + n_odd : point;
            n_odd++;
        }
    }
    out[utf8_write(point, (uint8_t *)out)] = '\0';
}

void tiny_bpe_keys(struct maker *maker, const char *pre, const struct tiny_token *tokens, size_t n,
                   const char *const *merges, size_t n_merges)
{
    struct tiny_token all[1024];
    char bytes[256][8];

    ck_assert_uint_le(256 + n, 1024);
    for (unsigned i = 0; i < 256; i++) {
        spell(i, bytes[i]);
        all[i] = (struct tiny_token){ .text = bytes[i], .type = TOKEN_NORMAL };
    }
    memcpy(all + 256, tokens, n * sizeof(*tokens));
    tiny_keys(maker, "gpt2", pre, all, 256 + n);
    maker_key_array(maker, "tokenizer.ggml.merges", GGUF_STRING, n_merges);
    for (size_t i = 0; i < n_merges; i++) {
        maker_text(maker, merges[i]);
    }
}

struct vocab *tiny_vocab(struct maker *maker)
{
    struct diag diag = DIAG_INIT;
    struct gguf *gguf = NULL;
    struct vocab *vocab = NULL;

    ck_assert_msg(maker_parse(maker, &gguf, &diag) == GGUF_OK, "%s", diag.text);
    ck_assert_msg(vocab_create(&vocab, gguf, &diag) == VOCAB_OK, "%s", diag.text);
    gguf_destroy(gguf);
    maker_finish(maker);
    return vocab;
}

void tiny_refused(struct maker *maker, const char *word)
{
    struct diag diag = DIAG_INIT;
    struct gguf *gguf = NULL;
    struct vocab *vocab = NULL;

    ck_assert_msg(maker_parse(maker, &gguf, &diag) == GGUF_OK, "%s", diag.text);
    ck_assert_int_eq(vocab_create(&vocab, gguf, &diag), VOCAB_REFUSED);
    ck_assert_ptr_null(vocab);
    ck_assert_msg(strstr(diag.text, word) != NULL, "\"%s\" does not say \"%s\"", diag.text, word);
    gguf_destroy(gguf);
    maker_finish(maker);
}
