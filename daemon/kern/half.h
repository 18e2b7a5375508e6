/*
 * Half: 16-bit floats, converted to and from float
 *
 * Integer arithmetic only, so that the plain kernels need nothing of the processor. To float is exact; to half
 * rounds to nearest even, beyond 65504 to infinity, and keeps denormals. A NaN stays a NaN, made quiet.
 */
#ifndef SOTTO_KERN_HALF_H
#define SOTTO_KERN_HALF_H

#include <stdint.h>
#include <string.h>

static inline float half_bits_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint32_t half_float_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* Returns the 16 bits at @bytes, which need not be aligned. */
static inline uint16_t half_load(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = (half >> 10) & 0x1f;
    uint32_t fraction = half & 0x3ff;

    if (exponent == 0) { /* zero or denormal: fraction * 2^-24 is exact */
        return half_bits_float(sign | half_float_bits((float)fraction * 0x1p-24f));
    }
    if (exponent == 0x1f) {
        uint32_t quiet = fraction ? 0x00400000 : 0;

        return half_bits_float(sign | 0x7f800000 | quiet | fraction << 13);
    }
    return half_bits_float(sign | (exponent + 112) << 23 | fraction << 13);
}

static inline uint16_t half_from_float(float x)
{
    uint32_t bits = half_float_bits(x);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);

    bits &= 0x7fffffff;
    if (bits > 0x7f800000) {
        return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x1ff));
    }
    if (bits >= 0x477ff000) { /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00);
    }
    if (bits < 0x38800000) { /* below 2^-14: adding 0.5 leaves the rounded half denormal in the low bits */
        return (uint16_t)(sign | (half_float_bits(half_bits_float(bits) + 0.5f) - 0x3f000000));
    }
    bits += 0xfff + (bits >> 13 & 1); /* to nearest even; a carry into the exponent is right */
    return (uint16_t)(sign | ((bits >> 13) - (112u << 10)));
}

static inline float half_from_bf16(uint16_t upper)
{
    return half_bits_float((uint32_t)upper << 16);
}

#endif
