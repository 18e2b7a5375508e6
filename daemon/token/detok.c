/*
 * Detokenising joins the pieces of the ids.
 */
#include "base/buf.h"
#include "base/err.h"
#include "token/vocab.h"
#include <errno.h>
#include <inttypes.h>

int vocab_detokenize(const struct vocab *vocab, const uint32_t *ids, size_t n, bool special, struct buf *out,
                     struct diag *diag)
{
    bool first = vocab->prefix_blank; /* the next piece is the first of the text and begins with the prefix blank */
    int r;

    for (size_t i = 0; i < n; i++) {
        struct gguf_text piece;

        if (ids[i] >= vocab->n) {
            diag_set(diag, "id %zu is outside the vocabulary of %" PRIu32, i, vocab->n);
            return TOKENIZE_BAD_TEXT;
        }
        piece = vocab_piece(vocab, ids[i]);
        if (special && vocab->types[ids[i]] == TOKEN_CONTROL) {
            piece = vocab_text(vocab, ids[i]);
        } else if (first && piece.n > 0) {
            first = false;
            if (piece.bytes[0] == ' ') {
                piece.bytes++;
                piece.n--;
            }
        }
        r = buf_append(out, piece.bytes, piece.n);
        if (r) {
            return r == BUF_FULL ? TOKENIZE_TOO_MANY : err_up(r);
        }
    }
    return TOKENIZE_OK;
}
