/*
 * Rope: which frequency turns each pair, and the tables made of them
 *
 * Pair i of n_rot / 2 turns by position * base^(-2i / n_rot) / divisor[i]. What a family does for contexts longer than
 * it was first trained for is in the divisors:
 *   linear    all are the factor (Chen et al. 2023, arXiv 2306.15595).
 *   yarn      pairs that turn often within the original context keep their frequency, pairs that turn less than once
 *             are divided by the factor, and those between are mixed; sines and cosines grow by 0.1 ln(factor) + 1
 *             (Peng et al. 2023, 2309.00071).
 *   longrope  each pair has its own, one list for contexts up to the original one and one for longer (Ding et al. 2024,
 *             2402.13753). Which one holds is settled by the context in force, once for a model, since keys that are
 *             stored can't be turned again.
 */
#include "base/err.h"
#include "model/arch.h"
#include "tensor/real.h"
#include <math.h>
#include <string.h>

#define TWO_PI       6.283185307179586
#define NO_LESS_THAN 0.001 /* width of yarn's mixed zone: it is divided by */

/* The pair, with a fraction, that turns @n_turns times within the original context. */
static double pair_that_turns(const struct arch_params *params, double n_original, double n_turns)
{
    return params->n_rot * real_log_wide(n_original / (n_turns * TWO_PI)) /
           (2.0 * real_log_wide((double)params->rope.base));
}

static void divide_by_yarn(const struct arch_params *params, double *divisors)
{
    const struct arch_rope *rope = &params->rope;
    double n_original = rope->n_original ? rope->n_original : params->n_trained;
    double fast = fmax(floor(pair_that_turns(params, n_original, (double)rope->yarn_fast)), 0.0);
    double slow = fmin(ceil(pair_that_turns(params, n_original, (double)rope->yarn_slow)), params->n_rot - 1.0);

    for (uint32_t i = 0; i < params->n_rot / 2; i++) {
        double way = fmin(fmax((i - fast) / fmax(slow - fast, NO_LESS_THAN), 0.0), 1.0);
        double kept = (1.0 - way) * (double)rope->yarn_mix;

        divisors[i] = 1.0 / (kept + (1.0 - kept) / (double)rope->factor);
    }
}

static void divide_by_list(const float *list, uint32_t n, double *divisors)
{
    for (uint32_t i = 0; list && i < n; i++) {
        float factor;

        memcpy(&factor, list + i, sizeof(factor));
        divisors[i] *= (double)factor;
    }
}

bool arch_is_stretched(const struct arch_params *params, uint32_t n_context)
{
    return n_context > (params->rope.n_original ? params->rope.n_original : params->n_trained);
}

/* Of the layers that see everything. */
static struct exec_rope shape_of(const struct arch_params *params, const struct arch_weights *weights,
                                 uint32_t n_context, double *divisors)
{
    const struct arch_rope *rope = &params->rope;
    struct exec_rope shape = { .n_positions = n_context,
                               .n_rot = params->n_rot,
                               .base = (double)rope->base,
                               .scale = 1.0,
                               .magnitude = (double)rope->magnitude,
                               .divisors = divisors };

    for (uint32_t i = 0; i < params->n_rot / 2; i++) {
        divisors[i] = 1.0;
    }
    switch (rope->scaling) {
    case ARCH_SCALING_NONE:
    case ARCH_SCALING_LONGROPE:
    case ARCH_SCALING_COUNT:
        break;
    case ARCH_SCALING_LINEAR:
        shape.scale = (double)(1.0f / rope->factor);
        break;
    case ARCH_SCALING_YARN:
        divide_by_yarn(params, divisors);
        if (rope->yarn_mix > 0.0f) {
            shape.magnitude *= 1.0 + 0.1 * real_log_wide((double)rope->factor);
        }
        break;
    }
    divide_by_list(weights->rope_factors, params->n_rot / 2, divisors);
    divide_by_list(arch_is_stretched(params, n_context) ? weights->rope_long : weights->rope_short, params->n_rot / 2,
                   divisors);
    return shape;
}

int arch_make_ropes(const struct arch_params *params, const struct arch_weights *weights, uint32_t n_context,
                    struct exec *exec, struct exec_mem **ret_rope, struct exec_mem **ret_local)
{
    double divisors[EXEC_HEAD_MAX / 2];
    struct exec_rope shape = shape_of(params, weights, n_context, divisors);
    int r = exec_make_rope(exec, &shape, ret_rope);

    if (r) {
        return err_up(r);
    }
    *ret_local = *ret_rope;
    if (params->window == 0 || params->rope.base_local == 0.0f) {
        return 0;
    }
    shape = (struct exec_rope){ .n_positions = n_context,
                                .n_rot = params->n_rot,
                                .base = (double)params->rope.base_local,
                                .scale = 1.0,
                                .magnitude = 1.0 };
    return err_up(exec_make_rope(exec, &shape, ret_local));
}
