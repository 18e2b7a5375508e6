/*
 * Real: argument reduction by ln 2 or pi / 2 in two or three exact pieces, then a polynomial
 *
 * Kernels repeat real_exp() and real_tanh() in registers (kern/avx2.h). Changing a constant or the order of a step here
 * changes the answers of every model.
 */
#include "tensor/real.h"

#include <math.h>
#include <string.h>

/* Adding and subtracting 1.5 * 2^23 (2^52) rounds to the nearest even integer, without a library. */
#define ROUND_F32 12582912.0f
#define ROUND_F64 6755399441055744.0

static float f32_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* Uses e^x = 2^k e^r with |r| <= ln 2 / 2 and e^r = 1 + (r + r^2 q(r)); q interpolates at Chebyshev nodes. */
float real_exp(float x)
{
    float k, r, q;

    if (isnan(x)) {
        return x;
    }
    if (x < REAL_EXP_MIN) {
        return 0.0f;
    }
    if (x > REAL_EXP_MAX) {
        return INFINITY;
    }

    k = fmaf(x, REAL_LOG2_E, ROUND_F32) - ROUND_F32;
    r = fmaf(k, -REAL_LN2_HIGH, x);
    r = fmaf(k, -REAL_LN2_LOW, r);
    q = REAL_EXP_Q4;
    q = fmaf(q, r, REAL_EXP_Q3);
    q = fmaf(q, r, REAL_EXP_Q2);
    q = fmaf(q, r, REAL_EXP_Q1);
    q = fmaf(q, r, REAL_EXP_Q0);
    q = fmaf(q, r * r, r) + 1.0f;
    /* Times 2^k in the exponent's bits: REAL_EXP_MIN keeps the result normal, REAL_EXP_MAX below infinity. */
    return f32_of(bits_of(q) + ((uint32_t)(int32_t)k << 23));
}

/* Uses log(2^k m) = k ln 2 + log(m), m from sqrt(1/2) to sqrt(2), and for log(1 + f) the series of atanh in f / (2 +
 * f). */
float real_log(float x)
{
    const uint32_t sqrt_half = 0x3f3504f3; /* bits of sqrt(1/2) */
    uint32_t bits = bits_of(x);
    int32_t k = 0;
    float f, s, z, half_square, series, whole;

    if (x == 0.0f) {
        return -INFINITY;
    }
    if (!(x > 0.0f)) {
        return NAN;
    }
    if (isinf(x)) {
        return x;
    }
    if (bits < 0x00800000) { /* denormal */
        bits = bits_of(x * 0x1p23f);
        k = -23;
    }

    bits -= sqrt_half;
    k += (int32_t)bits >> 23;
    f = f32_of((bits & 0x007fffff) + sqrt_half) - 1.0f;
    s = f / (2.0f + f);
    z = s * s;
    series = fmaf(z, 2.0f / 9.0f, 2.0f / 7.0f);
    series = fmaf(z, series, 2.0f / 5.0f);
    series = z * fmaf(z, series, 2.0f / 3.0f);
    half_square = 0.5f * f * f;
    whole = (float)k;
    return fmaf(whole, REAL_LN2_HIGH, f - (half_square - fmaf(s, half_square + series, whole * REAL_LN2_LOW)));
}

/* The polynomial p interpolates at Chebyshev nodes. */
float real_tanh(float x)
{
    float a = fabsf(x);
    float z, p, size;

    if (isnan(x)) {
        return x;
    }
    if (a < REAL_TANH_SPLIT) {
        z = a * a;
        p = REAL_TANH_P4;
        p = fmaf(p, z, REAL_TANH_P3);
        p = fmaf(p, z, REAL_TANH_P2);
        p = fmaf(p, z, REAL_TANH_P1);
        p = fmaf(p, z, REAL_TANH_P0);
        size = fmaf(a * z, p, a);
    } else {
        size = 1.0f - 2.0f / (real_exp(2.0f * a) + 1.0f);
    }
    return copysignf(size, x);
}

#define LN2_HIGH 0x1.62e42fee00000p-1 /* 32 bits: k times it is exact */
#define LN2_LOW  0x1.a39ef35793c76p-33

double real_exp_wide(double x)
{
    double k = (x * 0x1.71547652b82fep+0 + ROUND_F64) - ROUND_F64;
    double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double sum = 1.0;

    for (int i = 16; i > 0; i--) { /* r^17 / 17! is below 1e-22 */
        sum = 1.0 + r / i * sum;
    }
    return ldexp(sum, (int)k);
}

double real_log_wide(double x)
{
    int k;
    double m = frexp(x, &k);
    double s, z;
    double sum = 0.0;

    if (m < 0.70710678118654752) {
        m *= 2.0;
        k--;
    }
    s = (m - 1.0) / (m + 1.0);
    z = s * s;
    for (int i = 25; i > 0; i -= 2) { /* z^13 / 27 is below 1e-21 */
        sum = sum * z + 1.0 / i;
    }
    return k * LN2_HIGH + (2.0 * s * sum + k * LN2_LOW);
}

/* pi / 2 in three pieces; the first two have 27 bits, so that their products with k < 2^25 are exact. */
#define HALF_PI_1 0x1.921fb54000000p+0
#define HALF_PI_2 0x1.10b4610000000p-30
#define HALF_PI_3 0x1.a62633145c06ep-58

void real_sincos_wide(double x, double *ret_sin, double *ret_cos)
{
    double k = (x * 0x1.45f306dc9c883p-1 + ROUND_F64) - ROUND_F64;
    double r = ((x - k * HALF_PI_1) - k * HALF_PI_2) - k * HALF_PI_3;
    double z = r * r;
    double s = 1.0;
    double c = 1.0;

    for (int i = 18; i > 0; i -= 2) { /* |r| <= pi / 4: r^20 / 20! is below 1e-20 */
        s = 1.0 - z / (i * (i + 1)) * s;
        c = 1.0 - z / (i * (i - 1)) * c;
    }
    s *= r;
    switch ((uint32_t)(int64_t)k & 3) { /* the quadrant */
    case 0:
        *ret_sin = s;
        *ret_cos = c;
        break;
    case 1:
        *ret_sin = c;
        *ret_cos = -s;
        break;
    case 2:
        *ret_sin = -s;
        *ret_cos = -c;
        break;
    case 3:
        *ret_sin = -c;
        *ret_cos = s;
        break;
    }
}
