/*
 * Bpe: byte-level BPE, one word at a time
 *
 * A word's bytes are its first symbols; merges join them by rank (Sennrich, Haddow and Birch 2016, over bytes as in
 * GPT-2). Bytes without a token are left out before merging, as the published tokenizers do: vocabularies lack
 * some bytes that do not occur in real text (control characters, parts of private planes).
 */
#ifndef SOTTO_TOKEN_BPE_H
#define SOTTO_TOKEN_BPE_H

#include "token/merge.h"
#include "token/token.h"

/* The pair finder for merge_init(); its owner argument is the vocabulary. */
bool bpe_find(const void *vocab, const uint8_t *word, const struct symbol *left, const struct symbol *right,
              struct bigram *ret_bigram);

/* Begins a word. TOKENIZE_OK: it was an entry, and its id is appended; TOKENIZE_MORE: its bytes are in @merge, which
 * merge_run() then joins for bpe_end(); TOKENIZE_TOO_MANY or -ENOMEM. */
int bpe_begin(const struct vocab *vocab, struct merge *merge, const uint8_t *word, size_t n, struct ids *ids);

/* Appends the ids of the merged word. TOKENIZE_OK, TOKENIZE_TOO_MANY or -ENOMEM. */
int bpe_end(const struct merge *merge, struct ids *ids);

#endif
