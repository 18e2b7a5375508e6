#include "import/shuffle.h"

uint64_t shuffle_line(const struct shuffle *shuffle, uint64_t i)
{
    const uint64_t period = shuffle->n_outer * shuffle->n_inner * shuffle->n_unit;
    uint64_t in_period;
    uint64_t unit;

    if (period == 0 || i < shuffle->n_kept) {
        return i;
    }
    in_period = (i - shuffle->n_kept) % period;
    unit = in_period / shuffle->n_unit;
    return i - in_period + in_period % shuffle->n_unit +
           (unit % shuffle->n_outer * shuffle->n_inner + unit / shuffle->n_outer) * shuffle->n_unit;
}

bool shuffle_fits(const struct shuffle *shuffle, uint64_t n)
{
    const uint64_t period = shuffle->n_outer * shuffle->n_inner * shuffle->n_unit;

    return period == 0 || (n > shuffle->n_kept && (n - shuffle->n_kept) % period == 0);
}
