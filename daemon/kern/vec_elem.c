/*
 * Vec_elem: norms, rotation and element-wise kernels, eight at a time
 *
 * Elements left over after the eights are computed as in the definition.
 */
#include "kern/ref_sum.h"
#include "kern/set.h"
#include "kern/vec.h"

static float square_sum(const float *x, uint32_t n)
{
    const uint32_t whole = n / REF_LANES * REF_LANES;
    vecf low = vecf_set(0.0f);
    vecf high = vecf_set(0.0f);
    struct ref_sum sum;

    for (uint32_t i = 0; i < whole; i += REF_LANES) {
        const vecf a = vecf_load(x + i);
        const vecf b = vecf_load(x + i + 8);

        low = vecf_fma(a, a, low);
        high = vecf_fma(b, b, high);
    }
    vecf_store(sum.lane, low);
    vecf_store(sum.lane + 8, high);
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
        const vecf scaled = vecf_mul(vecf_load(x + i), vecf_set(scale));

        vecf_store(out + i, vecf_mul(scaled, vecf_load(weight + i)));
    }
    for (; i < n; i++) {
        out[i] = (x[i] * scale) * weight[i];
    }
}

static void rotate_adjacent(float *x, const float *table, uint32_t n_pairs)
{
    uint32_t i = 0;

    for (; i + 8 <= n_pairs; i += 8) {
        vecf a, b, c, s;

        vecf_load_pairs(x + 2 * i, &a, &b);
        vecf_load_pairs(table + 2 * i, &c, &s);
        vecf_store_pairs(x + 2 * i, vecf_fms(a, c, vecf_mul(b, s)), vecf_fma(a, s, vecf_mul(b, c)));
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
        const vecf a = vecf_load(x + i);
        const vecf b = vecf_load(x + n_pairs + i);
        vecf c, s;

        vecf_load_pairs(table + 2 * i, &c, &s);
        vecf_store(x + i, vecf_fms(a, c, vecf_mul(b, s)));
        vecf_store(x + n_pairs + i, vecf_fma(a, s, vecf_mul(b, c)));
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
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const vecf g = vecf_load(gate + i);

        vecf_store(out + i, vecf_mul(vecf_gate(g, g), vecf_load(up + i)));
    }
    for (; i < n; i++) {
        out[i] = (gate[i] / (1.0f + real_exp(-gate[i]))) * up[i];
    }
}

static void gelu_mul(float *out, const float *gate, const float *up, uint32_t n)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const vecf x = vecf_load(gate + i);
        const vecf line = vecf_fma(vecf_mul(x, x), vecf_set(KERN_GELU_CUBE), vecf_set(KERN_GELU_LINE));
        const vecf gelu = vecf_gate(x, vecf_mul(x, line));

        vecf_store(out + i, vecf_mul(gelu, vecf_load(up + i)));
    }
    for (; i < n; i++) {
        const float u = gate[i] * fmaf(gate[i] * gate[i], KERN_GELU_CUBE, KERN_GELU_LINE);

        out[i] = (gate[i] / (1.0f + real_exp(-u))) * up[i];
    }
}

static void sigmoid_mul(float *out, const float *gate, const float *x, uint32_t n)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const vecf sigmoid = vecf_gate(vecf_set(1.0f), vecf_load(gate + i));

        vecf_store(out + i, vecf_mul(sigmoid, vecf_load(x + i)));
    }
    for (; i < n; i++) {
        out[i] = (1.0f / (1.0f + real_exp(-gate[i]))) * x[i];
    }
}

static void scale(float *out, const float *x, float by, uint32_t n)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        vecf_store(out + i, vecf_mul(vecf_load(x + i), vecf_set(by)));
    }
    for (; i < n; i++) {
        out[i] = x[i] * by;
    }
}

static void cap(float *out, const float *x, float limit, uint32_t n)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        vecf_store(out + i, vecf_capped(vecf_load(x + i), vecf_set(limit)));
    }
    for (; i < n; i++) {
        out[i] = real_tanh(x[i] / limit) * limit;
    }
}

static void add(float *out, const float *a, const float *b, uint32_t n)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        vecf_store(out + i, vecf_add(vecf_load(a + i), vecf_load(b + i)));
    }
    for (; i < n; i++) {
        out[i] = a[i] + b[i];
    }
}

/* Finds the largest, then its first index. */
static uint32_t argmax(const float *x, uint32_t n)
{
    vecf most = vecf_set(-INFINITY);
    float lanes[8];
    float best = -INFINITY;
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        most = vecf_max(vecf_load(x + i), most); /* the second where the first is NaN */
    }
    vecf_store(lanes, most);
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

void kern_fill_vec_elem(struct kern_ops *ops)
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
