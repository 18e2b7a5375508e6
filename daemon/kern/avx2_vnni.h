/*
 * Avx2_vnni: words of eight weight rows in a register, and their products by VPDPBUSD; private to vec_dot.h
 *
 * The instruction multiplies unsigned with signed bytes: signed weights are used 128 above themselves. It has two
 * encodings, of AVX-VNNI and of AVX512_VNNI with AVX512VL, and a processor may know one of them only. The flags of the
 * compiler choose.
 */
#ifndef SOTTO_KERN_AVX2_VNNI_H
#define SOTTO_KERN_AVX2_VNNI_H

#include "kern/avx2_vec.h"

#define VEC_ABOVE       128   /* what signed bytes are above their weights */
#define VEC_ROWS_BY_ONE false /* a file's rows with a single activation row: avx2 is faster */

VEC_INLINE veci vec_both(const uint8_t *low, const uint8_t *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(vec_load_16(low)), vec_load_16(high), 1);
}

VEC_INLINE void vec_transpose(const uint8_t *const rows[8], size_t at, veci words[4])
{
    const veci a = vec_both(rows[0] + at, rows[4] + at);
    const veci b = vec_both(rows[1] + at, rows[5] + at);
    const veci c = vec_both(rows[2] + at, rows[6] + at);
    const veci d = vec_both(rows[3] + at, rows[7] + at);
    const veci ab_low = _mm256_unpacklo_epi32(a, b);
    const veci ab_high = _mm256_unpackhi_epi32(a, b);
    const veci cd_low = _mm256_unpacklo_epi32(c, d);
    const veci cd_high = _mm256_unpackhi_epi32(c, d);

    words[0] = _mm256_unpacklo_epi64(ab_low, cd_low);
    words[1] = _mm256_unpackhi_epi64(ab_low, cd_low);
    words[2] = _mm256_unpacklo_epi64(ab_high, cd_high);
    words[3] = _mm256_unpackhi_epi64(ab_high, cd_high);
}

VEC_INLINE int32_t vec_word_at(const uint8_t *bytes)
{
    int32_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

VEC_INLINE veci vec_gather(const uint8_t *const rows[8], size_t at)
{
    return _mm256_setr_epi32(vec_word_at(rows[0] + at), vec_word_at(rows[1] + at), vec_word_at(rows[2] + at),
                             vec_word_at(rows[3] + at), vec_word_at(rows[4] + at), vec_word_at(rows[5] + at),
                             vec_word_at(rows[6] + at), vec_word_at(rows[7] + at));
}

VEC_INLINE veci vec_high_four(veci bytes)
{
    return veci_and(veci_shr(bytes, 4), veci_bytes(0x0f));
}

VEC_INLINE veci vec_lookup(const int8_t table[16], veci indexes)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(vec_load_16(table)), indexes);
}

VEC_INLINE veci vec_signed(veci bytes)
{
    return _mm256_xor_si256(bytes, _mm256_set1_epi8((char)0x80));
}

VEC_INLINE veci vec_test(veci a, veci b)
{
    return _mm256_cmpeq_epi8(veci_and(a, b), b);
}

VEC_INLINE vecf vec_half_of(veci words)
{
    const veci low = veci_and(words, veci_set(0xffff));

    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}

/* ---- products ---- */

VEC_INLINE veci vec_spread(const void *bytes)
{
    return _mm256_set1_epi32(vec_word_at(bytes));
}

VEC_INLINE veci vec_dpbusd(veci sum, veci w, const int8_t *acts)
{
#ifdef __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(sum, w, vec_spread(acts));
#else
    return _mm256_dpbusd_epi32(sum, w, vec_spread(acts));
#endif
}

VEC_INLINE veci vec_dot(veci sum, const veci w[4], const int8_t *acts)
{
    for (int k = 0; k < 4; k++) {
        sum = vec_dpbusd(sum, w[k], acts + 4 * k);
    }
    return sum;
}

VEC_INLINE void vec_put(uint8_t (*place)[32], const veci w[8])
{
    for (int k = 0; k < 8; k++) {
        veci_store(place[k], w[k]);
    }
}

VEC_INLINE void vec_dots(veci *sum, const uint8_t (*place)[32], uint32_t n, const int8_t *acts, size_t stride,
                         uint32_t n_rows)
{
    for (uint32_t k = 0; k < n; k++) {
        const veci w = veci_load(place[k]);

        for (uint32_t t = 0; t < n_rows; t++) {
            sum[t] = vec_dpbusd(sum[t], w, acts + t * stride + 4 * k);
        }
    }
}

VEC_INLINE veci vec_pair(veci first, veci second)
{
    return _mm256_blend_epi16(first, veci_shl(second, 16), 0xaa);
}

VEC_INLINE veci vec_add_pair(veci sum, veci pair, const int16_t *two)
{
    return veci_add(sum, _mm256_madd_epi16(pair, vec_spread(two)));
}

#endif
