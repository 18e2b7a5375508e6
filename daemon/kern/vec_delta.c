/*
 * Vec_delta: causal convolution and the gated delta rule, eight columns at a time
 *
 * Nothing is added across columns, so each lane computes what the definition does. A head's matrix is read twice for
 * each row, 32 columns at a time, so that a row of it is read in whole cache lines. Columns left over are computed as
 * in the definition.
 */
#include "kern/delta.h"
#include "kern/ref_sum.h"
#include "kern/set.h"
#include "kern/vec.h"

#define WIDE 4 /* registers of columns that are computed together */

/* ---- convolution ---- */

static void conv_eight(const struct kern_conv *op, const struct kern_run *run, uint32_t channel, const vecf *taps)
{
    const float *window = conv_window(op, run);

    for (uint32_t r = 0; r < run->n; r++) {
        vecf acc = vecf_set(0.0f);

        for (uint32_t j = 0; j < op->n_taps; j++) {
            const float *x = conv_input(op, run, window, (int64_t)r + j - (op->n_taps - 1));

            acc = vecf_fma(taps[j], vecf_load(x + channel), acc);
        }
        acc = vecf_gate(acc, acc);
        vecf_store(op->out + (run->first + (size_t)r) * op->out_stride + channel, acc);
    }
}

/* Loads tap j of eight channels into one register. */
static void load_taps(const struct kern_conv *op, uint32_t channel, vecf *taps)
{
    const float *w = op->weights + (size_t)channel * op->n_taps;
    float lanes[8];

    for (uint32_t j = 0; j < op->n_taps; j++) {
        for (uint32_t lane = 0; lane < 8; lane++) {
            lanes[lane] = w[(size_t)lane * op->n_taps + j];
        }
        taps[j] = vecf_load(lanes);
    }
}

static void conv(const struct kern_conv *op, uint32_t first, uint32_t n)
{
    const uint32_t end = first + n;
    uint32_t c = first;

    for (uint32_t i = 0; i < op->n_runs; i++) {
        conv_begin(op, &op->runs[i], first, n);
    }
    for (; c + 8 <= end; c += 8) {
        vecf taps[KERN_TAPS_MAX];

        load_taps(op, c, taps);
        for (uint32_t i = 0; i < op->n_runs; i++) {
            conv_eight(op, &op->runs[i], c, taps);
        }
    }
    for (; c < end; c++) {
        for (uint32_t i = 0; i < op->n_runs; i++) {
            const struct kern_run *run = &op->runs[i];

            for (uint32_t r = 0; r < run->n; r++) {
                op->out[(run->first + (size_t)r) * op->out_stride + c] = conv_one(op, run, conv_window(op, run), r, c);
            }
        }
    }
    for (uint32_t i = 0; i < op->n_runs; i++) {
        conv_end(op, &op->runs[i], first, n);
    }
}

/* ---- the delta rule ---- */

static void put_at_length(float *out, const float *x, float scale, float eps, uint32_t n)
{
    const uint32_t whole = n / REF_LANES * REF_LANES;
    vecf low = vecf_set(0.0f);
    vecf high = vecf_set(0.0f);
    struct ref_sum sum;
    float by;
    uint32_t i = 0;

    for (uint32_t at = 0; at < whole; at += REF_LANES) {
        const vecf a = vecf_load(x + at);
        const vecf b = vecf_load(x + at + 8);

        low = vecf_fma(a, a, low);
        high = vecf_fma(b, b, high);
    }
    vecf_store(sum.lane, low);
    vecf_store(sum.lane + 8, high);
    ref_sum_add(&sum, x + whole, x + whole, n - whole);
    by = scale / sqrtf(ref_sum_join(&sum) + eps);
    for (; i + 8 <= n; i += 8) {
        vecf_store(out + i, vecf_mul(vecf_load(x + i), vecf_set(by)));
    }
    for (; i < n; i++) {
        out[i] = x[i] * by;
    }
}

/* Computes columns @j .. @j + 8 * @n_wide - 1. */
VEC_INLINE void take_columns(const struct kern_delta *op, float *matrix, const struct delta_row *row, const float *q,
                             const float *k, uint32_t j, int n_wide)
{
    const vecf decay = vecf_set(row->decay);
    vecf d[WIDE];
    vecf out[WIDE];

    for (int w = 0; w < n_wide; w++) {
        d[w] = vecf_set(0.0f);
        out[w] = vecf_set(0.0f);
    }
    for (uint32_t i = 0; i < op->n_k; i++) {
        float *at = matrix + (size_t)i * op->n_v + j;
        const vecf key = vecf_set(k[i]);

        for (int w = 0; w < n_wide; w++) {
            const vecf s = vecf_mul(vecf_load(at + w * 8), decay);

            vecf_store(at + w * 8, s);
            d[w] = vecf_fma(s, key, d[w]);
        }
    }
    for (int w = 0; w < n_wide; w++) {
        d[w] = vecf_mul(vecf_sub(vecf_load(row->v + j + w * 8), d[w]), vecf_set(row->beta));
    }
    for (uint32_t i = 0; i < op->n_k; i++) {
        float *at = matrix + (size_t)i * op->n_v + j;
        const vecf key = vecf_set(k[i]);
        const vecf query = vecf_set(q[i]);

        for (int w = 0; w < n_wide; w++) {
            const vecf s = vecf_fma(key, d[w], vecf_load(at + w * 8));

            vecf_store(at + w * 8, s);
            out[w] = vecf_fma(s, query, out[w]);
        }
    }
    for (int w = 0; w < n_wide; w++) {
        vecf_store(row->out + j + w * 8, out[w]);
    }
}

static void take_column(const struct kern_delta *op, float *matrix, const struct delta_row *row, const float *q,
                        const float *k, uint32_t j)
{
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

static void take_row(const struct kern_delta *op, float *matrix, const struct delta_row *row)
{
    float q[KERN_HEAD_MAX];
    float k[KERN_HEAD_MAX];
    uint32_t j = 0;

    put_at_length(q, row->q, op->scale, op->eps, op->n_k);
    put_at_length(k, row->k, 1.0f, op->eps, op->n_k);
    for (; j + 8 * WIDE <= op->n_v; j += 8 * WIDE) {
        take_columns(op, matrix, row, q, k, j, WIDE);
    }
    for (; j + 8 <= op->n_v; j += 8) {
        take_columns(op, matrix, row, q, k, j, 1);
    }
    for (; j < op->n_v; j++) {
        take_column(op, matrix, row, q, k, j);
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

void kern_fill_vec_delta(struct kern_ops *ops)
{
    ops->conv = conv;
    ops->delta = delta;
}
