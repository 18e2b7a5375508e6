/*
 * Pair: two sources, 3D and compute, of one measurement
 *
 * Some figures come together and may be read only once (the vendor's status covers "since the last read"), so both
 * sources share a body. The source that is read first measures; the other returns the same measurement, unless it did
 * so before or the measurement is older than a period. The last source frees the body. A lock makes them safe on two
 * threads.
 */
#ifndef SOTTO_LOAD_PAIR_H
#define SOTTO_LOAD_PAIR_H

#include "sense/source.h"

struct pair_table {
    const char *kind; /* source_table::kind */
    void (*measure)(void *body, uint64_t now_us, struct reading *ret_graphics, struct reading *ret_compute);
    uint32_t (*clients)(const void *body, struct source_client *clients, uint32_t cap); /* or NULL */
    void (*describe)(struct source *source, const void *body); /* fills in name, path, rank, why ...; or NULL */
    void (*destroy)(void *body);
};

/* Makes both sources, which own @body; after a failure it is destroyed. 0 or -ENOMEM. */
int pair_open(struct source **ret_graphics, struct source **ret_compute, const struct pair_table *table, void *body);

/* Returns the body of either source. */
void *pair_body(const struct source *source);

#endif
