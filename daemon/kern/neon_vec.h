/*
 * Neon_vec: the operations of vec.h in two registers of NEON, which every 64-bit Arm processor has; private to the
 * module
 */
#ifndef SOTTO_KERN_NEON_VEC_H
#define SOTTO_KERN_NEON_VEC_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VEC_INLINE static inline __attribute__((always_inline))

typedef float32x4x2_t vecf;
typedef int32x4x2_t veci;

/* Both halves by the same intrinsic. */
#define VEC_ONE(type, op, a)                                                                                           \
    (type)                                                                                                             \
    {                                                                                                                  \
        {                                                                                                              \
            op((a).val[0]), op((a).val[1])                                                                             \
        }                                                                                                              \
    }
#define VEC_TWO(type, op, a, b)                                                                                        \
    (type)                                                                                                             \
    {                                                                                                                  \
        {                                                                                                              \
            op((a).val[0], (b).val[0]), op((a).val[1], (b).val[1])                                                     \
        }                                                                                                              \
    }
#define VEC_THREE(type, op, a, b, c)                                                                                   \
    (type)                                                                                                             \
    {                                                                                                                  \
        {                                                                                                              \
            op((a).val[0], (b).val[0], (c).val[0]), op((a).val[1], (b).val[1], (c).val[1])                             \
        }                                                                                                              \
    }

/* ---- floats ---- */

VEC_INLINE vecf vecf_load(const float *x)
{
    return (vecf){ { vld1q_f32(x), vld1q_f32(x + 4) } };
}

VEC_INLINE void vecf_store(float *out, vecf x)
{
    vst1q_f32(out, x.val[0]);
    vst1q_f32(out + 4, x.val[1]);
}

VEC_INLINE vecf vecf_set(float x)
{
    return (vecf){ { vdupq_n_f32(x), vdupq_n_f32(x) } };
}

VEC_INLINE vecf vecf_add(vecf a, vecf b)
{
    return VEC_TWO(vecf, vaddq_f32, a, b);
}

VEC_INLINE vecf vecf_sub(vecf a, vecf b)
{
    return VEC_TWO(vecf, vsubq_f32, a, b);
}

VEC_INLINE vecf vecf_mul(vecf a, vecf b)
{
    return VEC_TWO(vecf, vmulq_f32, a, b);
}

VEC_INLINE vecf vecf_div(vecf a, vecf b)
{
    return VEC_TWO(vecf, vdivq_f32, a, b);
}

VEC_INLINE vecf vecf_fma(vecf a, vecf b, vecf c)
{
    return VEC_THREE(vecf, vfmaq_f32, c, a, b);
}

VEC_INLINE vecf vecf_fnma(vecf a, vecf b, vecf c)
{
    return VEC_THREE(vecf, vfmsq_f32, c, a, b);
}

VEC_INLINE vecf vecf_neg(vecf x)
{
    return VEC_ONE(vecf, vnegq_f32, x);
}

VEC_INLINE vecf vecf_fms(vecf a, vecf b, vecf c)
{
    return vecf_fma(a, b, vecf_neg(c));
}

VEC_INLINE vecf vecf_abs(vecf x)
{
    return VEC_ONE(vecf, vabsq_f32, x);
}

/* ---- integers ---- */

VEC_INLINE veci veci_of_bytes(uint8x16_t low, uint8x16_t high)
{
    return (veci){ { vreinterpretq_s32_u8(low), vreinterpretq_s32_u8(high) } };
}

VEC_INLINE veci veci_load(const void *place)
{
    const uint8_t *bytes = place;

    return veci_of_bytes(vld1q_u8(bytes), vld1q_u8(bytes + 16));
}

VEC_INLINE void veci_store(void *place, veci x)
{
    uint8_t *bytes = place;

    vst1q_u8(bytes, vreinterpretq_u8_s32(x.val[0]));
    vst1q_u8(bytes + 16, vreinterpretq_u8_s32(x.val[1]));
}

VEC_INLINE veci veci_set(int32_t x)
{
    return (veci){ { vdupq_n_s32(x), vdupq_n_s32(x) } };
}

VEC_INLINE veci veci_bytes(uint8_t x)
{
    return veci_of_bytes(vdupq_n_u8(x), vdupq_n_u8(x));
}

VEC_INLINE veci veci_and(veci a, veci b)
{
    return VEC_TWO(veci, vandq_s32, a, b);
}

VEC_INLINE veci veci_or(veci a, veci b)
{
    return VEC_TWO(veci, vorrq_s32, a, b);
}

VEC_INLINE veci veci_add(veci a, veci b)
{
    return VEC_TWO(veci, vaddq_s32, a, b);
}

VEC_INLINE veci veci_sub(veci a, veci b)
{
    return VEC_TWO(veci, vsubq_s32, a, b);
}

VEC_INLINE veci veci_mul(veci a, veci b)
{
    return VEC_TWO(veci, vmulq_s32, a, b);
}

VEC_INLINE veci veci_max(veci a, veci b)
{
    return VEC_TWO(veci, vmaxq_s32, a, b);
}

VEC_INLINE veci veci_shl(veci x, int n)
{
    return (veci){ { x.val[0] << n, x.val[1] << n } };
}

VEC_INLINE veci veci_sar(veci x, int n)
{
    return (veci){ { x.val[0] >> n, x.val[1] >> n } };
}

VEC_INLINE veci veci_shr(veci x, int n)
{
    return (veci){ { vreinterpretq_s32_u32(vreinterpretq_u32_s32(x.val[0]) >> n),
                     vreinterpretq_s32_u32(vreinterpretq_u32_s32(x.val[1]) >> n) } };
}

VEC_INLINE float vecf_first(vecf x)
{
    return vgetq_lane_f32(x.val[0], 0);
}

VEC_INLINE float vecf_least(vecf x)
{
    return vminvq_f32(vminq_f32(x.val[0], x.val[1]));
}

VEC_INLINE int32_t veci_top(veci x)
{
    return vmaxvq_s32(vmaxq_s32(x.val[0], x.val[1]));
}

/* ---- between them ---- */

VEC_INLINE veci veci_round(vecf x)
{
    return VEC_ONE(veci, vcvtnq_s32_f32, x);
}

VEC_INLINE vecf vecf_of(veci x)
{
    return VEC_ONE(vecf, vcvtq_f32_s32, x);
}

VEC_INLINE veci veci_as(vecf x)
{
    return VEC_ONE(veci, vreinterpretq_s32_f32, x);
}

VEC_INLINE vecf vecf_as(veci x)
{
    return VEC_ONE(vecf, vreinterpretq_f32_s32, x);
}

VEC_INLINE veci vec_mask(uint32x4_t low, uint32x4_t high)
{
    return (veci){ { vreinterpretq_s32_u32(low), vreinterpretq_s32_u32(high) } };
}

VEC_INLINE veci vecf_less(vecf a, vecf b)
{
    return vec_mask(vcltq_f32(a.val[0], b.val[0]), vcltq_f32(a.val[1], b.val[1]));
}

VEC_INLINE veci vecf_is_nan(vecf x)
{
    return vec_mask(vmvnq_u32(vceqq_f32(x.val[0], x.val[0])), vmvnq_u32(vceqq_f32(x.val[1], x.val[1])));
}

VEC_INLINE veci veci_less(veci a, veci b)
{
    return vec_mask(vcltq_s32(a.val[0], b.val[0]), vcltq_s32(a.val[1], b.val[1]));
}

VEC_INLINE vecf vecf_select(veci mask, vecf a, vecf b)
{
    return (vecf){ { vbslq_f32(vreinterpretq_u32_s32(mask.val[0]), a.val[0], b.val[0]),
                     vbslq_f32(vreinterpretq_u32_s32(mask.val[1]), a.val[1], b.val[1]) } };
}

VEC_INLINE vecf vecf_max(vecf a, vecf b)
{
    return vecf_select(vecf_less(b, a), a, b);
}

VEC_INLINE vecf vecf_min(vecf a, vecf b)
{
    return vecf_select(vecf_less(a, b), a, b);
}

VEC_INLINE vecf vecf_copysign(vecf magnitude, vecf sign)
{
    return vecf_as(veci_or(veci_as(magnitude), veci_and(veci_as(sign), veci_set(INT32_MIN))));
}

/* ---- memory in other forms ---- */

VEC_INLINE uint16x8_t vec_load_16(const void *place)
{
    return vreinterpretq_u16_u8(vld1q_u8(place));
}

VEC_INLINE vecf vecf_load_halves(const void *place)
{
    const float16x8_t halves = vreinterpretq_f16_u16(vec_load_16(place));

    return (vecf){ { vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves) } };
}

VEC_INLINE void vecf_store_halves(void *place, vecf x)
{
    vst1q_u8(place, vreinterpretq_u8_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.val[0]), x.val[1])));
}

VEC_INLINE float vec_load_half(const void *place)
{
    __fp16 half;

    memcpy(&half, place, sizeof(half));
    return (float)half;
}

VEC_INLINE float vec_store_half(void *place, float x)
{
    const __fp16 half = (__fp16)x;

    memcpy(place, &half, sizeof(half));
    return (float)half;
}

VEC_INLINE vecf vecf_load_bf16(const void *place)
{
    const uint16x8_t upper = vec_load_16(place);

    return (vecf){ { vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(upper), 16)),
                     vreinterpretq_f32_u32(vshll_high_n_u16(upper, 16)) } };
}

VEC_INLINE veci veci_load_s8(const void *place)
{
    const int16x8_t words = vmovl_s8(vld1_s8(place));

    return (veci){ { vmovl_s16(vget_low_s16(words)), vmovl_high_s16(words) } };
}

VEC_INLINE veci veci_load_u8(const void *place)
{
    const int16x8_t words = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(place)));

    return (veci){ { vmovl_s16(vget_low_s16(words)), vmovl_high_s16(words) } };
}

VEC_INLINE void veci_store_8(void *place, veci x)
{
    vst1_s8(place, vmovn_s16(vmovn_high_s32(vmovn_s32(x.val[0]), x.val[1])));
}

VEC_INLINE void vecf_load_pairs(const float *x, vecf *ret_first, vecf *ret_second)
{
    const float32x4x2_t low = vld2q_f32(x);
    const float32x4x2_t high = vld2q_f32(x + 8);

    *ret_first = (vecf){ { low.val[0], high.val[0] } };
    *ret_second = (vecf){ { low.val[1], high.val[1] } };
}

VEC_INLINE void vecf_store_pairs(float *out, vecf first, vecf second)
{
    vst2q_f32(out, (float32x4x2_t){ { first.val[0], second.val[0] } });
    vst2q_f32(out + 8, (float32x4x2_t){ { first.val[1], second.val[1] } });
}

/* ---- sums in the order of kern.h, 1 ---- */

/* Returns lane i plus lane i + 2 of @a and of @b. */
VEC_INLINE float32x4_t vec_to_two(float32x4_t a, float32x4_t b)
{
    const float64x2_t a_pairs = vreinterpretq_f64_f32(a);
    const float64x2_t b_pairs = vreinterpretq_f64_f32(b);

    return vaddq_f32(vreinterpretq_f32_f64(vzip1q_f64(a_pairs, b_pairs)),
                     vreinterpretq_f32_f64(vzip2q_f64(a_pairs, b_pairs)));
}

VEC_INLINE float vecf_join(vecf eight)
{
    const float32x4_t four = vaddq_f32(eight.val[0], eight.val[1]);

    return vpadds_f32(vget_low_f32(vec_to_two(four, four)));
}

VEC_INLINE vecf vecf_join_eight(const vecf rows[8])
{
    float32x4_t four[8], two[4];

    for (int j = 0; j < 8; j++) {
        four[j] = vaddq_f32(rows[j].val[0], rows[j].val[1]);
    }
    for (int j = 0; j < 4; j++) {
        two[j] = vec_to_two(four[2 * j], four[2 * j + 1]);
    }
    return (vecf){ { vpaddq_f32(two[0], two[1]), vpaddq_f32(two[2], two[3]) } };
}

/* ---- across lanes ---- */

VEC_INLINE veci veci_lanes(void)
{
    static const int32_t lanes[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    return veci_load(lanes);
}

VEC_INLINE vecf vecf_hadamard(vecf x)
{
    static const uint32_t ones[4] = { 0, 0x80000000, 0, 0x80000000 };
    static const uint32_t twos[4] = { 0, 0, 0x80000000, 0x80000000 };
    float32x4_t half[2] = { x.val[0], x.val[1] };

    for (int i = 0; i < 2; i++) { /* the partner plus the element, negated where it is the second of the two */
        const float32x4_t one = vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(half[i]), vld1q_u32(ones)));
        float32x4_t two;

        half[i] = vaddq_f32(vrev64q_f32(half[i]), one);
        two = vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(half[i]), vld1q_u32(twos)));
        half[i] = vaddq_f32(vextq_f32(half[i], half[i], 2), two);
    }
    return (vecf){ { vaddq_f32(half[0], half[1]), vsubq_f32(half[0], half[1]) } };
}

VEC_INLINE int8x8_t vec_narrow(veci x)
{
    return vqmovn_s16(vqmovn_high_s32(vqmovn_s32(x.val[0]), x.val[1]));
}

VEC_INLINE void veci_store_32(int8_t *out, const veci x[4])
{
    vst1q_s8(out, vcombine_s8(vec_narrow(x[0]), vec_narrow(x[1])));
    vst1q_s8(out + 16, vcombine_s8(vec_narrow(x[2]), vec_narrow(x[3])));
}

VEC_INLINE void vec_sums_of_32(const int8_t *q, int32_t *ret_first, int32_t *ret_last)
{
    *ret_first = vaddlvq_s8(vld1q_s8(q));
    *ret_last = vaddlvq_s8(vld1q_s8(q + 16));
}

#endif
