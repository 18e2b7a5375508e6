/*
 * Quant_fit: scales tried around the plain one, each improved by least squares
 */
#include "kern/quant_fit.h"

#include "kern/half.h"

#include <assert.h>
#include <math.h>

#define N_TRIES    4   /* scales on either side of the plain one */
#define TRY_STEP   0.2 /* how far a try moves the largest element, in steps of q */
#define N_IMPROVED 2   /* rounds of least squares for each; a third changes almost nothing */

static int nearest_value(double x, const int8_t *values)
{
    int at = 0;

    for (int step = 8; step > 0; step /= 2) {
        at += 2.0 * x > values[at + step - 1] + values[at + step] ? step : 0;
    }
    return values[at];
}

int fit_round(double x, struct fit_range range)
{
    const double to_even = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */

    if (!(x > range.lo)) { /* also NaN, from 0 / 0 */
        return range.lo;
    }
    if (range.values) {
        return nearest_value(x, range.values);
    }
    return x >= range.hi ? range.hi : (int)((x + to_even) - to_even);
}

double fit_apply(const struct fit *fit, const float *x, uint32_t n, struct fit_range range, int8_t *q)
{
    const double inv = fit->d == 0.0 ? 0.0 : 1.0 / fit->d;
    double error = 0.0;

    for (uint32_t i = 0; i < n; i++) {
        const double off = (double)x[i] - fit->m;
        double miss;

        q[i] = (int8_t)fit_round(off * inv, range);
        miss = off - fit->d * q[i];
        error += miss * miss;
    }
    return error;
}

double fit_half(double x, uint8_t place[2])
{
    const float most = 65504.0f; /* the largest half */
    const float near = x > (double)most ? most : x < -(double)most ? -most : (float)x;
    const uint16_t half = half_from_float(near);

    place[0] = (uint8_t)half;
    place[1] = (uint8_t)(half >> 8);
    return (double)half_to_float(half);
}

/* A search over one run, and the best fit so far. */
struct search {
    const float *x;
    uint32_t n;
    struct fit_range range;
    bool has_m;
    bool is_below;
    double sx; /* sum of x */
    double xx; /* sum of its squares */
    struct fit best;
    double least; /* error of @best */
};

/* Sums over a run with the q of some fit. */
struct sums {
    int sq;
    int qq;
    double xq;
};

static struct sums sum_up(const struct search *search, struct fit fit)
{
    const double inv = 1.0 / fit.d;
    struct sums sums = { 0 };

    for (uint32_t i = 0; i < search->n; i++) {
        const double x = (double)search->x[i];
        const int q = fit_round((x - fit.m) * inv, search->range);

        sums.sq += q;
        sums.qq += q * q;
        sums.xq += x * q;
    }
    return sums;
}

/* Returns the fit that suits the same q best; @fit itself where the sums determine none. */
static struct fit improve(const struct search *search, const struct sums *sums, struct fit fit)
{
    const double n = search->n;
    const double det = n * sums->qq - (double)sums->sq * sums->sq;

    if (!search->has_m) {
        fit.d = sums->qq > 0 ? sums->xq / sums->qq : fit.d;
        return fit;
    }
    if (det <= 0.0) { /* all q are equal */
        return fit;
    }
    fit.d = (n * sums->xq - search->sx * sums->sq) / det;
    fit.m = (sums->qq * search->sx - sums->sq * sums->xq) / det;
    if (search->is_below && fit.m > 0.0) {
        fit.m = 0.0;
        fit.d = sums->xq / sums->qq;
    }
    return fit;
}

/* The sum of (x - d q - m)^2, multiplied out. */
static double error_of(const struct search *search, const struct sums *sums, struct fit fit)
{
    return search->xx - 2.0 * (fit.d * sums->xq + fit.m * search->sx) + fit.d * fit.d * sums->qq +
           2.0 * fit.d * fit.m * sums->sq + search->n * fit.m * fit.m;
}

/* Improves @try and keeps it if its error is less. */
static void try_it(struct search *search, struct fit try)
{
    for (int round = 0; round < N_IMPROVED; round++) {
        const struct sums sums = sum_up(search, try);
        double error;

        try = improve(search, &sums, try);
        error = error_of(search, &sums, try);
        if (error < search->least) {
            search->least = error;
            search->best = try;
        }
        if (try.d == 0.0) { /* no division by it is possible */
            return;
        }
    }
}

static void begin(struct search *search)
{
    for (uint32_t i = 0; i < search->n; i++) {
        search->sx += (double)search->x[i];
        search->xx += (double)search->x[i] * (double)search->x[i];
    }
}

struct fit fit_scale(const float *x, uint32_t n, struct fit_range range)
{
    struct search search = { .x = x, .n = n, .range = range, .least = INFINITY };
    double top = 0.0;

    assert(n <= FIT_RUN_MAX);
    begin(&search);
    for (uint32_t i = 0; i < n; i++) {
        top = fabs((double)x[i]) > fabs(top) ? (double)x[i] : top;
    }
    for (int i = -N_TRIES; top != 0.0 && i <= N_TRIES; i++) { /* the largest element at either end */
        try_it(&search, (struct fit){ .d = top / (range.lo + i * TRY_STEP) });
        try_it(&search, (struct fit){ .d = top / (range.hi + i * TRY_STEP) });
    }
    return search.best;
}

struct fit fit_line(const float *x, uint32_t n, int hi, bool is_below)
{
    struct search search = {
        .x = x, .n = n, .range = { 0, hi }, .has_m = true, .is_below = is_below, .least = INFINITY
    };
    double lo = (double)x[0], top = (double)x[0];

    assert(n > 0 && n <= FIT_RUN_MAX);
    begin(&search);
    for (uint32_t i = 1; i < n; i++) {
        lo = (double)x[i] < lo ? (double)x[i] : lo;
        top = (double)x[i] > top ? (double)x[i] : top;
    }
    lo = is_below && lo > 0.0 ? 0.0 : lo;
    search.best.m = lo;
    for (int i = -2 * N_TRIES; top > lo && i <= N_TRIES; i++) { /* mostly wider steps: outliers may be cut */
        try_it(&search, (struct fit){ .d = (top - lo) / (hi + i * TRY_STEP), .m = lo });
    }
    return search.best;
}
