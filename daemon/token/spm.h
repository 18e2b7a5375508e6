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

/* Appends the ids of @text, with a blank in front if @prefix_blank. @spelled is scratch, reused from call to call.
 * Outcomes of vocab_tokenize(), or -ENOMEM. */
int spm_text(const struct vocab *vocab, struct merge *merge, struct buf *spelled, const uint8_t *text, size_t n,
             bool prefix_blank, struct ids *ids);

#endif
