/*
 * Merges are read once, at load: both halves and the whole of each are looked up in the list, so that merging compares
 * ids only.
 */
#include "token/bpe.h"
#include "base/clean.h"
#include "base/err.h"
#include "token/alphabet.h"
#include "token/vocab.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define KEY_PRE    "tokenizer.ggml.pre"
#define KEY_MERGES "tokenizer.ggml.merges"

/* Longer than any merge of a published list; the buffer for one lies on the stack. */
#define MERGE_BYTES_MAX 1024

static int load_split(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    struct gguf_text name;
    int r = gguf_get_text(gguf, KEY_PRE, &name, diag);

    if (r == GGUF_NONE) {
        diag_blame(diag, KEY_PRE,
                   "key " KEY_PRE " is missing: how this vocabulary cuts words is unknown; convert the model again");
    }
    if (r) {
        return VOCAB_REFUSED;
    }
    r = split_create(&vocab->split, name.bytes, name.n);
    if (r == SPLIT_UNKNOWN) {
        diag_blame(diag, KEY_PRE, "key " KEY_PRE ": \"%.*s\" is an unknown way to cut words",
                   (int)(name.n < 40 ? name.n : 40), name.bytes);
        return VOCAB_REFUSED;
    }
    return r ? err_up(r) : VOCAB_OK;
}

static int refuse_merge(uint32_t rank, const char *why, struct diag *diag)
{
    diag_blame(diag, KEY_MERGES, "key " KEY_MERGES ": merge %" PRIu32 " %s", rank, why);
    return VOCAB_REFUSED;
}

/* Reads a merge such as "Ġ t" as the ids of its two halves and of the whole. */
static int load_merge(struct vocab *vocab, uint32_t rank, struct gguf_text text, struct diag *diag)
{
    const char *blank = text.n > 1 ? memchr(text.bytes + 1, ' ', text.n - 1) : NULL;
    struct pair pair = { .rank = rank };
    uint8_t bytes[MERGE_BYTES_MAX];
    size_t n_left;
    size_t n_right;

    if (text.n > sizeof(bytes)) {
        return refuse_merge(rank, "is longer than 1,024 bytes", diag);
    }
    if (!blank || blank + 1 == text.bytes + text.n) {
        return refuse_merge(rank, "is not a pair separated by a blank", diag);
    }
    if (!alphabet_decode(text.bytes, (size_t)(blank - text.bytes), bytes, &n_left) ||
        !alphabet_decode(blank + 1, (size_t)(text.bytes + text.n - blank - 1), bytes + n_left, &n_right)) {
        return refuse_merge(rank, "has characters outside the byte alphabet", diag);
    }
    pair.left = index_find(&vocab->index, bytes, n_left);
    pair.right = index_find(&vocab->index, bytes + n_left, n_right);
    pair.id = index_find(&vocab->index, bytes, n_left + n_right);
    if (pair.left == INDEX_NONE || pair.right == INDEX_NONE || pair.id == INDEX_NONE) {
        return refuse_merge(rank, "names a piece that is not among the tokens", diag);
    }
    if (!pairs_put(&vocab->pairs, &pair)) {
        return refuse_merge(rank, "is a duplicate", diag);
    }
    return VOCAB_OK;
}

int vocab_load_merges(struct vocab *vocab, const struct gguf *gguf, struct diag *diag)
{
    const struct gguf_key *key = gguf_find_key(gguf, KEY_MERGES);
    struct gguf_text text;
    size_t at = 0;
    int r;

    if (vocab->kind != VOCAB_BPE) {
        return VOCAB_OK;
    }
    r = load_split(vocab, gguf, diag);
    if (r) {
        return r;
    }
    if (!key || key->type != GGUF_ARRAY || key->elem != GGUF_STRING || key->n > 4 * (uint64_t)VOCAB_N_MAX) {
        diag_blame(diag, KEY_MERGES, "key " KEY_MERGES ": must be an array of texts, at most %u", 4 * VOCAB_N_MAX);
        return VOCAB_REFUSED;
    }
    r = pairs_init(&vocab->pairs, (uint32_t)key->n);
    if (r) {
        return err_up(r);
    }
    for (uint32_t rank = 0; rank < key->n && gguf_next_text(key, &at, &text); rank++) {
        r = load_merge(vocab, rank, text, diag);
        if (r) {
            return r;
        }
    }
    return VOCAB_OK;
}

bool bpe_find(const void *owner, const uint8_t *word, const struct symbol *left, const struct symbol *right,
              struct bigram *ret_bigram)
{
    const struct vocab *vocab = owner;
    const struct pair *pair;

    pair = pairs_find(&vocab->pairs, left->id, right->id);
    if (!pair) {
        return false;
    }
    ret_bigram->order = pair->rank;
    ret_bigram->id = pair->id;
    return true;
}

int bpe_begin(const struct vocab *vocab, struct merge *merge, const uint8_t *word, size_t n, struct ids *ids)
{
    uint32_t whole;
    int r;

    if (n <= vocab->n_longest && (n == 1 || split_whole_words(vocab->split))) {
        whole = index_find(&vocab->index, word, n);
        if (whole != INDEX_NONE) {
            return ids_push(ids, whole);
        }
    }
    merge_begin(merge);
    for (size_t i = 0; i < n; i++) {
        const uint32_t id = vocab->byte_ids[word[i]];

        r = id == VOCAB_NO_ID ? 0 : merge_push(merge, (uint32_t)i, 1, id);
        if (r) {
            return err_up(r);
        }
    }
    return TOKENIZE_MORE;
}

int bpe_end(const struct merge *merge, struct ids *ids)
{
    for (uint32_t i = merge->n > 0 ? 0 : MERGE_END; i != MERGE_END; i = merge->symbols[i].next) {
        int r = ids_push(ids, merge->symbols[i].id);

        if (r) {
            return r;
        }
    }
    return TOKENIZE_OK;
}
