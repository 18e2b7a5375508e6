/*
 * Detokenising joins the pieces of the ids.
 */
#include "base/buf.h"
#include "base/err.h"
#include "token/vocab.h"
#include <errno.h>
#include <inttypes.h>

int vocab_detokenize_some(const struct vocab *vocab, const uint32_t *ids, size_t upto, bool special,
                          struct detokenize_at *at, struct buf *out, struct diag *diag)
{
    int r;

    for (; at->i < upto; at->i++) {
        const uint32_t id = ids[at->i];
        struct gguf_text piece;

        if (id >= vocab->n) {
            diag_set(diag, "id %zu is outside the vocabulary of %" PRIu32, at->i, vocab->n);
            return TOKENIZE_BAD_TEXT;
        }
        piece = vocab_piece(vocab, id);
        if (special && vocab->types[id] == TOKEN_CONTROL) {
            piece = vocab_text(vocab, id);
        } else if (!at->has_begun && piece.n > 0) {
            at->has_begun = true;
            if (vocab->prefix_blank && piece.bytes[0] == ' ') {
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

int vocab_detokenize(const struct vocab *vocab, const uint32_t *ids, size_t n, bool special, struct buf *out,
                     struct diag *diag)
{
    struct detokenize_at at = { 0 };
    int r = vocab_detokenize_some(vocab, ids, n, special, &at, out, diag);

    return err_pass(r);
}
