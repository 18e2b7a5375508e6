/*
 * SentencePiece treats a text as one word. Where no entry has a blank behind another character, no merge can cross such
 * a place, so the text is merged in parts, with the same result and smaller heaps.
 */
#include "token/spm.h"
#include "base/err.h"
#include "base/utf8.h"
#include "token/vocab.h"
#include <errno.h>
#include <string.h>

#define BLANK   "\xe2\x96\x81"
#define N_BLANK 3u

bool spm_find(const void *owner, const uint8_t *word, const struct symbol *left, const struct symbol *right,
              struct bigram *ret_bigram)
{
    const struct vocab *vocab = owner;
    const size_t n = (size_t)left->n + right->n;
    uint32_t id;

    if (n > vocab->n_longest) {
        return false;
    }
    id = index_find(&vocab->index, word + left->at, n);
    if (id == INDEX_NONE) {
        return false;
    }
    ret_bigram->order = vocab->orders[id];
    ret_bigram->id = id;
    return true;
}

int spm_spell(struct buf *spelled, const uint8_t *text, size_t n, bool prefix_blank)
{
    uint8_t *out;
    size_t n_out = 0;
    int r;

    buf_eat(spelled, spelled->n);
    r = buf_reserve(spelled, (n + 1) * N_BLANK, &out);
    if (r) {
        return err_new(-ENOMEM);
    }
    if (prefix_blank) {
        memcpy(out, BLANK, N_BLANK);
        n_out = N_BLANK;
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ' ') {
            memcpy(out + n_out, BLANK, N_BLANK);
            n_out += N_BLANK;
        } else {
            out[n_out++] = text[i];
        }
    }
    buf_grew(spelled, n_out);
    return 0;
}

/* Pushes a character without an entry by its bytes, or as the unknown token. */
static int push_bytes(const struct vocab *vocab, const uint8_t *bytes, size_t n, struct ids *ids)
{
    int r;

    for (size_t i = 0; i < n; i++) {
        if (vocab->byte_ids[bytes[i]] == VOCAB_NO_ID) {
            return ids_push(ids, vocab->unknown);
        }
    }
    for (size_t i = 0; i < n; i++) {
        r = ids_push(ids, vocab->byte_ids[bytes[i]]);
        if (r) {
            return r;
        }
    }
    return TOKENIZE_OK;
}

/* A part ends before the first blank behind another character. */
size_t spm_part(const struct vocab *vocab, const uint8_t *text, size_t n)
{
    bool in_word = false;
    size_t at = 0;

    if (!vocab->breaks_at_blanks) {
        return n;
    }
    while (at < n) {
        if (n - at >= N_BLANK && memcmp(text + at, BLANK, N_BLANK) == 0) {
            if (in_word) {
                break;
            }
            at += N_BLANK;
        } else {
            in_word = true;
            at++;
        }
    }
    return at;
}

int spm_fill(const struct vocab *vocab, struct merge *merge, const uint8_t *part, size_t n, uint64_t *left)
{
    int r;

    while (merge->n_bytes < n) {
        const size_t at = merge->n_bytes;
        size_t n_char;

        if (*left == 0) {
            return TOKENIZE_MORE;
        }
        --*left;
        utf8_step(part + at, n - at, &n_char, NULL);
        r = merge_push(merge, (uint32_t)at, (uint32_t)n_char, index_find(&vocab->index, part + at, n_char));
        if (r) {
            return err_up(r);
        }
    }
    return TOKENIZE_OK;
}

int spm_end(const struct vocab *vocab, const struct merge *merge, const uint8_t *part, struct ids *ids)
{
    for (uint32_t i = 0; i != MERGE_END; i = merge->symbols[i].next) {
        const struct symbol *symbol = &merge->symbols[i];
        int r = symbol->id == VOCAB_NO_ID ? push_bytes(vocab, part + symbol->at, symbol->n, ids)
                                          : ids_push(ids, symbol->id);

        if (r) {
            return r;
        }
    }
    return TOKENIZE_OK;
}
