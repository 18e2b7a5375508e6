/*
 * The true cost of a step. It is not always of the form that the daemon's cost model fits.
 */
#include "base/num.h"
#include "plant/engine.h"

/* Returns the rows that are computed for @n prompt rows in @n_steps: the last tile of each step is a whole one. */
static double padded(const struct scenario_engine *family, uint32_t n, uint32_t n_steps)
{
    uint64_t tile = (uint64_t)family->tile_rows;

    if (tile <= 1 || n == 0) {
        return n;
    }
    return (double)(num_div_up(n + (n_steps - 1) * (tile - 1), tile) * tile);
}

/* Returns the pages that are not in the cache. Of several steps it is not known, so all are far. */
static double far_pages(const struct scenario_engine *family, uint32_t n, uint32_t n_steps)
{
    uint64_t near = n_steps == 1 ? (uint64_t)family->cached_pages : 0;

    return family->cached_pages > 0 && n > near ? (double)(n - near) : 0.0;
}

double engine_true_ns(const struct scenario_engine *family, const struct cost_load *load)
{
    uint32_t n_steps = load->n[COST_FIXED];
    double n_pages = load->n[COST_ATTEND_PAGE] + far_pages(family, load->n[COST_ATTEND_PAGE], n_steps);

    return (double)family->fixed_us * 1000.0 * n_steps +
           (double)family->prefill_ns * padded(family, load->n[COST_PREFILL_ROW], n_steps) +
           (double)family->decode_ns * load->n[COST_DECODE_ROW] + (double)family->attend_ns * n_pages;
}
