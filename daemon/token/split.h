/*
 * Split: how a byte-level vocabulary cuts a text into words before it merges
 *
 * Merges never cross the edge of a word, so a vocabulary is right only with the pattern that it was trained with. The
 * file names the pattern (tokenizer.ggml.pre); a name that is not in the table is refused, never guessed.
 *
 * The patterns run under PCRE2 with Unicode classes. A split is read-only once created; each walk through a text has a
 * cursor of its own, and may stop between any two words.
 */
#ifndef SOTTO_TOKEN_SPLIT_H
#define SOTTO_TOKEN_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct split;
struct split_cursor;

enum split_outcome {
    SPLIT_OK,
    SPLIT_UNKNOWN, /* no such name */
    SPLIT_END,     /* there are no more words */
};

/* SPLIT_UNKNOWN, or -ENOMEM. */
int split_create(struct split **ret_split, const char *name, size_t n_name);
void split_destroy(struct split *split);

/* True if a word that is an entry becomes this token without merging. */
bool split_whole_words(const struct split *split);

/* True if the vocabulary wants its texts in form C (nfc.h) before they are walked. */
bool split_composed(const struct split *split);

/* -ENOMEM. @split outlives the cursor. */
int split_cursor_create(struct split_cursor **ret_cursor, const struct split *split);
void split_cursor_destroy(struct split_cursor *cursor);

/* Puts the cursor at the head of @text (valid UTF-8), which stays where it is until its last word. */
void split_begin(struct split_cursor *cursor, const uint8_t *text, size_t n);

/* *ret_word: the next word; all of them are the text, in order and without a gap. SPLIT_END, or -E2BIG: the text
 * exceeds the limits of the pattern. */
int split_next(struct split_cursor *cursor, const uint8_t **ret_word, size_t *ret_n);

#endif
