/*
 * Ref_kv: stored K and V (kern.h, 6): the definition as C
 */
#include "kern/kv.h"

#include "kern/half.h"

#include <math.h>

#define HALF_NAN 0x7e00

static void put_half(uint8_t *place, uint16_t half)
{
    place[0] = (uint8_t)half;
    place[1] = (uint8_t)(half >> 8);
}

/* Returns the integer from @lo to @hi that is nearest to @x. */
static int cut(float x, float lo, float hi)
{
    const float to_even = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */

    x = x < lo ? lo : x > hi ? hi : x;
    return (int)((x + to_even) - to_even);
}

static bool are_finite(const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return false;
        }
    }
    return true;
}

static void put_q8(const float *x, uint32_t n, int8_t *q, uint8_t *scale)
{
    float top = 0.0f;
    float d, inv;
    uint16_t half;

    for (uint32_t i = 0; i < n; i++) {
        top = fabsf(x[i]) > top ? fabsf(x[i]) : top;
    }
    half = half_from_float(top / 127.0f);
    d = half_to_float(half);
    if (!are_finite(x, n) || isinf(d)) {
        half = HALF_NAN;
        d = 0.0f;
    }
    put_half(scale, half);
    inv = d > 0.0f ? 1.0f / d : 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        q[i] = (int8_t)(d > 0.0f ? cut(x[i] * inv, -127.0f, 127.0f) : 0);
    }
}

static void put_q4(const float *x, uint32_t n, uint8_t *q, uint8_t *scales)
{
    float lo = INFINITY, hi = -INFINITY;
    float d, m, inv;
    uint16_t half_d, half_m;

    for (uint32_t i = 0; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    half_m = half_from_float(lo + 0.0f);
    m = half_to_float(half_m);
    half_d = half_from_float((hi + 0.0f - m) * (1.0f / 15.0f));
    d = half_to_float(half_d);
    if (!are_finite(x, n) || isinf(m) || isinf(d)) {
        half_d = HALF_NAN;
        half_m = 0;
        d = 0.0f;
    }
    put_half(scales, half_d);
    put_half(scales + 2, half_m);
    inv = d > 0.0f ? 1.0f / d : 0.0f;
    for (uint32_t i = 0; i < n / 2; i++) {
        const int low = d > 0.0f ? cut((x[i] - m) * inv, 0.0f, 15.0f) : 0;
        const int high = d > 0.0f ? cut((x[i + n / 2] - m) * inv, 0.0f, 15.0f) : 0;

        q[i] = (uint8_t)(low | high << 4);
    }
}

void ref_kv_put(enum kern_kv kv, const float *x, uint32_t head_dim, uint8_t *strip, uint32_t lane)
{
    uint8_t *numbers = kv_numbers(kv, head_dim, strip, lane);
    uint8_t *scales = kv_scales(kv, head_dim, strip, lane);
    float transformed[KERN_HEAD_MAX];

    memcpy(transformed, x, head_dim * sizeof(float));
    kv_hadamard(transformed, head_dim, kv_hadamard_width(kv, head_dim));
    switch (kv) {
    case KERN_KV_F16:
        for (uint32_t i = 0; i < head_dim; i++) {
            put_half(numbers + 2 * i, half_from_float(x[i]));
        }
        break;
    case KERN_KV_F32:
        memcpy(numbers, x, head_dim * sizeof(float));
        break;
    case KERN_KV_Q8:
        put_q8(transformed, head_dim, (int8_t *)numbers, scales);
        break;
    case KERN_KV_Q4:
        put_q4(transformed, head_dim, numbers, scales);
        break;
    case KERN_KV_COUNT:
        break;
    }
}

void ref_kv_get(enum kern_kv kv, uint8_t *strip, uint32_t lane, uint32_t head_dim, float *out)
{
    const uint8_t *numbers = kv_numbers(kv, head_dim, strip, lane);
    const uint8_t *scales = kv_scales(kv, head_dim, strip, lane);
    const uint32_t half_dim = head_dim / 2;

    switch (kv) {
    case KERN_KV_F16:
        for (uint32_t i = 0; i < head_dim; i++) {
            out[i] = half_to_float(half_load(numbers + 2 * i));
        }
        break;
    case KERN_KV_F32:
        memcpy(out, numbers, head_dim * sizeof(float));
        break;
    case KERN_KV_Q8:
        for (uint32_t i = 0; i < head_dim; i++) {
            out[i] = half_to_float(half_load(scales)) * (float)(int8_t)numbers[i];
        }
        break;
    case KERN_KV_Q4:
        for (uint32_t i = 0; i < half_dim; i++) {
            const float d = half_to_float(half_load(scales));
            const float m = half_to_float(half_load(scales + 2));

            out[i] = fmaf(d, (float)(numbers[i] & 0xf), m);
            out[i + half_dim] = fmaf(d, (float)(numbers[i] >> 4), m);
        }
        break;
    case KERN_KV_COUNT:
        break;
    }
}
