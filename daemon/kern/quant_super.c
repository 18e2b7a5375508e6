/*
 * Quant_super: each run by itself, then integers and halves alternately
 *
 * Runs are fitted alone first; the largest scale and the largest min give the halves, and the integers follow. Then
 * each round lets every run take the best of its neighbouring integers for the present halves, and sets the halves by
 * least squares for the present integers. The best state of all rounds is kept.
 */
#include "kern/quant_super.h"

#include <math.h>

#define N_ROUNDS 3 /* a fourth gains less than 0.1 % */

/* A super-block while it is searched. */
struct state {
    const struct super_shape *shape;
    const float *x;
    double d; /* values of the halves */
    double dmin;
    struct super super;
    double error;
};

static uint32_t n_runs(const struct state *state)
{
    return BLOCK_SUPER / state->shape->n_run;
}

static double round_run(const struct state *state, uint32_t j, int scale, int min, int8_t *q)
{
    const struct fit fit = { .d = state->d * scale, .m = -(state->dmin * min) };

    return fit_apply(&fit, state->x + j * state->shape->n_run, state->shape->n_run, state->shape->range, q);
}

static void round_all(struct state *state)
{
    state->error = 0.0;
    for (uint32_t j = 0; j < n_runs(state); j++) {
        state->error +=
            round_run(state, j, state->super.scale[j], state->super.min[j], state->super.q + j * state->shape->n_run);
    }
}

/* Sets the integers of run @j to those with the least error among the present ones and their neighbours. */
static void choose_integers(struct state *state, uint32_t j)
{
    const struct super_shape *shape = state->shape;
    const int reach = shape->has_min ? 1 : 0;
    const int scale = state->super.scale[j];
    const int min = state->super.min[j];
    double least = INFINITY;
    int8_t q[FIT_RUN_MAX];

    for (int s = scale - 1; s <= scale + 1; s++) {
        for (int m = min - reach; m <= min + reach; m++) {
            double error;

            if (s < shape->scales.lo || s > shape->scales.hi || m < 0 || m > shape->scales.hi) {
                continue;
            }
            error = round_run(state, j, s, m, q);
            if (error < least) {
                least = error;
                state->super.scale[j] = s;
                state->super.min[j] = m;
            }
        }
    }
}

static void set_halves(struct state *state, double d, double dmin)
{
    state->d = fit_half(d, state->super.d);
    state->dmin = fit_half(dmin, state->super.dmin);
}

/* Sets the halves that suit the present integers best: least squares of x = d a - dmin b, a = scale q, b = min. */
static void choose_halves(struct state *state)
{
    double xa = 0.0, xb = 0.0, aa = 0.0, ab = 0.0, bb = 0.0;
    double det;

    for (uint32_t i = 0; i < BLOCK_SUPER; i++) {
        const uint32_t j = i / state->shape->n_run;
        const double a = (double)state->super.scale[j] * state->super.q[i];
        const double b = -(double)state->super.min[j];

        xa += (double)state->x[i] * a;
        xb += (double)state->x[i] * b;
        aa += a * a;
        ab += a * b;
        bb += b * b;
    }
    det = aa * bb - ab * ab;
    if (det > 0.0) {
        set_halves(state, (xa * bb - xb * ab) / det, (xb * aa - xa * ab) / det);
    } else if (aa > 0.0) {
        set_halves(state, xa / aa, state->dmin);
    }
}

/* Fits each run alone and rounds the results to the integers of the format. */
static void begin(struct state *state)
{
    const struct super_shape *shape = state->shape;
    const bool is_signed = shape->scales.lo < 0;
    struct fit fits[SUPER_RUNS];
    double top = 0.0, top_min = 0.0;

    for (uint32_t j = 0; j < n_runs(state); j++) {
        const float *x = state->x + j * shape->n_run;

        fits[j] = shape->has_min ? fit_line(x, shape->n_run, shape->range.hi, true)
                                 : fit_scale(x, shape->n_run, shape->range);
        top = fabs(fits[j].d) > fabs(top) ? fits[j].d : top;
        top_min = -fits[j].m > top_min ? -fits[j].m : top_min;
    }
    set_halves(state, top / (is_signed ? shape->scales.lo : shape->scales.hi), top_min / shape->scales.hi);
    for (uint32_t j = 0; j < n_runs(state); j++) {
        const struct fit_range mins = { .lo = 0, .hi = shape->scales.hi };

        state->super.scale[j] = state->d == 0.0 ? 0 : fit_round(fits[j].d / state->d, shape->scales);
        state->super.min[j] = state->dmin == 0.0 ? 0 : fit_round(-fits[j].m / state->dmin, mins);
    }
    round_all(state);
}

void super_fit(const struct super_shape *shape, const float x[BLOCK_SUPER], struct super *ret_super)
{
    struct state state = { .shape = shape, .x = x };
    double least;

    begin(&state);
    *ret_super = state.super;
    least = state.error;
    for (int round = 0; round < N_ROUNDS; round++) {
        for (uint32_t j = 0; j < n_runs(&state); j++) {
            choose_integers(&state, j);
        }
        round_all(&state);
        if (state.error < least) {
            least = state.error;
            *ret_super = state.super;
        }
        choose_halves(&state);
        round_all(&state);
        if (state.error < least) {
            least = state.error;
            *ret_super = state.super;
        }
    }
}
