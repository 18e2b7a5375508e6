/*
 * Marks: the ids that have a meaning, the special entries, and the list against the tensors.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "token/vocab.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define KEY_PREFIX   "tokenizer.ggml."
#define KEY_TEMPLATE "tokenizer.chat_template"

/* Texts that end a turn or an answer in published models; their keys do not name all of them. Only control tokens with
 * these texts count. */
static const char *const known_ends[] = {
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "<end_of_turn>", "<EOT>",
};

/* Reads the id under @name; *ret_id is VOCAB_NO_ID if there is no such key. */
static int get_id(const struct vocab *vocab, const struct gguf *gguf, const char *name, uint32_t *ret_id,
                  struct diag *diag)
{
    uint32_t id = VOCAB_NO_ID;
    const int r = gguf_get_u32(gguf, name, &id, diag);

    if (r == GGUF_WRONG) {
        return VOCAB_REFUSED;
    }
    if (r == GGUF_GOT && id >= vocab->n) {
        diag_blame(diag, name, "key %s: id %" PRIu32 " is outside the vocabulary of %" PRIu32, name, id, vocab->n);
        return VOCAB_REFUSED;
    }
    *ret_id = id;
    return VOCAB_OK;
}

static int get_flag(const struct gguf *gguf, const char *name, bool absent, bool *ret, struct diag *diag)
{
    *ret = absent;
    return gguf_get_bool(gguf, name, ret, diag) == GGUF_WRONG ? VOCAB_REFUSED : VOCAB_OK;
}

static void add_end(struct vocab *vocab, uint32_t id)
{
    if (id != VOCAB_NO_ID && !vocab_ends(vocab, id) && vocab->n_ends < VOCAB_ENDS_MAX) {
        vocab->ends[vocab->n_ends++] = id;
    }
}

static int load_ends(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    static const char *const keys[] = { KEY_PREFIX "eos_token_id", KEY_PREFIX "eot_token_id",
                                        KEY_PREFIX "eom_token_id" };
    uint32_t id;

    for (size_t i = 0; i < COUNTOF(keys); i++) {
        if (get_id(vocab, gguf, keys[i], &id, diag)) {
            return VOCAB_REFUSED;
        }
        add_end(vocab, id);
    }
    for (uint32_t at = 0; at < vocab->n; at++) {
        if (vocab->types[at] != TOKEN_CONTROL) {
            continue;
        }
        for (size_t i = 0; i < COUNTOF(known_ends); i++) {
            const struct gguf_text text = vocab_text(vocab, at);

            if (text.n == strlen(known_ends[i]) && memcmp(text.bytes, known_ends[i], text.n) == 0) {
                add_end(vocab, at);
            }
        }
    }
    return VOCAB_OK;
}

/* Refuses a SentencePiece vocabulary that cannot spell every text: it needs all 256 bytes or an unknown token. */
static int check_fallback(const struct vocab *vocab, struct diag *diag)
{
    if (vocab->kind != VOCAB_SPM || vocab->unknown != VOCAB_NO_ID) {
        return VOCAB_OK;
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        if (vocab->byte_ids[byte] == VOCAB_NO_ID) {
            diag_blame(diag, KEY_PREFIX "tokens",
                       "key " KEY_PREFIX "tokens: there is no token <0x%02X> and no unknown token to stand for it",
                       byte);
            return VOCAB_REFUSED;
        }
    }
    return VOCAB_OK;
}

static int load_template(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    struct gguf_text text = { .n = 0 };

    if (gguf_get_text(gguf, KEY_TEMPLATE, &text, diag) == GGUF_WRONG) {
        return VOCAB_REFUSED;
    }
    if (text.n == 0) {
        return VOCAB_OK;
    }
    vocab->chat_template = mem_strndup(MEM_TEXT, text.bytes, text.n);
    if (!vocab->chat_template) {
        return err_new(-ENOMEM);
    }
    vocab->n_chat_template = text.n;
    return VOCAB_OK;
}

int vocab_load_marks(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    const bool spm = vocab->kind == VOCAB_SPM;

    if (get_id(vocab, gguf, KEY_PREFIX "bos_token_id", &vocab->bos, diag) ||
        get_id(vocab, gguf, KEY_PREFIX "eos_token_id", &vocab->eos, diag) ||
        get_id(vocab, gguf, KEY_PREFIX "unknown_token_id", &vocab->unknown, diag) || load_ends(vocab, gguf, diag)) {
        return VOCAB_REFUSED;
    }
    /* Writers omit these keys where they equal the default of the kind. */
    if (get_flag(gguf, KEY_PREFIX "add_bos_token", spm && vocab->bos != VOCAB_NO_ID, &vocab->adds_bos, diag) ||
        get_flag(gguf, KEY_PREFIX "add_eos_token", false, &vocab->adds_eos, diag) ||
        get_flag(gguf, KEY_PREFIX "add_space_prefix", spm, &vocab->prefix_blank, diag)) {
        return VOCAB_REFUSED;
    }
    vocab->adds_eos = vocab->adds_eos && vocab->eos != VOCAB_NO_ID;
    vocab->prefix_blank = vocab->prefix_blank && spm;
    if (vocab->adds_bos && vocab->bos == VOCAB_NO_ID) {
        diag_blame(diag, KEY_PREFIX "add_bos_token",
                   "key " KEY_PREFIX "add_bos_token: demands a token before each text, but " KEY_PREFIX
                   "bos_token_id does not say which");
        return VOCAB_REFUSED;
    }
    if (check_fallback(vocab, diag)) {
        return VOCAB_REFUSED;
    }
    return load_template(vocab, gguf, diag);
}

/* Returns the text that a special entry matches: its spelling, with real blanks in user-defined ones. */
static struct gguf_text special_text(const struct vocab *vocab, uint32_t id)
{
    return vocab->types[id] == TOKEN_USER ? vocab_piece(vocab, id) : vocab_text(vocab, id);
}

static int put_special(struct vocab *vocab, uint32_t id, struct diag *diag)
{
    const struct gguf_text text = special_text(vocab, id);
    int r;

    if (text.n == 0) {
        return VOCAB_OK;
    }
    if (text.n > SPECIAL_BYTES_MAX) {
        diag_blame(diag, KEY_PREFIX "tokens",
                   "key " KEY_PREFIX "tokens: control or user-defined token %" PRIu32 " has %zu bytes; %u are possible",
                   id, text.n, SPECIAL_BYTES_MAX);
        return VOCAB_REFUSED;
    }
    r = special_put(&vocab->special, text.bytes, text.n, id, vocab->types[id] == TOKEN_CONTROL);
    if (r == SPECIAL_FULL) {
        diag_blame(diag, KEY_PREFIX "tokens", "key " KEY_PREFIX "tokens: too many control and user-defined tokens");
        return VOCAB_REFUSED;
    }
    return r ? err_up(r) : VOCAB_OK;
}

int vocab_load_special(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    size_t n_unused = 0;
    int r;

    for (uint32_t id = 0; id < vocab->n; id++) {
        n_unused += vocab->types[id] == TOKEN_UNUSED;
        if (vocab->types[id] != TOKEN_CONTROL && vocab->types[id] != TOKEN_USER) {
            continue;
        }
        r = put_special(vocab, id, diag);
        if (r) {
            return r;
        }
    }
    vocab->never = mem_calloc(MEM_TEXT, n_unused, sizeof(*vocab->never));
    if (!vocab->never) {
        return err_new(-ENOMEM);
    }
    for (uint32_t id = 0; id < vocab->n; id++) {
        if (vocab->types[id] == TOKEN_UNUSED) {
            vocab->never[vocab->n_never++] = id;
        }
    }
    return VOCAB_OK;
}

/* Compares the list with the tensors that have a row for each token, where the file has them. */
int vocab_check_rows(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    static const char *const names[] = { "token_embd.weight", "output.weight" };

    for (size_t i = 0; i < COUNTOF(names); i++) {
        const struct gguf_tensor *tensor = gguf_find_tensor(gguf, names[i]);

        if (tensor && tensor->dims[1] != vocab->n) {
            diag_blame(diag, KEY_PREFIX "tokens",
                       "key " KEY_PREFIX "tokens: has %" PRIu32 " entries, but tensor %s has %" PRIu64 " rows",
                       vocab->n, names[i], tensor->dims[1]);
            return VOCAB_REFUSED;
        }
    }
    return VOCAB_OK;
}
