#include "stream/histogram.h"
#include "base/num.h"

#define STEPS 8u /* buckets an octave; a power of two */

/* Returns the bucket of @us: the octave (position of the highest bit) and the next three bits. Below 8 they are
 * exact. */
static uint32_t bucket_of(uint64_t us)
{
    uint32_t octave = 0;

    us = num_min(us, UINT32_MAX);
    if (us < STEPS) {
        return (uint32_t)us;
    }
    while (us >> (octave + 1) >= STEPS) {
        octave++;
    }
    return (octave + 1) * STEPS + (uint32_t)(us >> octave) % STEPS;
}

/* Returns the largest value that falls into @bucket. */
static uint64_t edge_of(uint32_t bucket)
{
    uint32_t octave = bucket / STEPS;

    if (octave == 0) {
        return bucket;
    }
    return ((uint64_t)(STEPS + bucket % STEPS + 1) << (octave - 1)) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t gap_us)
{
    histogram->n[bucket_of(gap_us)]++;
    histogram->n_gaps++;
}

uint32_t histogram_at(const struct histogram *histogram, uint32_t permille)
{
    uint64_t wanted = num_div_up((uint64_t)histogram->n_gaps * permille, 1000);
    uint64_t seen = 0;

    if (histogram->n_gaps == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->n[i];
        if (seen >= wanted && seen > 0) {
            return (uint32_t)num_min(edge_of(i), UINT32_MAX);
        }
    }
    return UINT32_MAX;
}
