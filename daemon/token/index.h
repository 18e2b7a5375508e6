/*
 * Index: from the bytes of a vocabulary's entries to their ids
 *
 * Open addressing over slots of 8 bytes. base/map would need 40 bytes an entry, and its hash is too slow for a lookup
 * at every pair of symbols of a text. The salt keeps an attacker from aiming at one slot. Read-only once filled: any
 * thread.
 */
#ifndef SOTTO_TOKEN_INDEX_H
#define SOTTO_TOKEN_INDEX_H

#include <stddef.h>
#include <stdint.h>

/* A run of bytes in a block that another object owns. */
struct span {
    uint32_t at;
    uint32_t n;
};

struct index_slot {
    uint32_t tag; /* upper half of the hash */
    uint32_t id;  /* INDEX_NONE: free */
};

#define INDEX_NONE UINT32_MAX

struct index {
    struct index_slot *slots; /* owned; mask + 1 of them */
    uint32_t mask;
    uint64_t salt;
    const char *bytes;        /* the block that spans point into; outlives the index */
    const struct span *spans; /* by id */
};

/* Makes room for @n entries (at most 2^30). 0 or -ENOMEM. */
int index_init(struct index *index, uint32_t n, const char *bytes, const struct span *spans);
void index_finish(struct index *index);

/* Enters @id under the bytes of its span, unless these bytes have an id already. */
void index_put(struct index *index, uint32_t id);

/* Returns the id of these bytes, or INDEX_NONE. */
uint32_t index_find(const struct index *index, const void *bytes, size_t n);

#endif
