/*
 * Rope: the table
 */
#include "kern/rope.h"

#include "tensor/real.h"

#include <stddef.h>

void rope_table(const struct rope_shape *shape, uint32_t first, uint32_t n_pos, float *table)
{
    const uint32_t n_pairs = shape->n_rot / 2;
    const double log_base = real_log_wide(shape->base);

    for (uint32_t i = 0; i < n_pairs; i++) {
        const double divisor = shape->divisors ? shape->divisors[i] : 1.0;
        const double frequency = real_exp_wide(-2.0 * i / shape->n_rot * log_base) / divisor;

        for (uint32_t p = 0; p < n_pos; p++) {
            float *pair = table + (size_t)p * shape->n_rot + 2 * (size_t)i;
            double s, c;

            real_sincos_wide((double)(first + p) * shape->scale * frequency, &s, &c);
            pair[0] = (float)(c * shape->magnitude);
            pair[1] = (float)(s * shape->magnitude);
        }
    }
}
