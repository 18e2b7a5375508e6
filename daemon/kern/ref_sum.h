/*
 * Ref_sum: the sum of 16 (kern.h, 1) as C; private to the module
 */
#ifndef SOTTO_KERN_REF_SUM_H
#define SOTTO_KERN_REF_SUM_H

#include <math.h>
#include <stdint.h>

#define REF_LANES 16

struct ref_sum {
    float lane[REF_LANES];
};

/* Adds the products of the next @n elements; fewer than 16 only at the end. */
static inline void ref_sum_add(struct ref_sum *sum, const float *a, const float *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        sum->lane[i] = fmaf(a[i], b[i], sum->lane[i]);
    }
}

static inline float ref_sum_join(const struct ref_sum *sum)
{
    struct ref_sum tree = *sum;

    for (uint32_t half = REF_LANES / 2; half > 0; half /= 2) {
        for (uint32_t i = 0; i < half; i++) {
            tree.lane[i] += tree.lane[i + half];
        }
    }
    return tree.lane[0];
}

static inline float ref_sum_dot(const float *a, const float *b, uint32_t n)
{
    struct ref_sum sum = { { 0 } };

    for (uint32_t at = 0; at < n; at += REF_LANES) {
        ref_sum_add(&sum, a + at, b + at, n - at < REF_LANES ? n - at : REF_LANES);
    }
    return ref_sum_join(&sum);
}

#endif
