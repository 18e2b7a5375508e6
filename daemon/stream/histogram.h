/*
 * Pulse: the gaps between the tokens of one answer, as percentiles
 *
 * Counted in buckets, eight an octave (9 % wide), so that an answer of any length takes the same little memory.
 * Pure.
 */
#ifndef SOTTO_STREAM_HISTOGRAM_H
#define SOTTO_STREAM_HISTOGRAM_H

#include <stdint.h>

#define PULSE_BUCKETS 256u

struct pulse { /* zeroed at its beginning */
    uint32_t n[PULSE_BUCKETS];
    uint32_t n_gaps;
};

void pulse_add(struct pulse *pulse, uint64_t gap_us);

/* The gap that @permille of all gaps do not pass (the upper edge of its bucket); 0 without gaps. */
uint32_t pulse_at(const struct pulse *pulse, uint32_t permille);

#endif
