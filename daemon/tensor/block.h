/*
 * Block: the layout of quantised elements in a file
 *
 * A row is a whole number of blocks without padding; all numbers are little-endian and no block is aligned to more than
 * a byte, so every field here is bytes. `half` is an IEEE binary16. q is the stored integer of an element, w the
 * element itself. Source: the format description of the PyPI package `gguf`.
 */
#ifndef SOTTO_TENSOR_BLOCK_H
#define SOTTO_TENSOR_BLOCK_H

#include <stdint.h>

#define BLOCK_SMALL 32  /* elements of a block of Q*_0, Q*_1 and IQ4_NL */
#define BLOCK_SUPER 256 /* elements of a block of the K formats */

/* w = d * (q - 8). Element j < 16 is the low half of qs[j], element j + 16 the high half. */
struct block_q4_0 {
    uint8_t d[2]; /* half */
    uint8_t qs[16];
};

/* w = d * q + m; the elements are laid out as in Q4_0. */
struct block_q4_1 {
    uint8_t d[2];
    uint8_t m[2]; /* half */
    uint8_t qs[16];
};

/* w = d * (q - 16). Bit j of qh is bit 4 of element j; the rest is as in Q4_0. */
struct block_q5_0 {
    uint8_t d[2];
    uint8_t qh[4];
    uint8_t qs[16];
};

/* w = d * q + m; the elements are laid out as in Q5_0. */
struct block_q5_1 {
    uint8_t d[2];
    uint8_t m[2];
    uint8_t qh[4];
    uint8_t qs[16];
};

/* w = d * q. */
struct block_q8_0 {
    uint8_t d[2];
    int8_t qs[32];
};

/*
 * Sixteen runs of 16 elements; the low half of scales[j] is the scale of run j, the high half its min;
 * w = (d * scale) * q - dmin * min. In half h (128 elements) of the block, element 32 k + l is bits 2k and 2k + 1 of
 * qs[32 h + l].
 */
struct block_q2_k {
    uint8_t scales[16];
    uint8_t qs[64];
    uint8_t d[2];
    uint8_t dmin[2]; /* half */
};

/*
 * Sixteen runs of 16 elements with a 6-bit scale each; w = (d * (scale - 32)) * (q - 4). q has its low two bits as in
 * Q2_K and its third in bit 4h + k of hmask[l]. Scale j has its low four bits in the low half of scales[j] (j < 8) or
 * the high half of scales[j - 8], its upper two in bits 2 (j / 4) and above of scales[8 + j mod 4].
 */
struct block_q3_k {
    uint8_t hmask[32];
    uint8_t qs[64];
    uint8_t scales[12];
    uint8_t d[2];
};

/*
 * Eight runs of 32 elements with a 6-bit scale and a 6-bit min each; w = (d * scale) * q - dmin * min. In scales, byte
 * j < 4 holds scale j in its low 6 bits, byte j + 4 min j. Byte j + 8 holds the low 4 bits of scale j + 4 (low half)
 * and of min j + 4 (high half); their upper 2 bits are the top of bytes j and j + 4. Runs 2i and 2i + 1 are the low and
 * the high halves of qs[32 i] .. qs[32 i + 31].
 */
struct block_q4_k {
    uint8_t d[2];
    uint8_t dmin[2]; /* half */
    uint8_t scales[12];
    uint8_t qs[128];
};

/* The layout is that of Q4_K; bit i of qh[j] is bit 4 of element j of run i. */
struct block_q5_k {
    uint8_t d[2];
    uint8_t dmin[2];
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t qs[128];
};

/*
 * Sixteen runs of 16 elements with an 8-bit scale each; w = (d * scale) * (q - 32). In half h (128 elements) of the
 * block, element 32 k + l takes its low 4 bits from ql[64 h + 32 (k mod 2) + l] (low half for k < 2) and its
 * upper 2 bits from bits 2k of qh[32 h + l].
 */
struct block_q6_k {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    uint8_t d[2];
};

/*
 * w = d * value[q]: q selects one of sixteen values, which are closer together near 0, as weights are. The layout is
 * that of Q4_0.
 */
struct block_iq4_nl {
    uint8_t d[2];
    uint8_t qs[16];
};

/* The initialiser of value[16]. */
#define BLOCK_IQ4_VALUES -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

/*
 * Eight runs of 32 elements, each as IQ4_NL with qs[16 i] .. qs[16 i + 15] and a 6-bit scale; w = (d * (scale - 32)) *
 * value[q]. The low 4 bits of scale i are the low (i even) or the high half of scales_l[i / 2], its upper 2 bits are
 * bits 2i of scales_h.
 */
struct block_iq4_xs {
    uint8_t d[2];
    uint8_t scales_h[2];
    uint8_t scales_l[4];
    uint8_t qs[128];
};

_Static_assert(sizeof(struct block_q4_0) == 18, "Q4_0");
_Static_assert(sizeof(struct block_q4_1) == 20, "Q4_1");
_Static_assert(sizeof(struct block_q5_0) == 22, "Q5_0");
_Static_assert(sizeof(struct block_q5_1) == 24, "Q5_1");
_Static_assert(sizeof(struct block_q8_0) == 34, "Q8_0");
_Static_assert(sizeof(struct block_q2_k) == 84, "Q2_K");
_Static_assert(sizeof(struct block_q3_k) == 110, "Q3_K");
_Static_assert(sizeof(struct block_q4_k) == 144, "Q4_K");
_Static_assert(sizeof(struct block_q5_k) == 176, "Q5_K");
_Static_assert(sizeof(struct block_q6_k) == 210, "Q6_K");
_Static_assert(sizeof(struct block_iq4_nl) == 18, "IQ4_NL");
_Static_assert(sizeof(struct block_iq4_xs) == 136, "IQ4_XS");
_Static_assert(_Alignof(struct block_q4_k) == 1 && _Alignof(struct block_q6_k) == 1, "blocks have any address");

#endif
