/*
 * Ngram: a guess at the next tokens, from those that are known
 *
 * Text repeats itself: names, quotations, code, lists. Where the last few tokens stood before, what followed them there
 * is a guess that costs nothing. The model computes the rows of the guessed tokens in the same step as the row before
 * them, and each token is drawn as ever: a guess saves a step if it is what is drawn, and changes no token. Source:
 * speculative decoding (Leviathan, Kalman, Matias 2023) with the prompt itself as the draft model (Saxena 2023).
 *
 * Pure.
 */
#ifndef SOTTO_MODEL_NGRAM_H
#define SOTTO_MODEL_NGRAM_H

#include <stdint.h>

/* Fewer equal tokens than this are no repetition. */
#define NGRAM_LEAST 2u

/* Writes to @ret_tokens [n_most] what followed the latest earlier place at which the last tokens of @tokens [n_tokens]
 * stood, of those places the one with the longest match. A period goes on beyond the end of @tokens. Returns n_most, or
 * 0 if there is no such place. */
uint32_t ngram_draft(const uint32_t *tokens, uint32_t n_tokens, uint32_t n_most, uint32_t *ret_tokens);

#endif
