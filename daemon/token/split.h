/*
 * Split: how a byte-level vocabulary cuts a text into words before it merges
 *
 * Merges never cross the edge of a word, so a vocabulary is right only with the pattern that it was trained with. The
 * file names the pattern (tokenizer.ggml.pre); a name that is not in the table is refused, never guessed.
 *
 * The patterns run under PCRE2 with Unicode classes. A split is read-only once created; each walk has a scratch of its
 * own.
 */
#ifndef SOTTO_TOKEN_SPLIT_H
#define SOTTO_TOKEN_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct split;
struct split_scratch;

enum split_outcome {
    SPLIT_OK,
    SPLIT_UNKNOWN, /* no such name */
};

/* SPLIT_UNKNOWN, or -ENOMEM. */
int split_create(struct split **ret_split, const char *name, size_t n_name);
void split_destroy(struct split *split);

/* True if a word that is an entry becomes this token without merging. */
bool split_whole_words(const struct split *split);

/* True if the vocabulary wants its texts in form C (nfc.h) before they are walked. */
bool split_composed(const struct split *split);

int split_scratch_create(struct split_scratch **ret_scratch, const struct split *split);
void split_scratch_destroy(struct split_scratch *scratch);

/* Called with each word; a result other than 0 ends the walk. */
typedef int (*split_word_fn)(void *owner, const uint8_t *word, size_t n);

/* Calls @on_word with every word of @text (valid UTF-8), in order and without a gap. Returns 0, the result of @on_word
 * that ended the walk, or -E2BIG: the text exceeds the limits of the pattern. */
int split_walk(const struct split *split, struct split_scratch *scratch, const uint8_t *text, size_t n,
               split_word_fn on_word, void *owner);

#endif
