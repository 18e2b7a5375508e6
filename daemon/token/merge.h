/*
 * Merge: neighbours become one, best pair first
 *
 * The one loop behind both kinds of vocabulary: symbols in a chain, and a heap of pairs that may join. The order is
 * a number (lower first: a merge's rank, or a score turned round), then the place from the left. A pair in the heap
 * may be out of date when its turn comes; it is known by its length, since symbols only ever grow. So n symbols cost
 * at most 2n entries and n log n steps.
 *
 * A merge belongs to one job; it keeps its memory from word to word. Limits: words below 2^32 bytes.
 */
#ifndef SOTTO_TOKEN_MERGE_H
#define SOTTO_TOKEN_MERGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
    uint32_t at;   /* in the word */
    uint32_t n;    /* bytes; 0: it was merged into its left neighbour */
    uint32_t id;   /* VOCAB_NO_ID: no entry is spelled so */
    uint32_t prev; /* MERGE_END: none */
    uint32_t next;
};

#define MERGE_END UINT32_MAX

struct bigram {
    uint32_t order; /* lower ones go first */
    uint32_t left;  /* number of its left symbol */
    uint32_t n;     /* bytes of both */
    uint32_t id;    /* what they become */
};

/* Looks whether two neighbours may become one; fills order and id. */
typedef bool (*merge_find_fn)(const void *owner, const uint8_t *word, const struct symbol *left,
                              const struct symbol *right, struct bigram *ret_bigram);

struct merge {
    struct symbol *symbols; /* owned */
    uint32_t n;
    uint32_t cap;
    struct bigram *heap; /* owned */
    uint32_t n_heap;
    uint32_t cap_heap;
    merge_find_fn find;
    const void *owner;         /* of @find */
    const atomic_bool *cancel; /* or NULL */
};

enum merge_outcome {
    MERGE_OK,
    MERGE_CANCELLED,
};

void merge_init(struct merge *merge, merge_find_fn find, const void *owner, const atomic_bool *cancel);
void merge_finish(struct merge *merge);

/* Forgets the symbols of the last word. */
void merge_begin(struct merge *merge);

/* Adds the next symbol of the word. 0 or -ENOMEM. */
int merge_push(struct merge *merge, uint32_t at, uint32_t n, uint32_t id);

/* Merges what was pushed. Afterwards the chain from symbol 0 along next is the answer. MERGE_CANCELLED or -ENOMEM. */
int merge_run(struct merge *merge, const uint8_t *word);

#endif
