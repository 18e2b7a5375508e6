/*
 * Avx2_kv: stored K and V (kern.h, 6), eight numbers at a time
 */
#include "kern/kv.h"

#include "kern/avx2.h"

#include <stdbool.h>

#define HALF_NAN 0x7e00
#define INF_BITS 0x7f800000

static float from_half(const uint8_t *place)
{
    uint16_t half;

    memcpy(&half, place, sizeof(half));
    return _cvtsh_ss(half);
}

static float put_half(uint8_t *place, float x)
{
    const uint16_t half = _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);

    memcpy(place, &half, sizeof(half));
    return _cvtsh_ss(half);
}

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

static float least_of(__m256 x)
{
    __m128 four = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));

    four = _mm_min_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_min_ss(four, _mm_movehdup_ps(four)));
}

/* Returns the reach of @n floats. With a NaN among them, lo and hi may be anything. */
static struct reach reach_of(const float *x, uint32_t n)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 lo = _mm256_set1_ps(INFINITY);
    __m256 below = _mm256_set1_ps(INFINITY); /* smallest -x */
    __m256i bits = _mm256_setzero_si256();
    uint32_t i = 0;
    uint32_t top[8];
    struct reach reach;
    uint32_t top_bits = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256 eight = _mm256_loadu_ps(x + i);

        lo = _mm256_min_ps(lo, eight);
        below = _mm256_min_ps(below, _mm256_xor_ps(eight, sign));
        bits = _mm256_max_epi32(bits, _mm256_castps_si256(_mm256_andnot_ps(sign, eight)));
    }
    reach.lo = least_of(lo);
    reach.hi = -least_of(below);
    _mm256_storeu_si256((__m256i *)(void *)top, bits);
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
AVX2_INLINE __m256i cut_eight(const float *x, float m, float inv, float lo, float hi)
{
    const __m256 off = _mm256_sub_ps(_mm256_loadu_ps(x), _mm256_set1_ps(m));
    const __m256 wide = _mm256_mul_ps(off, _mm256_set1_ps(inv));

    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(wide, _mm256_set1_ps(lo)), _mm256_set1_ps(hi)));
}

AVX2_INLINE int cut_one(float x, float m, float inv, float lo, float hi)
{
    const float wide = (x - m) * inv;

    return _mm_cvtss_si32(_mm_set_ss(wide < lo ? lo : wide > hi ? hi : wide));
}

/* Returns eight integers of up to 8 bits as bytes. */
AVX2_INLINE __m128i as_bytes(__m256i eight)
{
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));

    return _mm_packs_epi16(words, words);
}

static void put_q8(const float *x, uint32_t n, int8_t *q, uint8_t *scale)
{
    const struct reach reach = reach_of(x, n);
    const float d = put_half(scale, reach.top / 127.0f);
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
        _mm_storel_epi64((__m128i *)(void *)(q + i), as_bytes(cut_eight(x + i, 0.0f, 1.0f / d, -127.0f, 127.0f)));
    }
    for (; i < n; i++) {
        q[i] = (int8_t)cut_one(x[i], 0.0f, 1.0f / d, -127.0f, 127.0f);
    }
}

static void put_q4(const float *x, uint32_t n, uint8_t *q, uint8_t *scales)
{
    const struct reach reach = reach_of(x, n);
    const float m = put_half(scales + 2, reach.lo + 0.0f);
    const float d = put_half(scales, (reach.hi + 0.0f - m) * (1.0f / 15.0f));
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
        const __m256i low = cut_eight(x + i, m, inv, 0.0f, 15.0f);
        const __m256i high = cut_eight(x + half + i, m, inv, 0.0f, 15.0f);
        const __m256i bytes = _mm256_or_si256(low, _mm256_slli_epi32(high, 4));
        const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));

        _mm_storel_epi64((__m128i *)(void *)(q + i), _mm_packus_epi16(words, words));
    }
    for (; i < half; i++) {
        q[i] = (uint8_t)(cut_one(x[i], m, inv, 0.0f, 15.0f) | cut_one(x[half + i], m, inv, 0.0f, 15.0f) << 4);
    }
}

/* Computes the first three steps for eight elements: halves of 1, 2 and 4. */
AVX2_INLINE __m256 hadamard_eight(__m256 x)
{
    const __m256 ones = _mm256_setr_ps(0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f, 0.0f, -0.0f);
    const __m256 twos = _mm256_setr_ps(0.0f, 0.0f, -0.0f, -0.0f, 0.0f, 0.0f, -0.0f, -0.0f);
    const __m256 fours = _mm256_setr_ps(0.0f, 0.0f, 0.0f, 0.0f, -0.0f, -0.0f, -0.0f, -0.0f);

    /* The partner plus the element itself, negated where it is the second of the two. */
    x = _mm256_add_ps(_mm256_permute_ps(x, 0xb1), _mm256_xor_ps(x, ones));
    x = _mm256_add_ps(_mm256_permute_ps(x, 0x4e), _mm256_xor_ps(x, twos));
    return _mm256_add_ps(_mm256_permute2f128_ps(x, x, 1), _mm256_xor_ps(x, fours));
}

void avx2_kv_hadamard(float *x, uint32_t head_dim, uint32_t width)
{
    if (width < 8) {
        kv_hadamard(x, head_dim, width);
        return;
    }
    for (uint32_t i = 0; i < head_dim; i += 8) {
        _mm256_storeu_ps(x + i, hadamard_eight(_mm256_loadu_ps(x + i)));
    }
    for (uint32_t half = 8; half < width; half *= 2) {
        for (uint32_t i = 0; i < head_dim; i += i % half == half - 8 ? half + 8 : 8) {
            const __m256 a = _mm256_loadu_ps(x + i);
            const __m256 b = _mm256_loadu_ps(x + i + half);

            _mm256_storeu_ps(x + i, _mm256_add_ps(a, b));
            _mm256_storeu_ps(x + i + half, _mm256_sub_ps(a, b));
        }
    }
}

/* Writes @x transformed to @out and returns that. */
static const float *hadamard_of(enum kern_kv kv, const float *x, uint32_t head_dim, float *out)
{
    memcpy(out, x, head_dim * sizeof(float));
    avx2_kv_hadamard(out, head_dim, kv_hadamard_width(kv, head_dim));
    return out;
}

static void put_f16(const float *x, uint32_t n, uint8_t *place)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);

        _mm_storeu_si128((__m128i *)(void *)(place + 2 * i), halves);
    }
    for (; i < n; i++) {
        put_half(place + 2 * i, x[i]);
    }
}

void avx2_kv_put(enum kern_kv kv, const float *x, uint32_t head_dim, uint8_t *strip, uint32_t lane)
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
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(halves + 2 * i))));
    }
    for (; i < n; i++) {
        out[i] = from_half(halves + 2 * i);
    }
}

static void get_q8(const uint8_t *numbers, float d, uint32_t n, float *out)
{
    uint32_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256i q = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(numbers + i)));

        _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(d)));
    }
    for (; i < n; i++) {
        out[i] = d * (float)(int8_t)numbers[i];
    }
}

static void get_q4(const uint8_t *numbers, float d, float m, uint32_t n, float *out)
{
    const __m256i four = _mm256_set1_epi32(0xf);
    const __m256 wide_d = _mm256_set1_ps(d);
    const __m256 wide_m = _mm256_set1_ps(m);
    const uint32_t half = n / 2;
    uint32_t i = 0;

    for (; i + 8 <= half; i += 8) {
        const __m256i q = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(numbers + i)));
        const __m256 low = _mm256_cvtepi32_ps(_mm256_and_si256(q, four));
        const __m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(q, 4));

        _mm256_storeu_ps(out + i, _mm256_fmadd_ps(wide_d, low, wide_m));
        _mm256_storeu_ps(out + half + i, _mm256_fmadd_ps(wide_d, high, wide_m));
    }
    for (; i < half; i++) {
        out[i] = fmaf(d, (float)(numbers[i] & 0xf), m);
        out[half + i] = fmaf(d, (float)(numbers[i] >> 4), m);
    }
}

void avx2_kv_get(enum kern_kv kv, uint8_t *strip, uint32_t n, uint32_t head_dim, float *out, uint32_t stride)
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
            get_q8(numbers, from_half(scales), head_dim, out);
            break;
        case KERN_KV_Q4:
            get_q4(numbers, from_half(scales), from_half(scales + 2), head_dim, out);
            break;
        case KERN_KV_COUNT:
            break;
        }
        for (uint32_t i = head_dim; i < stride; i++) {
            out[i] = -0.0f;
        }
    }
}
