/*
 * Panel: between rows and panels, a word at a time
 */
#include "tensor/panel.h"

#include "base/clean.h"

#include <assert.h>
#include <string.h>

size_t panel_half_at(uint32_t type)
{
    const size_t n_bytes = elem_info(type)->n_bytes;

    if (n_bytes % 4 == 0) {
        return SIZE_MAX;
    }
    assert(n_bytes % 4 == 2);
    return type == ELEM_Q3_K || type == ELEM_Q6_K ? n_bytes - 2 : 0;
}

/* The place of a block in a piece of a panel. */
struct place {
    size_t half_at; /* of the block in the order of the file; SIZE_MAX: none */
    size_t half;    /* bytes from the beginning of the piece to row 0's half */
    size_t words;   /* and to row 0's first word */
    uint32_t n_words;
};

static struct place place_of(uint32_t type, uint32_t n_blocks, uint32_t block)
{
    const size_t n_bytes = elem_info(type)->n_bytes;
    struct place place = { .half_at = panel_half_at(type), .n_words = (uint32_t)(n_bytes / 4) };
    const size_t halves = place.half_at == SIZE_MAX ? 0 : sizeof(uint16_t) * ELEM_PANEL_ROWS;

    place.half = halves * block;
    place.words = halves * n_blocks + (size_t)4 * ELEM_PANEL_ROWS * place.n_words * block;
    return place;
}

/* Returns the offset of word @k of a block in the order of the file. */
static size_t word_at(const struct place *place, uint32_t k)
{
    return 4 * (size_t)k + (place->half_at == 0 ? sizeof(uint16_t) : 0);
}

static void pack_block(const struct place *place, const uint8_t *block, uint32_t row, uint8_t *piece)
{
    if (place->half_at != SIZE_MAX) {
        memcpy(piece + place->half + 2 * row, block + place->half_at, 2);
    }
    for (uint32_t k = 0; k < place->n_words; k++) {
        memcpy(piece + place->words + 4 * (ELEM_PANEL_ROWS * k + row), block + word_at(place, k), 4);
    }
}

static void unpack_block(const struct place *place, const uint8_t *piece, uint32_t row, uint8_t *block)
{
    if (place->half_at != SIZE_MAX) {
        memcpy(block + place->half_at, piece + place->half + 2 * row, 2);
    }
    for (uint32_t k = 0; k < place->n_words; k++) {
        memcpy(block + word_at(place, k), piece + place->words + 4 * (ELEM_PANEL_ROWS * k + row), 4);
    }
}

static uint32_t blocks_of(uint32_t type, uint32_t n_cols, uint32_t col)
{
    const uint32_t n = n_cols - col < ELEM_PANEL_COLS ? n_cols - col : ELEM_PANEL_COLS;

    return n / elem_info(type)->n_block;
}

void panel_pack(uint32_t type, const void *rows, uint32_t n_cols, void *out)
{
    const struct elem_info *info = elem_info(type);
    const size_t row_bytes = (size_t)n_cols / info->n_block * info->n_bytes;
    uint8_t *piece = out;

    for (uint32_t col = 0; col < n_cols; col += ELEM_PANEL_COLS) {
        const uint32_t n_blocks = blocks_of(type, n_cols, col);
        const uint8_t *at = (const uint8_t *)rows + col / info->n_block * info->n_bytes;

        for (uint32_t b = 0; b < n_blocks; b++) {
            const struct place place = place_of(type, n_blocks, b);

            for (uint32_t row = 0; row < ELEM_PANEL_ROWS; row++) {
                pack_block(&place, at + row * row_bytes + (size_t)b * info->n_bytes, row, piece);
            }
        }
        piece += (size_t)ELEM_PANEL_ROWS * n_blocks * info->n_bytes;
    }
}

uint32_t panel_row(uint32_t type, const void *panel, uint32_t n_cols, uint32_t row, uint32_t col, void *out)
{
    const struct elem_info *info = elem_info(type);
    const uint32_t n_blocks = blocks_of(type, n_cols, col);
    const uint8_t *piece = (const uint8_t *)panel + (size_t)ELEM_PANEL_ROWS * (col / info->n_block) * info->n_bytes;

    for (uint32_t b = 0; b < n_blocks; b++) {
        const struct place place = place_of(type, n_blocks, b);

        unpack_block(&place, piece, row, (uint8_t *)out + (size_t)b * info->n_bytes);
    }
    return n_blocks;
}
