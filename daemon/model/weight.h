/*
 * Weight: e^x for x <= 0, fast enough for a whole vocabulary
 *
 * real_exp() of daemon/tensor is exact to about a unit, but consists of fused operations, which take ten times as long
 * on a processor without them, or in a build that may not rely on them. Here all is binary64 with plain multiplications
 * and additions in one order, rounded to binary32 once: the same bits on every machine, within 0.6 units in the last
 * place. Below WEIGHT_MIN, and for NaN, it is 0, so that such a token is never drawn.
 */
#ifndef SOTTO_MODEL_WEIGHT_H
#define SOTTO_MODEL_WEIGHT_H

#include <stdint.h>
#include <string.h>

#define WEIGHT_MIN (-80.0F)

static inline float weight_of(float x)
{
    /* e^x = 2^k e^r with |r| <= ln 2 / 2; adding and subtracting 1.5 * 2^52 rounds to the nearest integer. */
    const double whole = 6755399441055744.0;
    const double wide = x;
    double power;
    double k;
    double r;
    double sum;
    uint64_t bits;

    if (!(x >= WEIGHT_MIN)) {
        return 0;
    }
    k = (wide * 0x1.71547652b82fep+0 + whole) - whole;
    r = wide - k * 0x1.62e42fefa39efp-1;
    sum = 1.0 / 5040 * r + 1.0 / 720; /* Taylor's series up to r^7; the rest is below 6e-9 */
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 1.0 / 2;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    bits = (uint64_t)((int64_t)k + 1023) << 52;
    memcpy(&power, &bits, sizeof(power));
    return (float)(sum * power);
}

#endif
