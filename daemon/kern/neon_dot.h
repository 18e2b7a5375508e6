/*
 * Neon_dot: words of eight weight rows in two registers, and their products; private to vec_dot.h
 *
 * The flags of the compiler choose among three ways to multiply. SMMLA multiplies 2 x 8 with 8 x 2 bytes, so it wants
 * eight columns of two weight rows in a register, and two activation rows: what is opened for many activation rows is
 * stored in this order. SDOT multiplies four columns of four weight rows with those of one activation row. Processors
 * without it multiply to 16 bits: a sum of two products is at most 2 * 128 * 127 = 32512.
 */
#ifndef SOTTO_KERN_NEON_DOT_H
#define SOTTO_KERN_NEON_DOT_H

#include "kern/neon_vec.h"

#define VEC_ABOVE       0    /* what signed bytes are above their weights */
#define VEC_ROWS_BY_ONE true /* kernels for a file's rows with a single activation row */

VEC_INLINE int32x4_t vec_words_at(const uint8_t *bytes)
{
    return vreinterpretq_s32_u8(vld1q_u8(bytes));
}

VEC_INLINE int32x4_t vec_zip_low(int32x4_t a, int32x4_t b)
{
    return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}

VEC_INLINE int32x4_t vec_zip_high(int32x4_t a, int32x4_t b)
{
    return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}

VEC_INLINE void vec_transpose(const uint8_t *const rows[8], size_t at, veci words[4])
{
    for (int half = 0; half < 2; half++) {
        const int32x4_t a = vec_words_at(rows[4 * half] + at);
        const int32x4_t b = vec_words_at(rows[4 * half + 1] + at);
        const int32x4_t c = vec_words_at(rows[4 * half + 2] + at);
        const int32x4_t d = vec_words_at(rows[4 * half + 3] + at);

        words[0].val[half] = vec_zip_low(vtrn1q_s32(a, b), vtrn1q_s32(c, d));
        words[1].val[half] = vec_zip_low(vtrn2q_s32(a, b), vtrn2q_s32(c, d));
        words[2].val[half] = vec_zip_high(vtrn1q_s32(a, b), vtrn1q_s32(c, d));
        words[3].val[half] = vec_zip_high(vtrn2q_s32(a, b), vtrn2q_s32(c, d));
    }
}

VEC_INLINE int32_t vec_word_at(const uint8_t *bytes)
{
    int32_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

VEC_INLINE veci vec_gather(const uint8_t *const rows[8], size_t at)
{
    veci words = veci_set(vec_word_at(rows[0] + at));

    words.val[0] = vsetq_lane_s32(vec_word_at(rows[1] + at), words.val[0], 1);
    words.val[0] = vsetq_lane_s32(vec_word_at(rows[2] + at), words.val[0], 2);
    words.val[0] = vsetq_lane_s32(vec_word_at(rows[3] + at), words.val[0], 3);
    words.val[1] = vsetq_lane_s32(vec_word_at(rows[4] + at), words.val[1], 0);
    words.val[1] = vsetq_lane_s32(vec_word_at(rows[5] + at), words.val[1], 1);
    words.val[1] = vsetq_lane_s32(vec_word_at(rows[6] + at), words.val[1], 2);
    words.val[1] = vsetq_lane_s32(vec_word_at(rows[7] + at), words.val[1], 3);
    return words;
}

VEC_INLINE uint8x16_t vec_bytes_of(int32x4_t words)
{
    return vreinterpretq_u8_s32(words);
}

VEC_INLINE veci vec_high_four(veci bytes)
{
    return veci_of_bytes(vshrq_n_u8(vec_bytes_of(bytes.val[0]), 4), vshrq_n_u8(vec_bytes_of(bytes.val[1]), 4));
}

VEC_INLINE veci vec_lookup(const int8_t table[16], veci indexes)
{
    const uint8x16_t bytes = vreinterpretq_u8_s8(vld1q_s8(table));

    return veci_of_bytes(vqtbl1q_u8(bytes, vec_bytes_of(indexes.val[0])),
                         vqtbl1q_u8(bytes, vec_bytes_of(indexes.val[1])));
}

VEC_INLINE veci vec_signed(veci bytes)
{
    return bytes;
}

VEC_INLINE veci vec_test(veci a, veci b)
{
    return veci_of_bytes(vtstq_u8(vec_bytes_of(a.val[0]), vec_bytes_of(b.val[0])),
                         vtstq_u8(vec_bytes_of(a.val[1]), vec_bytes_of(b.val[1])));
}

VEC_INLINE vecf vec_half_of(veci words)
{
    const int16x8_t halves = vmovn_high_s32(vmovn_s32(words.val[0]), words.val[1]);
    const float16x8_t floats = vreinterpretq_f16_s16(halves);

    return (vecf){ { vcvt_f32_f16(vget_low_f16(floats)), vcvt_high_f32_f16(floats) } };
}

/* ---- products ---- */

/* Adds to @sum the products of a register with word @lane of @acts. */
#ifdef __ARM_FEATURE_DOTPROD
#define VEC_SDOT(sum, w, acts, lane) vdotq_laneq_s32(sum, vreinterpretq_s8_s32(w), acts, lane)
#else
#define VEC_SDOT(sum, w, acts, lane)                                                                                   \
    vec_sdot(sum, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(acts), lane)))

VEC_INLINE int32x4_t vec_sdot(int32x4_t sum, int8x16_t w, int8x16_t q)
{
    return vpadalq_s16(sum, vpaddq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(q)), vmull_high_s8(w, q)));
}
#endif

VEC_INLINE veci vec_dot(veci sum, const veci w[4], const int8_t *acts)
{
    const int8x16_t q = vld1q_s8(acts);

    for (int half = 0; half < 2; half++) {
        sum.val[half] = VEC_SDOT(sum.val[half], w[0].val[half], q, 0);
        sum.val[half] = VEC_SDOT(sum.val[half], w[1].val[half], q, 1);
        sum.val[half] = VEC_SDOT(sum.val[half], w[2].val[half], q, 2);
        sum.val[half] = VEC_SDOT(sum.val[half], w[3].val[half], q, 3);
    }
    return sum;
}

#ifdef __ARM_FEATURE_MATMUL_INT8
/* Stores rows 0 and 1, 2 and 3, ... side by side: registers 2i and 2i + 1 hold columns 8i .. 8i + 7. */
VEC_INLINE void vec_put(uint8_t (*place)[32], const veci w[8])
{
    for (int k = 0; k < 8; k += 2) {
        veci_store(place[k],
                   (veci){ { vzip1q_s32(w[k].val[0], w[k + 1].val[0]), vzip2q_s32(w[k].val[0], w[k + 1].val[0]) } });
        veci_store(place[k + 1],
                   (veci){ { vzip1q_s32(w[k].val[1], w[k + 1].val[1]), vzip2q_s32(w[k].val[1], w[k + 1].val[1]) } });
    }
}

/* An odd row is multiplied as if it were there twice. */
VEC_INLINE void vec_dots(veci *sum, const uint8_t (*place)[32], uint32_t n, const int8_t *acts, size_t stride,
                         uint32_t n_rows)
{
    int32x4_t squares[8][4]; /* of two activation rows and two weight rows each */

    for (uint32_t t = 0; t < n_rows; t += 2) {
        for (uint32_t i = 0; i < 4; i++) {
            squares[t][i] = vdupq_n_s32(0);
        }
    }
    for (uint32_t k = 0; k < n; k += 2) {
        const veci four[2] = { veci_load(place[k]), veci_load(place[k + 1]) };

        for (uint32_t t = 0; t < n_rows; t += 2) {
            const int8_t *first = acts + t * stride + 4 * k;
            const int8x16_t q = vcombine_s8(vld1_s8(first), vld1_s8(t + 1 < n_rows ? first + stride : first));

            for (uint32_t i = 0; i < 4; i++) {
                squares[t][i] = vmmlaq_s32(squares[t][i], q, vreinterpretq_s8_s32(four[i / 2].val[i % 2]));
            }
        }
    }
    for (uint32_t t = 0; t < n_rows; t += 2) {
        for (uint32_t half = 0; half < 2; half++) {
            const int32x4_t a = squares[t][2 * half];
            const int32x4_t b = squares[t][2 * half + 1];

            sum[t].val[half] = vaddq_s32(sum[t].val[half], vec_zip_low(a, b));
            if (t + 1 < n_rows) {
                sum[t + 1].val[half] = vaddq_s32(sum[t + 1].val[half], vec_zip_high(a, b));
            }
        }
    }
}
#else
VEC_INLINE void vec_put(uint8_t (*place)[32], const veci w[8])
{
    for (int k = 0; k < 8; k++) {
        veci_store(place[k], w[k]);
    }
}

VEC_INLINE void vec_dots(veci *sum, const uint8_t (*place)[32], uint32_t n, const int8_t *acts, size_t stride,
                         uint32_t n_rows)
{
    for (uint32_t k = 0; k < n; k += 4) {
        const veci w[4] = { veci_load(place[k]), veci_load(place[k + 1]), veci_load(place[k + 2]),
                            veci_load(place[k + 3]) };

        for (uint32_t t = 0; t < n_rows; t++) {
            sum[t] = vec_dot(sum[t], w, acts + t * stride + 4 * k);
        }
    }
}
#endif

/* The first numbers of all lanes, then the second ones, as 16 bits. */
VEC_INLINE veci vec_pair(veci first, veci second)
{
    return (veci){ { vreinterpretq_s32_s16(vmovn_high_s32(vmovn_s32(first.val[0]), first.val[1])),
                     vreinterpretq_s32_s16(vmovn_high_s32(vmovn_s32(second.val[0]), second.val[1])) } };
}

VEC_INLINE veci vec_add_pair(veci sum, veci pair, const int16_t *two)
{
    for (int i = 0; i < 2; i++) {
        const int16x8_t numbers = vreinterpretq_s16_s32(pair.val[i]);

        sum.val[0] = vmlal_n_s16(sum.val[0], vget_low_s16(numbers), two[i]);
        sum.val[1] = vmlal_high_n_s16(sum.val[1], numbers, two[i]);
    }
    return sum;
}

#endif
