/*
 * Panel: sixteen weight rows in the order in which kernels want them
 *
 * A kernel that multiplies one 32-bit word of sixteen rows at once has to gather these words from sixteen places of a
 * file's rows. In a panel they are neighbours. A panel holds the same bits as its rows, in as many
 * bytes; only their order differs.
 *
 * Sixteen rows are cut into pieces of ELEM_PANEL_COLS columns (the last piece may have fewer). A piece holds, where the
 * bytes of a block are no multiple of 4, first the half d of each block: [block][row] halves. Then it holds the other
 * bytes of each block as 32-bit words, in their order in the block (tensor/block.h): [block][word][row].
 */
#ifndef SOTTO_ELEM_PANEL_H
#define SOTTO_ELEM_PANEL_H

#include "tensor/block.h"
#include "tensor/type.h"

#include <stddef.h>
#include <stdint.h>

/* Added to the type of a tensor in a file: its rows are in panels. The type is in blocks, the rows are a multiple of
 * ELEM_PANEL_ROWS, and panel p begins where row 16 p would. No other program knows such files. */
#define ELEM_PANELS 0x10000u

#define ELEM_PANEL_ROWS 16
#define ELEM_PANEL_COLS 256 /* of a piece */

#define ELEM_PANEL_BLOCK_MAX 288 /* bytes of a row's part of a piece, at most: eight blocks of 34, one of 210 */

/* Returns the offset in a block of the half that a panel stores apart; SIZE_MAX if the block is all words. */
size_t panel_half_at(uint32_t type);

/* Writes sixteen rows of @n_cols of @type (in blocks; not in panels) at @rows as a panel at @out, of the same size. */
void panel_pack(uint32_t type, const void *rows, uint32_t n_cols, void *out);

/* Writes blocks of the piece from column @col on, @n_blocks in all (those of the piece), of row @row of the panel of
 * rows of @n_cols to @out, in the order of the file: at most ELEM_PANEL_BLOCK_MAX bytes. Returns n_blocks. */
uint32_t panel_row(uint32_t type, const void *panel, uint32_t n_cols, uint32_t row, uint32_t col, void *out);

#endif
