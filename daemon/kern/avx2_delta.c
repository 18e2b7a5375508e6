/*
 * Avx2_delta: causal convolution and the gated delta rule, eight columns at a time
 *
 * Nothing is added across columns, so each lane computes what the definition does. A head's matrix is read twice for
 * each row, 32 columns at a time, so that a row of it is read in whole cache lines. Columns left over are computed as
 * in the definition.
 */
#include "kern/avx2.h"
#include "kern/delta.h"
#include "kern/ref_sum.h"
#include "kern/set.h"

#define WIDE 4 /* registers of columns that are computed together */

/* ---- convolution ---- */

static void conv_eight(const struct kern_conv *op, const struct kern_run *run, uint32_t channel, const __m256 *taps)
{
    const float *window = conv_window(op, run);
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 minus = _mm256_set1_ps(-0.0f);

    for (uint32_t r = 0; r < run->n; r++) {
        __m256 acc = _mm256_setzero_ps();

        for (uint32_t j = 0; j < op->n_taps; j++) {
            const float *x = conv_input(op, run, window, (int64_t)r + j - (op->n_taps - 1));

            acc = _mm256_fmadd_ps(taps[j], _mm256_loadu_ps(x + channel), acc);
        }
        acc = _mm256_div_ps(acc, _mm256_add_ps(one, avx2_exp(_mm256_xor_ps(acc, minus))));
        _mm256_storeu_ps(op->out + (run->first + (size_t)r) * op->out_stride + channel, acc);
    }
}

/* Loads tap j of eight channels into one register. */
static void load_taps(const struct kern_conv *op, uint32_t channel, __m256 *taps)
{
    const float *w = op->weights + (size_t)channel * op->n_taps;
    float lanes[8];

    for (uint32_t j = 0; j < op->n_taps; j++) {
        for (uint32_t lane = 0; lane < 8; lane++) {
            lanes[lane] = w[(size_t)lane * op->n_taps + j];
        }
        taps[j] = _mm256_loadu_ps(lanes);
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
        __m256 taps[KERN_TAPS_MAX];

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
    __m256 low = _mm256_setzero_ps();
    __m256 high = _mm256_setzero_ps();
    struct ref_sum sum;
    float by;
    uint32_t i = 0;

    for (uint32_t at = 0; at < whole; at += REF_LANES) {
        const __m256 a = _mm256_loadu_ps(x + at);
        const __m256 b = _mm256_loadu_ps(x + at + 8);

        low = _mm256_fmadd_ps(a, a, low);
        high = _mm256_fmadd_ps(b, b, high);
    }
    _mm256_storeu_ps(sum.lane, low);
    _mm256_storeu_ps(sum.lane + 8, high);
    ref_sum_add(&sum, x + whole, x + whole, n - whole);
    by = scale / sqrtf(ref_sum_join(&sum) + eps);
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(by)));
    }
    for (; i < n; i++) {
        out[i] = x[i] * by;
    }
}

/* Computes columns @j .. @j + 8 * @n_wide - 1. */
AVX2_INLINE void take_columns(const struct kern_delta *op, float *matrix, const struct delta_row *row, const float *q,
                              const float *k, uint32_t j, int n_wide)
{
    const __m256 decay = _mm256_set1_ps(row->decay);
    __m256 d[WIDE];
    __m256 out[WIDE];

    for (int w = 0; w < n_wide; w++) {
        d[w] = _mm256_setzero_ps();
        out[w] = _mm256_setzero_ps();
    }
    for (uint32_t i = 0; i < op->n_k; i++) {
        float *at = matrix + (size_t)i * op->n_v + j;
        const __m256 key = _mm256_broadcast_ss(&k[i]);

        for (int w = 0; w < n_wide; w++) {
            const __m256 s = _mm256_mul_ps(_mm256_loadu_ps(at + w * 8), decay);

            _mm256_storeu_ps(at + w * 8, s);
            d[w] = _mm256_fmadd_ps(s, key, d[w]);
        }
    }
    for (int w = 0; w < n_wide; w++) {
        d[w] = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(row->v + j + w * 8), d[w]), _mm256_set1_ps(row->beta));
    }
    for (uint32_t i = 0; i < op->n_k; i++) {
        float *at = matrix + (size_t)i * op->n_v + j;
        const __m256 key = _mm256_broadcast_ss(&k[i]);
        const __m256 query = _mm256_broadcast_ss(&q[i]);

        for (int w = 0; w < n_wide; w++) {
            const __m256 s = _mm256_fmadd_ps(key, d[w], _mm256_loadu_ps(at + w * 8));

            _mm256_storeu_ps(at + w * 8, s);
            out[w] = _mm256_fmadd_ps(s, query, out[w]);
        }
    }
    for (int w = 0; w < n_wide; w++) {
        _mm256_storeu_ps(row->out + j + w * 8, out[w]);
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

void kern_fill_avx2_delta(struct kern_ops *ops)
{
    ops->conv = conv;
    ops->delta = delta;
}
