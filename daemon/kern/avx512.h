/*
 * Avx512: sixteen weight rows at once; private to the set
 *
 * Sixteen weight rows are used together, so that each 32-bit lane of a register belongs to one row and register k holds
 * columns 4k .. 4k + 3 of all sixteen. One VPDPBUSD then multiplies 64 weights with four activations that are spread to
 * all lanes, and nothing ever has to be added across lanes. The instruction wants unsigned weights: they are used with
 * an offset, which is taken from the sums again with the sum of the activations.
 *
 * The words of sixteen rows are gathered from a file's rows, which costs about as much as multiplying with four
 * activation rows, or come from panels (panel.h), where they are neighbours.
 */
#ifndef SOTTO_KERN_AVX512_H
#define SOTTO_KERN_AVX512_H

#include "kern/kern.h"
#include "tensor/panel.h"

#include <immintrin.h>
#include <string.h>

#define AVX512_INLINE static inline __attribute__((always_inline))

#define PANEL_ROWS ELEM_PANEL_ROWS
#define PANEL_COLS ELEM_PANEL_COLS
#define PANEL_RUNS (PANEL_COLS / RUN_COLS)

#define RUN_COLS 32 /* columns that are loaded together */
#define RUN_REGS 8

#define LOW_FOUR  0x0f
#define LOW_TWO   0x03
#define FIFTH_BIT 0x10

/* 256 columns of sixteen weight rows. Blocks of 32 use d and m; super-blocks use d[0], m[0], scale and pair. */
struct opened {
    _Alignas(64) uint8_t w[PANEL_RUNS][RUN_REGS][4 * PANEL_ROWS];
    _Alignas(64) float d[PANEL_RUNS][PANEL_ROWS];
    _Alignas(64) float m[PANEL_RUNS][PANEL_ROWS];
    _Alignas(64) int32_t scale[16][PANEL_ROWS];   /* of each run of 16 or of 32 columns */
    _Alignas(64) int16_t pair[8][2 * PANEL_ROWS]; /* scales or mins that go with the sums of two runs of 16 */
};

/* Sixteen rows from some column on. */
struct row_source {
    const uint8_t *rows[PANEL_ROWS]; /* the blocks in the order of the file, or */
    const uint8_t *panel;            /* a piece of a panel; NULL: none */
};

/* 256 columns of a source at most. All but @source and @n_blocks is constant where functions are inlined. */
struct piece {
    const struct row_source *source;
    bool in_panel;
    size_t n_bytes;    /* of a block */
    size_t half_at;    /* offset of the half that a panel stores apart; SIZE_MAX: none */
    uint32_t n_blocks; /* of the piece */
};

/* One piece and the activation rows that it is multiplied with. */
struct tile {
    const struct opened *opened; /* or */
    const struct row_source *source;
    const char *acts; /* first activation row */
    size_t act_bytes;
    uint32_t n_cols;   /* of a whole row */
    uint32_t col;      /* first column of the piece */
    uint32_t n_blocks; /* of the piece */
    size_t n_bytes;    /* of the piece in a panel */
    float (*acc)[PANEL_ROWS];
};

/* The functions of a format. */
struct avx512_format {
    void (*open)(struct opened *opened, const struct row_source *source, uint32_t n_blocks);
    void (*narrow[4])(const struct tile *tile); /* for 8, 4, 2 and 1 activation rows, from panels without opening */
    const struct avx512_wide *wide;
};

/* Kernels for 12, 8, 4, 2 and 1 activation rows. */
#define AVX512_WIDTHS 5

struct avx512_wide {
    void (*run[AVX512_WIDTHS])(const struct tile *tile);
};

/* Rows without open: the set has no kernels for the type. */
extern const struct avx512_format avx512_formats[ELEM_TYPE_COUNT];

/* ---- words of rows ---- */

AVX512_INLINE __m128i load_16(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* Loads sixteen bytes from @at on of rows @i, @i + 4, @i + 8 and @i + 12. */
AVX512_INLINE __m512i load_four(const struct row_source *source, uint32_t i, size_t at)
{
    __m512i four = _mm512_castsi128_si512(load_16(source->rows[i] + at));

    four = _mm512_inserti32x4(four, load_16(source->rows[i + 4] + at), 1);
    four = _mm512_inserti32x4(four, load_16(source->rows[i + 8] + at), 2);
    return _mm512_inserti32x4(four, load_16(source->rows[i + 12] + at), 3);
}

AVX512_INLINE void transpose(const struct row_source *source, size_t at, __m512i words[4])
{
    const __m512i a = load_four(source, 0, at);
    const __m512i b = load_four(source, 1, at);
    const __m512i c = load_four(source, 2, at);
    const __m512i d = load_four(source, 3, at);
    const __m512i ab_low = _mm512_unpacklo_epi32(a, b);
    const __m512i ab_high = _mm512_unpackhi_epi32(a, b);
    const __m512i cd_low = _mm512_unpacklo_epi32(c, d);
    const __m512i cd_high = _mm512_unpackhi_epi32(c, d);

    words[0] = _mm512_unpacklo_epi64(ab_low, cd_low);
    words[1] = _mm512_unpackhi_epi64(ab_low, cd_low);
    words[2] = _mm512_unpacklo_epi64(ab_high, cd_high);
    words[3] = _mm512_unpackhi_epi64(ab_high, cd_high);
}

AVX512_INLINE int32_t word_at(const uint8_t *bytes)
{
    int32_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* Loads four bytes from @at on of rows @i .. @i + 3. */
AVX512_INLINE __m128i four_words(const struct row_source *source, uint32_t i, size_t at)
{
    return _mm_setr_epi32(word_at(source->rows[i] + at), word_at(source->rows[i + 1] + at),
                          word_at(source->rows[i + 2] + at), word_at(source->rows[i + 3] + at));
}

AVX512_INLINE __m512i gather(const struct row_source *source, size_t at)
{
    __m512i words = _mm512_castsi128_si512(four_words(source, 0, at));

    words = _mm512_inserti32x4(words, four_words(source, 4, at), 1);
    words = _mm512_inserti32x4(words, four_words(source, 8, at), 2);
    return _mm512_inserti32x4(words, four_words(source, 12, at), 3);
}

/* ---- parts of blocks ---- */

/* Returns where a panel has the words from offset @at of block @b on. */
AVX512_INLINE const uint8_t *panel_words(const struct piece *piece, uint32_t b, size_t at)
{
    const size_t halves = piece->half_at == SIZE_MAX ? 0 : 2 * PANEL_ROWS * (size_t)piece->n_blocks;
    const size_t word = b * (piece->n_bytes / 4) + (piece->half_at == 0 ? at - 2 : at) / 4;

    return piece->source->panel + halves + 4 * PANEL_ROWS * word;
}

/* Loads sixteen bytes from offset @at of block @b on of each row as four registers, a row in each lane. */
AVX512_INLINE void load_words(const struct piece *piece, uint32_t b, size_t at, __m512i words[4])
{
    if (!piece->in_panel) {
        transpose(piece->source, b * piece->n_bytes + at, words);
        return;
    }
    for (uint32_t k = 0; k < 4; k++) {
        words[k] = _mm512_loadu_si512(panel_words(piece, b, at + 4 * k));
    }
}

/* Loads four bytes from offset @at of block @b on of each row, a row in each lane. */
AVX512_INLINE __m512i load_word(const struct piece *piece, uint32_t b, size_t at)
{
    return piece->in_panel ? _mm512_loadu_si512(panel_words(piece, b, at))
                           : gather(piece->source, b * piece->n_bytes + at);
}

/* Returns the low 16 bits of each lane, which are a half, as floats. */
AVX512_INLINE __m512 low_half(__m512i words)
{
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words));
}

AVX512_INLINE __m512 high_half(__m512i words)
{
    return low_half(_mm512_srli_epi32(words, 16));
}

/* Returns the half of block @b that a panel stores apart: the first or the last of the block. */
AVX512_INLINE __m512 load_half(const struct piece *piece, uint32_t b)
{
    if (piece->in_panel) {
        const uint8_t *halves = piece->source->panel + 2 * PANEL_ROWS * b;

        return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)halves));
    }
    /* The four bytes read stay inside the block. */
    return piece->half_at == 0 ? low_half(load_word(piece, b, 0)) : high_half(load_word(piece, b, piece->half_at - 2));
}

/* ---- bits of bytes ---- */

/* Returns bits @n and above of each byte, as many as @mask has from its bit 0 on; n + bits is at most 8. */
AVX512_INLINE __m512i bits_from(__m512i bytes, uint32_t n, char mask)
{
    return _mm512_and_si512(_mm512_srli_epi16(bytes, n), _mm512_set1_epi8(mask));
}

AVX512_INLINE __m512i low_four(__m512i bytes)
{
    return bits_from(bytes, 0, LOW_FOUR);
}

AVX512_INLINE __m512i high_four(__m512i bytes)
{
    return bits_from(bytes, 4, LOW_FOUR);
}

/* Returns bits 2n and 2n + 1 of each byte as its bits 4 and 5. */
AVX512_INLINE __m512i as_top(__m512i bytes, uint32_t n)
{
    return _mm512_slli_epi16(bits_from(bytes, 2 * n, LOW_TWO), 4);
}

/* Returns bit @n of each byte as its bit 4. */
AVX512_INLINE __m512i as_fifth(__m512i bytes, uint32_t n)
{
    return _mm512_slli_epi16(bits_from(bytes, n, 1), 4);
}

/* Returns the values, plus 128, that the nibbles in @q index (IQ4_NL, IQ4_XS). */
AVX512_INLINE __m512i iq4_values(__m512i q)
{
    static const int8_t values[16] = { BLOCK_IQ4_VALUES };
    const __m128i table = _mm_xor_si128(load_16((const uint8_t *)values), _mm_set1_epi8((char)0x80));

    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), q);
}

/* Returns byte @j of each lane as a number, unsigned or with its sign. */
AVX512_INLINE __m512i byte_of(__m512i words, uint32_t j)
{
    return _mm512_and_si512(_mm512_srli_epi32(words, 8 * j), _mm512_set1_epi32(0xff));
}

AVX512_INLINE __m512i signed_byte_of(__m512i words, uint32_t j)
{
    return _mm512_srai_epi32(_mm512_slli_epi32(words, 24 - 8 * j), 24);
}

/* Returns the numbers @low and @high, of 16 bits each, of each lane. */
AVX512_INLINE __m512i pair_of(__m512i low, __m512i high)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa, low, _mm512_slli_epi32(high, 16));
}

#endif
