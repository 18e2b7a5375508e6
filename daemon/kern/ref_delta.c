/*
 * Ref_delta: causal convolution and the gated delta rule: the definition as C
 *
 * Source of the rule: Yang, Kautz, Hatamizadeh 2024 (arXiv 2412.06464), in its recurrent form.
 */
#include "kern/delta.h"
#include "kern/ref_sum.h"
#include "kern/set.h"

static void conv(const struct kern_conv *op, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < op->n_runs; i++) {
        const struct kern_run *run = &op->runs[i];

        conv_begin(op, run, first, n);
        for (uint32_t r = 0; r < run->n; r++) {
            float *out = op->out + (run->first + (size_t)r) * op->out_stride;

            for (uint32_t c = first; c < first + n; c++) {
                out[c] = conv_one(op, run, conv_window(op, run), r, c);
            }
        }
        conv_end(op, run, first, n);
    }
}

/* Writes @x scaled to the length @scale. */
static void put_at_length(float *out, const float *x, float scale, float eps, uint32_t n)
{
    const float by = scale / sqrtf(ref_sum_dot(x, x, n) + eps);

    for (uint32_t i = 0; i < n; i++) {
        out[i] = x[i] * by;
    }
}

static void take_row(const struct kern_delta *op, float *matrix, const struct delta_row *row)
{
    float q[KERN_HEAD_MAX];
    float k[KERN_HEAD_MAX];

    put_at_length(q, row->q, op->scale, op->eps, op->n_k);
    put_at_length(k, row->k, 1.0f, op->eps, op->n_k);
    for (uint32_t j = 0; j < op->n_v; j++) {
        float seen = 0.0f;
        float out = 0.0f;
        float d;

        for (uint32_t i = 0; i < op->n_k; i++) {
            float *at = &matrix[(size_t)i * op->n_v + j];

            *at = *at * row->decay;
            seen = fmaf(*at, k[i], seen);
        }
        d = (row->v[j] - seen) * row->beta;
        for (uint32_t i = 0; i < op->n_k; i++) {
            float *at = &matrix[(size_t)i * op->n_v + j];

            *at = fmaf(k[i], d, *at);
            out = fmaf(*at, q[i], out);
        }
        row->out[j] = out;
    }
}

static void delta(const struct kern_delta *op, uint32_t first, uint32_t n)
{
    for (uint32_t item = first; item < first + n; item++) {
        const struct delta_head at = delta_head_at(op, item);

        for (uint32_t r = op->from; r < delta_end(op, at.run); r++) {
            const struct delta_row row = delta_row_at(op, at.run->first + r, at.head);

            take_row(op, at.matrix, &row);
        }
    }
}

void kern_fill_ref_delta(struct kern_ops *ops)
{
    ops->conv = conv;
    ops->delta = delta;
}
