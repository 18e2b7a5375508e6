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
 * Appends @text (valid UTF-8) in form C to @out. Time is linear: a run of more than NFC_RUN_MAX combining marks is
 * composed piece by piece, which differs from form C only in texts that no writing system has. BUF_FULL, or
 * -ENOMEM.
 */
#define NFC_RUN_MAX 256u
int nfc_append(const uint8_t *text, size_t n, struct buf *out);

#endif
