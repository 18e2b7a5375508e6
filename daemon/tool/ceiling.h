/*
 * Ceiling: the most that the machine can do in this second
 *
 * A shared machine's bandwidth moves by a factor of two within seconds, so a rate means little without the limits that
 * were measured beside it. One measurement takes some 30 ms.
 */
#ifndef SOTTO_TOOL_CEILING_H
#define SOTTO_TOOL_CEILING_H

#include "kern/peak.h"

struct ceiling {
    double read_bytes_s;           /* all threads together, from memory */
    double ops_s[PEAK_KIND_COUNT]; /* 0: the processor has no such instructions */
};

struct ceiling_probe {
    struct pool *pool; /* owned */
    uint8_t *block;    /* [n_block], owned: what is read */
    size_t n_block;
};

#define CEILING_BLOCK ((size_t)256 << 20) /* several times the last cache of most processors */

/* Prepares for @n_threads. Returns 0 or a fault. A zeroed or closed probe may be closed. */
int ceiling_open(struct ceiling_probe *probe, uint32_t n_threads);
void ceiling_close(struct ceiling_probe *probe);

void ceiling_measure(struct ceiling_probe *probe, struct ceiling *ret_limits);

/* Returns the mean of both. */
struct ceiling ceiling_between(const struct ceiling *before, const struct ceiling *after);

#endif
