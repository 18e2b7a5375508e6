#include "model/gist.h"
#include "base/mem.h"
#include <math.h>

struct gist *gist_create(enum gist_pooling pooling, uint32_t n_values)
{
    struct gist *gist = mem_calloc(MEM_SCRATCH, 1, sizeof(*gist));

    if (!gist) {
        return NULL;
    }
    gist->pooling = pooling;
    gist->n_values = n_values;
    gist->sums = mem_calloc(MEM_SCRATCH, n_values, sizeof(*gist->sums));
    gist->values = mem_calloc(MEM_SCRATCH, n_values, sizeof(*gist->values));
    if (!gist->sums || !gist->values) {
        gist_destroy(gist);
        return NULL;
    }
    return gist;
}

void gist_destroy(struct gist *gist)
{
    if (gist) {
        mem_free(gist->sums);
        mem_free(gist->values);
        mem_free(gist);
    }
}

bool gist_wants(const struct gist *gist, uint32_t position, uint32_t last)
{
    switch (gist->pooling) {
    case GIST_MEAN:
        return true;
    case GIST_FIRST:
        return position == 0;
    case GIST_LAST:
        return position == last;
    case GIST_NONE:
        break;
    }
    return false;
}

void gist_add(struct gist *gist)
{
    for (uint32_t i = 0; i < gist->n_values; i++) {
        gist->sums[i] += (double)gist->values[i];
    }
    gist->n_rows++;
}

/* One row alone comes out as it went in: a float is exact in float64, and so is its quotient by 1. */
bool gist_pool(struct gist *gist)
{
    bool is_finite = gist->n_rows > 0;

    for (uint32_t i = 0; i < gist->n_values; i++) {
        gist->values[i] = (float)(gist->sums[i] / gist->n_rows);
        is_finite = is_finite && isfinite(gist->values[i]);
    }
    return is_finite;
}
