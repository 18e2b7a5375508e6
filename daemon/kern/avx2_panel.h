/*
 * Avx2_panel: eight weight rows by 256 columns, opened and turned so that a register lane is a row; private to the
 * set
 *
 * Register k of a panel holds columns 4k .. 4k + 3 of all eight rows, the rows in its eight lanes of 32 bits. A dot
 * product step is then "bytes times bytes, pairs summed" against four activations spread to all lanes, and
 * nothing ever has to be added across lanes. Bytes are unsigned (the instruction wants that): q as stored, and what
 * the format subtracts from q is subtracted from the sums. Opening is done once for all activation rows.
 */
#ifndef SOTTO_KERN_AVX2_PANEL_H
#define SOTTO_KERN_AVX2_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#define PANEL_ROWS   8
#define PANEL_COLS   256
#define PANEL_BLOCKS 8 /* of 32 columns */
#define PANEL_REGS   (PANEL_COLS / 4)

struct panel {
    _Alignas(32) uint8_t w[PANEL_REGS][32];
    _Alignas(32) uint8_t high[PANEL_REGS][32]; /* Q8_0, IQ4: w the low, this the high four bits of w + 128 */
    _Alignas(32) float d[PANEL_BLOCKS][PANEL_ROWS];
    _Alignas(32) float m[PANEL_BLOCKS][PANEL_ROWS];
    /* K formats: a lane holds its row's number twice, for a pair of sums of 16 bits each. */
    _Alignas(32) int16_t scale[16][16];
    _Alignas(32) int16_t
        pair[8][16]; /* Q4_K, Q5_K: mins, twice; Q2_K: mins, Q3_K, Q6_K: scales 2j and 2j + 1; IQ4_XS: scale j, twice */
};

/* Opens @n_blocks blocks (the columns of one panel at most; 1 for the K formats) of the rows at @rows. */
typedef void (*panel_open_fn)(struct panel *panel, const uint8_t *const rows[PANEL_ROWS], uint32_t n_blocks);

panel_open_fn panel_opener(uint32_t type);

#endif
