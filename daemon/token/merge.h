/*
 * Merge: joins neighbouring symbols, the best pair first
 *
 * Both kinds of vocabulary use this loop over a chain of symbols and a heap of pairs that may join. Pairs are ordered
 * by a number (lower first: the rank of a merge, or an inverted score), then from left to right. A pair that is out of
 * date when it leaves the heap is recognised by its length, since symbols only grow. So n symbols cost at most 2n
 * entries and n log n steps.
 *
 * A merge belongs to one text and keeps its memory from word to word. It may stop after any pair: a word can be as long
 * as its text. Words have less than 2^32 bytes.
 */
#ifndef SOTTO_TOKEN_MERGE_H
#define SOTTO_TOKEN_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
    uint32_t at;   /* in the word */
    uint32_t n;    /* bytes; 0: it was merged into its left neighbour */
    uint32_t id;   /* VOCAB_NO_ID: no entry has this text */
    uint32_t prev; /* MERGE_END: none */
    uint32_t next;
};

#define MERGE_END UINT32_MAX

struct bigram {
    uint32_t order; /* lower ones go first */
    uint32_t left;  /* number of its left symbol */
    uint32_t n;     /* bytes of both */
    uint32_t id;    /* of the joined symbol */
};

/* Returns whether two neighbours may join, and fills order and id. */
typedef bool (*merge_find_fn)(const void *owner, const uint8_t *word, const struct symbol *left,
                              const struct symbol *right, struct bigram *ret_bigram);

struct merge {
    struct symbol *symbols; /* owned */
    uint32_t n;
    uint32_t cap;
    struct bigram *heap; /* owned */
    uint32_t n_heap;
    uint32_t cap_heap;
    uint32_t n_bytes;   /* of the word, up to the last symbol */
    uint32_t n_offered; /* symbols that were looked up together with the next one */
    merge_find_fn find;
    const void *owner; /* of @find */
};

enum merge_outcome {
    MERGE_OK,
    MERGE_MORE, /* *left became 0: call again */
};

void merge_init(struct merge *merge, merge_find_fn find, const void *owner);
void merge_finish(struct merge *merge);

/* Forgets the symbols of the last word. */
void merge_begin(struct merge *merge);

/* Adds the next symbol of the word. 0 or -ENOMEM. */
int merge_push(struct merge *merge, uint32_t at, uint32_t n, uint32_t id);

/* Merges the symbols, for at most *left steps of the tokenizer, which are taken off it. Afterwards the chain from
 * symbol 0 along @next is the result. MERGE_MORE or -ENOMEM. */
int merge_run(struct merge *merge, const uint8_t *word, uint64_t *left);

#endif
