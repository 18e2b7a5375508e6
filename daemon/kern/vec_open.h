/*
 * Vec_open: the weights of each format as words of eight rows (layouts: tensor/block.h); private to vec_dot.h
 *
 * Eight weight rows are used together: each lane of a register belongs to one row, and register k of a run of 32
 * columns holds columns 4k .. 4k + 3 of all eight. The words come from the rows of a file, which are transposed, or
 * from panels (tensor/panel.h), where they are neighbours.
 *
 * A format is a function that loads run @j of a piece, as bytes, and one that loads what its weights are scaled by. Its
 * line in vec_dot.h says what the bytes are above the weights.
 */
#ifndef SOTTO_KERN_VEC_OPEN_H
#define SOTTO_KERN_VEC_OPEN_H

#include "kern/kern.h"
#include "kern/vec.h"

#if defined(__AVX2__)
#include "kern/avx2_vnni.h"
#else
#include "kern/neon_dot.h"
#endif

#define LANES    8
#define RUN_COLS 32 /* columns that are loaded together */
#define RUN_REGS 8
#define N_RUNS   (ELEM_PANEL_COLS / RUN_COLS)

/* Scales and mins of a super-block: a row in each lane. */
struct head {
    veci scale[16]; /* of each run of 16 or of 32 columns */
    veci pair[8];   /* scales or mins that go with the sums of two runs of 16, by vec_pair() */
    vecf d, m;
};

/* 256 columns of eight rows at most. All but the places and @n_blocks is constant where functions are inlined. */
struct vec_piece {
    const uint8_t *const *rows; /* the blocks in the order of the file, or */
    const uint8_t *panel;       /* a piece of a panel */
    uint32_t lane;              /* first of the panel's rows that are used */
    bool in_panel;
    size_t n_bytes;    /* of a block */
    size_t half_at;    /* offset of the half that a panel stores apart; SIZE_MAX: none */
    uint32_t n_blocks; /* of the piece */
};

/* ---- words and halves ---- */

VEC_INLINE const uint8_t *panel_words(const struct vec_piece *piece, uint32_t b, size_t at)
{
    const size_t halves = piece->half_at == SIZE_MAX ? 0 : 2 * ELEM_PANEL_ROWS * (size_t)piece->n_blocks;
    const size_t word = b * (piece->n_bytes / 4) + (piece->half_at == 0 ? at - 2 : at) / 4;

    return piece->panel + halves + 4 * (ELEM_PANEL_ROWS * word + piece->lane);
}

/* Loads sixteen bytes from offset @at of block @b on of each row as four registers. */
VEC_INLINE void load_words(const struct vec_piece *piece, uint32_t b, size_t at, veci words[4])
{
    if (!piece->in_panel) {
        vec_transpose(piece->rows, b * piece->n_bytes + at, words);
        return;
    }
    for (uint32_t k = 0; k < 4; k++) {
        words[k] = veci_load(panel_words(piece, b, at + 4 * k));
    }
}

/* Loads four bytes from offset @at of block @b on of each row. */
VEC_INLINE veci load_word(const struct vec_piece *piece, uint32_t b, size_t at)
{
    return piece->in_panel ? veci_load(panel_words(piece, b, at)) : vec_gather(piece->rows, b * piece->n_bytes + at);
}

VEC_INLINE vecf upper_half_of(veci words)
{
    return vec_half_of(veci_shr(words, 16));
}

/* Returns the half of block @b that a panel stores apart: the first or the last of the block. */
VEC_INLINE vecf load_half(const struct vec_piece *piece, uint32_t b)
{
    if (piece->in_panel) {
        return vecf_load_halves(piece->panel + 2 * (ELEM_PANEL_ROWS * (size_t)b + piece->lane));
    }
    /* The four bytes read stay inside the block. */
    return piece->half_at == 0 ? vec_half_of(load_word(piece, b, 0))
                               : upper_half_of(load_word(piece, b, piece->half_at - 2));
}

/* ---- bits of bytes ---- */

#define LOW_FOUR  0x0f
#define LOW_TWO   0x03
#define FIFTH_BIT 0x10

/* Returns bits @n and above of each byte, as many as @mask has from its bit 0 on; n + bits is at most 8. */
VEC_INLINE veci bits_from(veci bytes, int n, uint8_t mask)
{
    return veci_and(n == 0 ? bytes : veci_shr(bytes, n), veci_bytes(mask));
}

VEC_INLINE veci low_four(veci bytes)
{
    return bits_from(bytes, 0, LOW_FOUR);
}

/* Returns bits 2n and 2n + 1 of each byte as its bits 4 and 5. */
VEC_INLINE veci as_top(veci bytes, int n)
{
    return veci_shl(bits_from(bytes, 2 * n, LOW_TWO), 4);
}

/* Returns bit @n of each byte as its bit 4. */
VEC_INLINE veci as_fifth(veci bytes, int n)
{
    return veci_shl(bits_from(bytes, n, 1), 4);
}

/* Returns the values, plus VEC_ABOVE, that the nibbles in @q index (IQ4_NL, IQ4_XS). */
VEC_INLINE veci iq4_values(veci q)
{
    static const int8_t values[16] = { BLOCK_IQ4_VALUES };

    return vec_signed(vec_lookup(values, q));
}

/* Returns byte @j of each lane as a number, unsigned or with its sign. */
VEC_INLINE veci byte_of(veci words, int j)
{
    return veci_and(j == 0 ? words : veci_shr(words, 8 * j), veci_set(0xff));
}

VEC_INLINE veci signed_byte_of(veci words, int j)
{
    return veci_sar(j == 3 ? words : veci_shl(words, 24 - 8 * j), 24);
}

/* ---- blocks of 32: run @j is block @j ---- */

/* Loads nibbles: sixteen low ones, then the high ones, of the sixteen bytes at @at. */
VEC_INLINE void load_nibbles(const struct vec_piece *piece, uint32_t b, size_t at, veci q[RUN_REGS])
{
    veci words[4];

    load_words(piece, b, at, words);
    for (uint32_t k = 0; k < 4; k++) {
        q[k] = low_four(words[k]);
        q[k + 4] = vec_high_four(words[k]);
    }
}

VEC_INLINE void run_q4_0(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_q4_0, qs), q);
}

VEC_INLINE void run_q4_1(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_q4_1, qs), q);
}

/* Adds bits 4k .. 4k + 3 of each lane of the word at @at as bit 4 of the four bytes of register @k. */
VEC_INLINE void add_fifth(const struct vec_piece *piece, uint32_t b, size_t at, veci q[RUN_REGS])
{
    const veci bits = load_word(piece, b, at);

    for (int k = 0; k < RUN_REGS; k++) {
        const veci byte = veci_mul(byte_of(bits, k / 2), veci_set(0x01010101)); /* four times */
        const veci mask = veci_set(k % 2 == 0 ? 0x08040201 : (int32_t)0x80402010);

        q[k] = veci_or(q[k], veci_and(vec_test(byte, mask), veci_bytes(FIFTH_BIT)));
    }
}

VEC_INLINE void run_q5_0(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_q5_0, qs), q);
    add_fifth(piece, j, offsetof(struct block_q5_0, qh), q);
}

VEC_INLINE void run_q5_1(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_q5_1, qs), q);
    add_fifth(piece, j, offsetof(struct block_q5_1, qh), q);
}

VEC_INLINE void run_iq4_nl(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    load_nibbles(piece, j, offsetof(struct block_iq4_nl, qs), q);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = iq4_values(q[k]);
    }
}

/* Loads 32 bytes from offset @at on. */
VEC_INLINE void load_32(const struct vec_piece *piece, uint32_t b, size_t at, veci words[RUN_REGS])
{
    load_words(piece, b, at, words);
    load_words(piece, b, at + 16, words + 4);
}

VEC_INLINE void run_q8_0(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    load_32(piece, j, offsetof(struct block_q8_0, qs), q);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = vec_signed(q[k]);
    }
}

/* Loads d of block @j, and m if the format has one (*ret_m is 0 if not). */
VEC_INLINE vecf scale_of(const struct vec_piece *piece, uint32_t j, bool has_m, vecf *ret_m)
{
    if (has_m) {
        const veci d_and_m = load_word(piece, j, 0);

        *ret_m = upper_half_of(d_and_m);
        return vec_half_of(d_and_m);
    }
    *ret_m = vecf_set(0.0f);
    return load_half(piece, j);
}

/* ---- super-blocks: a piece is one block ---- */

VEC_INLINE void run_q2_k(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    load_32(piece, 0, offsetof(struct block_q2_k, qs) + 32 * (j / 4), q);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = bits_from(q[k], (int)(j % 4 * 2), LOW_TWO);
    }
}

VEC_INLINE void run_q3_k(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    veci third[RUN_REGS];

    load_32(piece, 0, offsetof(struct block_q3_k, qs) + 32 * (j / 4), q);
    load_32(piece, 0, offsetof(struct block_q3_k, hmask), third);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        const veci low = bits_from(q[k], (int)(j % 4 * 2), LOW_TWO);

        q[k] = veci_or(low, veci_shl(bits_from(third[k], (int)j, 1), 2));
    }
}

VEC_INLINE void run_q4_k(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    load_32(piece, 0, offsetof(struct block_q4_k, qs) + 32 * (j / 2), q);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = j % 2 == 0 ? low_four(q[k]) : vec_high_four(q[k]);
    }
}

VEC_INLINE void run_q5_k(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    veci fifth[RUN_REGS];

    load_32(piece, 0, offsetof(struct block_q5_k, qs) + 32 * (j / 2), q);
    load_32(piece, 0, offsetof(struct block_q5_k, qh), fifth);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = veci_or(j % 2 == 0 ? low_four(q[k]) : vec_high_four(q[k]), as_fifth(fifth[k], (int)j));
    }
}

/* Runs 0 and 2, 1 and 3 of a half share their bytes of low bits. */
VEC_INLINE void run_q6_k(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    veci top[RUN_REGS];

    load_32(piece, 0, offsetof(struct block_q6_k, ql) + 64 * (j / 4) + 32 * (j % 2), q);
    load_32(piece, 0, offsetof(struct block_q6_k, qh) + 32 * (j / 4), top);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = veci_or(j % 4 < 2 ? low_four(q[k]) : vec_high_four(q[k]), as_top(top[k], (int)(j % 4)));
    }
}

VEC_INLINE void run_iq4_xs(const struct vec_piece *piece, uint32_t j, veci q[RUN_REGS])
{
    load_nibbles(piece, 0, offsetof(struct block_iq4_xs, qs) + 16 * j, q);
    for (uint32_t k = 0; k < RUN_REGS; k++) {
        q[k] = iq4_values(q[k]);
    }
}

/* ---- heads of super-blocks ---- */

VEC_INLINE void head_d_and_m(struct head *head, veci d_and_dmin)
{
    head->d = vec_half_of(d_and_dmin);
    head->m = upper_half_of(d_and_dmin);
}

/* Gives @head sixteen scales, a signed byte each, and pairs of them. */
VEC_INLINE void head_scales(struct head *head, const veci scales[4])
{
    for (int j = 0; j < 16; j++) {
        head->scale[j] = signed_byte_of(scales[j / 4], j % 4);
    }
    for (int j = 0; j < 8; j++) {
        head->pair[j] = vec_pair(head->scale[2 * j], head->scale[2 * j + 1]);
    }
}

VEC_INLINE void head_q2_k(const struct vec_piece *piece, struct head *head)
{
    veci scales[4];

    load_words(piece, 0, offsetof(struct block_q2_k, scales), scales);
    for (int j = 0; j < 16; j++) {
        head->scale[j] = byte_of(low_four(scales[j / 4]), j % 4);
    }
    for (int j = 0; j < 8; j++) {
        const veci mins = vec_high_four(scales[j / 2]);

        head->pair[j] = vec_pair(byte_of(mins, j % 2 * 2), byte_of(mins, j % 2 * 2 + 1));
    }
    head_d_and_m(head, load_word(piece, 0, offsetof(struct block_q2_k, d)));
}

VEC_INLINE void head_q3_k(const struct vec_piece *piece, struct head *head)
{
    const size_t at = offsetof(struct block_q3_k, scales);
    const veci first = load_word(piece, 0, at);
    const veci second = load_word(piece, 0, at + 4);
    const veci upper = load_word(piece, 0, at + 8);
    const veci four[4] = { low_four(first), low_four(second), vec_high_four(first), vec_high_four(second) };

    for (int j = 0; j < 16; j++) {
        const veci six = veci_or(four[j / 4], as_top(upper, j / 4));

        head->scale[j] = veci_sub(byte_of(six, j % 4), veci_set(32));
    }
    for (int j = 0; j < 8; j++) {
        head->pair[j] = vec_pair(head->scale[2 * j], head->scale[2 * j + 1]);
    }
    head->d = load_half(piece, 0);
}

/* Of Q4_K and Q5_K, sixteen bytes: d, dmin, and eight 6-bit scales and mins. */
VEC_INLINE void head_q4_k(const struct vec_piece *piece, struct head *head)
{
    const veci six = veci_bytes(0x3f);
    const veci top = veci_bytes(0x30);
    veci words[4], scales[2], mins[2];

    load_words(piece, 0, 0, words);
    scales[0] = veci_and(words[1], six);
    mins[0] = veci_and(words[2], six);
    /* The upper two bits of a byte continue as bits 4 and 5. */
    scales[1] = veci_or(low_four(words[3]), veci_and(veci_shr(words[1], 2), top));
    mins[1] = veci_or(vec_high_four(words[3]), veci_and(veci_shr(words[2], 2), top));
    for (int j = 0; j < 8; j++) {
        const veci min = byte_of(mins[j / 4], j % 4);

        head->scale[j] = byte_of(scales[j / 4], j % 4);
        head->pair[j] = vec_pair(min, min);
    }
    head_d_and_m(head, words[0]);
}

#define head_q5_k head_q4_k

VEC_INLINE void head_q6_k(const struct vec_piece *piece, struct head *head)
{
    veci scales[4];

    load_words(piece, 0, offsetof(struct block_q6_k, scales), scales);
    head_scales(head, scales);
    head->d = load_half(piece, 0);
}

/* Eight bytes: d, and the low and upper bits of eight scales, of which 32 is taken. */
VEC_INLINE void head_iq4_xs(const struct vec_piece *piece, struct head *head)
{
    const veci d_and_upper = load_word(piece, 0, 0);
    const veci low = load_word(piece, 0, offsetof(struct block_iq4_xs, scales_l));

    for (int j = 0; j < 8; j++) {
        const veci four = veci_and(j == 0 ? low : veci_shr(low, 4 * j), veci_set(LOW_FOUR));
        const veci two = veci_and(veci_shr(d_and_upper, 16 + 2 * j), veci_set(LOW_TWO));

        head->scale[j] = veci_sub(veci_or(four, veci_shl(two, 4)), veci_set(32));
        head->pair[j] = vec_pair(head->scale[j], head->scale[j]);
    }
    head->d = vec_half_of(d_and_upper);
}

#endif
