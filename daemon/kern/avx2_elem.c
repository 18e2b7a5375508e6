/*
 * Avx2_elem: norms, rotation and element-wise kernels, eight at a time
 *
 * Elements left over after the eights are computed as in the definition.
 */
#include "kern/avx2.h"
#include "kern/ref_sum.h"
#include "kern/set.h"

static float square_sum(const float *x, uint32_t n)
{
    const uint32_t whole = n / REF_LANES * REF_LANES;
    __m256 low = _mm256_setzero_ps();
    __m256 high = _mm256_setzero_ps();
    struct ref_sum sum;

    for (uint32_t i = 0; i < whole; i += REF_LANES) {
        const __m256 a = _mm256_loadu_ps(x + i);
        const __m256 b = _mm256_loadu_ps(x + i + 8);

        low = _mm256_fmadd_ps(a, a, low);
        high = _mm256_fmadd_ps(b, b, high);
    }
    _mm256_storeu_ps(sum.lane, low);
    _mm256_storeu_ps(sum.lane + 8, high);
    ref_sum_add(&sum, x + whole, x + whole, n - whole);
    return ref_sum_join(&sum);
}

static void rms_norm(float *out, const float *x, const float *weight, float eps, uint32_t n)
{
    uint32_t i = 0;
    float scale;

    if (n == 0) {
        return;
    }
    scale = 1.0f / sqrtf(square_sum(x, n) / (float)n + eps);
    for (; i + 8 <= n; i += 8) {
        const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(scale));

        _mm256_storeu_ps(out + i, _mm256_mul_ps(scaled, _mm256_loadu_ps(weight + i)));
    }
    for (; i < n; i++) {
        out[i] = (x[i] * scale) * weight[i];
    }
}

static void rotate_adjacent(float *x, const float *table, uint32_t n_pairs)
{
    uint32_t i = 0;

    for (; i + 4 <= n_pairs; i += 4) {
        const __m256 pairs = _mm256_loadu_ps(x + 2 * i);
        const __m256 cos_sin = _mm256_loadu_ps(table + 2 * i);
        const __m256 sin_cos = _mm256_permute_ps(cos_sin, 0xb1);
        const __m256 a = _mm256_moveldup_ps(pairs);
        const __m256 b = _mm256_movehdup_ps(pairs);

        _mm256_storeu_ps(x + 2 * i, _mm256_fmaddsub_ps(a, cos_sin, _mm256_mul_ps(b, sin_cos)));
    }
    for (; i < n_pairs; i++) {
        const float a = x[2 * i];
        const float b = x[2 * i + 1];

        x[2 * i] = fmaf(a, table[2 * i], -(b * table[2 * i + 1]));
        x[2 * i + 1] = fmaf(a, table[2 * i + 1], b * table[2 * i]);
    }
}

static void rotate_halves(float *x, const float *table, uint32_t n_pairs)
{
    uint32_t i = 0;

    for (; i + 8 <= n_pairs; i += 8) {
        const __m256 first = _mm256_loadu_ps(table + 2 * i);
        const __m256 second = _mm256_loadu_ps(table + 2 * i + 8);
        const __m256d cos_mixed = _mm256_castps_pd(_mm256_shuffle_ps(first, second, 0x88));
        const __m256d sin_mixed = _mm256_castps_pd(_mm256_shuffle_ps(first, second, 0xdd));
        const __m256 c = _mm256_castpd_ps(_mm256_permute4x64_pd(cos_mixed, 0xd8));
        const __m256 s = _mm256_castpd_ps(_mm256_permute4x64_pd(sin_mixed, 0xd8));
        const __m256 a = _mm256_loadu_ps(x + i);
        const __m256 b = _mm256_loadu_ps(x + n_pairs + i);

        _mm256_storeu_ps(x + i, _mm256_fmsub_ps(a, c, _mm256_mul_ps(b, s)));
        _mm256_storeu_ps(x + n_pairs + i, _mm256_fmadd_ps(a, s, _mm256_mul_ps(b, c)));
    }
    for (; i < n_pairs; i++) {
        const float a = x[i];
        const float b = x[n_pairs + i];

        x[i] = fmaf(a, table[2 * i], -(b * table[2 * i + 1]));
        x[n_pairs + i] = fmaf(a, table[2 * i + 1], b * table[2 * i]);
    }
}

static void rope(const struct kern_rope *op, uint32_t first, uint32_t n)
{
    for (uint32_t r = first; r < first + n; r++) {
        const float *table = op->table + (size_t)op->pos[r] * op->n_rot;

        for (uint32_t h = 0; h < op->n_heads; h++) {
            float *x = op->x + r * op->stride + (size_t)h * op->head_dim;

            if (op->order == KERN_ROPE_ADJACENT) {
                rotate_adjacent(x, table, op->n_rot / 2);
            } else {
                rotate_halves(x, table, op->n_rot / 2);
            }
        }
    }
}

static void silu_mul(float *out, const float *gate, const float *up, uint32_t n)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 minus = _mm256_set1_ps(-0.0f);
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 g = _mm256_loadu_ps(gate + i);
        const __m256 silu = _mm256_div_ps(g, _mm256_add_ps(one, avx2_exp(_mm256_xor_ps(g, minus))));

        _mm256_storeu_ps(out + i, _mm256_mul_ps(silu, _mm256_loadu_ps(up + i)));
    }
    for (; i < n; i++) {
        out[i] = (gate[i] / (1.0f + real_exp(-gate[i]))) * up[i];
    }
}

static void gelu_mul(float *out, const float *gate, const float *up, uint32_t n)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 minus = _mm256_set1_ps(-0.0f);
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 x = _mm256_loadu_ps(gate + i);
        const __m256 line =
            _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(KERN_GELU_CUBE), _mm256_set1_ps(KERN_GELU_LINE));
        const __m256 e = avx2_exp(_mm256_xor_ps(_mm256_mul_ps(x, line), minus));
        const __m256 gelu = _mm256_div_ps(x, _mm256_add_ps(one, e));

        _mm256_storeu_ps(out + i, _mm256_mul_ps(gelu, _mm256_loadu_ps(up + i)));
    }
    for (; i < n; i++) {
        const float u = gate[i] * fmaf(gate[i] * gate[i], KERN_GELU_CUBE, KERN_GELU_LINE);

        out[i] = (gate[i] / (1.0f + real_exp(-u))) * up[i];
    }
}

static void sigmoid_mul(float *out, const float *gate, const float *x, uint32_t n)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 minus = _mm256_set1_ps(-0.0f);
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 e = avx2_exp(_mm256_xor_ps(_mm256_loadu_ps(gate + i), minus));

        _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_div_ps(one, _mm256_add_ps(one, e)), _mm256_loadu_ps(x + i)));
    }
    for (; i < n; i++) {
        out[i] = (1.0f / (1.0f + real_exp(-gate[i]))) * x[i];
    }
}

static void scale(float *out, const float *x, float by, uint32_t n)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(by)));
    }
    for (; i < n; i++) {
        out[i] = x[i] * by;
    }
}

static void cap(float *out, const float *x, float limit, uint32_t n)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i, avx2_capped(_mm256_loadu_ps(x + i), _mm256_set1_ps(limit)));
    }
    for (; i < n; i++) {
        out[i] = real_tanh(x[i] / limit) * limit;
    }
}

static void add(float *out, const float *a, const float *b, uint32_t n)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
    }
    for (; i < n; i++) {
        out[i] = a[i] + b[i];
    }
}

/* Finds the largest, then its first index. */
static uint32_t argmax(const float *x, uint32_t n)
{
    __m256 most = _mm256_set1_ps(-INFINITY);
    float lanes[8];
    float best = -INFINITY;
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        most = _mm256_max_ps(_mm256_loadu_ps(x + i), most); /* the second where the first is NaN */
    }
    _mm256_storeu_ps(lanes, most);
    for (uint32_t lane = 0; lane < 8; lane++) {
        best = lanes[lane] > best ? lanes[lane] : best;
    }
    for (; i < n; i++) {
        best = x[i] > best ? x[i] : best;
    }
    if (best == -INFINITY) {
        return n;
    }
    for (i = 0; x[i] != best; i++) {
    }
    return i;
}

void kern_fill_avx2_elem(struct kern_ops *ops)
{
    ops->rms_norm = rms_norm;
    ops->rope = rope;
    ops->silu_mul = silu_mul;
    ops->gelu_mul = gelu_mul;
    ops->sigmoid_mul = sigmoid_mul;
    ops->scale = scale;
    ops->cap = cap;
    ops->add = add;
    ops->argmax = argmax;
}
