/*
 * Fuzzer: an untrusted model file
 *
 * The head is offered in growing pieces, as by a reader that does not know its length, and then walked: every key and
 * tensor must lie within the file. The last 3 bytes say how much larger than the input the file claims to be.
 */
#include "gguf/gguf.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "token/token.h"
#include <string.h>

#define TAIL_BYTES 3

static void check_sentence(const struct diag *diag)
{
    FUZZ_PROMISE(diag_is_set(diag));
    FUZZ_PROMISE(utf8_is_valid(diag->text, strlen(diag->text), NULL));
}

static bool is_within(const void *piece, size_t n_piece, const uint8_t *bytes, size_t n)
{
    const uint8_t *at = piece;

    return n_piece == 0 || (at >= bytes && n_piece <= n && (size_t)(at - bytes) <= n - n_piece);
}

static void walk(const struct gguf *gguf, const uint8_t *bytes, size_t n)
{
    FUZZ_PROMISE(gguf_head_bytes(gguf) <= gguf_file_bytes(gguf));
    for (size_t i = 0; i < gguf_n_keys(gguf); i++) {
        const struct gguf_key *key = gguf_key_at(gguf, i);
        struct gguf_text text;
        size_t at = 0;

        FUZZ_PROMISE(is_within(key->name.bytes, key->name.n, bytes, n));
        FUZZ_PROMISE(is_within(key->value, key->n_value, bytes, n));
        while (key->type == GGUF_ARRAY && key->elem == GGUF_STRING && gguf_next_text(key, &at, &text)) {
            FUZZ_PROMISE(is_within(text.bytes, text.n, bytes, n));
        }
    }
    for (size_t i = 0; i < gguf_n_tensors(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);

        FUZZ_PROMISE(is_within(tensor->name.bytes, tensor->name.n, bytes, n));
        FUZZ_PROMISE(tensor->n_dims >= 1 && tensor->n_dims <= 4);
        FUZZ_PROMISE(tensor->offset <= gguf_file_bytes(gguf));
        FUZZ_PROMISE(tensor->n_bytes <= gguf_file_bytes(gguf) - tensor->offset);
    }
}

/* Checks that an accepted vocabulary tokenizes any text, and has bytes for any of its ids. */
static void speak(const struct gguf *gguf, const uint8_t *bytes, size_t n)
{
    struct vocab *vocab = NULL;
    struct diag diag = DIAG_INIT;
    struct ids ids = { .max = 4096 };
    int r = vocab_create(&vocab, gguf, &diag);

    FUZZ_PROMISE(r == VOCAB_OK || r == VOCAB_REFUSED);
    if (r == VOCAB_REFUSED) {
        check_sentence(&diag);
        return;
    }
    for (uint32_t id = 0; id < vocab_n(vocab); id++) {
        struct gguf_text piece = vocab_piece(vocab, id);

        FUZZ_PROMISE(piece.n == 0 || piece.bytes);
    }
    r = vocab_tokenize(vocab, bytes, n < 512 ? n : 512, TOKENIZE_BOS | TOKENIZE_SPECIAL, &ids, &diag);
    FUZZ_PROMISE(r >= 0);
    for (size_t i = 0; r == TOKENIZE_OK && i < ids.n; i++) {
        FUZZ_PROMISE(ids.ids[i] < vocab_n(vocab));
    }
    ids_finish(&ids);
    vocab_destroy(vocab);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint64_t more = 0;
    size_t have = 0;
    struct gguf *gguf = NULL;
    struct diag diag = DIAG_INIT;
    uint64_t wanted;
    int r;

    if (n >= TAIL_BYTES) {
        n -= TAIL_BYTES;
        more = bytes[n] | (uint64_t)bytes[n + 1] << 8 | (uint64_t)bytes[n + 2] << 16;
    }
    do {
        wanted = 0;
        r = gguf_parse(&gguf, bytes, have, n + more, &wanted, &diag);
        FUZZ_PROMISE(r == GGUF_OK || r == GGUF_MORE || r == GGUF_REFUSED);
        if (r == GGUF_MORE) {
            FUZZ_PROMISE(wanted > have && wanted <= n + more);
            diag_clear(&diag);
            have = wanted;
        }
    } while (r == GGUF_MORE && have <= n);
    if (r == GGUF_REFUSED) {
        check_sentence(&diag);
    }
    if (r == GGUF_OK) {
        walk(gguf, bytes, have);
        speak(gguf, bytes, n);
        gguf_destroy(gguf);
    }
    return 0;
}
