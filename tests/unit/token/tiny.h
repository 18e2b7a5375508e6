/*
 * Tiny: vocabularies of a few entries for tests
 */
#ifndef SOTTO_TESTS_TINY_H
#define SOTTO_TESTS_TINY_H

#include "gguf/maker.h"
#include "token/token.h"

struct tiny_token {
    const char *text;
    uint32_t type;
    float score;
};

/* Writes model, pre-split, tokens, types and scores; @pre may be NULL. */
void tiny_keys(struct maker *maker, const char *model, const char *pre, const struct tiny_token *tokens, size_t n);

/* Writes <0x00> to <0xFF> and then @tokens as a SentencePiece vocabulary: token i has the id 256 + i. */
void tiny_spm_keys(struct maker *maker, const struct tiny_token *tokens, size_t n);

/* Writes the 256 bytes in GPT-2's spelling and then @tokens as a byte-level vocabulary with @merges: token i has the
 * id 256 + i. */
void tiny_bpe_keys(struct maker *maker, const char *pre, const struct tiny_token *tokens, size_t n,
                   const char *const *merges, size_t n_merges);

/* Parses the file and builds the vocabulary, which must succeed. Finishes the maker. */
struct vocab *tiny_vocab(struct maker *maker);

/* Asserts that the file is refused with @word in the sentence. Finishes the maker. */
void tiny_refused(struct maker *maker, const char *word);

#endif
