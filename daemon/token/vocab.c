/*
 * Queries of a vocabulary.
 */
#include "token/vocab.h"
#include <assert.h>

uint32_t vocab_n(const struct vocab *vocab)
{
    return vocab->n;
}

enum token_type vocab_type(const struct vocab *vocab, uint32_t id)
{
    assert(id < vocab->n);
    return (enum token_type)vocab->types[id];
}

struct gguf_text vocab_text(const struct vocab *vocab, uint32_t id)
{
    assert(id < vocab->n);
    return (struct gguf_text){ .bytes = vocab->texts + vocab->text[id].at, .n = vocab->text[id].n };
}

struct gguf_text vocab_piece(const struct vocab *vocab, uint32_t id)
{
    assert(id < vocab->n);
    return (struct gguf_text){ .bytes = vocab->pieces + vocab->piece[id].at, .n = vocab->piece[id].n };
}

uint32_t vocab_bos(const struct vocab *vocab)
{
    return vocab->bos;
}

bool vocab_adds_bos(const struct vocab *vocab)
{
    return vocab->adds_bos;
}

uint32_t vocab_eos(const struct vocab *vocab)
{
    return vocab->eos;
}

bool vocab_ends(const struct vocab *vocab, uint32_t id)
{
    for (size_t i = 0; i < vocab->n_ends; i++) {
        if (vocab->ends[i] == id) {
            return true;
        }
    }
    return false;
}

const uint32_t *vocab_never(const struct vocab *vocab, size_t *ret_n)
{
    *ret_n = vocab->n_never;
    return vocab->never;
}

struct gguf_text vocab_chat_template(const struct vocab *vocab)
{
    return (struct gguf_text){ .bytes = vocab->chat_template, .n = vocab->n_chat_template };
}
