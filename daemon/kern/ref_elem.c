/*
 * Ref_elem: norms, rotation and element-wise kernels: the definition as C
 */
#include "kern/ref_sum.h"
#include "kern/set.h"
#include "tensor/real.h"

static void rms_norm(float *out, const float *x, const float *weight, float eps, uint32_t n)
{
    float mean, scale;

    if (n == 0) {
        return;
    }
    mean = ref_sum_dot(x, x, n) / (float)n;
    scale = 1.0f / sqrtf(mean + eps);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (x[i] * scale) * weight[i];
    }
}

static void rope_head(const struct kern_rope *op, float *x, const float *table)
{
    const uint32_t n_pairs = op->n_rot / 2;
    const uint32_t step = op->order == KERN_ROPE_ADJACENT ? 2 : 1;
    const uint32_t gap = op->order == KERN_ROPE_ADJACENT ? 1 : n_pairs;

    for (uint32_t i = 0; i < n_pairs; i++) {
        float c = table[2 * i];
        float s = table[2 * i + 1];
        float a = x[i * step];
        float b = x[i * step + gap];

        x[i * step] = fmaf(a, c, -(b * s));
        x[i * step + gap] = fmaf(a, s, b * c);
    }
}

static void rope(const struct kern_rope *op, uint32_t first, uint32_t n)
{
    for (uint32_t r = first; r < first + n; r++) {
        const float *table = op->table + (size_t)op->pos[r] * op->n_rot;

        for (uint32_t h = 0; h < op->n_heads; h++) {
            rope_head(op, op->x + r * op->stride + (size_t)h * op->head_dim, table);
        }
    }
}

static void silu_mul(float *out, const float *gate, const float *up, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (gate[i] / (1.0f + real_exp(-gate[i]))) * up[i];
    }
}

static void gelu_mul(float *out, const float *gate, const float *up, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        float x = gate[i];
        float u = x * fmaf(x * x, KERN_GELU_CUBE, KERN_GELU_LINE);

        out[i] = (x / (1.0f + real_exp(-u))) * up[i];
    }
}

static void sigmoid_mul(float *out, const float *gate, const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (1.0f / (1.0f + real_exp(-gate[i]))) * x[i];
    }
}

static void scale(float *out, const float *x, float by, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = x[i] * by;
    }
}

static void cap(float *out, const float *x, float limit, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = real_tanh(x[i] / limit) * limit;
    }
}

static void add(float *out, const float *a, const float *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = a[i] + b[i];
    }
}

static uint32_t argmax(const float *x, uint32_t n)
{
    float best = -INFINITY;
    uint32_t at = n;

    for (uint32_t i = 0; i < n; i++) {
        if (x[i] > best) {
            best = x[i];
            at = i;
        }
    }
    return at;
}

void kern_fill_ref_elem(struct kern_ops *ops)
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
