/*
 * Vec_kv: stored K and V (kern.h, 6), eight numbers at a time
 */
#include "kern/kv.h"

#include "kern/vec.h"

#include <stdbool.h>

#define HALF_NAN 0x7e00
#define INF_BITS 0x7f800000

/* Stores the scales of a head that is not finite. */
static void put_nan(uint8_t *scales, size_t n_bytes)
{
    const uint16_t halves[2] = { HALF_NAN, 0 };

    memcpy(scales, halves, n_bytes);
}

/* Smallest, largest and largest magnitude of a head, and whether all are finite. */
struct reach {
    float lo, hi, top;
    bool is_finite;
};

/* Returns the reach of @n floats. With a NaN among them, lo and hi may be anything. */
static struct reach reach_of(const float *x, uint32_t n)
{
    vecf lo = vecf_set(INFINITY);
    vecf below = vecf_set(INFINITY); /* smallest -x */
    veci bits = veci_set(0);
    uint32_t i = 0;
    uint32_t top[8];
    struct reach reach;
    uint32_t top_bits = 0;

    for (; i + 8 <= n; i += 8) {
        const vecf eight = vecf_load(x + i);

        lo = vecf_min(lo, eight);
        below = vecf_min(below, vecf_neg(eight));
        bits = veci_max(bits, veci_as(vecf_abs(eight)));
    }
    reach.lo = vecf_least(lo);
    reach.hi = -vecf_least(below);
    veci_store(top, bits);
    for (; i < n; i++) {
        uint32_t one;

        memcpy(&one, &x[i], sizeof(one));
        one &= 0x7fffffff;
        top[0] = one > top[0] ? one : top[0];
        reach.lo = x[i] < reach.lo ? x[i] : reach.lo;
        reach.hi = x[i] > reach.hi ? x[i] : reach.hi;
    }
    for (uint32_t j = 0; j < 8; j++) {
        top_bits = top[j] > top_bits ? top[j] : top_bits;
    }
    memcpy(&reach.top, &top_bits, sizeof(reach.top));
    reach.is_finite = top_bits < INF_BITS;
    return reach;
}

/* Returns (@x - @m) * @inv of eight as integers from @lo to @hi. */
VEC_INLINE veci cut_eight(const float *x, float m, float inv, float lo, float hi)
{
    const vecf off = vecf_sub(vecf_load(x), vecf_set(m));
    const vecf wide = vecf_mul(off, vecf_set(inv));

    return veci_round(vecf_min(vecf_max(wide, vecf_set(lo)), vecf_set(hi)));
}

VEC_INLINE int cut_one(float x, float m, float inv, float lo, float hi)
{
    const float wide = (x - m) * inv;

    return (int)rintf(wide < lo ? lo : wide > hi ? hi : wide); /* to even: the mode of every thread */
}

static void put_q8(const float *x, uint32_t n, int8_t *q, uint8_t *scale)
{
    const struct reach reach = reach_of(x, n);
    const float d = vec_store_half(scale, reach.top / 127.0f);
    uint32_t i = 0;

    if (!reach.is_finite || isinf(d)) {
        put_nan(scale, 2);
        memset(q, 0, n);
        return;
    }
    if (!(d > 0.0f)) {
        memset(q, 0, n);
        return;
    }
    for (; i + 8 <= n; i += 8) {
        veci_store_8(q + i, cut_eight(x + i, 0.0f, 1.0f / d, -127.0f, 127.0f));
    }
    for (; i < n; i++) {
        q[i] = (int8_t)cut_one(x[i], 0.0f, 1.0f / d, -127.0f, 127.0f);
    }
}

static void put_q4(const float *x, uint32_t n, uint8_t *q, uint8_t *scales)
{
    const struct reach reach = reach_of(x, n);
    const float m = vec_store_half(scales + 2, reach.lo + 0.0f);
    const float d = vec_store_half(scales, (reach.hi + 0.0f - m) * (1.0f / 15.0f));
    const float inv = 1.0f / d;
    const uint32_t half = n / 2;
    uint32_t i = 0;

    if (!reach.is_finite || isinf(m) || isinf(d)) {
        put_nan(scales, 4);
        memset(q, 0, half);
        return;
    }
    if (!(d > 0.0f)) {
        memset(q, 0, half);
        return;
    }
    for (; i + 8 <= half; i += 8) {
        const veci low = cut_eight(x + i, m, inv, 0.0f, 15.0f);
        const veci high = cut_eight(x + half + i, m, inv, 0.0f, 15.0f);

        veci_store_8(q + i, veci_or(low, veci_shl(high, 4)));
    }
    for (; i < half; i++) {
        q[i] = (uint8_t)(cut_one(x[i], m, inv, 0.0f, 15.0f) | cut_one(x[half + i], m, inv, 0.0f, 15.0f) << 4);
    }
}

void vec_kv_hadamard(float *x, uint32_t head_dim, uint32_t width)
{
    if (width < 8) {
        kv_hadamard(x, head_dim, width);
        return;
    }
    for (uint32_t i = 0; i < head_dim; i += 8) {
        vecf_store(x + i, vecf_hadamard(vecf_load(x + i)));
    }
    for (uint32_t half = 8; half < width; half *= 2) {
        for (uint32_t i = 0; i < head_dim; i += i % half == half - 8 ? half + 8 : 8) {
            const vecf a = vecf_load(x + i);
            const vecf b = vecf_load(x + i + half);

            vecf_store(x + i, vecf_add(a, b));
            vecf_store(x + i + half, vecf_sub(a, b));
        }
    }
}

/* Writes @x transformed to @out and returns that. */
static const float *hadamard_of(enum kern_kv kv, const float *x, uint32_t head_dim, float *out)
{
    memcpy(out, x, head_dim * sizeof(float));
    vec_kv_hadamard(out, head_dim, kv_hadamard_width(kv, head_dim));
    return out;
}

static void put_f16(const float *x, uint32_t n, uint8_t *place)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        vecf_store_halves(place + 2 * i, vecf_load(x + i));
    }
    for (; i < n; i++) {
        vec_store_half(place + 2 * i, x[i]);
    }
}

void vec_kv_put(enum kern_kv kv, const float *x, uint32_t head_dim, uint8_t *strip, uint32_t lane)
{
    uint8_t *numbers = kv_numbers(kv, head_dim, strip, lane);
    uint8_t *scales = kv_scales(kv, head_dim, strip, lane);
    float transformed[KERN_HEAD_MAX];

    switch (kv) {
    case KERN_KV_F16:
        put_f16(x, head_dim, numbers);
        break;
    case KERN_KV_F32:
        memcpy(numbers, x, head_dim * sizeof(float));
        break;
    case KERN_KV_Q8:
        put_q8(hadamard_of(kv, x, head_dim, transformed), head_dim, (int8_t *)numbers, scales);
        break;
    case KERN_KV_Q4:
        put_q4(hadamard_of(kv, x, head_dim, transformed), head_dim, numbers, scales);
        break;
    case KERN_KV_COUNT:
        break;
    }
}

static void get_f16(const uint8_t *halves, uint32_t n, float *out)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        vecf_store(out + i, vecf_load_halves(halves + 2 * i));
    }
    for (; i < n; i++) {
        out[i] = vec_load_half(halves + 2 * i);
    }
}

static void get_q8(const uint8_t *numbers, float d, uint32_t n, float *out)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const veci q = veci_load_s8(numbers + i);

        vecf_store(out + i, vecf_mul(vecf_of(q), vecf_set(d)));
    }
    for (; i < n; i++) {
        out[i] = d * (float)(int8_t)numbers[i];
    }
}

static void get_q4(const uint8_t *numbers, float d, float m, uint32_t n, float *out)
{
    const veci four = veci_set(0xf);
    const vecf wide_d = vecf_set(d);
    const vecf wide_m = vecf_set(m);
    const uint32_t half = n / 2;
    uint32_t i = 0;

    for (; i + 8 <= half; i += 8) {
        const veci q = veci_load_u8(numbers + i);
        const vecf low = vecf_of(veci_and(q, four));
        const vecf high = vecf_of(veci_shr(q, 4));

        vecf_store(out + i, vecf_fma(wide_d, low, wide_m));
        vecf_store(out + half + i, vecf_fma(wide_d, high, wide_m));
    }
    for (; i < half; i++) {
        out[i] = fmaf(d, (float)(numbers[i] & 0xf), m);
        out[half + i] = fmaf(d, (float)(numbers[i] >> 4), m);
    }
}

void vec_kv_get(enum kern_kv kv, uint8_t *strip, uint32_t n, uint32_t head_dim, float *out, uint32_t stride)
{
    for (uint32_t lane = 0; lane < n; lane++, out += stride) {
        const uint8_t *numbers = kv_numbers(kv, head_dim, strip, lane);
        const uint8_t *scales = kv_scales(kv, head_dim, strip, lane);

        switch (kv) {
        case KERN_KV_F16:
            get_f16(numbers, head_dim, out);
            break;
        case KERN_KV_F32:
            memcpy(out, numbers, head_dim * sizeof(float));
            break;
        case KERN_KV_Q8:
            get_q8(numbers, vec_load_half(scales), head_dim, out);
            break;
        case KERN_KV_Q4:
            get_q4(numbers, vec_load_half(scales), vec_load_half(scales + 2), head_dim, out);
            break;
        case KERN_KV_COUNT:
            break;
        }
        for (uint32_t i = head_dim; i < stride; i++) {
            out[i] = -0.0f;
        }
    }
}
