/*
 * Nfc: canonical composition, for the vocabularies that were trained on composed text
 *
 * "e" and U+0301 become U+00E9 before the text is split (Unicode Standard Annex 15, form C). Qwen's vocabularies
 * need it, most others do not. Pure, any thread.
 */
#ifndef SOTTO_TOKEN_NFC_H
#define SOTTO_TOKEN_NFC_H

#include "base/buf.h"

/*
 * Appends a piece from the head of @text (valid UTF-8) in form C to @out; *ret_used: its length. Piece by piece the
 * whole text gets into form C. A piece ends in front of an ASCII character, with which nothing before it composes, as
 * soon as it has NFC_PIECE bytes. Time is linear: a run of more than NFC_RUN_MAX combining marks is composed piece by
 * piece, too, which differs from form C only in texts that no writing system has. BUF_FULL, or -ENOMEM.
 */
#define NFC_RUN_MAX 256u
#define NFC_PIECE   4096u
int nfc_append(const uint8_t *text, size_t n, struct buf *out, size_t *ret_used);

#endif
