/*
 * Pairs: a table of the merges of a byte-level vocabulary, by the two ids that they join
 *
 * Read-only once filled: any thread.
 */
#ifndef SOTTO_TOKEN_PAIRS_H
#define SOTTO_TOKEN_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair {
    uint32_t left; /* PAIR_FREE: the slot is free */
    uint32_t right;
    uint32_t rank; /* index in the list of the file; lower ones go first */
    uint32_t id;   /* of the joined token */
};

#define PAIR_FREE UINT32_MAX

struct pairs {
    struct pair *slots; /* owned; mask + 1 of them */
    uint32_t mask;
    uint64_t salt;
};

/* Makes room for @n merges (at most 2^30). 0 or -ENOMEM. */
int pairs_init(struct pairs *pairs, uint32_t n);
void pairs_finish(struct pairs *pairs);

/* Enters a merge. False: the two ids have one already, which stays. */
bool pairs_put(struct pairs *pairs, const struct pair *pair);

/* Returns the merge of two ids, or NULL. */
const struct pair *pairs_find(const struct pairs *pairs, uint32_t left, uint32_t right);

#endif
