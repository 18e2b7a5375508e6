/*
 * Entries: the token list with its types and scores, and what each entry stands for
 *
 * The list is copied as it is spelled. Then each entry gets its piece, the bytes that it adds to an answer, and entries
 * that merging may produce go into the index. Of two entries with one text, tokenising produces the lower id; the
 * higher one can still be detokenised.
 */
#include "base/clean.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/mem.h"
#include "token/alphabet.h"
#include "token/vocab.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define KEY_MODEL  "tokenizer.ggml.model"
#define KEY_TOKENS "tokenizer.ggml.tokens"
#define KEY_TYPES  "tokenizer.ggml.token_type"
#define KEY_SCORES "tokenizer.ggml.scores"

/* U+2581, which SentencePiece writes for a blank. */
#define BLANK   "\xe2\x96\x81"
#define N_BLANK 3u

int vocab_load_kind(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    struct gguf_text model;
    const int r = gguf_get_text(gguf, KEY_MODEL, &model, diag);

    if (r == GGUF_NONE) {
        diag_blame(diag, KEY_MODEL, "key " KEY_MODEL " is missing: the file has no vocabulary");
    }
    if (r) {
        return VOCAB_REFUSED;
    }
    if (model.n == 5 && memcmp(model.bytes, "llama", 5) == 0) {
        vocab->kind = VOCAB_SPM;
        return VOCAB_OK;
    }
    if (model.n == 4 && memcmp(model.bytes, "gpt2", 4) == 0) {
        vocab->kind = VOCAB_BPE;
        return VOCAB_OK;
    }
    diag_blame(diag, KEY_MODEL,
               "key " KEY_MODEL ": vocabularies of kind \"%.*s\" are not supported, only \"llama\" and \"gpt2\"",
               (int)(model.n < 40 ? model.n : 40), model.bytes);
    return VOCAB_REFUSED;
}

/* Returns the key @name if it is an array of @n_tokens elements of type @elem, or NULL with a reason in @diag.
 * @n_tokens 0 accepts any number from 1 to VOCAB_N_MAX. */
static const struct gguf_key *find_array(const struct gguf *gguf, const char *name, enum gguf_type elem, const char *of,
                                         uint32_t n_tokens, struct diag *diag)
{
    const struct gguf_key *key = gguf_find_key(gguf, name);

    if (!key) {
        diag_blame(diag, name, "key %s is missing", name);
        return NULL;
    }
    if (key->type != GGUF_ARRAY || key->elem != elem) {
        diag_blame(diag, name, "key %s: must be an array of %s", name, of);
        return NULL;
    }
    if (n_tokens == 0 && (key->n == 0 || key->n > VOCAB_N_MAX)) {
        diag_blame(diag, name, "key %s: has %" PRIu64 " entries; 1 to %u are possible", name, key->n, VOCAB_N_MAX);
        return NULL;
    }
    if (n_tokens > 0 && key->n != n_tokens) {
        diag_blame(diag, name, "key %s: has %" PRIu64 " elements, but there are %" PRIu32 " tokens", name, key->n,
                   n_tokens);
        return NULL;
    }
    return key;
}

static int load_types(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    const struct gguf_key *key;
    struct cursor cursor;

    vocab->types = mem_calloc(MEM_TEXT, vocab->n, sizeof(*vocab->types));
    if (!vocab->types) {
        return err_new(-ENOMEM);
    }
    if (!gguf_find_key(gguf, KEY_TYPES)) {
        memset(vocab->types, TOKEN_NORMAL, vocab->n);
        return VOCAB_OK;
    }
    key = find_array(gguf, KEY_TYPES, GGUF_I32, "32-bit integers", vocab->n, diag);
    if (!key) {
        return VOCAB_REFUSED;
    }
    cursor_init(&cursor, key->value, key->n_value);
    for (uint32_t id = 0; id < vocab->n; id++) {
        const uint32_t type = cursor_u32(&cursor);

        if (type < TOKEN_NORMAL || type > TOKEN_BYTE) {
            diag_blame(diag, KEY_TYPES, "key " KEY_TYPES ": token %" PRIu32 " has the unknown type %" PRId32, id,
                       (int32_t)type);
            return VOCAB_REFUSED;
        }
        vocab->types[id] = (uint8_t)type;
    }
    return VOCAB_OK;
}

/* Control tokens that some files declare as user-defined pieces: the fill-in-the-middle and repository markers of code
 * models. As pieces they would match in the text of any request. */
static const char *const known_controls[] = {
    "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
};

static void mark_controls(struct vocab *vocab)
{
    for (uint32_t id = 0; id < vocab->n; id++) {
        const struct gguf_text text = vocab_text(vocab, id);

        for (size_t i = 0; i < COUNTOF(known_controls) && vocab->types[id] == TOKEN_USER; i++) {
            if (text.n == strlen(known_controls[i]) && memcmp(text.bytes, known_controls[i], text.n) == 0) {
                vocab->types[id] = TOKEN_CONTROL;
            }
        }
    }
}

int vocab_load_entries(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    const struct gguf_key *key = find_array(gguf, KEY_TOKENS, GGUF_STRING, "texts", 0, diag);
    struct gguf_text text;
    uint32_t n_used = 0;
    size_t at = 0;
    int r;

    if (!key) {
        return VOCAB_REFUSED;
    }
    if (key->n_value > UINT32_MAX) {
        diag_blame(diag, KEY_TOKENS, "key " KEY_TOKENS ": the texts have more than 4 GiB");
        return VOCAB_REFUSED;
    }
    vocab->n = (uint32_t)key->n;
    r = load_types(vocab, gguf, diag);
    if (r) {
        return r;
    }
    vocab->text = mem_calloc(MEM_TEXT, vocab->n, sizeof(*vocab->text));
    vocab->texts = mem_calloc(MEM_TEXT, key->n_value, 1);
    if (!vocab->text || !vocab->texts) {
        return err_new(-ENOMEM);
    }
    for (uint32_t id = 0; id < vocab->n && gguf_next_text(key, &at, &text); id++) {
        memcpy(vocab->texts + n_used, text.bytes, text.n);
        vocab->text[id] = (struct span){ .at = n_used, .n = (uint32_t)text.n };
        n_used += (uint32_t)text.n;
    }
    mark_controls(vocab);
    return VOCAB_OK;
}

/* Returns a number that rises as @score falls. It is a total order of all bit patterns, NaNs included, so that merging
 * ends. */
static uint32_t order_of(float score)
{
    uint32_t bits;

    score += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &score, sizeof(bits));
    return bits & 0x80000000u ? bits : ~(bits | 0x80000000u);
}

int vocab_load_scores(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    const struct gguf_key *key;
    struct cursor cursor;

    if (vocab->kind == VOCAB_BPE && !gguf_find_key(gguf, KEY_SCORES)) {
        return VOCAB_OK;
    }
    key = find_array(gguf, KEY_SCORES, GGUF_F32, "32-bit floats", vocab->n, diag);
    if (!key) {
        return VOCAB_REFUSED;
    }
    if (vocab->kind == VOCAB_BPE) {
        return VOCAB_OK;
    }
    vocab->orders = mem_calloc(MEM_TEXT, vocab->n, sizeof(*vocab->orders));
    if (!vocab->orders) {
        return err_new(-ENOMEM);
    }
    cursor_init(&cursor, key->value, key->n_value);
    for (uint32_t id = 0; id < vocab->n; id++) {
        vocab->orders[id] = order_of(cursor_f32(&cursor));
    }
    return VOCAB_OK;
}

/* Reads "<0x0A>". False: it is spelled otherwise. */
static bool decode_byte(const char *text, size_t n, uint8_t *out)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *high;
    const char *low;

    if (n != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>') {
        return false;
    }
    high = memchr(digits, text[3], 16);
    low = memchr(digits, text[4], 16);
    if (!high || !low) {
        return false;
    }
    *out = (uint8_t)((high - digits) << 4 | (low - digits));
    return true;
}

/* Copies @text with blanks in place of U+2581 and returns the length. */
static size_t decode_blanks(const char *text, size_t n, char *out)
{
    size_t n_out = 0;

    for (size_t i = 0; i < n;) {
        if (n - i >= N_BLANK && memcmp(text + i, BLANK, N_BLANK) == 0) {
            out[n_out++] = ' ';
            i += N_BLANK;
        } else {
            out[n_out++] = text[i++];
        }
    }
    return n_out;
}

/* Writes the piece of @id to @out (room for its text) and its length to *ret_n. False: a byte token spelled wrong. */
static bool decode(const struct vocab *vocab, uint32_t id, char *out, size_t *ret_n)
{
    const struct gguf_text text = vocab_text(vocab, id);

    *ret_n = 0;
    switch (vocab_type(vocab, id)) {
    case TOKEN_UNKNOWN:
    case TOKEN_CONTROL:
    case TOKEN_UNUSED:
        return true;
    case TOKEN_BYTE:
        *ret_n = 1;
        return decode_byte(text.bytes, text.n, (uint8_t *)out);
    case TOKEN_USER:
    case TOKEN_NORMAL:
        break;
    }
    if (vocab->kind == VOCAB_SPM) {
        *ret_n = decode_blanks(text.bytes, text.n, out);
    } else if (vocab_type(vocab, id) == TOKEN_USER || !alphabet_decode(text.bytes, text.n, (uint8_t *)out, ret_n)) {
        /* Added entries are spelled as plain text, not in the alphabet. */
        memcpy(out, text.bytes, text.n);
        *ret_n = text.n;
    }
    return true;
}

/* True if @text has a blank behind another character. */
static bool has_inner_blank(struct gguf_text text)
{
    for (size_t i = N_BLANK; i + N_BLANK <= text.n; i++) {
        if (memcmp(text.bytes + i, BLANK, N_BLANK) == 0 && memcmp(text.bytes + i - N_BLANK, BLANK, N_BLANK) != 0) {
            return true;
        }
    }
    return text.n > N_BLANK && memcmp(text.bytes + 1, BLANK, N_BLANK) == 0;
}

/* Puts the entries that merging may produce into the index, and finds the tokens of single bytes. */
static int load_index(struct vocab *vocab)
{
    const bool by_text = vocab->kind == VOCAB_SPM;
    const struct span *spans = by_text ? vocab->text : vocab->piece;
    int r = index_init(&vocab->index, vocab->n, by_text ? vocab->texts : vocab->pieces, spans);

    if (r) {
        return err_up(r);
    }
    memset(vocab->byte_ids, 0xff, sizeof(vocab->byte_ids));
    vocab->breaks_at_blanks = true;
    for (uint32_t id = 0; id < vocab->n; id++) {
        const enum token_type type = vocab_type(vocab, id);

        if (type == TOKEN_BYTE) {
            uint32_t *byte_id = &vocab->byte_ids[(uint8_t)*vocab_piece(vocab, id).bytes];

            *byte_id = *byte_id == VOCAB_NO_ID ? id : *byte_id;
        }
        if (spans[id].n == 0 || (type != TOKEN_NORMAL && !(type == TOKEN_USER && by_text))) {
            continue;
        }
        index_put(&vocab->index, id);
        vocab->n_longest = spans[id].n > vocab->n_longest ? spans[id].n : vocab->n_longest;
        vocab->breaks_at_blanks = vocab->breaks_at_blanks && !has_inner_blank(vocab_text(vocab, id));
    }
    if (vocab->kind == VOCAB_BPE) {
        for (unsigned byte = 0; byte < 256; byte++) {
            const uint8_t one = (uint8_t)byte;
            const uint32_t id = index_find(&vocab->index, &one, 1);

            vocab->byte_ids[byte] = id == INDEX_NONE ? vocab->byte_ids[byte] : id;
        }
    }
    return VOCAB_OK;
}

int vocab_load_pieces(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    const struct span *last = &vocab->text[vocab->n - 1];
    uint32_t n_used = 0;
    size_t n;

    vocab->piece = mem_calloc(MEM_TEXT, vocab->n, sizeof(*vocab->piece));
    vocab->pieces = mem_calloc(MEM_TEXT, (size_t)last->at + last->n, 1);
    if (!vocab->piece || !vocab->pieces) {
        return err_new(-ENOMEM);
    }
    for (uint32_t id = 0; id < vocab->n; id++) {
        if (!decode(vocab, id, vocab->pieces + n_used, &n)) {
            diag_blame(diag, KEY_TOKENS, "key " KEY_TOKENS ": token %" PRIu32 " is a byte, but not spelled like <0x0A>",
                       id);
            return VOCAB_REFUSED;
        }
        vocab->piece[id] = (struct span){ .at = n_used, .n = (uint32_t)n };
        n_used += (uint32_t)n;
    }
    return load_index(vocab);
}
