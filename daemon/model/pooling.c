#include "model/pooling.h"
#include "base/mem.h"
#include <math.h>

struct pooling *pooling_create(enum pooling_kind kind, uint32_t n_values)
{
    struct pooling *pooling = mem_calloc(MEM_SCRATCH, 1, sizeof(*pooling));

    if (!pooling) {
        return NULL;
    }
    pooling->kind = kind;
    pooling->n_values = n_values;
    pooling->sums = mem_calloc(MEM_SCRATCH, n_values, sizeof(*pooling->sums));
    pooling->values = mem_calloc(MEM_SCRATCH, n_values, sizeof(*pooling->values));
    if (!pooling->sums || !pooling->values) {
        pooling_destroy(pooling);
        return NULL;
    }
    return pooling;
}

void pooling_destroy(struct pooling *pooling)
{
    if (pooling) {
        mem_free(pooling->sums);
        mem_free(pooling->values);
        mem_free(pooling);
    }
}

bool pooling_wants(const struct pooling *pooling, uint32_t position, uint32_t last)
{
    switch (pooling->kind) {
    case POOLING_MEAN:
        return true;
    case POOLING_FIRST:
        return position == 0;
    case POOLING_LAST:
        return position == last;
    case POOLING_NONE:
        break;
    }
    return false;
}

void pooling_add(struct pooling *pooling, const float *row)
{
    for (uint32_t i = 0; i < pooling->n_values; i++) {
        pooling->sums[i] += (double)row[i];
    }
    pooling->n_rows++;
}

/* A single row comes out unchanged: a float is exact in float64, and so is its quotient by 1. */
bool pooling_end(struct pooling *pooling)
{
    bool is_finite = pooling->n_rows > 0;

    for (uint32_t i = 0; i < pooling->n_values; i++) {
        pooling->values[i] = (float)(pooling->sums[i] / pooling->n_rows);
        is_finite = is_finite && isfinite(pooling->values[i]);
    }
    return is_finite;
}
