/*
 * Pair: two sources, 3D and compute, of one measurement
 *
 * Some things are told together and may be asked for once only (the vendor's status covers "since the last read"), so
 * both sources share a body. Whichever is read first measures; the other gives the same measurement, unless it gave
 * it before or it is older than a period. The body goes with the last of them. A lock makes them safe on two threads.
 */
#ifndef SOTTO_LOAD_PAIR_H
#define SOTTO_LOAD_PAIR_H

#include "sense/source.h"

struct pair_table {
    const char *kind; /* source_table::kind */
    void (*measure)(void *body, uint64_t now_us, struct reading *ret_graphics, struct reading *ret_compute);
    uint32_t (*clients)(const void *body, struct source_client *clients, uint32_t cap); /* or NULL */
    void (*destroy)(void *body);
};

/*
 * Makes both. Name, path, rank, why and so on are the caller's to fill in. @body is theirs from now on.
 * -ENOMEM: @body stays the caller's.
 */
int pair_open(struct source **ret_graphics, struct source **ret_compute, const struct pair_table *table, void *body);

/* The body behind either source. */
void *pair_body(const struct source *source);

#endif
