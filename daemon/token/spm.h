/*
 * Spm: SentencePiece BPE
 *
 * Blanks become U+2581; the characters of a text are its first symbols; two neighbours join where together they are
 * an entry, the best score first. A character that remains without an entry is spelled byte by byte, or becomes the
 * unknown token where the vocabulary has no bytes. Source: the BPE model of the sentencepiece library.
 */
#ifndef SOTTO_TOKEN_SPM_H
#define SOTTO_TOKEN_SPM_H

#include "base/buf.h"
#include "token/merge.h"
#include "token/token.h"

/* The pair finder for merge_init(); its owner argument is the vocabulary. */
bool spm_find(const void *vocab, const uint8_t *word, const struct symbol *left, const struct symbol *right,
              struct bigram *ret_bigram);

/* Writes @text to @spelled, which is emptied, as the entries are spelled, with a blank in front if @prefix_blank. 0 or
 * -ENOMEM. */
int spm_spell(struct buf *spelled, const uint8_t *text, size_t n, bool prefix_blank);

/* Returns the length of the part at the head of a spelled text that no merge leaves. */
size_t spm_part(const struct vocab *vocab, const uint8_t *text, size_t n);

/* Adds the characters of a part to @merge, which merge_run() then joins, for at most *left steps, which are taken off
 * it. TOKENIZE_OK, TOKENIZE_MORE (*left became 0: call again) or -ENOMEM. */
int spm_fill(const struct vocab *vocab, struct merge *merge, const uint8_t *part, size_t n, uint64_t *left);

/* Appends the ids of the merged part. TOKENIZE_OK, TOKENIZE_TOO_MANY or -ENOMEM. */
int spm_end(const struct vocab *vocab, const struct merge *merge, const uint8_t *part, struct ids *ids);

#endif
