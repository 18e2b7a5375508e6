/*
 * Gains: how a chip responds to our work, as a file keeps it from one run to the next
 *
 * A chip that is not known is approached slowly, and its gains are learnt once in a run (reaction.h). A file of a few
 * lines keeps them for the board that they were learnt on. It is read like a stranger's: what is not exactly as
 * gains_write() writes it, or could be true of no chip, is refused, and the chip counts as unknown.
 *
 * Pure.
 */
#ifndef SOTTO_GOVERN_GAINS_H
#define SOTTO_GOVERN_GAINS_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GAINS_BOARD_MAX 64u  /* bytes of a board's name, with the final zero */
#define GAINS_FILE_MAX  256u /* bytes of a file */

struct gains {
    char board[GAINS_BOARD_MAX]; /* printable ASCII */
    uint32_t whole_mc;           /* thousandths of a degree that our whole share warms the chip by in the end */
    uint32_t lag_ms;
};

/* Writes a board's name as the system tells it, @n bytes, to @board: unprintable bytes, and those that do not fit, are
 * left out. */
void gains_name(const char *bytes, size_t n, char board[GAINS_BOARD_MAX]);

/* Writes @gains as text to @text (@cap bytes). Returns its length; 0 if they could be true of no chip. */
size_t gains_write(const struct gains *gains, char *text, size_t cap);

/* Reads a file of @n bytes. Returns false if it is not one that gains_write() wrote, with the reason in @diag. */
bool gains_read(const char *text, size_t n, struct gains *ret_gains, struct diag *diag);

#endif
