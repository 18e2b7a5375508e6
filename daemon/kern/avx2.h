/*
 * Avx2: parts that the files of this set share; private to the set
 *
 * The functions here are always inlined: they are steps of kernels, and a call would spill the registers.
 */
#ifndef SOTTO_KERN_AVX2_H
#define SOTTO_KERN_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define AVX2_INLINE static inline __attribute__((always_inline))

/* Returns four bytes, which need not be aligned, in each of eight lanes. */
AVX2_INLINE __m256i avx2_spread(const void *bytes)
{
    int32_t word;

    memcpy(&word, bytes, sizeof(word));
    return _mm256_set1_epi32(word);
}

#endif
