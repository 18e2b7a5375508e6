/*
 * Histogram: the gaps between the tokens of one answer, as percentiles
 *
 * Counted in buckets, eight an octave (9 % wide), so that an answer of any length takes the same little memory.
 * Pure.
 */
#ifndef SOTTO_STREAM_HISTOGRAM_H
#define SOTTO_STREAM_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS 256u

struct histogram { /* zeroed at its beginning */
    uint32_t n[HISTOGRAM_BUCKETS];
    uint32_t n_gaps;
};

void histogram_add(struct histogram *histogram, uint64_t gap_us);

/* Returns the gap that @permille of all gaps do not pass (the upper edge of its bucket); 0 without gaps. */
uint32_t histogram_at(const struct histogram *histogram, uint32_t permille);

#endif
